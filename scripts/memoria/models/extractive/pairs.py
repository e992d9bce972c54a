"""Pairs: which of two statements still holds, as far as their words prove it."""

from __future__ import annotations

from memoria.language import statements
from memoria.models.protocol import JsonObject


def verdicts(material: JsonObject) -> JsonObject:
    """Return a verdict on each pair: ``both`` unless the words are the same, or oppose each other on different days."""
    return {
        "pairs": [
            {"pair": number, "verdict": _verdict(pair["first"], pair["second"]), "why": ""}
            for number, pair in enumerate(material["pairs"], 1)
        ]
    }


def _verdict(first: JsonObject, second: JsonObject) -> str:
    one, other = statements.words(first["text"]), statements.words(second["text"])
    if statements.same(one, other):
        return "same"
    if first["day"] == second["day"] or not statements.opposed(one, other):
        return "both"
    return "first" if first["day"] > second["day"] else "second"
