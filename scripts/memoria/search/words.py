"""Words: split a text into words, and compare what two texts share."""

from __future__ import annotations

from memoria.base.pattern import Pattern
from memoria.search.stemming import porter
from memoria.search.tokens import FUNCTION_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set
    from typing import Any


_WORD = Pattern(r"\w+")
_ESCAPE = Pattern(r"\\(?=[!-/:-@\[-`{-~])")
# Soft hyphen, zero-width characters, direction marks, word joiner, variation selectors, byte order mark.
_INVISIBLE = Pattern(r"[\u00ad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")


def words(text: str) -> list[str]:
    """Return the words of a text, without case and punctuation."""
    return [word.casefold() for word in _WORD.findall(text)]


def stems(text: str) -> frozenset[str]:
    """Return the stems of the content words, by which the titles of one topic can be compared."""
    return frozenset(porter(word) for word in words(text) if word not in FUNCTION_WORDS)


def shorten(text: str, limit: int) -> str:
    """Return ``text``, cut at a word and given an ellipsis when it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[limit // 2 :] else cut).rstrip(" ,;:-(") + "…"


def fold(text: str) -> str:
    """Return one form of a text for all its spellings: what a person would call the same, a comparison finds.

    Letter case, white space of any kind (including the line separators of Unicode), composed and decomposed letters,
    characters that are not shown, and the escapes of Markdown make no difference.
    """
    if not text.isascii():
        import unicodedata  # noqa: PLC0415 (not for a hook)

        text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
        text = unicodedata.normalize("NFKC", text)  # casefolding may decompose letters
    if "\\" in text or "&" in text:
        text = _ESCAPE.sub("", text.replace("&lt;", "<").replace("&gt;", ">"))
    return " ".join(text.casefold().split())


def holds(text: str, needle: str) -> bool:
    """Return whether ``text`` contains ``needle`` when both are folded; an empty needle is contained in nothing."""
    plain = fold(needle)
    return bool(plain) and plain in fold(text)


def jaccard(one: Set[Any], other: Set[Any]) -> float:
    """Return the share of all members that both sets hold, 0 to 1; 0 when both are empty."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def overlap(one: Set[Any], other: Set[Any]) -> float:
    """Return the share of the smaller set's members that the larger one holds, 0 to 1; 0 when one is empty."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def coverage(claim: Set[Any], text: Set[Any]) -> float:
    """Return the share of ``claim`` that ``text`` holds, 0 to 1; 0 when ``claim`` is empty."""
    return len(claim & text) / len(claim) if claim else 0.0
