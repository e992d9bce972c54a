"""Locks: one holder at a time, and a clear word where the file system knows none."""

from __future__ import annotations

import errno
import queue
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace

import portalocker.portalocker
import pytest

from memoria.ground import locks
from memoria.ground.errors import CannotLockError


def test_a_lock_has_one_holder_and_is_free_after_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.lock"
    with locks.take(path) as mine:
        assert mine
        for _ in range(2):  # the one that did not get it has not let it go
            with locks.take(path) as other:
                assert not other
    with locks.wait(path), locks.take(path) as mine:
        assert not mine


def test_a_file_system_without_locks_is_refused_in_clear_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(portalocker.portalocker, "LOCKER", refuse)
    for lock in (locks.take, locks.wait):
        with pytest.raises(CannotLockError, match="MEMORIA_STATE"), lock(tmp_path / "a.lock"):
            pass


def test_a_lock_is_waited_for_and_who_waits_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, said = tmp_path / "lock", queue.SimpleQueue[str]()
    monkeypatch.setattr("sys.stderr", SimpleNamespace(write=said.put, flush=lambda: None))

    def take(lock: AbstractContextManager[object]) -> None:
        with lock as mine, locks.take(path) as second:
            said.put(f"{mine} {second}")

    for lock, first in ((locks.take(path, 60.0), ""), (locks.wait(path, "It waits."), "It waits.")):
        with locks.take(path):
            waits = threading.Thread(target=take, args=(lock,))
            waits.start()
            assert not first or said.get(timeout=60) + said.get() == f"{first}\n"
        assert said.get(timeout=60) == ("None False" if first else "True False")
        waits.join()
