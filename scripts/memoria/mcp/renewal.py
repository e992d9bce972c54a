"""Renewal: pass a client on to a new server when memoria's files were replaced under this one.

An update (``uv tool upgrade``, ``git pull``) replaces the files of a server that runs. What it imports after that is of
another version than what it has imported, or missing. So the first message after an update starts a server from the new
files, and this process only passes lines between it and the client from then on. What was asked before is still
answered here.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import Process, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream

from memoria.base import paths

log = logging.getLogger(__name__)

STAMP = Path(paths.PACKAGE, "__init__.py")  # every release changes it: it holds the version
GREETING = ("initialize", "notifications/initialized")
PING = "memoria-renewal"  # id of the question whose answer shows that the new server runs
TRIES = 10  # an update may be halfway when it is noticed
RETRY_S = 0.5
START_S = 20.0  # for one try
ENDED = {"code": -32603, "message": "memoria's server ended; ask again."}
MAX_LINE = 64 * 1024 * 1024
GONE = (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError)


class Renewal:
    """Passes the messages of one client on, once this process's files were replaced."""

    def __init__(self, tell: Callable[[bytes], Awaitable[None]], tasks: TaskGroup, session: str) -> None:
        """Note the present files. ``tell`` passes a line to the client; a new server is to serve ``session``, too."""
        self._tell = tell
        self._tasks = tasks
        self._command = paths.own_command(sys.executable, "mcp", "--session", session)
        self._tried = _stamp()
        self._greeting: list[bytes] = []
        self._server: Process | None = None
        self._waiting: set[str | int] = set()

    async def takes(self, line: bytes) -> bool:
        """Return whether the client's message was given to a new server, which then answers it."""
        message = json.loads(line)
        if message.get("method") in GREETING:
            self._greeting.append(line + b"\n")
        found = _stamp()
        if self._server is None and found not in ("", self._tried):
            self._server = await self._started()
            self._tried = found
        if self._server is None or self._server.stdin is None:
            return False
        try:
            await self._server.stdin.send(line + b"\n")
        except GONE:
            return False
        if "method" in message and "id" in message:
            self._waiting.add(message["id"])
        return True

    async def end(self) -> None:
        """Tell the new server that the client has ended."""
        if self._server is not None and self._server.stdin is not None:
            with suppress(*GONE):
                await self._server.stdin.aclose()

    async def _started(self) -> Process | None:
        """Return a new server that has been greeted as this one was; None when none can be started."""
        for _ in range(TRIES):
            with suppress(OSError):
                server = await anyio.open_process(self._command, stderr=None)
                with anyio.move_on_after(START_S), suppress(*GONE):
                    self._tasks.start_soon(self._pass_back, await self._greeted(server))
                    return server
                server.kill()
            await anyio.sleep(RETRY_S)
        log.warning("memoria was updated, but its new MCP server cannot be started")
        return None

    async def _greeted(self, server: Process) -> BufferedByteReceiveStream:
        """Repeat the client's greeting to a server and return its answers; those to the greeting are left out."""
        assert server.stdin is not None  # noqa: S101 (a pipe by default)
        assert server.stdout is not None  # noqa: S101
        ping = json.dumps({"jsonrpc": "2.0", "id": PING, "method": "ping"}).encode() + b"\n"
        await server.stdin.send(b"".join([*self._greeting, ping]))
        answers = BufferedByteReceiveStream(server.stdout)
        while json.loads(await answers.receive_until(b"\n", MAX_LINE)).get("id") != PING:
            pass
        return answers

    async def _pass_back(self, answers: BufferedByteReceiveStream) -> None:
        """Pass a server's answers to the client until it ends; what it leaves unanswered is an error."""
        with suppress(*GONE):
            while True:
                line = await answers.receive_until(b"\n", MAX_LINE)
                self._waiting.discard(json.loads(line).get("id", ""))
                await self._tell(line)
        self._server = None
        for ident in sorted(self._waiting, key=str):
            with suppress(*GONE):
                await self._tell(json.dumps({"jsonrpc": "2.0", "id": ident, "error": ENDED}).encode())
        self._waiting.clear()


def _stamp() -> str:
    """Return what differs when memoria was replaced; ``""`` while it is missing."""
    try:
        status = STAMP.stat()
    except OSError:
        return ""
    return f"{status.st_mtime_ns}-{status.st_ino}-{status.st_size}"
