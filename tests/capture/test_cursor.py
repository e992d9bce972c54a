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


def test_a_session_begun_switched_off_is_off_from_its_first_byte_on(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    told = str(tmp_path), "s", str(transcript)
    covered = []
    cursor.pause(*told, starts=True)  # the client has written nothing yet
    for step in (cursor.pause, cursor.resume):
        found = cursor.paused(*told[:2])
        assert found is not None
        covered += [found.covers(place) for place in (0, 10)]
        transcript.write_bytes(b"0123456789")
        step(*told, starts=step is cursor.resume)
    found = cursor.paused(*told[:2])
    assert found is not None
    assert [*covered, *map(found.covers, (0, 9, 10))] == [True, True, True, True, True, True, False]
