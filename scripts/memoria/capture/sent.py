"""Sent: the whole prompt that a client was given last, kept until its turn has ended or its session has.

The client writes a prompt to the transcript some time after it was sent. What is left here of a client that was killed
is therefore in no transcript, perhaps; the worker finds out (``worker/killed.py``).
"""

from __future__ import annotations

import os
import time

from memoria.base import quickjson
from memoria.base.paths import safe_name
from memoria.capture.open_sessions import SENT, is_alive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.paths import Paths
    from memoria.capture import hook


def keep(event: hook.Event, paths: Paths) -> None:
    """Record a prompt; a client that does not say its process id cannot be asked whether it lives."""
    if not (client := os.environ.get("CLAUDE_PID", "")).isdecimal():
        return
    record = {
        "session": event.session,
        "client": client,
        "id": event.text("prompt_id"),
        "prompt": event.text("prompt"),
        "transcript": event.transcript,
        "cwd": event.cwd,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    os.makedirs(paths.where, mode=0o700, exist_ok=True)
    descriptor = os.open(_path(event.session, client, paths), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, quickjson.dumps(record).encode())
    finally:
        os.close(descriptor)


def drop(event: hook.Event, paths: Paths) -> None:
    """Remove what is recorded of the turn, or of the session, that has ended."""
    path = _path(event.session, os.environ.get("CLAUDE_PID", ""), paths)
    record = read(path)
    ident = event.text("prompt_id")
    if record and (event.name != "Stop" or not ident or record["id"] in ("", ident)):  # a Stop may come late
        remove(path)


def of_dead_clients(paths: Paths) -> list[str]:
    """Return the files of the clients that are gone."""
    try:
        names = [name for name in os.listdir(paths.where) if name.endswith(SENT)]
    except OSError:
        return []
    return [os.path.join(paths.where, name) for name in names if not is_alive(name.split(".")[-2])]


def read(path: str) -> dict[str, str]:
    """Return what a file records, nothing when it is gone or was not written to its end."""
    try:
        with open(path, "rb") as file:
            record = quickjson.loads(file.read().decode("utf-8", "replace"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def remove(path: str) -> None:
    """Remove a file, if it is there."""
    try:
        os.unlink(path)
    except OSError:
        pass


def _path(session: str, client: str, paths: Paths) -> str:
    return os.path.join(paths.where, f"{safe_name(session)}.{client}{SENT}")
