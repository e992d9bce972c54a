"""Names: whether a title is what someone would look up.

A bare number, a hash or a single generic word names nothing. All functions are pure.
"""

from __future__ import annotations

import re

from memoria.search.stemming import singular
from memoria.search.words import word_set

GENERIC = "a single generic word"  # the fault of a word that can still be a heading on a page

_QUOTES = "\"'“”„‘’«»"  # noqa: RUF001 (typographic quotes are meant)
_WORD = re.compile(r"[^\W_]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NUMBER = re.compile(r"v?\d+|(?=[0-9a-f]*\d)[0-9a-f]{6,}", re.IGNORECASE)
_WORDS = frozenset(
    map(
        singular,
        word_set(
            """agent api app application article branch bug build change class code command comment commit component
            concept config configuration content data date debug decision default dev directory doc documentation entry
            env environment error event example fact feature field file fix folder format function general global head
            helper home id index info init input instance issue item json key kind lib library line link list localhost
            log main master message method misc miscellaneous mode model module name new none note null number object
            option origin other output overview package page path plan problem process project question readme release
            repo repository request response result root run runtime schema script section server service session set
            setting settings setup source src state status step string summary system table tag task temp test text
            thing time title tmp todo token tool topic type undefined unknown untitled update url user util utils uuid
            value var variable version view work yaml"""
        ),
    )
)


def clean(title: str) -> str:
    """Return a title without quotation marks around it."""
    plain = title.strip()
    return plain.strip(_QUOTES).strip() if plain[:1] in _QUOTES and plain[-1:] in _QUOTES else plain


def is_number(name: str) -> bool:
    """Return whether a name consists of numbers and hashes."""
    return bool(_UUID.fullmatch(name.strip())) or all(_NUMBER.fullmatch(word) for word in _WORD.findall(name))


def fault(title: str) -> str:
    """Return what is wrong with a title, ``""`` when it names something."""
    words = _WORD.findall(title)
    letters = [letter for letter in title if letter.isalpha()]
    if not letters:
        return "a number" if words else "no name"
    if is_number(title):
        return "a number or a hash"
    if [*map(len, words)] == [1] and letters[0].isascii():
        return "a single letter"
    if len(words) == 1 and singular(words[0].casefold()) in _WORDS:
        return GENERIC
    return ""
