"""The index stays one page, the lists name everything, the roster knows what changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoria.wiki import index_page
from memoria.wiki.article import Article
from memoria.wiki.article_cache import ArticleCache, Row
from memoria.wiki.folder import Wiki


def rows(count: int) -> list[Row]:
    titles = [f"{'abcdefghij'[n % 10]} thing {n}" for n in range(count)]
    return [Row(f"concepts/t{n}", title, "s " * 200, f"2026-{n % 12 + 1:02}-01") for n, title in enumerate(titles)]


def test_a_small_index_names_every_article() -> None:
    text = index_page.index(rows(50))
    assert all(f"[[concepts/t{n}|" in text for n in range(50))
    assert index_page.lists(rows(50)) == {}


def test_a_large_index_stays_one_page_and_its_lists_name_everything_once() -> None:
    small, large = index_page.index(rows(400)), index_page.index(rows(10_000))
    assert len(large) < 1.1 * len(small) < 12_000
    listed = "".join(index_page.lists(rows(10_000)).values())
    assert all(listed.count(f"[[concepts/t{n}|") == 1 for n in range(0, 10_000, 97))
    for name in index_page.lists(rows(10_000)):
        assert f"[[{name.removesuffix('.md')}|" in large


def test_the_same_articles_give_the_same_bytes_in_whatever_order() -> None:
    many = rows(500)
    assert index_page.index(many) == index_page.index(reversed(many))
    assert index_page.lists(many) == index_page.lists(reversed(many))


@pytest.mark.parametrize("title", ["a | b", "x]] y", "[[z", "`code`", "ünder", "漢字", "7 things"])
def test_any_title_can_stand_in_a_link(title: str) -> None:
    [line] = [row for row in index_page.index([Row("concepts/x", title, "", "")]).splitlines() if row.startswith("- ")]
    assert line.startswith("- [[concepts/x|")
    assert line.endswith("]]")
    assert line.count("|") == 1


def test_the_roster_reads_what_changed_and_only_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wiki = Wiki(tmp_path / "knowledge")
    folder = wiki.folder / "concepts"
    folder.mkdir(parents=True)
    for name in "abc":
        (folder / f"{name}.md").write_text(f"# {name}\n")
    roster = ArticleCache(wiki, tmp_path / "roster.db")
    assert sorted(row.title for row in roster.rows().values()) == ["a", "b", "c"]
    read: list[str] = []
    get = Wiki.get

    def seen(self: Wiki, slug: str) -> Article | None:
        read.append(slug)
        return get(self, slug)

    monkeypatch.setattr(Wiki, "get", seen)
    (folder / "b.md").write_text("# another title\n")
    (folder / "c.md").unlink()
    now = roster.rows()
    assert read == ["concepts/b"]
    assert {slug: row.title for slug, row in now.items()} == {"concepts/a": "a", "concepts/b": "another title"}


def test_a_roster_that_is_no_database_is_made_anew(tmp_path: Path) -> None:
    wiki = Wiki(tmp_path / "knowledge")
    (wiki.folder / "concepts").mkdir(parents=True)
    (wiki.folder / "concepts/a.md").write_text("---\n[broken\n---\n")
    (tmp_path / "roster.db").write_text("no database at all, but long enough to look at")
    [row] = ArticleCache(wiki, tmp_path / "roster.db").rows().values()
    assert not row.readable
