"""Retractions: known facts that a user takes back in so many words, found without a model.

A sentence such as "Forget the pnpm rule" ends a fact when it names most of what the fact says and no other fact fits as
well. Whatever is less certain is left to a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memoria.language import cues, retraction, statements
from memoria.language.similarity import coverage

MIN_COVERED = 0.65  # share of the fact's words that the sentence must name
MIN_WORDS = 2  # of the fact that it must name; a short sentence may name one


def ended(exchanges: Iterable[Mapping[str, Any]], known: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the known facts that the user takes back in these exchanges, in the form of a model's ``ended`` list."""
    sentences = (sentence for exchange in exchanges for sentence in cues.own_sentences(str(exchange.get("user", ""))))
    return [
        {"id": fact["id"], "why": "the user took it back", "quote": sentence}
        for sentence in sentences
        for fact in _meant(retraction.retracted(sentence), known)
    ]


def _meant(text: str, known: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the facts that a retraction names, several only when they say the same; ``[]`` when that is uncertain."""
    said = statements.words(text)
    pairs = [(fact, statements.words(str(fact["content"]))) for fact in known]
    named = [(fact, words) for fact, words in pairs if _names(said, words)]
    first = named[0][1] if named else said
    certain = all(words is first or statements.same(first, words) for _, words in named)
    return [fact for fact, _ in named] if certain else []


def _names(said: statements.Words, fact: statements.Words) -> bool:
    wanted = fact.stems - fact.against
    if not wanted or not fact.numbers <= said.numbers or coverage(wanted, said.stems) < MIN_COVERED:
        return False
    return len(wanted & said.stems) >= min(MIN_WORDS, len(said.stems))
