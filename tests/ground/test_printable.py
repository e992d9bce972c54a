"""What was remembered does not steer the terminal it is printed on."""

from __future__ import annotations

import pytest

from memoria.ground import printable


@pytest.mark.parametrize(
    ("text", "line", "lines"),
    [
        ("plain", "plain", "plain"),
        ("two\n\n  lines\tand a tab", "two lines and a tab", "two\n\n  lines\tand a tab"),
        ("\x1b[2Jgone\x07\x00", "[2Jgone", "[2Jgone"),
        ("back\rover", "back over", "backover"),
        ("left\u202eright\u200b", "leftright", "leftright"),
        ("\u3000wide\u00a0x", "wide x", " wide x"),
        ("👩\u200d💻", "👩\u200d💻", "👩\u200d💻"),
        ("ünïcödé 語 🙂", "ünïcödé 語 🙂", "ünïcödé 語 🙂"),
    ],
)
def test_only_what_can_be_read_is_printed(text: str, line: str, lines: str) -> None:
    assert printable.line(text) == line
    assert printable.lines(text) == lines


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "note", "0 notes"),
        (1, "model call", "1 model call"),
        (2, "model call", "2 model calls"),
        (1200, "entry", "1,200 entries"),
        (2, "day", "2 days"),
        (1, "entry", "1 entry"),
    ],
)
def test_one_is_counted_in_the_singular(number: int, noun: str, text: str) -> None:
    assert printable.counted(number, noun) == text
