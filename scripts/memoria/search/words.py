"""Words: split a text into words."""

from __future__ import annotations

from memoria.base.pattern import Pattern
from memoria.search.function_words import FUNCTION_WORDS
from memoria.search.stemming import porter

_WORD = Pattern(r"\w+")
_WORD_OR_NUMBER = Pattern(r"\d[\d.,:]*\d|\w+")


def words(text: str) -> list[str]:
    """Return the words of a text, without case and punctuation."""
    return [word.casefold() for word in _WORD.findall(text)]


def words_and_numbers(text: str) -> list[str]:
    """Return the words of a text; a number with its separators (``3.11``, ``14:05``) is one word."""
    return _WORD_OR_NUMBER.findall(text.casefold())


def stems(text: str) -> frozenset[str]:
    """Return the stems of the content words, by which the titles of one topic can be compared."""
    return frozenset(porter(word) for word in words(text) if word not in FUNCTION_WORDS)
