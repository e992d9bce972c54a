"""Folding: one form of a text for all its spellings, so that a comparison finds what a person would call the same.

Letter case, white space of any kind (including the line separators of Unicode), composed and decomposed letters, and
characters that are not shown make no difference.
"""

from __future__ import annotations

import unicodedata

# Soft hyphen, zero-width characters, direction marks, word joiner, variation selectors, byte order mark.
_INVISIBLE = dict.fromkeys(
    (0xAD, 0x34F, 0x61C, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x2070),
     *range(0xFE00, 0xFE10), 0xFEFF)
)  # fmt: skip


def folded(text: str) -> str:
    """Return ``text`` normalised for comparison."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_INVISIBLE)).casefold()
        text = unicodedata.normalize("NFKC", text)  # casefolding may decompose letters
    return " ".join(text.casefold().split())


def holds(text: str, needle: str) -> bool:
    """Return whether ``text`` contains ``needle`` when both are folded; an empty needle is contained in nothing."""
    plain = folded(needle)
    return bool(plain) and plain in folded(text)
