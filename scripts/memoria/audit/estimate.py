"""Volume: how much conversation a transcript holds, by byte search and without parsing, for an estimate beforehand.

Counts what ``turn`` would keep, near enough for a price: the worker reads the same file exactly. Streams in blocks, so
that a transcript of a gigabyte takes a few megabytes. Held against the exact reader in tests/bench/ingest.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

BLOCK = 1 << 20
ENVELOPE = 2_000  # bytes of a line in which its type stands, unless its message comes first

# Characters that reach the model for one line of a kind, measured over 73 real transcripts (tests/bench/ingest.py).
TOOL_CHARS, ERROR_CHARS, LABEL_CHARS = 160, 260, 14
FAILING = 0.047  # of tool results, 1,754 of 37,304 in 741 transcripts: only failures are kept, and looking costs a scan

_TYPE = b'"type":"'
_TEXT = b'"type":"text","text":"'
_STRING = b'"content":"'
_NOT_TYPED = (b"<", b"Caveat: The messages below", b"This session is being continued", b"[Request interrupted")


@dataclass(slots=True)
class Volume:
    """Counted so far: lines, tool results, and the turns and characters of all else that a model would be given."""

    lines: int = 0
    results: int = 0
    said: int = 0
    said_chars: int = 0

    @property
    def turns(self) -> int:
        """About how many turns there are."""
        return self.said + round(self.results * FAILING)

    @property
    def chars(self) -> int:
        """About how many characters reach the model."""
        return self.said_chars + round(self.results * FAILING * ERROR_CHARS)

    def __add__(self, other: Volume) -> Volume:
        """Two counts together."""
        return Volume(
            self.lines + other.lines,
            self.results + other.results,
            self.said + other.said,
            self.said_chars + other.said_chars,
        )


def count(path: Path) -> Volume:
    """The census of one transcript; OSError when it cannot be read."""
    census = Volume()
    with path.open("rb", buffering=0) as file:
        block = bytearray(BLOCK)  # one for the whole file: getting memory anew costs more than searching it
        held = 0
        while read := file.readinto(memoryview(block)[held:]):
            held += read
            cut = block.rfind(b"\n", 0, held) + 1
            _count_lines(block, cut, census)
            block[: held - cut] = block[cut:held]
            held -= cut
            if held == len(block):
                block.extend(bytes(len(block)))  # a line longer than the block
        if held:
            block[held:] = b"\n"
            _count_lines(block, held + 1, census)
    return census


def _count_lines(block: bytearray, size: int, census: Volume) -> None:
    """Count the whole lines in the first ``size`` bytes."""
    find = block.find
    at = 0
    while at < size:
        end = find(b"\n", at)
        kind = find(_TYPE, at, min(end, at + ENVELOPE)) + 8
        letters = block[kind : kind + 4] if kind > 7 else b""
        census.lines += 1
        if letters == b"user":
            _count_user(block, at, end, census)
        elif letters in (b"assi", b"mess"):
            _count_assistant(block, at, end, census)
        elif letters in (b"text", b"tool", b"thin", b"imag"):  # the message stands before the line's own type
            role = find(b'"role":"', at, kind) + 8
            if block[role : role + 4] == b"user":
                _count_user(block, at, end, census)
            else:
                _count_assistant(block, at, end, census)
        at = end + 1


def _count_assistant(block: bytearray, at: int, end: int, census: Volume) -> None:
    said = _texts(block, _TEXT, at, end)
    tools = block.count(b'"type":"tool_use"', at, end)
    if (said or tools) and not _is_aside(block, at, end):
        census.said += 1
        census.said_chars += said + tools * TOOL_CHARS + (LABEL_CHARS if said else 0)


def _count_user(block: bytearray, at: int, end: int, census: Volume) -> None:
    if block.find(b'"tool_use_id":"', at, min(end, at + ENVELOPE)) >= 0:  # the tools' own words, unless one failed
        census.results += 1
        return
    said = _texts(block, _TEXT, at, end) or _texts(block, _STRING, at, end, most=1)
    if said and not _is_aside(block, at, end):
        census.said += 1
        census.said_chars += said + LABEL_CHARS


def _is_aside(block: bytearray, at: int, end: int) -> bool:
    """A sub-agent's line, or the client's own."""
    return (
        block.find(b'"isSidechain":true', at, end) >= 0
        or block.find(b'"isMeta":true', at, end) >= 0
        or block.find(b'"isCompactSummary":true', at, end) >= 0
    )


def _texts(block: bytearray, opening: bytes, at: int, end: int, most: int = 1_000) -> int:
    """The length of the strings after ``opening``, without what the client writes in the user's name."""
    total = 0
    while most and (begin := block.find(opening, at, end)) >= 0:
        begin += len(opening)
        at = _string_end(block, begin, end)
        if not block.startswith(_NOT_TYPED, begin):
            total += at - begin
        most -= 1
    return total


def _string_end(block: bytearray, at: int, end: int) -> int:
    """Where the string that begins before ``at`` closes: the first quote that no odd number of backslashes escapes."""
    while (quote := block.find(b'"', at, end)) >= 0:
        slashes = quote
        while block[slashes - 1] == 92:
            slashes -= 1
        if (quote - slashes) % 2 == 0:
            return quote
        at = quote + 1
    return end
