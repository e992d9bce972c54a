"""MCP probe: start a server as a client does, greet it, and ask which tools it offers."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memoria.base import interpreter

STAND_IN = "status"  # the only tool of what answers until the server can
GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "memoria doctor", "version": "1"},
}
REQUESTS = (
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": GREETING},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
)


class ProbeError(Exception):
    """The server did not start, answered wrongly, or not in time; the message is one line."""


def tools(command: Sequence[str], python: str, deadline_s: float) -> list[str]:
    """Return the names of the tools that the server offers; ProbeError when it offers none.

    It runs in an empty folder and serves a home of its own; ``python`` is the setting of that name.
    """
    with tempfile.TemporaryDirectory(prefix="memoria-doctor-", ignore_cleanup_errors=True) as folder:
        inherited = interpreter.reduced(os.environ)
        kept = {name: value for name, value in inherited.items() if not name.startswith(("MEMORIA_", "CLAUDE"))}
        scratch = {"MEMORIA_HOME": str(Path(folder, "home")), "MEMORIA_REDIS_URL": "", "CLAUDE_PROJECT_DIR": folder}
        scratch |= {"MEMORIA_PYTHON": python} if python else {}
        try:
            server = subprocess.Popen(
                command, env={**kept, **scratch}, cwd=folder,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            raise ProbeError(f"{command[0]} cannot be run ({error.strerror})") from None
        timer = threading.Timer(deadline_s, server.kill)
        timer.start()
        try:
            answer = _ask(server)
        finally:
            _, complaint = server.communicate()
            timer.cancel()
    try:
        return [str(tool["name"]) for tool in answer["result"]["tools"]]
    except (KeyError, TypeError):
        words = complaint.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        raise ProbeError(f"the server ended with status {server.returncode}: {words[-1][:300]}") from None


def _ask(server: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Return the answer to the last request; {} when the server ends before."""
    assert server.stdin is not None  # noqa: S101 (asked for by who started it)
    assert server.stdout is not None  # noqa: S101
    try:
        server.stdin.write(b"".join(json.dumps(request).encode() + b"\n" for request in REQUESTS))
        server.stdin.flush()
    except BrokenPipeError:
        return {}
    for line in server.stdout:
        message = _parsed(line)
        if message.get("id") == REQUESTS[-1]["id"]:
            return message
    return {}


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}
