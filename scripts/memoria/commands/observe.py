"""Observe: note where each session stands, and start the worker for turns that are due to be judged.

Started by Stop and PreCompact as a process of its own beside the flush worker, which may be waiting for a model: after
every answer, so that names and times of files are asked first, and nothing else is imported while they say that there
is nothing to do. Why it is done so: docs/decisions/0033-where-you-were.md, 0034-judging.md.
"""

from __future__ import annotations

import argparse
import os

from memoria.capture import detach
from memoria.capture.open_sessions import OpenSessions
from memoria.capture.spool import Spool
from memoria.ground.home import Home


def arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing to choose."""


def command(args: argparse.Namespace, home: Home) -> int:  # noqa: ARG001 (every verb takes them)
    """Look once at every session with news, as hooks have it done."""
    if hasattr(os, "nice"):
        os.nice(max(0, 10 - os.nice(0)))
    for folder in (home.paths.where, home.paths.cursors):
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 (pathlib is one of the imports that are saved)
    detach.observer_looks(home.paths)  # first: a hook that comes from now on starts an observer of its own
    if _has_news(home):
        import asyncio  # noqa: PLC0415 (with the observer 0.1 s, paid only when there is something to look at)

        from memoria.observing.loop import work  # noqa: PLC0415

        asyncio.run(work(home))
    return 0


def _has_news(home: Home) -> bool:
    """Return whether a session stands elsewhere than its block says, or said something that may be due."""
    sessions = OpenSessions(home.paths.where)
    if home.settings.where_you_were and sessions.news(home.paths.cursors):
        return True
    return any(job.is_recent() for job in Spool(home.paths.spool).jobs())
