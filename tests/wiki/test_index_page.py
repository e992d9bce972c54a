"""The index stays one page, the lists name everything, the article cache knows what changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memoria.indexing.index import Index
from memoria.search import reader
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


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ArticleCache]:
    """The cache of a wiki of three articles."""
    wiki = Wiki(tmp_path / "knowledge")
    (wiki.folder / "concepts").mkdir(parents=True)
    for name in "abc":
        (wiki.folder / f"concepts/{name}.md").write_text(f"# {name}\n")
    with Index(tmp_path / "index.db") as index:
        yield ArticleCache(wiki, index)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The articles that are read from now on."""
    slugs: list[str] = []
    get = Wiki.get

    def seen(self: Wiki, slug: str) -> Article | None:
        slugs.append(slug)
        return get(self, slug)

    monkeypatch.setattr(Wiki, "get", seen)
    return slugs


def test_the_article_cache_reads_what_changed_and_only_that(cache: ArticleCache, read: list[str]) -> None:
    assert sorted(row.title for row in cache.rows().values()) == ["a", "b", "c"]
    read.clear()
    (cache.wiki.folder / "concepts/b.md").write_text("---\naliases: [x, y]\ntags: t\n---\n# another title\n")
    (cache.wiki.folder / "concepts/c.md").unlink()
    now = cache.rows()
    assert read == ["concepts/b"]
    assert {slug: row.title for slug, row in now.items()} == {"concepts/a": "a", "concepts/b": "another title"}
    assert now["concepts/b"] == Row("concepts/b", "another title", "", "", ("x", "y"), ("t",))
    assert cache.rows() == now
    assert read == ["concepts/b"]


def test_the_article_cache_survives_a_rebuilt_and_an_emptied_index(
    cache: ArticleCache, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cache.rows()
    read.clear()
    cache.index.rebuild(cache.wiki.folder.parent)
    assert cache.rows() == before
    monkeypatch.setattr(reader, "VERSION", reader.VERSION + 1)
    with Index(cache.index.path) as newer:
        assert newer.was_empty
        assert ArticleCache(cache.wiki, newer).rows() == before
    assert read == []


def test_a_locked_index_costs_the_article_cache_its_speed_and_nothing_else(
    cache: ArticleCache, read: list[str]
) -> None:
    cache.index._db.execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(cache.index.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert sorted(cache.rows()) == ["concepts/a", "concepts/b", "concepts/c"]
        other.execute("ROLLBACK")
    with Index(cache.index.path) as another:
        assert ArticleCache(cache.wiki, another).rows() == cache.rows()


def test_the_rows_of_a_damaged_index_are_read_anew(tmp_path: Path) -> None:
    wiki = Wiki(tmp_path / "knowledge")
    (wiki.folder / "concepts").mkdir(parents=True)
    (wiki.folder / "concepts/a.md").write_text("---\n[broken\n---\n")
    (tmp_path / "index.db").write_text("no database at all, but long enough to look at")
    with Index(tmp_path / "index.db") as index:
        [row] = ArticleCache(wiki, index).rows().values()
    assert not row.readable
