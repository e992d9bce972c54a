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
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoria.base import paths

if TYPE_CHECKING:
    import subprocess

log = logging.getLogger(__name__)

STAMP = Path(paths.PACKAGE, "__init__.py")  # every release changes it: it holds the version
GREETING = ("initialize", "notifications/initialized")
PING = "memoria-renewal"  # id of the question whose answer shows that the new server runs
TRIES = 10  # an update may be halfway when it is noticed
RETRY_S = 0.5
START_S = 20.0  # for one try
ENDED = {"code": -32603, "message": "memoria's server ended; ask again."}


class Renewal:
    """Passes the messages of one client on, once this process's files were replaced."""

    def __init__(self, tell: Callable[[bytes], None], session: str) -> None:
        """Note the present files. ``tell`` passes a line to the client; a new server is to serve ``session``, too."""
        self._tell = tell
        self._command = paths.own_command(sys.executable, "mcp", "--session", session)
        self._tried = _stamp()
        self._greeting: list[bytes] = []
        self._server: subprocess.Popen[bytes] | None = None
        self._passing: threading.Thread | None = None
        self._waiting: set[str | int] = set()

    def takes(self, message: dict[str, Any], line: bytes) -> bool:
        """Return whether the client's message was given to a new server, which then answers it."""
        if message.get("method") in GREETING:
            self._greeting.append(line + b"\n")
        found = _stamp()
        if self._server is None and found not in ("", self._tried):
            self._server = self._started()
            self._tried = found
        server = self._server
        if server is None or server.stdin is None:
            return False
        ident = message["id"] if "method" in message and "id" in message else None
        if ident is not None:
            self._waiting.add(ident)
        try:
            server.stdin.write(line + b"\n")
            server.stdin.flush()
        except OSError:
            was_waiting = ident in self._waiting  # else it was answered as the server ended
            self._waiting.discard(ident or "")
            return not was_waiting
        return True

    def end(self) -> None:
        """Tell the new server that the client has ended, and wait for what it still answers."""
        server = self._server
        if server is not None and server.stdin is not None and self._passing is not None:
            with suppress(OSError):
                server.stdin.close()
            self._passing.join()

    def _started(self) -> subprocess.Popen[bytes] | None:
        """Return a new server that has been greeted as this one was; None when none can be started."""
        import subprocess  # noqa: PLC0415 (only after an update)

        for _ in range(TRIES):
            with suppress(OSError):
                server = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                if self._is_greeted(server):
                    self._passing = threading.Thread(target=self._pass_back, args=(server,), daemon=True)
                    self._passing.start()
                    return server
                server.kill()
                server.wait()
            time.sleep(RETRY_S)
        log.warning("memoria was updated, but its new MCP server cannot be started")
        return None

    def _is_greeted(self, server: subprocess.Popen[bytes]) -> bool:
        """Repeat the client's greeting to a server, without passing on the answers; return whether it gives any."""
        assert server.stdin is not None  # noqa: S101 (a pipe)
        assert server.stdout is not None  # noqa: S101
        ping = json.dumps({"jsonrpc": "2.0", "id": PING, "method": "ping"}).encode() + b"\n"
        deadline = threading.Timer(START_S, server.kill)
        deadline.start()
        try:
            server.stdin.write(b"".join([*self._greeting, ping]))
            server.stdin.flush()
            return any(json.loads(line).get("id") == PING for line in server.stdout)
        except (OSError, ValueError):
            return False
        finally:
            deadline.cancel()

    def _pass_back(self, server: subprocess.Popen[bytes]) -> None:
        """Pass a server's answers to the client until it ends; what it leaves unanswered is an error."""
        assert server.stdout is not None  # noqa: S101 (a pipe)
        for line in server.stdout:
            self._waiting.discard(json.loads(line).get("id") or "")
            self._tell(line)
        server.wait()
        self._server = None
        while self._waiting:
            answer = {"jsonrpc": "2.0", "id": self._waiting.pop(), "error": ENDED}
            self._tell(json.dumps(answer).encode() + b"\n")


def _stamp() -> str:
    """Return what differs when memoria was replaced; ``""`` while it is missing."""
    try:
        status = STAMP.stat()
    except OSError:
        return ""
    return f"{status.st_mtime_ns}-{status.st_ino}-{status.st_size}"
