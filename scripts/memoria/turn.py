"""Turns: what was said and done, read from the client's transcript lines.

A turn is one kept transcript line: a prompt, a piece of an answer, a failed tool's first lines. Its ``key`` comes from
the line's uuid, so that overlapping slices, forks, resumes and rewritten transcripts cannot make it count twice.
Knows the transcript's schema; does not know files, jobs or models.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Role = Literal["user", "assistant", "error", "note"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One kept transcript line.

    ``role``: ``user`` (typed by the person), ``assistant`` (text and/or tool lines), ``error`` (a tool's failure, first
    lines), ``note`` (a summary the client itself wrote). ``tools``: one line per tool use with what identifies it.
    ``time`` is UTC, None when the line carries none.
    """

    key: str
    role: Role
    text: str
    tools: tuple[str, ...] = ()
    time: datetime | None = None
    message_id: str = ""
    cwd: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user turn and what answered it; the first of a session may begin without a user turn."""

    turns: tuple[Turn, ...]
