"""Locks: one process at a time, let go by the operating system when its holder dies.

A lock is a lease on a file descriptor, never a file's existence: nothing is stale after a crash or a power cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import portalocker

from memoria.ground import files
from memoria.ground.errors import CannotLockError


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Try to hold ``path``'s lock without waiting; yields whether it was got."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", opener=files.private) as file:
        try:
            portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.exceptions.AlreadyLocked:
            yield False
            return
        except portalocker.exceptions.LockException as error:
            raise CannotLockError(path) from error
        try:
            yield True
        finally:
            portalocker.unlock(file)


@contextmanager
def waiting(path: Path) -> Iterator[None]:
    """Hold ``path``'s lock, waiting for it as long as it takes (holders keep it for milliseconds)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", opener=files.private) as file:
        try:
            portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE)
        except portalocker.exceptions.LockException as error:
            raise CannotLockError(path) from error
        try:
            yield
        finally:
            portalocker.unlock(file)
