from __future__ import annotations

from pathlib import Path

import pytest

from memoria.capture import cursor
from memoria.capture.cursor import Cursor


def test_a_cursor_comes_back_as_it_was(tmp_path: Path) -> None:
    path = "/home/ada/" + "prô ject/" * 400 + "t.jsonl"
    cursor.write(str(tmp_path), "s", Cursor(path, 12, b"\xff\n"))
    found = cursor.read(str(tmp_path), "s", path)
    assert (found.end, found.mark) == (12, b"\xff\n")
    assert list(tmp_path.glob("s*")) == [tmp_path / "s"]


TORN = (
    b"", b"{", b"[]", b"\xff" * 100, b'{"transcript": "t"}', b'{"transcript": "t", "end": "x", "mark": ""}',
    b'{"transcript": "t", "end": 3, "mark": 7}',
)  # fmt: skip


@pytest.mark.parametrize("text", TORN)
def test_a_torn_cursor_means_from_the_beginning(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "s").write_bytes(text)
    assert cursor.read(str(tmp_path), "s", "t").end == 0


def test_a_cursor_of_another_transcript_says_nothing(tmp_path: Path) -> None:
    cursor.write(str(tmp_path), "s", Cursor("t", 12, b""))
    assert cursor.read(str(tmp_path), "s", "u").end == 0
    assert cursor.read(str(tmp_path), "other", "t").end == 0
