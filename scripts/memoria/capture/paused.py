"""Silence: the stretches of a session's transcript that were written while memoria was switched off.

One small file beside the session's cursor, ``<session>.off``. A hook that finds memoria switched off writes down how
far the transcript is; the first hook that finds it switched on again ends the stretch. What lies in it is never
captured. A file that says nothing (one of an earlier memoria, or a transcript that could not be found) stands for the
whole session. Knows positions, not what stands there.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import os

from memoria.base import atomic, quickjson
from memoria.capture import cursor

ENDING = ".off"  # no cursor's name holds a dot


class PausedSpans:
    """Stretches ``spans`` of one ``transcript`` as [start, end) in bytes; the last goes on while ``is_open``."""

    __slots__ = ("is_open", "spans", "transcript")

    def __init__(self, transcript: str, spans: list[tuple[int, int]], is_open: bool) -> None:
        self.transcript = transcript
        self.spans = spans
        self.is_open = is_open

    def after(self, position: int) -> int:
        """Where to read on from ``position``: there, or where the stretch that it lies in ends."""
        for start, end in self.spans:
            if start <= position < end:
                return end
        return position

    def covers(self, position: int) -> bool:
        """Whether what stands there was written with memoria off; all of it when nothing is known of where."""
        if not self.spans or (self.is_open and position >= self.spans[-1][0]):
            return True
        return self.after(position) != position


def path(folder: str, session: str) -> str:
    """The file of a session (a safe name) in the cursors' folder."""
    return os.path.join(folder, session + ENDING)


def read(folder: str, session: str) -> PausedSpans | None:
    """What is known of a session; None when memoria was never off in it. Without spans it is silent as a whole."""
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
    """A hook found memoria switched off. ``starts``: the client has just begun or resumed the session.

    The stretch begins where the session is resumed, or else right after what was captured.
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
    """A hook found memoria switched on: what comes now is kept. ``starts``: what stands until now was said before."""
    known = read(folder, session)
    if known is None or not known.is_open:
        return
    size = _size(transcript) or 0
    if not known.spans:
        known = PausedSpans(transcript, [(0, size)], False)
    elif starts and known.transcript == transcript:
        known.spans[-1] = (known.spans[-1][0], max(known.spans[-1][1], size))
    _write(folder, session, PausedSpans(known.transcript, known.spans, False))


def _size(transcript: str) -> int | None:
    try:
        return os.stat(transcript).st_size if transcript else None
    except (OSError, ValueError):
        return None


def _write(folder: str, session: str, silence: PausedSpans | None) -> None:
    text = ""
    if silence is not None:
        spans = [list(span) for span in silence.spans]
        text = quickjson.dumps({"transcript": silence.transcript, "spans": spans, "open": silence.is_open})
    atomic.replace(path(folder, session), text.encode("utf-8", "replace"))
