"""Locks: one holder at a time, and a clear word where the file system knows none."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import portalocker.portalocker
import pytest

from memoria.ground import locks
from memoria.ground.errors import CannotLockError


def test_a_lock_has_one_holder_and_is_free_after_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.lock"
    with locks.held(path) as mine:
        assert mine
        with locks.held(path) as second:
            assert not second
        with locks.held(path) as third:  # the one that did not get it has not let it go
            assert not third
    with locks.waiting(path), locks.held(path) as mine:
        assert not mine


def test_a_file_system_without_locks_is_refused_with_a_clear_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(portalocker.portalocker, "LOCKER", refuse)
    for lock in (locks.held, locks.waiting):
        with pytest.raises(CannotLockError, match="MEMORIA_STATE"), lock(tmp_path / "a.lock"):
            pass


def test_a_lock_is_waited_for_only_as_long_as_said(tmp_path: Path) -> None:
    with locks.held(tmp_path / "lock"):
        freed = threading.Event()
        waits = threading.Thread(target=lambda: _take(tmp_path / "lock", freed))
        waits.start()
        assert not freed.is_set()
    waits.join()
    assert freed.is_set()


def _take(path: Path, freed: threading.Event) -> None:
    with locks.held(path, 60.0) as mine:
        if mine:
            freed.set()
