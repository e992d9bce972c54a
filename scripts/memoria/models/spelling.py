"""Spelling: the names and words of an answer, however a model spells them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

TEXT_NAMES = (
    "text", "content", "statement", "claim", "fact", "value", "description", "item", "line", "summary", "title",
)  # fmt: skip
NOTHING = re.compile(  # what a model writes for an empty list or line
    r"[\s\-–—*.()]*(?:none|nothing|n/?a|null|nil|not applicable|keine?|nichts)?[\s\-–—*.()]*",  # noqa: RUF001 (dashes)
    re.IGNORECASE,
)
MIN_PREFIX = 4  # letters that a wrong name shares with the asked one: ``decisions_made`` is ``decisions``


def plain(name: str) -> str:
    """Return the letters and digits of a name in lower case."""
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def simplified(text: str) -> str:
    """Return the text in lower case and without accents."""
    parts = unicodedata.normalize("NFKD", text.casefold().replace("ß", "ss"))
    return "".join(sign for sign in parts if not unicodedata.combining(sign))


def by_name(value: Mapping[Any, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object with the schema's names in place of other spellings: ``keyExchanges``, ``Decisions Made``."""
    asked = {plain(name): name for name in schema.get("properties", ())}
    found: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for key, part in value.items():
        spelt = plain(str(key))
        (found if spelt in asked else others)[asked.get(spelt, str(key))] = part
    for key, part in others.items():
        alike = [name for spelt, name in asked.items() if _begins_alike(spelt, plain(key)) and found.get(name) is None]
        found[alike[0] if len(alike) == 1 else key] = part
    return found


def known_names(value: Mapping[Any, Any], schema: Mapping[str, Any]) -> int:
    """Return how many of the schema's properties the object has, by whatever spelling."""
    return len(set(by_name(value, schema)) & set(schema.get("properties", ())))


def _begins_alike(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    return shorter >= MIN_PREFIX and one[:shorter] == other[:shorter]
