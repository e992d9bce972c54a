"""Calls: run the tools that the client of one session calls, each in a thread of its own.

What a call may not store, because memoria is switched off, the folder is excluded or the user had it forgotten, is
looked at for every call: all of that may change while the server runs.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING

from memoria.base import exclude
from memoria.base.fence import defuse
from memoria.base.paths import safe_name
from memoria.base.settings import Settings
from memoria.base.visibility import Visibility
from memoria.capture import cursor
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.mcp.tools import TOOLS, Json
from memoria.models.answer import problems
from memoria.transcripts.screen import Tombstones

if TYPE_CHECKING:
    from memoria.mcp.memory_tools import Memory

ERROR_CHARS = 2_000
THREADS = 8
TAIL_BYTES = 256_000  # of the transcript, searched for the folder that the session is in now


class Session:
    """A client's session: its id, and the project (by key) that it runs in, in ``folder``."""

    def __init__(self, home: Home, project: str, ident: str, folder: str = "") -> None:
        self.home = home
        self.project = project
        self.ident = ident
        self.folder = folder
        self.redactor = Redactor(home.settings.redact_extra)
        self._threads = ThreadPoolExecutor(THREADS)

    @property
    def visible(self) -> Visibility:
        """What the session may be shown."""
        return Visibility(self.home.settings, self.home.paths, self.project)

    @cached_property
    def memory(self) -> Memory:
        """Working memory, opened by its first use."""
        from memoria.mcp.memory_tools import Memory  # noqa: PLC0415 (6 MB, which other tools do without)

        return Memory(self.home, self.ident, self.project)

    def begin(self, given: Json) -> Future[Json]:
        """Begin to answer a call."""
        return self._threads.submit(run_call, self, given)

    def close(self) -> None:
        """Wait for what runs, and close working memory, if it was used."""
        self._threads.shutdown()
        if "memory" in self.__dict__:
            self.memory.close()

    def refusal(self, given: Json) -> str:
        """Return why the arguments of a call may not be stored, ``""`` when they may."""
        settings, paths = Settings.load(), self.home.paths
        if settings.refusal:
            return settings.refusal
        if settings.disabled:
            return "memoria is switched off"
        quiet = cursor.paused_spans(paths.cursors, safe_name(self.ident))
        if quiet is not None and quiet.is_open:
            return "memoria is switched off in this session"
        if reason := exclude.reason(self._now_in() or self.folder, settings, paths):
            return f"this folder is {reason}"
        if Tombstones(paths).line_holds(json.dumps(given).encode()):
            return "it contains a text that the user had memoria forget"
        return ""

    def _now_in(self) -> str:
        """Return the folder that the last line of the session's transcript names, ``""`` when that is not known."""
        place = cursor.find_latest(self.home.paths.cursors, safe_name(self.ident))
        if place is None:
            return ""
        try:
            with open(place.transcript, "rb") as file:  # noqa: PTH123 (a path as the client gave it)
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


def run_call(session: Session, given: Json) -> Json:
    """Return the result of a call: a tool's answer, or what is wrong, in words that a model can act on."""
    name, arguments = str(given.get("name")), given.get("arguments") or {}
    tool = next((tool for tool in TOOLS if tool.name == name), None)
    if tool is None:
        return _answer(f"There is no tool {name[:100]!r}; there are {', '.join(tool.name for tool in TOOLS)}.", True)
    if found := [f"{place or 'the call'} {problem}" for place, problem in problems(tool.schema, arguments)]:
        return _answer(f"{tool.name} was not run: " + "; ".join(found[:5]), True)
    if tool.writes and (reason := session.refusal(arguments)):
        return _answer(f"{tool.name}: nothing was {'asked' if tool.is_open else 'stored'}: {reason}", True)
    try:
        return _answer(tool.run(session, arguments))
    except ExpectedError as error:
        return _answer(f"{tool.name}: {error}", True)


def _answer(text: str, failed: bool = False) -> Json:
    """Return a call's result. Tools fence stored text themselves; an error may quote some, so it is made harmless."""
    text = defuse(" ".join(text.split())[:ERROR_CHARS]) if failed else text
    return {"content": [{"type": "text", "text": text}], "isError": failed}
