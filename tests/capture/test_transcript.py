from __future__ import annotations

import os
from pathlib import Path

import pytest

from memoria.capture.cursor import Slice, read_after


def read(path: Path, start: int = 0, mark: bytes = b"") -> Slice:
    piece = read_after(str(path), start, mark)
    assert piece
    return piece


@pytest.mark.parametrize("after", [b"x\n", b"other\nlines\nof more\n"])
def test_a_truncated_or_rewritten_file_is_read_from_its_beginning(tmp_path: Path, after: bytes) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"one\ntwo\n")
    piece = read(path)
    path.write_bytes(after)
    again = read(path, piece.end, piece.mark)
    assert (again.start, again.data) == (0, after)


def test_a_file_rewritten_with_lines_that_end_alike_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    end = b',"version":"2.1.329","gitBranch":"main"}\n'
    path.write_bytes(b'{"uuid":"1"' + end)
    piece = read(path)
    path.write_bytes(b'{"uuid":"2"' + end + b'{"uuid":"3"' + end)
    assert read(path, piece.end, piece.mark).start == 0


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
    with pytest.raises(OSError, match="no regular file"):
        read_after(str(path), 0, b"")
