"""Highlight: a passage for a person, with the words that were looked for marked."""

from __future__ import annotations

from collections.abc import Collection

from memoria.ground import printable
from memoria.search import tokens

SNIPPET_CHARS = 300
BEFORE_WORDS = 12  # shown before the first word that was found


def highlight(text: str, wanted: Collection[str]) -> str:
    """Return at most SNIPPET_CHARS around the first found word, on one line, with found words between asterisks.

    Control characters are left out: what was remembered must not control the terminal.
    """
    return " ".join(f"**{word}**" if is_found else word for word, is_found in excerpt(text, wanted))


def excerpt(text: str, wanted: Collection[str]) -> list[tuple[str, bool]]:
    """Return the words around the first found word, each with whether it is one that was found."""
    words = printable.line(text).split()
    found = [not set(wanted).isdisjoint(tokens.terms(word)) for word in words]
    first = found.index(True) if True in found else 0
    length, start = 0, max(first - BEFORE_WORDS, 0)
    shown = [("…", False)] if start else []
    for word, is_found in zip(words[start:], found[start:], strict=True):
        if length + len(word) > SNIPPET_CHARS:
            is_first = len(shown) == bool(start)
            shown.append((word[:SNIPPET_CHARS] + "…" if is_first else "…", False))
            break
        shown.append((word, is_found))
        length += len(word) + 1
    return shown
