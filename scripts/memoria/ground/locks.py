"""Locks: one process at a time, let go by the operating system when its holder dies.

A lock is a lease on a file descriptor, never a file's existence: nothing is stale after a crash or a power cut. The
systems with ``flock`` are asked directly, the others through ``portalocker``, which costs more to import than all else
that a worker with nothing to do needs (docs/decisions/0008-dependencies.md).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from memoria.ground import files
from memoria.ground.errors import CannotLockError

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
        """Lock an open file; False when another process holds it and there is no waiting. OSError: it cannot be."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Try to hold ``path``'s lock without waiting; yield whether it was got."""
    with _locked(path, wait=False) as mine:
        yield mine


@contextmanager
def waiting(path: Path) -> Iterator[None]:
    """Hold ``path``'s lock, waiting for it as long as it takes (holders keep it for milliseconds)."""
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
