"""Volume: how much conversation a transcript holds, for an estimate beforehand.

Counts what ``turn`` would keep, near enough for a price: the worker reads the same file exactly. Takes a line at a time
and builds little of it. Held against the exact reader in bench/ingest.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoria.transcripts import answers
from memoria.transcripts.clients import table
from memoria.transcripts.clients.client import Client
from memoria.transcripts.decoder import may_name, output

# Characters that reach the model for one line of a kind, measured over 73 real transcripts (bench/ingest.py).
TOOL_CHARS, ERROR_CHARS, LABEL_CHARS = 160, 260, 14
FAILING = 0.047  # of tool results, 1,754 of 37,304 in 741 transcripts: only failures are kept, and looking costs a scan

_NOT_TYPED = ("<", "Caveat: The messages below", "This session is being continued", "[Request interrupted")
_REPORTS = "totalToolUseCount"  # what only the result of a sub-agent has
_FLAGS = ("isSidechain", "isMeta", "isCompactSummary")


@dataclass(slots=True)
class Volume:
    """Counted so far: lines, tool results, and the turns and characters of all else that a model would be given."""

    lines: int = 0
    results: int = 0
    said: int = 0
    said_chars: int = 0

    @property
    def turns(self) -> int:
        """About how many turns there are."""
        return self.said + round(self.results * FAILING)

    @property
    def chars(self) -> int:
        """About how many characters reach the model."""
        return self.said_chars + round(self.results * FAILING * ERROR_CHARS)

    def __add__(self, other: Volume) -> Volume:
        """Two counts together."""
        return Volume(
            self.lines + other.lines,
            self.results + other.results,
            self.said + other.said,
            self.said_chars + other.said_chars,
        )


def count(path: Path, client: Client = table.CLAUDE) -> Volume:
    """The census of one transcript; OSError when it cannot be read."""
    census = Volume()
    for value in client.decoder()(_counted(client.lines(path), census), lambda: None):
        if not any(value.get(flag) is True for flag in _FLAGS):
            _add(value, census)
    return census


def _counted(lines: Iterable[bytes], census: Volume) -> Iterator[bytes]:
    for line in lines:
        census.lines += 1
        yield line


def _add(value: dict[str, Any], census: Volume) -> None:
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else message
    blocks = content if isinstance(content, list) else [content]
    kinds = [block.get("type") if isinstance(block, dict) else "text" for block in blocks]
    if value["type"] == "user" and "tool_result" in kinds:  # the tools' own words, unless one failed or reports
        census.results += 1
        census.said_chars += _report_chars(value)
        return
    said = sum(map(_size, blocks))
    tools = kinds.count("tool_use")
    if tools:
        said += sum(map(_plan_chars, blocks))
    if value["type"] in ("user", "assistant") and (said or tools):
        census.said += 1
        census.said_chars += said + tools * TOOL_CHARS + (LABEL_CHARS if said else 0)


def _report_chars(value: dict[str, Any]) -> int:
    """Return the characters of a sub-agent's report, 0 for the result of any other tool."""
    if not may_name(value, "toolUseResult", _REPORTS):
        return 0
    report = answers.report(None, output(value, "toolUseResult"), None)
    return len(report) + LABEL_CHARS if report else 0


def _plan_chars(block: object) -> int:
    """Return the characters of a plan that was put before the user, which is kept whole."""
    if not isinstance(block, dict) or block.get("name") not in answers.PLANS:
        return 0
    given = block.get("input")
    plan = given.get("plan") if isinstance(given, dict) else None
    return len(plan) if isinstance(plan, str) else 0


def _size(block: object) -> int:
    """The characters of a text, without what the client writes in the user's name."""
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else block
    return len(text) if isinstance(text, str) and not text.startswith(_NOT_TYPED) else 0
