"""Prose: split technical English into sentences, words and phrases, by patterns alone."""

from __future__ import annotations

import unicodedata

from memoria.base.pattern import Pattern
from memoria.search.stemming import singular
from memoria.search.stop_words import COMMON_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SAME = 0.8  # least Jaccard similarity of the words of two sentences that say the same

_FENCE = Pattern(r"(?ms)^(`{3,}(?!`)|~{3,}(?!~)).*?^\1[`~]*\s*$|^(`{3,}|~{3,}).*\Z")
_BULLET = Pattern(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?")
_EMPHASIS = Pattern(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_END = Pattern(r"(?<!e\.g)(?<!i\.e)(?<!vs)(?<!etc)(?<!cf)(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9\"'`(\[@/])")
_WORD = Pattern(r"[A-Za-z][A-Za-z0-9'\u2019-]*[A-Za-z0-9]")


def plain(text: str) -> str:
    """Return the text without code blocks, tables, headings and emphasis."""
    text = _FENCE.sub("\n", text)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("|", "#", ">", "---", "==="))]
    return _EMPHASIS.sub(r"\2", "\n".join(lines))


def sentences(text: str) -> list[str]:
    """Return the sentences and list items of ``text``, in order, each on one line."""
    return [piece for line in _logical_lines(plain(text)) for piece in _split(line)]


def statements(text: str) -> list[str]:
    """Return the sentences of ``text`` outside list items."""
    return sentences("\n".join("" if _BULLET.match(line) else line for line in text.splitlines()))


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text; lines that an editor wrapped are joined."""
    held = ""
    for raw in text.splitlines():
        line = raw.strip()
        continues = held and line[:1].islower() and not _BULLET.match(raw) and held[-1] not in ".!?:"
        if continues:
            held = f"{held} {line}"
            continue
        if held:
            yield held
        held = _BULLET.sub("", line)
    if held:
        yield held


def _split(line: str) -> Iterator[str]:
    for piece in _END.split(line):
        sentence = " ".join(piece.split())
        if any(character.isalpha() for character in sentence):
            yield sentence


def words(text: str) -> list[str]:
    """Return the content words in lower case, in order, with simple plurals made singular."""
    found = (match.group().lower().replace("\u2019", "'") for match in _WORD.finditer(text))
    return [singular(word) for word in found if word not in COMMON_WORDS and len(word) > 2]


def content(text: str) -> frozenset[str]:
    """Return the content words of a sentence, or all of its words when it has none."""
    return frozenset(words(text)) or frozenset(match.group().lower() for match in _WORD.finditer(text))


_CLAUSE = Pattern(r"[.,;:!?()\[\]\"\u201c\u201d`/→\u2013\u2014]|\s-\s")
_NOT = ("n't", "n\u2019t")
_HUMP = Pattern(r"(?<=[a-z0-9])(?=[A-Z])")
_ASCII_WORD = Pattern(r"[a-z0-9]+")


def phrases(text: str) -> list[str]:
    """Return the pairs of neighbouring content words (``flush race``) in lower case, in order; ``doesn't`` is none."""
    found = []
    for clause in _CLAUSE.split(text):
        tokens = [match.group().lower() for match in _WORD.finditer(clause)]
        for first, second in zip(tokens, tokens[1:]):
            pair = (first, second)
            if all(len(token) > 2 and token not in COMMON_WORDS and not token.endswith(_NOT) for token in pair):
                found.append(f"{first} {singular(second)}")
    return found


def shorten(text: str, limit: int) -> str:
    """Return ``text``, cut at a word and given an ellipsis when it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[limit // 2 :] else cut).rstrip(" ,;:-(") + "…"


def slug(text: str) -> str:
    """Return the lower-case ASCII words of ``text``, joined by hyphens, at most 80 characters; may be empty."""
    spaced = _HUMP.sub(" ", text)
    ascii_text = unicodedata.normalize("NFKD", spaced).encode("ascii", "ignore").decode()
    return "-".join(_ASCII_WORD.findall(ascii_text.lower()))[:80].strip("-")
