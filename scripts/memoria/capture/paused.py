"""Paused: the spans of a session's transcript that were written while memoria was switched off.

They are kept in a small file beside the session's cursor, ``<session>.off``. A hook that finds memoria switched off
records the size of the transcript; the first hook that finds it switched on again ends the span. Turns in a span are
never captured. A file without spans (from an earlier version, or because the transcript was not found) stands for the
whole session. Knows positions, not content.
"""

from __future__ import annotations

import os

from memoria.base import atomic, quickjson
from memoria.capture import cursor

ENDING = ".off"  # the names of cursors hold no dot


class PausedSpans:
    """The paused ``spans`` of a ``transcript`` as [start, end) in bytes; the last one goes on if ``is_open``."""

    __slots__ = ("is_open", "spans", "transcript")

    def __init__(self, transcript: str, spans: list[tuple[int, int]], is_open: bool) -> None:
        self.transcript = transcript
        self.spans = spans
        self.is_open = is_open

    def after(self, position: int) -> int:
        """Return the end of the span that holds ``position``, or ``position`` itself when none does."""
        for start, end in self.spans:
            if start <= position < end:
                return end
        return position

    def covers(self, position: int) -> bool:
        """Return whether this part was written with memoria off; always true when no spans are known."""
        if not self.spans or (self.is_open and position >= self.spans[-1][0]):
            return True
        return self.after(position) != position


def path(folder: str, session: str) -> str:
    """Return the file of a session (a safe name) in the folder of cursors."""
    return os.path.join(folder, session + ENDING)


def read(folder: str, session: str) -> PausedSpans | None:
    """Return the spans of a session, or None when memoria was never off in it; no spans stand for all of it."""
    try:
        with open(path(folder, session), "rb") as file:
            raw = file.read(1_000_000)
    except OSError:
        return None
    try:
        stored = quickjson.loads(raw.decode("utf-8", "replace"))
        if isinstance(stored, dict):
            spans = [(int(start), int(end)) for start, end in stored["spans"]]
            return PausedSpans(str(stored["transcript"]), spans, stored["open"] is True)
    except (ValueError, KeyError, TypeError):
        pass
    return PausedSpans("", [], True)


def keep(folder: str, session: str, transcript: str, starts: bool) -> None:
    """Record that a hook found memoria switched off; ``starts`` when the client has just begun or resumed the session.

    The span begins at the point of the start, or else right after what was captured.
    """
    size = _size(transcript)
    if size is None and not starts:
        _write(folder, session, None)
        return
    known = read(folder, session)
    if known is not None and (not known.spans or known.transcript != transcript):
        _write(folder, session, None)
        return
    now = size or 0
    spans = known.spans if known is not None else []
    if known is not None and known.is_open:
        spans[-1] = (spans[-1][0], max(spans[-1][1], now))
    else:
        captured = cursor.read(folder, session, transcript).end
        start = now if starts else max(captured, spans[-1][1] if spans else 0)
        spans.append((start, max(start, now)))
    _write(folder, session, PausedSpans(transcript, spans, True))


def end(folder: str, session: str, transcript: str, starts: bool) -> None:
    """End the open span, as memoria is on again; with ``starts``, it covers all that the transcript holds so far."""
    known = read(folder, session)
    if known is None or not known.is_open:
        return
    size = _size(transcript) or 0
    if not known.spans:
        known = PausedSpans(transcript, [(0, size)], False)
    elif starts and known.transcript == transcript:
        known.spans[-1] = (known.spans[-1][0], max(known.spans[-1][1], size))
    _write(folder, session, PausedSpans(known.transcript, known.spans, False))


def spoken(lines: list[bytes], position: int, quiet: PausedSpans | None) -> list[bytes]:
    """Return the lines, the first of which starts at ``position``, without those written while memoria was off."""
    if quiet is None:
        return lines
    found = []
    for line in lines:
        if not quiet.covers(position):
            found.append(line)
        position += len(line)
    return found


def _size(transcript: str) -> int | None:
    try:
        return os.stat(transcript).st_size if transcript else None
    except (OSError, ValueError):
        return None


def _write(folder: str, session: str, paused: PausedSpans | None) -> None:
    text = ""
    if paused is not None:
        spans = [list(span) for span in paused.spans]
        text = quickjson.dumps({"transcript": paused.transcript, "spans": spans, "open": paused.is_open})
    atomic.replace(path(folder, session), text.encode("utf-8", "replace"))
