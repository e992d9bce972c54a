"""What was remembered does not steer the terminal it is printed on."""

from __future__ import annotations

import ast
import logging
import re
import stat
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from memoria.ground import printable
from places import ROOT
from syntax import nodes


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
    ("text", "clause", "sentence"),
    [
        ("disk full", "disk full", "disk full."),
        ("The answer does not fit.", "The answer does not fit", "The answer does not fit."),
        ("Why does it fail?", "Why does it fail?", "Why does it fail?"),
        ("and so on…", "and so on…", "and so on…"),
    ],
)
def test_a_message_ends_in_one_mark(text: str, clause: str, sentence: str) -> None:
    assert printable.clause(text) == clause
    assert printable.sentence(text) == printable.sentence(sentence) == sentence


FOREIGN = re.compile(r"\b(error|exc|reasons?|refusal|problems?|failures?|remark|stopped|entry\W+title|texts?\[0\])")
ENDED = ("clause(", "sentence(", "rstrip(", "strerror", "exit_code")


def doubled(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the expressions in f-strings that may end in a full stop of their own before another mark."""
    found = []
    for node in nodes:
        parts = node.values if isinstance(node, ast.JoinedStr) else []
        for part, after in pairwise(parts):
            follows = str(after.value) if isinstance(after, ast.Constant) else ""
            if isinstance(part, ast.FormattedValue) and re.match(r"\.(\s|$)|;", follows):
                text = ast.unparse(part.value)
                if FOREIGN.search(text) and not any(word in text for word in ENDED):
                    found.append(text)
    return found


def test_no_message_of_another_is_followed_by_a_second_full_stop() -> None:
    assert doubled(ast.walk(ast.parse('f"stopped: {error}. Try again."'))) == ["error"]
    folder = ROOT / "scripts" / "memoria"
    found = {str(path.relative_to(folder)): doubled(nodes(path)) for path in folder.rglob("*.py")}
    assert {name: texts for name, texts in found.items() if texts} == {}


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


def test_a_log_that_cannot_be_written_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    _write(printable.LogFile(str(tmp_path / "file" / "memoria.log")), "one")
