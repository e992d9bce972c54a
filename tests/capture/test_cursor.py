from __future__ import annotations

from pathlib import Path

import pytest

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
