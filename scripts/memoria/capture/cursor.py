"""Cursor: how far a session's transcript is safely spooled, one small file a session.

It moves only after the job is on disk. A lost or torn cursor costs a second reading of the transcript, never a turn:
turns are told apart by uuid.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import os

from memoria.base import atomic, quickjson


class Cursor:
    """A position in one transcript: ``end`` in bytes, and ``mark``, the bytes that stood right before it."""

    __slots__ = ("end", "mark", "transcript")

    def __init__(self, transcript: str, end: int, mark: bytes) -> None:
        self.transcript = transcript
        self.end = end
        self.mark = mark


def read(folder: str, session: str, transcript: str) -> Cursor:
    """The session's cursor; at 0 when there is none, it cannot be read, or it belongs to another transcript."""
    found = latest(folder, session)
    return found if found is not None and found.transcript == transcript else Cursor(transcript, 0, b"")


def latest(folder: str, session: str) -> Cursor | None:
    """The session's cursor, whatever its transcript; None when there is none or it cannot be read."""
    try:
        with open(os.path.join(folder, session), "rb") as file:
            stored = quickjson.loads(file.read(65536).decode("utf-8", "replace"))
        if isinstance(stored, dict):
            return Cursor(str(stored["transcript"]), max(0, int(stored["end"])), bytes.fromhex(stored["mark"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def write(folder: str, session: str, cursor: Cursor) -> None:
    """Move the session's cursor in one step; not synced, because an older one is only read again."""
    text = quickjson.dumps({"transcript": cursor.transcript, "end": cursor.end, "mark": cursor.mark.hex()})
    atomic.replace(os.path.join(folder, session), text.encode("utf-8", "replace"), step="cursor")
