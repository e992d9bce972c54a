"""Printable: text without characters that would control a terminal or fake a line of output."""

from __future__ import annotations


def line(text: str) -> str:
    """Return ``text`` as one line: white space becomes single blanks, and control characters are removed."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())


def lines(text: str) -> str:
    """Return ``text`` without control characters other than line feeds and tabs."""
    return "".join(character for character in text if character in "\n\t" or character.isprintable())
