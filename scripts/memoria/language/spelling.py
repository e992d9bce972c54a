"""Spelling: write out the words that people shorten while they type, so that patterns need one form of each."""

from __future__ import annotations

from memoria.language.pattern import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_SHORT = Pattern(
    r"(?i)\b(?:(?P<verb>do|does|did|is|are|was|were|have|has|had|should|must|would|could)(?P<n>n)(?P<t>t)|"
    r"cant|wont|everytime|pls|plz|u|ur|remeber)\b|(?P<mark>\u2019)"
)
_WORDS = {
    "cant": "can't", "wont": "won't", "everytime": "every time", "pls": "please", "plz": "please", "u": "you",
    "ur": "your", "remeber": "remember",
}  # fmt: skip


def spelled(text: str) -> str:
    """Return a text with apostrophes in "dont" and "cant", "u" and "pls" as words, and one space between words."""
    return " ".join(_SHORT.sub(_written, text).split())


def _written(match: re.Match[str]) -> str:
    if match["mark"]:
        return "'"
    if match["verb"]:
        return f"{match['verb']}{match['n']}'{match['t']}"
    return _WORDS[match[0].lower()]
