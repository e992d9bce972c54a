"""Steps: the names of the moments between which a crash must lose nothing.

``reached`` does nothing, unless ``MEMORIA_KILL_AT`` names the step (``daily.appended``, or ``daily.appended:3`` for the
third time this process reaches it): then the process kills itself as a power cut would, or sends itself another signal
(``daily.appended:1:19`` stops it there). tests/bench/crash.py stands on it. Every name is in ``STEPS``, in the order in
which a conversation passes them.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import os

HOOK = (
    "spool.opened",
    "spool.written",
    "spool.synced",
    "spool.renamed",
    "cursor.written",
    "cursor.replaced",
    "worker.announced",
    "worker.forked",
)
JUDGE = ("judge.answered", "judge.kept", "judge.booked")  # while a session goes on
WORKER = (
    "worker.locked",
    "spool.claimed",
    "flush.answered",
    "files.written",
    "files.replaced",
    "daily.appended",
    "ledger.recorded",
    "spool.acknowledged",
    "flush.unlocked",
)
COMPILE = (
    "compile.locked",
    "compile.answered",
    "transaction.staged",
    "transaction.journaled",
    "transaction.swapped",
    "transaction.closed",
    "compile.booked",
)
STEPS = HOOK + JUDGE + WORKER + COMPILE

_name, _times, _signal = (os.environ.get("MEMORIA_KILL_AT", "") + "::").split(":")[:3]
_left = [int(_times) if _times.isdigit() else 1]


def reached(step: str) -> None:
    """Say that ``step`` is done."""
    if step == _name:
        _left[0] -= 1
        if _left[0] == 0:
            os.kill(os.getpid(), int(_signal) if _signal.isdigit() else 9)
