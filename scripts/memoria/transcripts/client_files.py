"""Client files: the transcripts that Claude Code still has, or a folder of them from elsewhere, and their lines.

The client keeps a session at ``<config>/projects/<folder>/<session>.jsonl`` and deletes it some days after its last
line (setting ``cleanupPeriodDays``, 30: https://code.claude.com/docs/en/settings). What its sub-agents said lies
beside it (``agent-*.jsonl``) or below (``<session>/subagents/``). Knows where files lie and what their first lines say;
does not know turns or what was kept of them.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from memoria.capture import cursor
from memoria.ground import clock

Json = dict[str, Any]

_DECODER = json.JSONDecoder(strict=False)
_MORE = re.compile(r"[^ \t\r\n\0\ufeff]")
_START = re.compile(r'\{\s*"(?:parentUuid|type|uuid|sessionId)"\s*:')
_KINDS = ("assistant", "user", "attachment", "memoria-note", "queue-operation")  # of lines that turns can be made of
HEAD_BYTES = 1_000_000  # in which what a transcript says of its session is looked for; a line may be of any length
_RECOVERIES = 16  # starts tried after a broken beginning; keeps a hostile line linear


@dataclass(frozen=True, slots=True)
class Found:
    """One transcript file: ``size`` in bytes, ``changed_ns`` since the epoch, ``side``: what a sub-agent said.

    ``agent`` names the client that wrote it, ``session`` the session that its name or place says.
    """

    path: Path
    size: int
    changed_ns: int
    side: bool
    agent: str = "claude"
    session: str = ""

    @property
    def changed_s(self) -> float:
        """When it last grew, seconds since the epoch."""
        return self.changed_ns / 1e9

    @property
    def stamp(self) -> str:
        """A text that differs once the file was written."""
        return f"{self.changed_ns}-{self.size}"


@dataclass(frozen=True, slots=True)
class Head:
    """What the first lines say: the session's id, its working folder, how it was started (``cli``), and when."""

    session: str
    cwd: str = ""
    entrypoint: str = ""
    began: str = ""  # ISO 8601


def folder(environ: Mapping[str, str]) -> Path:
    """Return where the client keeps transcripts."""
    named = environ.get("CLAUDE_CONFIG_DIR")
    return (Path(named).expanduser() if named else Path.home() / ".claude") / "projects"


def transcripts(root: Path, *, sides: bool = False) -> list[Found]:
    """Return the transcripts at or under ``root``; ``sides``: sub-agents' too.

    What is no regular file or vanishes meanwhile is passed over.
    """
    found = (item for path in _files(root) for item in find_at(path, session=path.stem, side=_is_side(path)))
    return [item for item in found if sides or not item.side]


def sort(items: Iterable[Found]) -> list[Found]:
    """Return the transcripts, the one that changed longest ago first."""
    return sorted(items, key=lambda item: (item.changed_ns, item.path))


def _files(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        yield root
        return
    for place, _, names in os.walk(root):
        yield from (Path(place, name) for name in names if name.endswith(".jsonl"))


def find_at(path: Path, *, session: str, side: bool, agent: str = "claude") -> Iterator[Found]:
    """Yield a transcript; nothing when the path is no regular file, or has vanished."""
    try:
        status = path.stat()
    except OSError:
        return
    if stat.S_ISREG(status.st_mode):
        yield Found(path, status.st_size, status.st_mtime_ns, side, agent, session)


def _is_side(path: Path) -> bool:
    return path.name.startswith("agent-") or "subagents" in path.parts


def head(path: Path) -> Head:
    """Return the transcript's head; OSError when it cannot be read.

    A session is called as its file is: the first lines of one that was resumed or forked may name the one before. A
    sub-agent's file belongs to the session that its lines name.
    """
    session = "" if _is_side(path) else path.stem
    cwd = entrypoint = began = ""
    with path.open("rb") as file:
        while not (session and cwd) and file.tell() < HEAD_BYTES and (line := file.readline(HEAD_BYTES)):
            for value in objects(line):
                session = session or text_of(value, "sessionId")
                cwd = cwd or text_of(value, "cwd")
                entrypoint = entrypoint or text_of(value, "entrypoint")
                began = began or text_of(value, "timestamp")
    return Head(session or path.stem, cwd, entrypoint, began)


def lines(path: Path) -> Iterator[bytes]:
    """Yield the transcript's lines; OSError when it cannot be read."""
    with path.open("rb") as file:
        yield from file


def cwds(path: Path) -> Iterator[str]:
    """Yield the working folders that a transcript's lines name; OSError when it cannot be read."""
    for line in lines(path):
        yield from cursor.folders(line)


def text_of(value: Any, name: str) -> str:
    """Return the text under a key, ``""`` when there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def moment(text: str, zone: clock.Zone, now: datetime) -> float:
    """Return the start of a day (``2026-11-01``, ``14d``) in seconds since the epoch; raise ValueError for others."""
    if text.endswith("d") and text[:-1].isdigit():
        day = zone.day(now - timedelta(days=int(text[:-1])))
    else:
        day = date.fromisoformat(text)
    return datetime.combine(day, time(), tzinfo=zone.zone).timestamp()


def objects(line: bytes) -> list[Json]:
    """Return every JSON object on a line, whole and in order; what cannot be read is passed over.

    Real files hold glued objects, half-written lines, broken UTF-8, NULs and deep nesting.
    """
    text = line.decode("utf-8", "replace")
    found: list[Json] = []
    at, tries = 0, 0
    while (begins := _MORE.search(text, at)) and tries < _RECOVERIES:
        try:
            value, at = _DECODER.raw_decode(text, begins.start())
        except (ValueError, RecursionError):
            at = _next_start(text, begins.end())
            tries += 1
            continue
        # After a broken start an inner object must not pass for a line: only real lines carry their session.
        if isinstance(value, dict) and (not tries or {"type", "sessionId"} <= value.keys()):
            found.append(value)
    return found


def decode(lines: Iterable[bytes], unreadable: Callable[[], None]) -> Iterator[Json]:
    """Yield the objects on these lines that turns can be made of.

    ``unreadable`` is called for a whole line that holds something and from which no object can be read.
    """
    for line in lines:
        found = objects(line)
        if not found and line.endswith(b"\n") and line.strip(b" \t\r\n\0"):
            unreadable()
        yield from (value for value in found if value.get("type") in _KINDS)


def _next_start(text: str, at: int) -> int:
    found = _START.search(text, at)
    return found.start() if found else len(text)
