"""Repeated: whether one sentence says again what another says.

The order of the words, plural and singular, and articles do not count; numbers, negations and the order of identifiers
do. All functions are pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memoria.search.stemming import without_ending
from memoria.search.words import word_set, words_and_numbers

MIN_WORDS = 4  # of sentences that may differ in the order of their words

_EMPTY = word_set(
    """a an and are be das dem den der des die ein eine einem einen einer is ist it its of sind that the there these
    this those und"""
)
_DIRECTED = re.compile(
    r"\b(?:before|after|from|to|into|than|over|under|above|below|by|calls?|imports?|uses?|depends?|replaces?|blocks?|"
    r"wraps?|extends?|sends?|reads?|writes?|owns?|not|no|never|instead|only|but|"
    r"vor|nach|von|zu|als|aus|nicht|kein\w*|nur|statt|sondern)\b",
    re.IGNORECASE,
)
_MARKED = re.compile(r"`[^`]+`")


def repeats(one: str, other: str) -> bool:
    """Return whether two sentences consist of the same words, articles apart."""
    mine, theirs = _read(one), _read(other)
    if len(mine.order) < 2 or mine.key != theirs.key:
        return False
    return mine.order == theirs.order or (len(mine.order) >= MIN_WORDS and not mine.is_directed)


class _Sentence:
    __slots__ = ("is_directed", "key", "order")

    def __init__(self, text: str) -> None:
        self.order = [without_ending(word) for word in words_and_numbers(text) if word not in _EMPTY]
        self.key = (sorted(self.order), _MARKED.findall(text.casefold()))
        self.is_directed = bool(_DIRECTED.search(text))


@lru_cache(maxsize=20_000)
def _read(text: str) -> _Sentence:
    return _Sentence(text)
