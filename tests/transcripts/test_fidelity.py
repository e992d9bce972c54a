"""Fidelity: what the model is given still names what a session was about.

The yardstick is Claude Code's own compaction summaries: the identifiers in one (paths, `code`, snake_case and CamelCase
names) are looked up in what stood before it. Where a folder of real transcripts holds no such summary, texts that
Claude wrote about the same session are the yardstick, and what is given is compared with the ceiling: all text and
every raw tool input. 80 % of the summaries' identifiers against a ceiling of 84 % is 95 % of what can be had.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memoria.transcripts.json_lines import objects
from memoria.transcripts.turn import Reader, Turn, exchanges
from places import SHARED, TRANSCRIPTS

REAL = SHARED / "transcripts"
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

    def given(self) -> str:
        return "".join(part.text() for part in exchanges(self.turns))


@dataclass
class Shares:
    """Mean share of the identifiers found in each window."""

    count: int = 0
    window: float = 0
    given: float = 0
    ceiling: float = 0

    def add(self, reference: str, past: Past) -> None:
        wanted = identifiers(reference)
        for name in ("window", "given", "ceiling"):
            seen = getattr(past, name)()
            share = sum(word in seen for word in wanted) / len(wanted)
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


def test_a_hand_made_summary_finds_its_names_again() -> None:
    shares = measure([TRANSCRIPTS / "compaction.jsonl"], summaries, 5, 1)
    assert shares.count == 1
    assert shares.given >= 0.8
    assert shares.given > shares.window


@pytest.mark.skipif(not REAL.is_dir(), reason="the shared transcripts are not here")
def test_at_least_80_percent_of_the_clients_own_summaries_are_given_to_the_model() -> None:
    shares = measure(sorted(REAL.glob("*.jsonl")), summaries, 5, 5)
    if not shares.count:
        pytest.skip("none of these transcripts holds a compaction summary")
    assert shares.given >= 0.8


@pytest.mark.skipif(not REAL.is_dir(), reason="the shared transcripts are not here")
def test_what_is_given_names_at_least_95_percent_of_what_all_text_and_tool_inputs_name() -> None:
    shares = measure(sorted(REAL.glob("*.jsonl")), recaps, 8, 40)
    assert shares.count >= 10
    assert shares.given >= 0.95 * shares.ceiling
    assert shares.given >= 1.3 * shares.window
