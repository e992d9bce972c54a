"""Prose: sentences, identifiers and words of technical English, by patterns alone.

What ``offline`` reads with. Knows text only: no task, no article, no turn.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

STOP_WORDS = frozenset(
    """a about above actually after again against all already also although always am among an and another any anything
    are as at away back be because been before being below best better between both but by call called came can cannot
    case change changed changes check come could currently did different do does doing done down due during each either
    else empty even ever every everything exactly existing fact few file files find fine first fix fixed following for
    found from full further get gets getting give given go goes going gone good got had happen happens has have having
    he help her here him his how however i if in inside instead into is issue it its itself just keep know last later
    least left less let like likely line lines little long look looks made main make makes making many matter may maybe
    me might mine more most much must my name need needed needs never new next no non none nor not nothing now of off
    often ok old on once one only onto open or other our out outside over own part per place please point possible
    previous probably problem properly put quite rather real really right run running runs said same say see seem seems
    seen set several she should show shows side simple simply since single so some something still such sure take takes
    test tests than that the their them then there these they thing things think this those though three through time to
    together too toward try trying turn two under until up update updated us use used user uses using usually very via
    want wants was way we well went were what when where whether which while who whole whose why will with within
    without work working works would wrong yes yet you your add added adds able across let's i'll it's don't that's i'm
    reason cause root caused means rest kind sort lot note""".split()  # noqa: SIM905 (quoted one by one they would fill three pages)
)

_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[`~]*\s*$|^(`{3,}|~{3,}).*\Z", re.MULTILINE | re.DOTALL)
_TAGS = (
    r"(?:ide_\w+|system-reminder|command-\w+|local-command-\w+|bash-\w+|task-notification|teammate-message|thinking)"
)
_CLIENT = re.compile(rf"<({_TAGS})>.*?</\1>|\[Image #\d+\]", re.DOTALL)  # what the client puts among the user's words
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!vs)(?<!etc)(?<!cf)(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9\"'`(\[@/])")
_IDENTIFIER = re.compile(
    r"`[^`\n]{2,80}`"  # what the writer marked as code
    r"|(?<![\w/.@-])@?(?:~|\.{1,2})?/?(?:[\w.@-]+/)+[\w.-]*\w"  # paths
    r"|\b[A-Za-z_][\w-]{0,80}\.(?:py|ts|tsx|js|jsx|go|rs|rb|java|c|h|cpp|md|json|toml|ya?ml|sql|sh|lock|html|css|txt|log)\b"
    r"|\b[a-z]+(?:_[a-z0-9]+)+\b(?:\(\))?"  # snake_case
    r"|\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b"  # CONSTANTS
    r"|\b[a-z]+[A-Z]\w+\b|\b(?:[A-Z][a-z0-9]+){2,}\b"  # camelCase, CamelCase
    r"|\b[A-Z]{2,}[a-z]{2,}\w*\b"  # SQLite
    r"|(?<!\w)--[a-z][a-z-]+"  # options
)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9'\u2019-]*[A-Za-z0-9]")


def plain(text: str) -> str:
    """The text without code blocks, tables, headings and emphasis."""
    text = _FENCE.sub("\n", text)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("|", "#", ">", "---", "==="))]
    return _EMPHASIS.sub(r"\2", "\n".join(lines))


def sentences(text: str) -> list[str]:
    """The sentences and list items of ``text``, in order, each on one line."""
    return [piece for line in _logical_lines(plain(text)) for piece in _split(line)]


def statements(text: str) -> list[str]:
    """The sentences of ``text`` that are no list items."""
    return sentences("\n".join("" if _BULLET.match(line) else line for line in text.splitlines()))


def _logical_lines(text: str) -> Iterator[str]:
    """Lines, with those that an editor wrapped joined again."""
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


def identifiers(text: str) -> list[str]:
    """Names a reader would search for (code, paths, CamelCase, snake_case, options), in order, each once."""
    found: dict[str, None] = {}
    for match in _IDENTIFIER.finditer(text):
        name = match.group().strip("`").strip()
        if len(name) > 2 and any(character.isalpha() for character in name):
            found[name] = None
    return list(found)


def words(text: str) -> list[str]:
    """The words that carry meaning, lower case, in order, with simple plurals made singular."""
    found = (match.group().lower().replace("\u2019", "'") for match in _WORD.finditer(text))
    return [_singular(word) for word in found if word not in STOP_WORDS and len(word) > 2]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def phrases(text: str) -> list[str]:
    """Pairs of neighbouring words that carry meaning (``flush race``), lower case, in order."""
    found = []
    for clause in re.split(r"[.,;:!?()\[\]\"\u201c\u201d`/→\u2013\u2014]|\s-\s", text):
        tokens = [match.group().lower() for match in _WORD.finditer(clause)]
        for first, second in pairwise(tokens):
            if all(len(token) > 2 and token not in STOP_WORDS for token in (first, second)):
                found.append(f"{first} {_singular(second)}")
    return found


def shorten(text: str, limit: int) -> str:
    """``text`` cut at a word with an ellipsis when it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[limit // 2 :] else cut).rstrip(" ,;:-(") + "…"


def slug(text: str) -> str:
    """Lower-case ASCII words joined by hyphens, at most 80 characters; CamelCase is taken apart; may be empty."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    ascii_text = unicodedata.normalize("NFKD", spaced).encode("ascii", "ignore").decode()
    return "-".join(re.findall(r"[a-z0-9]+", ascii_text.lower()))[:80].strip("-")
