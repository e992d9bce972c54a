"""Cursor: how far a session's transcript has been spooled, and which spans of it never are.

Each session has small files in one folder. Its cursor moves only after the job is on disk; when it is lost or
incomplete, the transcript is read again, and no turn is lost or repeated, because each has a uuid.

``<session>.off`` holds the spans that were written while memoria was switched off. A hook that finds memoria switched
off records the size of the transcript; the first hook that finds it switched on again ends the span. Turns in a span
are never captured. A file without spans (from an earlier version, or because the transcript was not found) stands for
the whole session. Knows positions, not content.
"""

from __future__ import annotations

import os

from memoria.base import quickjson
from memoria.base.paths import regular

OFF = ".off"  # ends the name of the file with the spans; the names of cursors hold no dot
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
        with open(os.path.join(folder, session), "rb", opener=regular) as file:
            stored = quickjson.loads(file.read(65536).decode("utf-8", "replace"))
        if isinstance(stored, dict):
            return Cursor(str(stored["transcript"]), max(0, int(stored["end"])), bytes.fromhex(stored["mark"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def write(folder: str, session: str, cursor: Cursor) -> None:
    """Replace the session's cursor in one step; not synced, because an older one only causes a second reading."""
    from memoria.base import atomic  # noqa: PLC0415 (a prompt's hook only reads)

    text = quickjson.dumps({"transcript": cursor.transcript, "end": cursor.end, "mark": cursor.mark.hex()})
    atomic.replace(os.path.join(folder, session), text.encode("utf-8", "replace"), step="cursor")


def is_uncopied(folder: str, session: str) -> bool:
    """Return whether jobs of this session name a range of its transcript instead of holding a copy.

    That is so when some lines of the transcript must not be stored anywhere, which only the worker can tell.
    """
    return os.path.exists(os.path.join(folder, session + UNCOPIED))


def set_uncopied(folder: str, session: str) -> None:
    """Let the jobs of this session hold no copy of its transcript from now on."""
    os.close(os.open(os.path.join(folder, session + UNCOPIED), os.O_WRONLY | os.O_CREAT, 0o600))


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


def paused(folder: str, session: str) -> PausedSpans | None:
    """Return the spans of a session, or None when memoria was never off in it; no spans stand for all of it."""
    try:
        with open(os.path.join(folder, session + OFF), "rb", opener=regular) as file:
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


def pause(folder: str, session: str, transcript: str, starts: bool) -> None:
    """Record that a hook found memoria switched off; ``starts`` when the client has just begun or resumed the session.

    The span begins at the point of the start, or else right after what was captured.
    """
    size = _size(transcript)
    if size is None and not starts:
        _write_spans(folder, session, None)
        return
    known = paused(folder, session)
    if known is not None and (not known.spans or known.transcript != transcript):
        _write_spans(folder, session, None)
        return
    now = size or 0
    spans = known.spans if known is not None else []
    if known is not None and known.is_open:
        spans[-1] = (spans[-1][0], max(spans[-1][1], now))
    else:
        captured = read(folder, session, transcript).end
        start = now if starts else max(captured, spans[-1][1] if spans else 0)
        spans.append((start, max(start, now)))
    _write_spans(folder, session, PausedSpans(transcript, spans, True))


def resume(folder: str, session: str, transcript: str, starts: bool) -> None:
    """End the open span, as memoria is on again; with ``starts``, it covers all that the transcript holds so far."""
    known = paused(folder, session)
    if known is None or not known.is_open:
        return
    size = _size(transcript) or 0
    if not known.spans:
        known = PausedSpans(transcript, [(0, size)], False)
    elif starts and known.transcript == transcript:
        known.spans[-1] = (known.spans[-1][0], max(known.spans[-1][1], size))
    _write_spans(folder, session, PausedSpans(known.transcript, known.spans, False))


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


def _write_spans(folder: str, session: str, found: PausedSpans | None) -> None:
    from memoria.base import atomic  # noqa: PLC0415 (as above)

    text = ""
    if found is not None:
        spans = [list(span) for span in found.spans]
        text = quickjson.dumps({"transcript": found.transcript, "spans": spans, "open": found.is_open})
    atomic.replace(os.path.join(folder, session + OFF), text.encode("utf-8", "replace"))
