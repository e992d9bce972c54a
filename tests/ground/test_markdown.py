"""Markdown: text from elsewhere as one inert line."""

from __future__ import annotations

import json
import random
import re

import pytest

from as_before import digest, same
from memoria.ground import markdown
from memoria.search.words import fold
from places import TESTS


@pytest.mark.parametrize(("row", "wanted"), [
    ("##", (2, "")), ("## ", (2, "")), ("## A ##", (2, "A")), ("## C#", (2, "C#")), ("#x", (0, "")), ("x", (0, "")),
    ("####### x", (0, "")), ("## #", (2, "")), ("#\tA #b\r", (1, "A #b")), ("", (0, "")),
])  # fmt: skip
def test_a_heading_is_read_as_commonmark_has_it(row: str, wanted: tuple[int, str]) -> None:
    assert markdown.heading(row) == wanted


@pytest.mark.parametrize(("said", "written"), json.loads((TESTS / "fixtures" / "active.json").read_text("utf-8")))
def test_what_a_reader_of_markdown_would_act_on_is_text(said: str, written: str) -> None:
    assert markdown.line(said) == written
    assert markdown.line(written) == written


PIECES = ["<", "<b>", "`", "``", "```", "\\", "!", "[", "]", "[[", "]]", "](", "(", ")", ":", "::", " ", "%", "%%", "=",
          "$=", "> ", "# ", "~~~", "-", "x", "word", "javascript:", "https://h", "file://", "obsidian://h", "^l-ab",
          "&", "<!--", "-->", "<%", "INPUT[", "é", "\u202e", "\n", "1"]  # fmt: skip
LIVE = re.compile(
    r"<[A-Za-z/!?%]|!\[|\[\[|::(?=\s|$)|%%|(?:obsidian|file)://"
    r"|\]\((?=.*\))(?!\s*(?:https?://|mailto:)|[^():/&\\%<]*\))",
    re.IGNORECASE,
)


def _outside_code(text: str) -> tuple[str, list[str]]:
    """Return the text without its code spans, and these; read one character at a time."""
    rest, codes, place = "", [], 0
    while place < len(text):
        if text[place] == "\\":
            rest, place = rest + text[place : place + 2], place + 2
            continue
        run = len(text[place:]) - len(text[place:].lstrip("`"))
        close = re.search(rf"(?<!`)`{{{run}}}(?!`)", text[place + run :]) if run else None
        if close:
            codes.append(text[place : place + run + close.end()])
            rest, place = rest + " code ", place + run + close.end()
        else:
            rest, place = rest + text[place : place + max(run, 1)], place + max(run, 1)
    return rest, codes


@pytest.mark.slow
def test_no_mixture_of_signs_stays_active_and_a_second_call_changes_nothing() -> None:
    dice, made = random.Random(13), list[str]()
    for _ in range(3_000):
        said = "".join(dice.choices(PIECES, k=dice.randint(1, 14)))
        written = markdown.line(said)
        assert markdown.line(written) == written, said
        assert "](" in said or "<%" in said or fold(said) in fold(written), (said, "and is found to be forgotten")
        for short in (written, markdown.cut(written, dice.randint(0, 30))):
            made.append(short)
            rest, codes = _outside_code(short)
            assert not LIVE.search(rest), (said, short)
            assert not any(re.match(r"`+\s*\$?=|`+\s*INPUT\[", code) or "<%" in code for code in codes), (said, short)
            assert not re.match(r"\s*(?:>|~~~|#{1,6}\s|```(?!.*```))", short), (said, short)
    same("read/lines.txt", [digest(made[at : at + 200]) for at in range(0, len(made), 200)])


def test_frontmatter_changes_in_the_lines_of_one_key() -> None:
    rows: list[object] = []
    for raw, (method, *given) in json.loads((TESTS / "fixtures" / "frontmatter.json").read_text("utf-8")):
        front = markdown.Frontmatter(raw)
        getattr(front, method)(*given)
        assert front.values == markdown.Frontmatter(front.raw).values
        rows += [f"== {raw!r}: {method} {given}", front.raw]
    same("read/frontmatter.txt", rows)


def test_a_file_is_read_as_obsidian_and_commonmark_have_it() -> None:
    found = markdown.links("a [[x]] [[ y.md#^b | shown ]] `[[code]]` [[z#h]] ```\n[[f]]\n```\n[[u|v")
    assert [(link.target, link.anchor, link.shown) for link in found] == [
        ("x", "", ""), ("y.md", "#^b", "shown"), ("z", "#h", ""),
    ]  # fmt: skip
    rows = ["a", "```py", "b", "~~~", "```", "c", "  ~~~~", "~~~", "~~~~~", "d", "``` x`", "e", "```"]
    outside = [row for row, in_code in markdown.code_rows(rows) if not in_code]
    assert outside == ["a", "c", "d", "``` x`", "e"]
    texts = ["---\na: 1\n---\nx", "---\na: 1", "x\n---\n"]
    assert list(map(markdown.split_frontmatter, texts)) == [("a: 1", "x"), (None, texts[1]), (None, texts[2])]
    pages = [["x", "```", "# no", "```", "# A", "# B"], ["## A", "# B"], ["### A", "# B"], []]
    assert list(map(markdown.first_heading, pages)) == ["A", "", "B", ""]
    items = ["- [ ] do", "* [x] done", "+ x", "1. x", "[] y", "-x", " - z"]
    assert list(map(markdown.strip_bullet, items)) == ["do", "done", "x", "1. x", "y", "-x", "z"]


def test_frontmatter_that_nests_too_deeply_for_the_loader_is_refused() -> None:
    assert markdown.load_yaml("[" * 100 + "]" * 100)
    with pytest.raises(ValueError, match="too many brackets"):
        markdown.load_yaml("[" * 101 + "]" * 101)
