"""Locks: one process at a time, released by the operating system when the holder dies.

A lock is held on a file descriptor and does not depend on the existence of a file, so none is stale after a crash or a
power cut. Systems with ``flock`` are called directly. The others use ``portalocker``, which takes longer to import than
everything else that an idle worker needs (docs/decisions/0008-dependencies.md).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from memoria.ground import files
from memoria.ground.errors import CannotLockError

LOOK_S = 0.2  # seconds between two looks at a lock that another process holds

if sys.platform == "win32":
    import portalocker

    def _lock(file: IO[str], *, wait: bool) -> bool:
        flags = portalocker.LockFlags.EXCLUSIVE
        try:
            portalocker.lock(file, flags if wait else flags | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.exceptions.AlreadyLocked:
            return False
        except portalocker.exceptions.LockException as error:
            raise OSError(str(error)) from error
        return True

    def _unlock(file: IO[str]) -> None:
        portalocker.unlock(file)

else:
    import fcntl

    def _lock(file: IO[str], *, wait: bool) -> bool:
        """Lock an open file; return False when another process holds it and ``wait`` is false. Raises OSError."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Try to take the lock of ``path`` without waiting; yield whether it was taken."""
    with _locked(path, wait=False) as mine:
        yield mine


@contextmanager
def held_soon(path: Path, within_s: float) -> Iterator[bool]:
    """Try to take the lock of ``path`` for up to ``within_s`` seconds; yield whether it was taken."""
    until = time.monotonic() + within_s
    while True:
        with held(path) as mine:
            if mine or time.monotonic() >= until:
                yield mine
                return
        time.sleep(LOOK_S)


@contextmanager
def waiting(path: Path) -> Iterator[None]:
    """Take the lock of ``path``, waiting as long as necessary (holders keep it for milliseconds)."""
    with _locked(path, wait=True):
        yield


@contextmanager
def _locked(path: Path, *, wait: bool) -> Iterator[bool]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", opener=files.private) as file:
        try:
            mine = _lock(file, wait=wait)
        except OSError as error:
            raise CannotLockError(path) from error
        try:
            yield mine
        finally:
            if mine:
                _unlock(file)
