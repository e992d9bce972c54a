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
