"""Transcript: read the bytes of the client's file after a position, never the whole file.

Knows bytes, not what a line means (``transcripts.turn_reader`` does). A slice ends at the last whole line, because the
client may be writing the next one.
"""

from __future__ import annotations

import os
import stat

from memoria.base import quickjson

COPY_BYTES = 8 * 1024 * 1024  # maximum that a hook copies; of an older remainder, only the range is recorded
_FOLDER = b'"cwd"'
MARK_BYTES = 256  # bytes before a position: enough to hold a line's time or uuid, not only its usual end


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
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a regular file")
        size = status.st_size
        if start and (start > size or (mark and _before(descriptor, start, len(mark)) != mark)):
            start = 0
        return _cut(descriptor, start, size)
    finally:
        os.close(descriptor)


def folders(data: bytes) -> set[str]:
    """Return the values of every key ``cwd`` in lines of JSON, also of nested ones; within a string a quote is escaped.

    A value that is not closed or not a string is left out.
    """
    found = set()
    at = data.find(_FOLDER)
    while at >= 0:
        begin = at + len(_FOLDER)
        start = data.find(b'"', begin, begin + 8)
        end = data.find(b'"', start + 1)
        if start >= 0 and data[begin:start].strip() == b":" and end >= 0:
            found.add(data[start + 1 : end])
        at = data.find(_FOLDER, begin)
    return {_unescaped(value) for value in found}


def _unescaped(value: bytes) -> str:
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
            return Slice(start, size, start, b"", _before(descriptor, start, MARK_BYTES), True)
        data = data[first:last]
        copied_from += first
    else:
        data = data[:last]
        if not data:
            return Slice(start, start, start, b"", _before(descriptor, start, MARK_BYTES), True)
    end = copied_from + len(data)
    return Slice(start, copied_from, end, data, _before(descriptor, end, MARK_BYTES), open_tail)


def _before(descriptor: int, position: int, length: int) -> bytes:
    begin = max(0, position - length)
    return _read(descriptor, begin, position - begin)


def _read(descriptor: int, position: int, length: int) -> bytes:
    os.lseek(descriptor, position, os.SEEK_SET)
    parts = []
    while length > 0:
        part = os.read(descriptor, length)
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
