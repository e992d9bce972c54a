"""Refusal: why nothing may be written into memory now, and tools that ask before they write.

Settings and folders are looked at for every call, because memoria can be switched off, a folder excluded, or the
session's folder changed while the server runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from memoria.base import exclude
from memoria.base.paths import Paths, safe_name
from memoria.base.settings import Settings
from memoria.capture import cursor, transcript
from memoria.ground.errors import ExpectedError
from memoria.mcp.tools import Tool
from memoria.transcripts.screen import Tombstones

TAIL_BYTES = 256_000  # of the transcript, searched for the folder that the session is in now
_REMOVING = ("forget",)  # tools that write nothing new


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is known of the client's session: its id and the ``folder`` of its project."""

    paths: Paths
    session: str
    folder: str

    def reason(self, given: dict[str, Any]) -> str:
        """Return why the arguments of a call may not be stored, ``""`` when they may."""
        settings = Settings.load()
        if settings.refusal:
            return settings.refusal
        if settings.disabled:
            return "memoria is switched off"
        quiet = cursor.paused(self.paths.cursors, safe_name(self.session))
        if quiet is not None and quiet.is_open:
            return "memoria is switched off in this session"
        if reason := exclude.reason(self._now_in() or self.folder, settings, self.paths):
            return f"this folder is {reason}"
        if Tombstones.of(self.paths).line_holds(json.dumps(given).encode()):
            return "it contains a text that the user had memoria forget"
        return ""

    def _now_in(self) -> str:
        """Return the folder that the last line of the session's transcript names, ``""`` when that is not known."""
        place = cursor.latest(self.paths.cursors, safe_name(self.session))
        path = place.transcript if place else transcript.locate("", self.session, self.folder)
        try:
            with open(path, "rb") as file:  # noqa: PTH123 (a path as the client gave it)
                file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
                lines = file.read(TAIL_BYTES).split(b"\n")
        except OSError:
            return ""
        for line in reversed(lines):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):  # no line, or the end of one
                continue
            if isinstance(value, dict) and isinstance(value.get("cwd"), str):
                return str(value["cwd"])
        return ""


def asking(tools: Iterable[Tool], refusal: Refusal) -> list[Tool]:
    """Return the tools; those that write, or ask a model, raise ExpectedError instead while that is refused."""
    return [tool if tool.reads_only or tool.name in _REMOVING else _asking(tool, refusal) for tool in tools]


def _asking(tool: Tool, refusal: Refusal) -> Tool:
    async def run(given: dict[str, Any]) -> str:
        if reason := refusal.reason(given):
            raise ExpectedError(f"nothing was {'asked' if tool.is_open else 'stored'}: {reason}")
        return await tool.run(given)

    return replace(tool, run=run)
