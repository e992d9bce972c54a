"""Cursor: how far a session's transcript has been spooled, the lines after that, and which spans never are.

Only the bytes after a position are read, never the whole file; what a line means, ``transcripts.turn_reader`` knows. A
slice ends at the last whole line, because the client may be writing the next one.

Each session has small files in one folder. Its cursor moves only after the job is on disk; when it is lost or
incomplete, the transcript is read again, and no turn is lost or repeated, because each has a uuid.

``<session>.off`` holds the spans that were written while memoria was switched off. A hook that finds memoria switched
off records the size of the transcript; the first hook that finds it switched on again ends the span. Turns in a span
are never captured. A file without spans (from an earlier version, or because the transcript was not found) stands for
the whole session.
"""

from __future__ import annotations

import os

from memoria.base import quickjson
from memoria.base.paths import BINARY, opener, regular, text_of

COPY_BYTES = 8 << 20  # maximum that a hook copies; of an older remainder, only the range is recorded
MARK_BYTES = 256  # bytes before a position: enough to hold a line's time or uuid, not only its usual end
_FOLDER = b'"cwd"'

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
    found = find_latest(folder, session)
    return found if found is not None and found.transcript == transcript else Cursor(transcript, 0, b"")


def find_latest(folder: str, session: str) -> Cursor | None:
    """Return the session's cursor for any transcript, or None when there is none that can be read."""
    try:
        stored = quickjson.loads(text_of(os.path.join(folder, session)))
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
    os.close(opener(os.path.join(folder, session + UNCOPIED)))


class PausedSpans:
    """The paused ``spans`` of a ``transcript`` as [start, end) in bytes; the last one goes on if ``is_open``."""

    __slots__ = ("is_open", "spans", "transcript")

    def __init__(self, transcript: str, spans: list[tuple[int, int]], is_open: bool) -> None:
        self.transcript = transcript
        self.spans = spans
        self.is_open = is_open

    def end_after(self, position: int) -> int:
        """Return the end of the span that holds ``position``, or ``position`` itself when none does."""
        for start, end in self.spans:
            if start <= position < end:
                return end
        return position

    def covers(self, position: int) -> bool:
        """Return whether this part was written with memoria off; always true when no spans are known."""
        if not self.spans or (self.is_open and position >= self.spans[-1][0]):
            return True
        return self.end_after(position) != position

    def reach(self, size: int) -> None:
        """Let the last span reach to ``size`` at least."""
        start, end = self.spans.pop()
        self.spans.append((start, max(end, size)))


def paused_spans(folder: str, session: str) -> PausedSpans | None:
    """Return the spans of a session, or None when memoria was never off in it; no spans stand for all of it."""
    try:
        text = text_of(os.path.join(folder, session + OFF))
    except OSError:
        return None
    try:
        stored = quickjson.loads(text)
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
    known = paused_spans(folder, session)
    if known is not None and (not known.spans or known.transcript != transcript):
        _write_spans(folder, session, None)
        return
    now = size or 0
    known = known or PausedSpans(transcript, [], False)
    if not known.is_open:
        captured = read(folder, session, transcript).end
        start = now if starts else max([captured, *(end for _, end in known.spans)])
        if not known.spans or known.spans[-1][1] != start:  # else nothing was captured in between
            known.spans.append((start, start))
    known.reach(now)
    _write_spans(folder, session, PausedSpans(transcript, known.spans, True))


def resume(folder: str, session: str, transcript: str, starts: bool) -> None:
    """End the open span, as memoria is on again; with ``starts``, it covers all that the transcript holds so far."""
    known = paused_spans(folder, session)
    if known is None or not known.is_open:
        return
    size = _size(transcript) or 0
    if not known.spans:
        known = PausedSpans(transcript, [(0, size)], False)
    elif starts and known.transcript == transcript:
        known.reach(size)
    _write_spans(folder, session, PausedSpans(known.transcript, known.spans, False))


def drop_quiet(lines: list[bytes], position: int, quiet: PausedSpans | None) -> list[bytes]:
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


class Slice:
    """The whole lines of a transcript from ``start`` to ``end`` (byte offsets).

    ``data`` holds the newest part, from ``copied_from`` on; the worker reads the part before it. ``open_tail`` says
    that bytes without a final newline follow ``end``. ``mark`` holds the bytes right before ``end``.
    """

    __slots__ = ("copied_from", "data", "end", "mark", "open_tail", "start")

    def __init__(self, start: int, copied_from: int, end: int, data: bytes, mark: bytes, open_tail: bool) -> None:
        self.start = start
        self.copied_from = copied_from
        self.end = end
        self.data = data
        self.mark = mark
        self.open_tail = open_tail


def read_after(path: str, start: int, mark: bytes) -> Slice | None:
    """Return the whole lines after ``start``, or None when nothing follows.

    Starts over at 0 when the file is shorter than ``start`` or ``mark`` no longer precedes it: then the transcript was
    truncated or rewritten, and uuids will show which turns are known. Raises FileNotFoundError when the file does not
    exist (yet), and OSError when it is not a regular file.
    """
    descriptor = regular(path, os.O_RDONLY | BINARY)
    try:
        size = os.fstat(descriptor).st_size
        if start and (start > size or (mark and _read_before(descriptor, start, len(mark)) != mark)):
            start = 0
        return _cut(descriptor, start, size)
    finally:
        os.close(descriptor)


def folders(data: bytes) -> set[str]:
    """Return the values of every key ``cwd`` in lines of JSON, also of nested ones; within a string a quote is escaped.

    A value that is not closed or not a string is left out.
    """
    pieces = (part.split(b'"', 2) for part in data.split(_FOLDER)[1:])
    found = {each[1] for each in pieces if len(each) == 3 and each[0].strip() == b":"}
    return set(map(_unescape, found))


def _unescape(value: bytes) -> str:
    text = value.decode("utf-8", "replace")
    try:
        return str(quickjson.loads(f'"{text}"')) if "\\" in text else text
    except ValueError:  # it ends at an escaped quote
        return text


def _cut(descriptor: int, start: int, size: int) -> Slice | None:
    if size <= start:
        return None
    copied_from = max(start, size - COPY_BYTES)
    data = _read(descriptor, copied_from, size - copied_from)
    last = data.rfind(b"\n") + 1
    open_tail = last < len(data)
    if copied_from > start:  # begin at a whole line
        first = data.find(b"\n") + 1
        if first == 0:
            # A line of more than 8 MiB is being written. ``end`` stays where it was, so that the next hook reads the
            # line when it is complete.
            return Slice(start, size, start, b"", _read_before(descriptor, start, MARK_BYTES), True)
        data = data[first:last]
        copied_from += first
    else:
        data = data[:last]
        if not data:
            return Slice(start, start, start, b"", _read_before(descriptor, start, MARK_BYTES), True)
    end = copied_from + len(data)
    return Slice(start, copied_from, end, data, _read_before(descriptor, end, MARK_BYTES), open_tail)


def _read_before(descriptor: int, position: int, length: int) -> bytes:
    return _read(descriptor, max(0, position - length), min(position, length))


def _read(descriptor: int, position: int, length: int) -> bytes:
    os.lseek(descriptor, position, os.SEEK_SET)
    parts = []
    while part := os.read(descriptor, length):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
