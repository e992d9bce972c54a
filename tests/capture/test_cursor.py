from __future__ import annotations

import random
from pathlib import Path

import pytest

from as_before import same
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


def test_positions_spans_and_slices_are_as_they_were_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cursor, "COPY_BYTES", 24)
    monkeypatch.setattr(cursor, "MARK_BYTES", 4)
    transcript, rows = tmp_path / "t.jsonl", list[object]()
    told = str(tmp_path), "s", str(transcript)

    def look(step: str) -> None:
        found = cursor.paused_spans(*told[:2])
        rows.append(f"{step}: {found and (Path(found.transcript).name, found.spans, found.is_open)}")
        if found:
            lines = [b"12", b"345678", b"9", b"0" * 20, b"1" * 9]
            rows.append([found.end_after(place) for place in range(0, 40, 3)])
            rows.append([found.covers(place) for place in range(0, 40, 3)])
            rows.append([cursor.drop_quiet(lines, start, found) for start in (0, 5, 12)])

    cursor.pause(*told, starts=True)  # the client has written nothing yet
    look("begun")
    steps = (("pause", 5, False), ("resume", 9, False), ("pause", 12, False), ("pause", 20, False),
             ("resume", 30, True), ("pause", 33, True), ("pause", 3, False), ("resume", 40, True))  # fmt: skip
    draw = random.Random(26)
    drawn = [(draw.choice(("pause", "resume")), draw.randrange(40), draw.random() < 0.5) for _ in range(60)]
    for verb, size, starts in (*steps, *drawn):
        transcript.write_bytes(b"x" * size)
        cursor.write(*told[:2], Cursor(told[2], 2, b""))
        getattr(cursor, verb)(*told, starts=starts)
        look(f"{verb} at {size} {starts}")
    for path, starts in (("", False), (str(transcript), True), (str(transcript), False)):
        for verb in ("pause", "resume"):
            getattr(cursor, verb)(*told[:2], path, starts)
            look(f"{verb} of {path[-7:]} {starts}")
    Path(told[0], f"s{cursor.OFF}").write_text('{"transcript": "t", "spans": [[1]], "open": true}')
    look("torn")
    assert cursor.drop_quiet([b"1"], 0, None) == [b"1"]
    for text in (
        b"", b"no line", b"one\n", b"one\ntwo", b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n", b"1" * 30 + b"\n2\n",
        b"1" * 40,
    ):  # fmt: skip
        transcript.write_bytes(text)
        for start, mark in ((0, b""), (4, b"one\n"), (4, b"two\n"), (4, b""), (99, b""), (len(text), text[-4:])):
            found = cursor.read_after(told[2], start, mark)
            rows.append([text, start, mark, found and [getattr(found, name) for name in sorted(found.__slots__)]])
    data = b'{"cwd":"/a","x":{"cwd" : "/b\\"c"},"cwd":3,"cwd":"/d\\\\","y":"\\"cwd\\":\\"/e\\"","cwd":"/f'
    rows += [cursor.read(told[0], *each).end for each in (("s", told[2]), ("s", "u"), ("other", told[2]))]
    same("read/cursors.txt", [*rows, sorted(cursor.folders(data)), sorted(cursor.folders(b"{}"))])
