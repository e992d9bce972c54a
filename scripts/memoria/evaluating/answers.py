"""Answers: what a session itself came to, as items that can be looked for in what the memory shows.

An item is a file that was touched, a command that was run, or an identifier that was used. The corrections and
preferences that the person stated are apart from them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memoria.search import cues, identifiers, shell_commands
from memoria.transcripts.turn import Exchange, Turn

FILE, COMMAND, IDENTIFIER = "file", "command", "identifier"
KINDS = (FILE, COMMAND, IDENTIFIER)
RULES = ("correction", "preference")  # kinds of facts that say how the person wants things done
MAX_ITEMS = 80  # of one exchange; a longer one would outweigh the others

_TOUCHED = re.compile(r"(?:Read|Edit|MultiEdit|Write|NotebookEdit) (?P<path>\S.*?)(?: from \d+ \(.*|: .*)?", re.DOTALL)


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMMON_FILES = _set(
    "index main mod lib init __init__ __main__ readme package setup config conftest utils types test app"
)
_MIN_NAME = 4  # characters of an identifier
_EDGES = frozenset("_-")


@dataclass(frozen=True, slots=True)
class Rule:
    """What a person wants done from now on; a correction says that something was done otherwise."""

    text: str
    is_correction: bool


@dataclass(frozen=True, slots=True)
class Item:
    """A ``kind`` and the ``name`` by which the item is looked for in a text."""

    kind: str
    name: str


def of(turns: Iterable[Turn]) -> list[Item]:
    """Return the items in the turns of an answer, each once."""
    found = dict.fromkeys(item for turn in turns for item in _of_turn(turn))
    return list(found)[:MAX_ITEMS]


def touched(turn: Turn) -> list[str]:
    """Return the paths of the files that a turn read or wrote."""
    return [match["path"] for line in turn.tools if (match := _TOUCHED.fullmatch(line))]


def _of_turn(turn: Turn) -> Iterator[Item]:
    yield from (Item(FILE, file_name(path)) for path in touched(turn))
    for line in turn.tools:
        if line.startswith("Bash "):
            yield from (Item(COMMAND, name) for name in shell_commands.names(line.removeprefix("Bash ")))
    if turn.role == "assistant":
        yield from (Item(IDENTIFIER, name) for name in names(turn.text))


def file_name(path: str) -> str:
    """Return a file's name, with its folder's when many files are called so."""
    folder, name = os.path.split(path.strip().replace("\\", "/"))
    is_common = name.partition(".")[0].casefold() in _COMMON_FILES or "." not in name
    return f"{os.path.basename(folder)}/{name}" if is_common and folder.strip("/") else name  # noqa: PTH119


def names(text: str) -> list[str]:
    """Return the identifiers in prose that are neither files nor phrases."""
    found = (name.rstrip("()") for name in identifiers.in_prose(text))
    return [name for name in found if len(name) >= _MIN_NAME and not identifiers.FILE.search(name) and " " not in name]


def rules(exchange: Exchange) -> list[Rule]:
    """Return the sentences of a prompt that hold the cue of a correction or a preference."""
    found = cues.stated("\n".join(exchange.texts("user")))
    return [Rule(sentence, kind == "correction") for sentence, kind in found if kind in RULES]


def text_of(turns: Sequence[Turn]) -> str:
    """Return what the turns of an answer say and do."""
    return "\n".join(part for turn in turns for part in (turn.text, *turn.tools) if part)


def stands(name: str, text: str) -> bool:
    """Return whether a name stands in a text as a word of its own."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if not (_joins(text[start - 1 : start]) or _joins(text[end : end + 1])):
            return True
        start = text.find(name, start + 1)
    return False


def _joins(letter: str) -> bool:
    return letter.isalnum() or letter in _EDGES if letter else False
