"""Locks: one process at a time, released by the operating system when the holder dies.

A lock is held on a file descriptor and does not depend on the existence of a file, so none is stale after a crash or a
power cut. ``portalocker`` takes longer to import than everything else that a verb with nothing to do needs, so it is
imported where the first lock is taken (docs/decisions/0008-dependencies.md).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memoria.base.paths import opener
from memoria.ground.errors import CannotLockError, ExpectedError

LOOK_S = 0.2  # seconds between two looks at a lock that another process holds
PATIENCE_S = 60.0  # that a person who asked for something waits for the process that is at it


@contextmanager
def take(path: Path, within_s: float = 0.0) -> Iterator[bool]:
    """Try to take the lock of ``path`` for up to ``within_s`` seconds; yield whether it was taken."""
    until = time.monotonic() + within_s
    while True:
        with _flock(path, wait=False) as mine:
            if mine or time.monotonic() >= until:
                yield mine
                return
        time.sleep(LOOK_S)


@contextmanager
def require(path: Path, what: str, within_s: float = 0.0) -> Iterator[None]:
    """Take the lock of ``path`` for somebody who waits for it, up to ``within_s`` seconds (0: the usual).

    Raise ExpectedError, which says that ``what`` is running, when another process holds it longer.
    """
    with take(path, within_s or PATIENCE_S) as mine:
        if not mine:
            raise ExpectedError(f"{what} is running; try again when it is done.")
        yield


@contextmanager
def wait(path: Path, told: str = "") -> Iterator[None]:
    """Take the lock of ``path``, waiting as long as necessary; ``told`` is printed when another process holds it.

    Without it, holders keep it for milliseconds.
    """
    is_told = False
    while True:  # Windows gives up after ten seconds
        with _flock(path, wait=is_told) as mine:
            if mine:
                yield
                return
        if told and not is_told:
            print(told, file=sys.stderr)
        is_told = True


@contextmanager
def _flock(path: Path, *, wait: bool) -> Iterator[bool]:
    # its lock by way of Redis is not used, and would import all of ``redis`` where that is installed
    sys.modules.setdefault("portalocker.redis", None)  # type: ignore[arg-type]
    import portalocker  # noqa: PLC0415 (slow, paid with the first lock)

    flags = portalocker.LockFlags.EXCLUSIVE
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", opener=opener) as file:
        mine = True
        try:
            portalocker.lock(file, flags if wait else flags | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.AlreadyLocked:
            mine = False
        except (OSError, portalocker.LockException) as error:
            raise CannotLockError(path) from error
        try:
            yield mine
        finally:
            if mine:
                portalocker.unlock(file)
