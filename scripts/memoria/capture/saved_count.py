"""Saved count: how many conversations of a project were saved since a session of it last started.

One small file for each project: the worker adds to it, the next session's start takes it away.
"""

from __future__ import annotations

import os

from memoria.base import atomic
from memoria.base.paths import file_name


def add(folder: str, project: str, count: int) -> None:
    """Add to the project's count; OSError only costs the line that a session's start would show."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        count += read(folder, project)
        atomic.replace(os.path.join(folder, file_name(project)), b"%d" % count)
    except OSError:
        pass


def read(folder: str, project: str) -> int:
    """Return the project's count."""
    try:
        with open(os.path.join(folder, file_name(project)), "rb") as file:
            return int(file.read(20))
    except (OSError, ValueError):
        return 0


def take(folder: str, project: str) -> int:
    """Return the project's count and begin again at 0."""
    count = read(folder, project)
    try:
        os.unlink(os.path.join(folder, file_name(project)))
    except OSError:
        pass
    return count
