"""Observe: record the state of each session, and start the worker for one that is urgent to summarise.

Stop and PreCompact start it as a separate process beside the flush worker, which may be waiting for a model. Because it
runs after every answer, it first compares names and times of files, and imports nothing else when there is nothing to
do. For the reasons see docs/decisions/0030-working-memory.md and 0032-learning.md.
"""

from __future__ import annotations

import argparse
import os

from memoria.capture import detach
from memoria.capture.open_sessions import OpenSessions
from memoria.capture.spool import Spool
from memoria.ground.home import Home


def command(args: argparse.Namespace, home: Home) -> int:  # noqa: ARG001 (all commands have this signature)
    """Observe every session that has news."""
    detach.lower_priority()
    for folder in (home.paths.where, home.paths.cursors):
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 (avoids importing pathlib)
    if seen := _has_news(home):
        import asyncio  # noqa: PLC0415 (takes 0.1 s with the observer, needed only when there is news)

        from memoria.worker.observer import work  # noqa: PLC0415

        asyncio.run(work(home))
    if not detach.is_detached():
        print("Sessions with news were looked at." if seen else "No session has news.")
    return 0


def _has_news(home: Home) -> bool:
    """Return whether a session has changed since its block was written, or has jobs that may be due."""
    sessions = OpenSessions(home.paths.where)
    if sessions.news(home.paths.cursors):
        return True
    return any(job.is_recent() for job in Spool(home.paths.spool).jobs())
