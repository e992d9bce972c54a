"""Renames: exchange two names, or give a file a name that must be free, without a moment in which content is lost.

Linux exchanges two names in one step (``renameat2``). Elsewhere, and on file systems that cannot, the target is
renamed to a third name and the new file takes its place, unless a person has created one meanwhile. Knows names, not
contents.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

RENAME_EXCHANGE = 2
_CURRENT_FOLDER = -100  # AT_FDCWD; the paths given here are absolute
_NOT_SUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
TAKEN = ".taken"  # ends the third name
FRESH_S = 0.05  # without leases: a file written this recently may not be complete


class TakenError(Exception):
    """A person created the target while its name was free; ``source`` was not moved, ``taken`` is what was there."""

    def __init__(self, source: Path, taken: Path) -> None:
        super().__init__(f"{source} was not moved")
        self.source = source
        self.taken = taken


@cache
def _system_call() -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 (slow, and needed where a file of the user is written)

    try:
        call: Callable[..., int] = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # a C library without it
        return None
    return call


def exchange(source: Path, target: Path) -> None:
    """Exchange the files of two names in one folder.

    Raise FileNotFoundError when the target does not exist, and TakenError as described there.
    """
    if not _exchanged(source, target):
        _exchange_in_steps(source, target)


def _exchanged(source: Path, target: Path) -> bool:
    """Exchange in one step; return False where the system or the file system cannot."""
    renameat2 = _system_call()
    if renameat2 is None:
        return False
    import ctypes  # noqa: PLC0415 (as above)

    names = os.fsencode(source), os.fsencode(target)
    if renameat2(_CURRENT_FOLDER, names[0], _CURRENT_FOLDER, names[1], RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_SUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(target))


def _exchange_in_steps(source: Path, target: Path) -> None:
    taken = source.with_name(source.name + TAKEN)
    target.rename(taken)
    try:
        put_new(source, target)
    except FileExistsError:
        raise TakenError(source, taken) from None
    taken.rename(source)


def put_new(source: Path, target: Path) -> None:
    """Rename to a name that is free; raise FileExistsError, and change nothing, when it is not."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
        _put_new_without_links(source, target)
    else:
        source.unlink()


def _put_new_without_links(source: Path, target: Path) -> None:
    """Reserve the name with an empty file, because the file system has no hard links (exFAT, some network shares)."""
    with target.open("xb"):
        pass
    source.replace(target)


def is_being_written(descriptor: int) -> bool:
    """Return whether another process may be in the middle of writing this file, which is open for reading."""
    held = is_open_for_writing(descriptor)
    if held is None:
        return 0 <= time.time() - os.fstat(descriptor).st_mtime < FRESH_S
    return held


if sys.platform == "linux":
    import fcntl
    import signal

    def is_open_for_writing(descriptor: int) -> bool | None:
        """Return whether anyone has the file open for writing; None when the system does not tell."""
        try:
            # A process that opens the file in this moment waits for microseconds, and we are sent a signal: one that
            # is ignored by default, because the usual one would end the process.
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError as error:
            return True if error.errno == errno.EAGAIN else None
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False

else:

    def is_open_for_writing(descriptor: int) -> bool | None:  # noqa: ARG001 (the same signature as on Linux)
        """Return None: this system does not tell whether anyone has the file open for writing."""
        return None
