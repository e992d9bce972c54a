"""Markdown: text from elsewhere as one inert line."""

from __future__ import annotations

import pytest

from memoria.ground import markdown
from memoria.indexing import documents


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Created [.github/CODEOWNERS](.github/CODEOWNERS).", "Created .github/CODEOWNERS."),
        ("See [`flush.py`](scripts/memoria/flush.py:10)!", "See `flush.py` (scripts/memoria/flush.py:10)!"),
        ("Run [this](javascript:alert(1))", "Run this (javascript:alert(1))"),
        ("[click](file:///etc/passwd)", "click (file:///etc/passwd)"),
        ("[the docs](https://example.org/a)", "[the docs](https://example.org/a)"),
        ("`[a](b)` and a[0](x)", "`[a](b)` and a[0](x)"),
        ("![logo](logo.png)", r"!\[logo](logo.png)"),
        ("rows[1][0](x) and f()[0](x)", "rows[1][0](x) and f()[0](x)"),
        ("`` `[a](b) `` and `x [a` b](c)", "`` `[a](b) `` and `x [a` b](c)"),
    ],
)
def test_a_link_to_anything_but_the_web_stays_as_words(said: str, written: str) -> None:
    assert markdown.line(said) == written
    assert markdown.line(written) == written


@pytest.mark.parametrize("value", ["!!bool maybe", "!!int ''", "!!float ''", "!!timestamp soon"])
def test_a_value_that_is_not_what_its_tag_says_is_invalid_frontmatter_and_is_indexed_as_text(value: str) -> None:
    with pytest.raises(ValueError, match="invalid frontmatter"):
        markdown.Frontmatter(f"title: {value}")
    found = documents.article("knowledge/concepts/heron.md", f"---\ntitle: {value}\n---\nHerons stand still.\n")
    assert found.title == "heron"
    assert any("Herons stand still." in passage.text for passage in found.passages)


@pytest.mark.parametrize("before", ["```", "``` `", "\\`", "``", "` `` "])
def test_backticks_that_open_no_code_shelter_no_link_and_no_picture(before: str) -> None:
    after = "`" if before == "\\`" else ""
    written = markdown.line(f"see {before} ![p](https://example.org/p.png) [[heron]] <img src=x>{after}")
    assert not any(live in written for live in ("![", "[[", "<img"))
    assert markdown.line(written) == written


def test_what_is_inert_stays_as_it_is_when_it_is_written_again() -> None:
    assert markdown.line("if [[[heron]]]") == markdown.line(markdown.line("if [[[heron]]]"))
    assert markdown.line("said ^l-abcd") == r"said \^l-abcd"
    assert markdown.line(r"said \^l-abcd") == r"said \^l-abcd"


@pytest.mark.parametrize("seconds", [10**12, -(10**12), 2**62 // 10**9 * 1000])
def test_a_file_time_that_no_calendar_has_is_no_day(seconds: int) -> None:
    assert documents.day_of(seconds * 10**9) == ""


@pytest.mark.parametrize(
    ("row", "wanted"),
    [("##", (2, "")), ("## ", (2, "")), ("## A ##", (2, "A")), ("## C#", (2, "C#")), ("#x", (0, "")), ("x", (0, "")),
     ("####### x", (0, "")), ("## #", (2, "")), ("#\tA #b\r", (1, "A #b")), ("", (0, ""))],
)  # fmt: skip
def test_a_heading_is_read_as_commonmark_has_it(row: str, wanted: tuple[int, str]) -> None:
    assert markdown.heading(row) == wanted
