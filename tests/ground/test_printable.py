"""What was remembered does not steer the terminal it is printed on."""

from __future__ import annotations

import io
import logging
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from memoria.ground import printable
from memoria.ground.errors import ExpectedError


@pytest.mark.parametrize(("text", "line", "lines"), [
    ("plain", "plain", "plain"), ("two\n\n  lines\tand a tab", "two lines and a tab", "two\n\n  lines\tand a tab"),
    ("\x1b[2Jgone\x07\x00", "[2Jgone", "[2Jgone"), ("back\rover", "back over", "backover"),
    ("left\u202eright\u200b", "leftright", "leftright"), ("\u3000wide\u00a0x", "wide x", " wide x"),
    ("👩\u200d💻", "👩\u200d💻", "👩\u200d💻"), ("ünïcödé 語 🙂", "ünïcödé 語 🙂", "ünïcödé 語 🙂"),
])  # fmt: skip
def test_only_what_can_be_read_is_printed(text: str, line: str, lines: str) -> None:
    assert printable.line(text) == line
    assert printable.lines(text) == lines


@pytest.mark.parametrize(("number", "noun", "text"), [
    (0, "note", "0 notes"), (1, "model call", "1 model call"), (2, "model call", "2 model calls"),
    (1200, "entry", "1,200 entries"), (2, "day", "2 days"), (1, "entry", "1 entry"),
])  # fmt: skip
def test_one_is_counted_in_the_singular(number: int, noun: str, text: str) -> None:
    assert printable.amount(number, noun) == text


def _write(file: printable.LogFile, message: str) -> None:
    file.handle(logging.LogRecord("memoria", logging.INFO, "x.py", 1, message, (), None))
    file.close()


def test_the_log_is_made_with_its_first_record_for_its_owner_alone_and_each_record_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "memoria.log"
    file = printable.LogFile(str(path))
    assert not path.exists()
    _write(file, "one\ntwo \x1b[2J")
    (row,) = path.read_text("utf-8").splitlines()
    assert row.endswith("INFO memoria: one\\ntwo [2J")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    _write(printable.LogFile(str(path / "below a file")), "is lost, and fails nothing")


def test_only_a_yes_on_a_terminal_is_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ExpectedError, match="Add --yes"):
        printable.confirm("Remove it?", "Add --yes.")
    said = iter(("y", " Yes\n", "\n", "n", "yesterday", ""))  # the last is Ctrl-D
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True, readline=lambda: next(said)))
    assert [printable.confirm("Remove it?", "") for _ in range(6)] == [True, True, False, False, False, False]
    assert capsys.readouterr().out == "Remove it? [y/N] " * 6, "the answer is typed beside the question"


def test_what_the_encoding_of_a_pipe_lacks_is_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="cp1252", newline="\n")  # as on Windows
    monkeypatch.setattr(sys, "stdout", pipe)
    with printable.streams():
        print("Größe · 语 🙂")
    pipe.flush()
    assert pipe.buffer.getvalue().decode("cp1252") == "Größe · ? ?\n"
