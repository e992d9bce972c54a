"""A replaced file is the old one or the new one, whatever goes wrong, and outlives a power cut when it must."""

from __future__ import annotations

import errno
import os
from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn

import pytest

from memoria.base import atomic
from memoria.ground import files

FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    path.write_bytes(b"old")
    return path


def _raise(error: OSError) -> NoReturn:
    raise error


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(
    file: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, call, lambda *_: _raise(FULL))
        with pytest.raises(OSError, match="No space"):
            atomic.replace(str(file), b"new", is_durable=True)
    assert file.read_bytes() == b"old"
    assert list(file.parent.iterdir()) == [file]


def test_a_durable_write_syncs_the_file_before_the_rename_and_its_folder_after(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, rename, folder = os.fsync, os.replace, file.parent.stat().st_ino

    def fsync(descriptor: int) -> None:
        steps.append("sync folder" if os.fstat(descriptor).st_ino == folder else "sync file")
        sync(descriptor)

    def replace(source: str, target: str) -> None:
        steps.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    atomic.replace(str(file), b"new", is_durable=True)
    files.replace(file, "new")
    assert steps == ["sync file", "rename", "sync folder"] * 2
    steps.clear()
    atomic.replace(str(file), b"newer")
    assert steps == ["rename"]


def test_a_file_is_its_owners_alone_unless_said_otherwise(tmp_path: Path) -> None:
    atomic.replace(str(tmp_path / "ours"), b"x")
    atomic.replace(str(tmp_path / "theirs"), b"x", mode=0o640)
    files.replace(tmp_path / "theirs", "y")
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("ours", "theirs")] == [0o600, 0o640]


@pytest.mark.parametrize(("number", "is_fault"), [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True)])
def test_a_folder_that_cannot_be_synced_is_no_fault_but_one_that_fails_is(
    tmp_path: Path, number: int, is_fault: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: _raise(OSError(number, "no")))
    with pytest.raises(OSError, match="no") if is_fault else nullcontext():
        atomic.sync_folder(str(tmp_path))
