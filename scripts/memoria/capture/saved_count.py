"""Saved count: how many conversations of a project were saved since a session of it last started.

One small file for each project: the worker adds to it, the next session's start takes it away.
"""

from __future__ import annotations

import os


def add(path: str, count: int) -> None:
    """Add to the count in the file ``path``; OSError only costs the line that a session's start would show."""
    from memoria.base import atomic  # noqa: PLC0415 (hooks only read)

    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        count += read(path)
        atomic.replace(path, b"%d" % count)
    except OSError:
        pass


def read(path: str) -> int:
    """Return the count in a file, 0 when there is none."""
    try:
        with open(path, "rb") as file:
            return int(file.read(20))
    except (OSError, ValueError):
        return 0


def take(path: str) -> int:
    """Return the count in a file and begin again at 0."""
    count = read(path)
    try:
        os.unlink(path)
    except OSError:
        pass
    return count
