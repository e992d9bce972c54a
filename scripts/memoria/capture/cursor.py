"""Cursor: how far a session's transcript has been spooled, in one small file for each session.

A cursor moves only after the job is on disk. When one is lost or incomplete, the transcript is read again, and no turn
is lost or repeated, because each has a uuid.
"""

from __future__ import annotations

import os

from memoria.base import atomic, quickjson

UNCOPIED = ".uncopied"  # ends the name of the file that says that nothing of a session is copied


class Cursor:
    """A position in a transcript: ``end`` in bytes, and ``mark``, the bytes right before it."""

    __slots__ = ("end", "mark", "transcript")

    def __init__(self, transcript: str, end: int, mark: bytes) -> None:
        self.transcript = transcript
        self.end = end
        self.mark = mark


def read(folder: str, session: str, transcript: str) -> Cursor:
    """Return the session's cursor, or one at 0 when there is none for this transcript that can be read."""
    found = latest(folder, session)
    return found if found is not None and found.transcript == transcript else Cursor(transcript, 0, b"")


def latest(folder: str, session: str) -> Cursor | None:
    """Return the session's cursor for any transcript, or None when there is none that can be read."""
    try:
        with open(os.path.join(folder, session), "rb") as file:
            stored = quickjson.loads(file.read(65536).decode("utf-8", "replace"))
        if isinstance(stored, dict):
            return Cursor(str(stored["transcript"]), max(0, int(stored["end"])), bytes.fromhex(stored["mark"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def write(folder: str, session: str, cursor: Cursor) -> None:
    """Replace the session's cursor in one step; not synced, because an older one only causes a second reading."""
    text = quickjson.dumps({"transcript": cursor.transcript, "end": cursor.end, "mark": cursor.mark.hex()})
    atomic.replace(os.path.join(folder, session), text.encode("utf-8", "replace"), step="cursor")


def is_uncopied(folder: str, session: str) -> bool:
    """Return whether jobs of this session name a range of its transcript instead of holding a copy.

    That is so when some lines of the transcript must not be stored anywhere, which only the worker can tell.
    """
    return os.path.exists(os.path.join(folder, session + UNCOPIED))


def set_uncopied(folder: str, session: str) -> None:
    """Let the jobs of this session hold no copy of its transcript from now on."""
    os.close(os.open(os.path.join(folder, session + UNCOPIED), os.O_WRONLY | os.O_CREAT, atomic.PRIVATE))
