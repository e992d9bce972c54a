"""Printable: remembered text without what would steer a terminal or forge a line.

Knows characters, not what they say.
"""

from __future__ import annotations


def line(text: str) -> str:
    """Return ``text`` as one line: runs of blanks and line breaks become one blank, control characters go."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())


def lines(text: str) -> str:
    """Return ``text`` with its line breaks and tabs and without any other control character."""
    return "".join(character for character in text if character in "\n\t" or character.isprintable())


def counted(number: int, noun: str) -> str:
    """Return ``number`` and ``noun``, regularly plural unless the number is 1: "1 model call", "1,200 entries"."""
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou") else f"{noun}s"
    return f"{number:,} {plural}"
