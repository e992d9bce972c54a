"""Printable: text without characters that would control a terminal or fake a line of output."""

from __future__ import annotations


def line(text: str) -> str:
    """Return ``text`` as one line: white space becomes single blanks, and control characters are removed."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())


def lines(text: str) -> str:
    """Return ``text`` without control characters other than line feeds and tabs."""
    return "".join(character for character in text if character in "\n\t" or character.isprintable())


def counted(number: int, noun: str) -> str:
    """Return ``number`` and ``noun``, regularly plural unless the number is 1: "1 model call", "1,200 entries"."""
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou") else f"{noun}s"
    return f"{number:,} {plural}"
