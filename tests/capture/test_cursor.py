from __future__ import annotations

import os
from pathlib import Path

import pytest

from memoria.base import failpoints
from memoria.capture import cursor
from memoria.capture.cursor import Cursor

TORN = (
    b"", b"{", b"[]", b"\xff" * 100, b'{"transcript": "t"}', b'{"transcript": "t", "end": "x", "mark": ""}',
    b'{"transcript": "t", "end": 3, "mark": 7}', b'{"transcript": "t", "end": -3, "mark": ""}',
)  # fmt: skip


@pytest.mark.parametrize("text", TORN)
def test_a_torn_cursor_means_from_the_beginning(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "s").write_bytes(text)
    assert cursor.read(str(tmp_path), "s", "t").end == 0


def test_a_cursor_of_another_transcript_says_nothing(tmp_path: Path) -> None:
    cursor.write(str(tmp_path), "s", Cursor("t", 12, b""))
    assert cursor.read(str(tmp_path), "s", "u").end == 0
    assert cursor.read(str(tmp_path), "other", "t").end == 0


def test_a_hook_killed_before_the_cursor_moves_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor.write(str(tmp_path), "s", Cursor("t", 12, b"old"))

    def killed(step: str) -> None:
        if step == "cursor.written":
            raise KeyboardInterrupt

    monkeypatch.setattr(failpoints, "reached", killed)
    with pytest.raises(KeyboardInterrupt):
        cursor.write(str(tmp_path), "s", Cursor("t", 34, b"new"))
    found = cursor.read(str(tmp_path), "s", "t")
    assert (found.end, found.mark) == (12, b"old")


def test_what_a_killed_hook_of_the_same_process_id_left_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / f".s.{os.getpid()}.tmp").write_bytes(b"x" * 500)
    cursor.write(str(tmp_path), "s", Cursor("t", 12, b""))
    assert cursor.read(str(tmp_path), "s", "t").end == 12
