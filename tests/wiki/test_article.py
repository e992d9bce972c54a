"""A page keeps every byte that a person put there."""

from __future__ import annotations

from datetime import date
from difflib import ndiff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from as_before import bent, digest, same
from memoria.wiki import lines
from memoria.wiki.article import Article, Claim, heading_of
from memoria.wiki.folder import Wiki
from places import TESTS

S1, S2, S3 = "daily/2026-11-16#^e-a1", "daily/2026-11-17#^e-b2", "daily/2026-11-18#^e-c3"
PAGE, NEW = ((TESTS / "fixtures" / "pages" / f"{name}.md").read_text("utf-8") for name in ("port", "new"))


def article(text: str = PAGE) -> Article:
    return Article("concepts/port", text)


@pytest.mark.parametrize("text", [
    PAGE, PAGE.replace("\n", "\r\n"), "\ufeff" + PAGE, PAGE.replace("\n", "\r\n", 9),
    PAGE.replace("\n", "\r\n").replace("\r\n", "\n", 9), PAGE.rstrip("\n"), PAGE + "\n\n\n",
    "no frontmatter, no heading", "---\n---\n# x\n", "---\ntitle: x\n---", "---\nnever closed\n",
    "# x\x0b\x0c\u2028\x85 y\n\n## Key Points\n```\n## no heading\n```\n",
    "## Key Points\n\n\n\n- x\n   \n##  Spaced  \n", "",
])  # fmt: skip
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
    page.front.add("tags", ["net", "http"])
    page.front.add("sources", ["[[daily/2026-11-17]]"])
    page.front.add("aliases", ["listener"])
    page.touch(date(2026, 11, 17))
    before, after = PAGE.splitlines(), page.render().splitlines()
    assert [row for row in before if row not in after] == ["aliases: []", "updated: '2026-11-16'"]
    assert [row for row in after if row not in before] == [
        "aliases:", "  - listener", "    - http", "- '[[daily/2026-11-17]]'", "updated: '2026-11-17'",
        f"- New fact [[{S2}|17 Nov]]",
    ]  # fmt: skip


def test_what_is_retired_goes_to_history_with_its_lines_and_comes_back_with_them() -> None:
    page = article()
    section, number, _ = next(page.lines())
    page.retire(section, number, "2026-11-17", Claim("It is `9090`", (S2,), "l-new"))
    assert page.render().endswith(
        f"## Related\n\n- [[concepts/shop|shop]]\n\n## History\n\n- Until 2026-11-17: The port is `8080` [[{S1}]] ^port"
        f"\n  and this line explains it.\n  - Since then: It is `9090` [[{S2}|17 Nov]]\n"
    )
    assert [claim.text for claim in page.claims] == ["A starred one"]
    assert page.history == [Claim("The port is `8080`", (S1,), "port")]
    assert not page.forget_reasons(["l-new", "b2"].__contains__), "an entry is no statement"
    section, number, _ = list((page := article(page.render().replace("is `9090`", "is\n    `9090`"))).lines())[-1]
    assert page.resume(section, number) == [f"- The port is `8080` [[{S1}]] ^port", "  and this line explains it."]
    assert "History" not in page.render()


@pytest.mark.parametrize(("text", "was", "now"), [
    ("# T", "", "# T\n\nNew one\n"),
    ("", "", "\nNew one\n"),
    ("x\n\n## A\n", "x", "\nNew one\n\n## A\n"),
    ("# T\n\nold\nrow\n\nmore\n\n## A", "old row", "# T\n\nNew one\n\nmore\n\n## A"),
    ("# T\n\n![[x.png]]\n\nold\n", "old", "# T\n\n![[x.png]]\n\nNew one\n"),
    ("# T\nold\n## A", "old", "# T\n\nNew one\n\n## A"),
    ("T\n===\nold\n\nA\n---\n\nb\nc\n---", "old", "T\n===\n\nNew one\n\nA\n---\n\nb\nc\n---"),
])  # fmt: skip
def test_a_summary_is_the_first_paragraph_below_the_title(text: str, was: str, now: str) -> None:
    page = article(text)
    assert (page.summary, page.wrote_summary) == (was, not was)
    page.summarise("New  one", is_own=False)
    assert (page.render(), page.summary, page.wrote_summary) == (now, "New one", False)
    page.summarise("New one")
    assert (page.render(), page.wrote_summary) == ("---\nsummary_digest: 62b9f811\n---\n" + now, True)


def test_each_section_stands_in_its_place() -> None:
    page = article(f"# T\n\n## Mine\n\n- x [[{S1}]]\n\n## Notes\n")
    for heading in ("history", "Own topic", "Gotchas", "Related", "Key Points", "Behaviour", "Decisions", "HISTORY"):
        page.add(Claim(heading, (S1, S1.replace("a1", "a2"), S2)), heading)
    order = ["Key Points", "Behaviour", "Mine", "Notes", "Own topic", "Decisions", "Gotchas", "Related", "history"]
    assert [section.heading for section in page.sections] == order
    cited = f"[[{S1}|16 Nov]] [[{S1.replace('a1', 'a2')}|2]] [[{S2}|17 Nov]]"
    assert page.render().endswith(f"## history\n\n- history {cited}\n- HISTORY {cited}\n")
    assert page.render().startswith(f"# T\n\n## Key Points\n\n- Key Points {cited}\n\n## Behaviour\n")
    for _ in range(2):
        page.relate("concepts/shop", "The [shop]", "it  sells")
        page.relate(page.slug, "itself")
    assert f"## Related\n\n- Related {cited}\n- [[concepts/shop|The  shop]]: it sells\n\n## history" in page.render()
    assert page.degree == 1
    named = [heading_of(text) for text in ("## Own  topic: ", "history", "...", "x" * 61)]
    assert named == ["Own topic", "", "", "x" * 60]


def test_a_page_has_the_names_days_and_owner_that_it_is_given() -> None:
    page = Article.new("concepts/port", "The  port", "Where *it* listens.", date(2026, 11, 17), "shop-1a2b3c")
    for day in (16, 17, 18, 17):
        page.touch(date(2026, 11, day))
    page.rename("Listener")
    assert page.render() == NEW
    page.give_to("")
    assert page.project == "shop-1a2b3c"
    page.give_to("blog-4d5e6f")
    assert (page.front.text("project"), page.project) == ("blog · blog-4d5e6f", "blog-4d5e6f")
    assert [article(text).title for text in ("---\ntitle: A\n---\n# B", "# B", "x")] == ["A", "B", "port"]


@pytest.mark.parametrize(
    "front", ["{title: x, updated: '2026-01-01'}", '"title": x\n"updated": 2026-01-01', "updated: >\n  2026-01-01"]
)
def test_frontmatter_of_any_form_stays_valid_and_a_broken_one_is_said(front: str) -> None:
    page = article(f"---\n{front}\n---\n# x\n")
    page.front.add("tags", ["one"])
    page.touch(date(2026, 11, 17))
    again = article(page.render())
    assert again.front.text("title") == page.front.text("title")
    assert list(again.front.values)[:1] == list(article(f"---\n{front}\n---\n").front.values)[:1]
    for broken in ("[a", "just text", "- a\n- b", "a: b: c"):
        with pytest.raises(ValueError, match="frontmatter"):
            article(f"---\n{broken}\n---\n# x\n")


def test_what_is_forgotten_leaves_a_page_with_what_may_tell_of_it() -> None:
    text = (TESTS / "fixtures" / "days" / "forget.md").read_text("utf-8")
    rows: list[object] = []
    given: list[tuple[list[str], list[str], str]] = [
        ([], [], ""), ([S1], [], ""), ([], ["l-d4"], ""), ([], [], "quagga"), ([], [], "the shop listens"),
        ([S2], ["l-c3"], "by hand"),
    ]  # fmt: skip
    for each in given:
        page = article(text)
        rows += ["", each, lines.retract(page, *each)]
        rows += [row for row in ndiff(text.splitlines(), page.render().splitlines()) if row[0] in "-+"]
    page = article(text)
    lines.unlink(page, "concepts/shop")
    rows += ["", page.render()]
    front, _, bare = text.rpartition("---\n")
    for bits in bent(bare.split("\n"), 60):
        page = article(f"{front}---\n" + "\n".join(bits))
        seen: list[object] = [page.headed_claims, page.history, page.links, page.degree, page.summary, page.last_day]
        seen += [(section.heading, n, claim, page.read_end(section, n)) for section, n, claim in page.lines()]
        seen += [page.relate("concepts/shop", "Shop"), page.relate("concepts/quay", "The Quay", "it is near")]
        page.add(Claim("Added.", (S3,), "l-e5"))
        page.summarise("In short.")
        for section, number, claim in list(page.lines())[:1]:
            page.retire(section, number, "2026-11-18", claim)
        seen += [lines.retract(page, [S1], ["l-c3"], "by hand"), page.forget_reasons(lambda ident: ident == "l-d4")]
        page.rename("The Harbour")
        page.touch(date(2026, 11, 19))
        rows.append(digest([*seen, page.render()]))
    same("read/retracted.txt", rows)
