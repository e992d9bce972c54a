"""A page keeps every byte that a person put there."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.wiki.article import Article, Claim
from memoria.wiki.folder import Wiki

S1, S2, S3 = "daily/2026-11-16#^e-a1", "daily/2026-11-17#^e-b2", "daily/2026-11-18#^e-c3"
PAGE = f"""---
title: "The port"   # mine
cssclass: wide
aliases: []
tags:
    - net # first
    - shop
sources:
- '[[daily/2026-11-16]]'
created: 2026-11-16
updated: '2026-11-16'
---

# The port

Where the shop listens.


## Notes of mine

A *free* text with [[other|a link]].

## Key Points

- The port is `8080` [[{S1}]] ^port
  and this line explains it.
* A starred one [[{S1}|then]]

## Related

- [[concepts/shop|shop]]
"""


def article(text: str = PAGE) -> Article:
    return Wiki.parse("concepts/port", text.encode())


@pytest.mark.parametrize(
    "text",
    [
        PAGE,
        PAGE.replace("\n", "\r\n"),
        "\ufeff" + PAGE,
        PAGE.replace("\n", "\r\n", 9),
        PAGE.replace("\n", "\r\n").replace("\r\n", "\n", 9),
        PAGE.rstrip("\n"),
        PAGE + "\n\n\n",
        "no frontmatter, no heading",
        "---\n---\n# x\n",
        "---\ntitle: x\n---",
        "---\nnever closed\n",
        "# x\x0b\x0c\u2028\x85 y\n\n## Key Points\n```\n## no heading\n```\n",
        "## Key Points\n\n\n\n- x\n   \n##  Spaced  \n",
        "",
    ],
)
def test_a_page_that_nothing_was_added_to_is_the_same_bytes(text: str) -> None:
    assert Wiki.encode(article(text)) == text.encode()


@given(st.text(alphabet="ab#- \n`~:[]\r\u2028é", max_size=80))
def test_any_text_is_read_and_written_without_loss(text: str) -> None:
    try:
        page = Article("concepts/x", text)
    except ValueError:
        return
    assert page.render() == text


def test_adding_changes_only_the_lines_that_are_added() -> None:
    page = article()
    page.add(Claim("New fact", (S2,)))
    page.extend("tags", ["net", "http"])
    page.extend("sources", ["[[daily/2026-11-17]]"])
    page.extend("aliases", ["listener"])
    page.touch(date(2026, 11, 17))
    before, after = PAGE.splitlines(), page.render().splitlines()
    assert [row for row in before if row not in after] == ["aliases: []", "updated: '2026-11-16'"]
    assert [row for row in after if row not in before] == [
        "aliases:", "  - listener", "    - http", "- '[[daily/2026-11-17]]'", "updated: '2026-11-17'",
        f"- New fact [[{S2}|17 Nov]]",
    ]  # fmt: skip


def test_what_is_retired_goes_to_history_with_its_lines_and_its_block_id() -> None:
    page = article()
    section, number, _ = next(page.lines())
    page.retire(section, number, "2026-11-17")
    assert page.render().endswith(
        f"## History\n\n- Until 2026-11-17: The port is `8080` [[{S1}]] ^port\n  and this line explains it.\n"
    )
    assert [claim.text for claim in page.claims] == ["A starred one"]


@pytest.mark.parametrize(
    "front", ["{title: x, updated: '2026-01-01'}", '"title": x\n"updated": 2026-01-01', "updated: >\n  2026-01-01"]
)
def test_frontmatter_of_any_form_stays_valid(front: str) -> None:
    page = article(f"---\n{front}\n---\n# x\n")
    page.extend("tags", ["one"])
    page.touch(date(2026, 11, 17))
    again = article(page.render())
    assert again.front.text("title") == page.front.text("title")
    assert list(again.front.values)[:1] == list(article(f"---\n{front}\n---\n").front.values)[:1]


@pytest.mark.parametrize("front", ["[a", "just text", "- a\n- b", "a: b: c"])
def test_broken_frontmatter_is_said_and_not_guessed_at(front: str) -> None:
    with pytest.raises(ValueError, match="frontmatter"):
        article(f"---\n{front}\n---\n# x\n")
