"""Failpoints: named steps at which tests can kill the process, to show that a crash loses nothing.

``reach`` does nothing unless ``MEMORIA_KILL_AT`` names the step: ``daily.appended``, or ``daily.appended:3`` for the
third time that the process reaches it. The process then kills itself, as abruptly as a power cut, or sends itself
another signal (``daily.appended:1:19`` stops it there). bench/crash.py depends on this, and lists the names.
"""

from __future__ import annotations

import os

_reached: dict[str, int] = {}


def reach(step: str) -> None:
    """Mark ``step`` as reached, and kill the process if it was told to die here."""
    name, times, signal = (os.environ.get("MEMORIA_KILL_AT", "") + "::").split(":")[:3]
    if step == name:
        _reached[step] = _reached.get(step, 0) + 1
        if _reached[step] == (int(times) if times.isdigit() else 1):
            os.kill(os.getpid(), int(signal) if signal.isdigit() else 9)
