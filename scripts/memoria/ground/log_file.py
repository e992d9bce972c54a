"""Log file: a rotating log that only its owner can read."""

from __future__ import annotations

import io
import logging
import logging.handlers

from memoria.ground import files, printable


class _PrivateLog(logging.handlers.RotatingFileHandler):
    """A log that only its owner can read, also after a rotation."""

    def _open(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(open(self.baseFilename, "ab", opener=files.private), encoding=self.encoding)


class _OneLine(logging.Formatter):
    """A formatter that keeps each message on one line, even when it quotes a model; only tracebacks take several.

    Nothing in it controls the terminal on which the log is read.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the base class's name)
        return "\\n".join(super().formatMessage(record).splitlines())

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's printable text, with its traceback."""
        return printable.lines(super().format(record))


def opened(path: str, max_bytes: int) -> logging.Handler:
    """Return a handler that writes to ``path``, or one that discards everything when the file cannot be opened.

    A log that cannot be written is not a reason to fail.
    """
    handler: logging.Handler
    try:
        handler = _PrivateLog(path, maxBytes=max_bytes, backupCount=1, encoding="utf-8")
    except OSError:
        return logging.NullHandler()  # without a handler, warnings would go to stderr
    handler.setFormatter(_OneLine("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    return handler
