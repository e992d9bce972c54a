"""Printable: text without characters that would control a terminal, hide text or fake a line of output.

``streams`` covers whatever a command prints, ``LogFile`` what goes into the log; ``line`` is for text that must stay on
one line.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from memoria.base import fence
from memoria.base.paths import opener
from memoria.ground.errors import ExpectedError

_KEPT = "\n\t\u200c\u200d"  # with the joiners that ``fence.strip_invisible`` leaves, because they have a meaning


def line(text: str) -> str:
    """Return ``text`` as one line: white space becomes single blanks, and control characters are removed."""
    return lines(" ".join(text.split()))


def lines(text: str) -> str:
    """Return ``text`` without control and invisible characters other than line feeds and tabs."""
    seen = fence.strip_invisible(text)
    return seen if seen.isprintable() else "".join(map(_escape, seen))


def _escape(sign: str) -> str:
    if sign.isprintable() or sign in _KEPT:
        return sign
    return " " if sign.isspace() and not sign.isascii() else ""


class _Printable:
    """A text stream that prints only what ``lines`` leaves; everything but writing text is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what is printable, with a question mark for what the stream's encoding lacks; return its length."""
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(lines(text).encode(encoding, "replace").decode(encoding))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def streams() -> Iterator[None]:
    """Let everything that is printed to stdout and stderr in this block be printable."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Printable(sys.stdout), _Printable(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class LogFile(logging.FileHandler):
    """A log that only its owner can read, opened with the first record: most runs write none.

    Each message stays on one line, even when it quotes a model; only tracebacks take several.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, encoding="utf-8", delay=True)
        self.setFormatter(_OneLine("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))

    def _open(self) -> io.TextIOWrapper:
        try:
            return open(self.baseFilename, "a", encoding=self.encoding, newline="\n", opener=opener)
        except OSError:  # a log that cannot be written is not a reason to fail
            return Path(os.devnull).open("w", encoding=self.encoding, newline="\n")


class _OneLine(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the base class's name)
        return "\\n".join(super().formatMessage(record).splitlines())

    def format(self, record: logging.LogRecord) -> str:
        return lines(super().format(record))


def confirm(question: str, unasked: str) -> bool:
    """Ask for a yes on the terminal; raise ExpectedError, which says ``unasked``, when nobody sits there."""
    if not sys.stdin.isatty():
        raise ExpectedError(unasked)
    print(f"{question} [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")  # Ctrl-D is a no


def clause(text: object) -> str:
    """Return ``text``, such as an error's message, without full stops at its end, for use within a sentence."""
    return str(text).rstrip(" .")


def sentence(text: object) -> str:
    """Return ``text`` with one mark at its end: its own question or exclamation mark, or a full stop."""
    bare = clause(text)
    return bare if bare.endswith(("!", "?", "…")) else f"{bare}."


def dollars(amount: float) -> str:
    """Return an amount with its cents, and with what is less than a cent where there is some."""
    whole, _, part = f"{amount:.6f}".partition(".")
    return f"${whole}.{part.rstrip('0'):0<2}"


def amount(number: int, noun: str) -> str:
    """Return ``number`` and ``noun``, regularly plural unless the number is 1: "1 model call", "1,200 entries"."""
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou") else f"{noun}s"
    return f"{number:,} {plural}"
