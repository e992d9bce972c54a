from __future__ import annotations

import os
from pathlib import Path

import pytest

from memoria.capture.cursor import Slice, read_after


def read(path: Path, start: int = 0, mark: bytes = b"") -> Slice:
    piece = read_after(str(path), start, mark)
    assert piece
    return piece


END = b',"version":"2.1.329","gitBranch":"main"}\n'  # of each line


@pytest.mark.parametrize(("before", "after"), [
    (b"one\ntwo\n", b"x\n"), (b"one\ntwo\n", b"other\nlines\nof more\n"),
    (b'{"uuid":"1"' + END, b'{"uuid":"2"' + END + b'{"uuid":"3"' + END),
])  # fmt: skip
def test_a_truncated_or_rewritten_file_is_read_from_its_beginning(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(before)
    piece = read(path)
    path.write_bytes(after)
    again = read(path, piece.end, piece.mark)
    assert (again.start, again.data) == (0, after)


def test_a_gigabyte_costs_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        file.seek(1_000_000_000)
        file.write(b"\nnew\n")
    taken: list[int] = []
    real = os.read

    def counted(descriptor: int, length: int) -> bytes:
        data = real(descriptor, length)
        taken.append(len(data))
        return data

    monkeypatch.setattr(os, "read", counted)
    assert read(path, 1_000_000_001).data == b"new\n"
    assert sum(taken) < 1000


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.jsonl"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    held = set(Path("/dev/fd").iterdir())
    with pytest.raises(OSError, match="no regular file"):
        read_after(str(path), 0, b"")
    assert set(Path("/dev/fd").iterdir()) == held, "else a worker has none left one day"
