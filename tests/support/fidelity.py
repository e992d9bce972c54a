"""How much of what a session named the model is given: the windows, and the texts that are the yardstick."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memoria.transcripts import steps
from memoria.transcripts.client_files import objects
from memoria.transcripts.turn import Turn, exchanges
from memoria.transcripts.turn_reader import Reader

IDENTIFIER = re.compile(
    r"`(?P<code>[^`\n]{2,80})`"
    r"|(?P<path>(?:[\w.~@-]*/)+[\w.@-]+)"
    r"|\b(?P<name>[A-Za-z]+(?:_[A-Za-z0-9]+)+|_?[a-z0-9]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*)\b"
)
RECAP = 900  # characters from which an answer is a recap of the session rather than a step
WINDOW_TURNS, WINDOW_CHARS = 30, 15_000


def identifiers(text: str) -> set[str]:
    return {match[match.lastgroup or 0].strip("./`") for match in IDENTIFIER.finditer(text)}


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


@dataclass
class Past:
    """Everything before a line, as different windows see it."""

    turns: list[Turn] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)

    def texts(self) -> list[str]:
        return [turn.text for turn in self.turns if turn.role in ("user", "assistant") and turn.text]

    def window(self) -> str:
        return "\n".join(self.texts()[-WINDOW_TURNS:])[-WINDOW_CHARS:]

    def ceiling(self) -> str:
        return "\n".join([*self.texts(), *self.inputs])

    def folder(self) -> str:
        return next((turn.cwd for turn in self.turns if turn.cwd), "")

    def given(self) -> str:
        """Return what a model is told; its paths below the project's folder are relative."""
        told = steps.of(exchanges(self.turns), self.folder())
        return "\n".join(text for exchange in told for _, text in exchange)


@dataclass
class Shares:
    """Mean share of the identifiers found in each window."""

    count: int = 0
    window: float = 0
    given: float = 0
    ceiling: float = 0

    def add(self, reference: str, past: Past) -> None:
        wanted = identifiers(reference)
        folder = past.folder().strip("./") + "/"
        for name in ("window", "given", "ceiling"):
            seen = getattr(past, name)()
            share = sum(word in seen or word.removeprefix(folder) in seen for word in wanted) / len(wanted)
            setattr(self, name, (getattr(self, name) * self.count + share) / (self.count + 1))
        self.count += 1


def blocks(value: dict[str, Any]) -> list[dict[str, Any]]:
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def summaries(value: dict[str, Any]) -> list[str]:
    return ["\n".join(strings(value["message"]))] if value.get("isCompactSummary") is True else []


def recaps(value: dict[str, Any]) -> list[str]:
    if value.get("type") != "assistant" or value.get("isSidechain") is True:
        return []
    written = [str(block.get("text") or block.get("thinking") or "") for block in blocks(value)]
    return [text for text in written if len(text) >= RECAP]


def measure(paths: Iterable[Path], references: Any, least: int, turns: int) -> Shares:
    shares = Shares()
    for path in paths:
        past, reader = Past(), Reader()
        for line in path.read_bytes().splitlines(keepends=True):
            for value in objects(line):
                for reference in references(value):
                    if len(identifiers(reference)) >= least and len(past.turns) >= turns:
                        shares.add(reference, past)
                past.inputs += (
                    text
                    for block in blocks(value)
                    if block.get("type") == "tool_use"
                    for text in strings(block["input"])
                )
            past.turns += reader.read([line])
    return shares
