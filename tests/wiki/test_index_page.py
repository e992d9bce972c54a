"""The index stays one page, the lists name everything, the article cache knows what changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoria.index.index import Index
from memoria.search import layout
from memoria.wiki import index_page
from memoria.wiki.article import Article
from memoria.wiki.article_cache import ArticleCache, Row
from memoria.wiki.folder import Wiki


def rows(count: int) -> list[Row]:
    titles = [f"{'abcdefghij'[n % 10]} thing {n}" for n in range(count)]
    return [Row(f"concepts/t{n}", title, "s " * 200, f"2026-{n % 12 + 1:02}-01") for n, title in enumerate(titles)]


def test_a_large_index_stays_one_page_and_its_lists_name_everything_once() -> None:
    many = rows(10_000)
    small, large, lists = index_page.index(rows(400)), index_page.index(many), index_page.lists(many)
    assert len(large) < 1.1 * len(small) < 12_000
    listed = Counter(re.findall(r"\[\[(concepts/t\d+)\|", "".join(lists.values())))
    assert all(listed[f"concepts/t{n}"] == 1 for n in range(10_000))
    for name in lists:
        assert f"[[{name.removesuffix('.md')}|" in large


def of(project: str, count: int, day: str = "2026-11-18", folder: str = "concepts") -> list[Row]:
    name = project.rsplit("-", 1)[0] or "common"
    return [Row(f"{folder}/{name}-{n}", f"{name} thing {n}", "What it is.", day, project=project) for n in range(count)]


def test_the_index_leads_by_project_the_last_changed_first_and_tells_when() -> None:
    shop = [*of("shop-1a2b3c", 2, "2026-11-16"), Row("concepts/shop", "shop", "", "2026-11-12", project="shop-1a2b3c")]
    asked = of("shop-1a2b3c", 1, "2026-11-11", "qa")
    text = index_page.index([*shop, *asked, *of("blog-4d5e6f", 2), *of("", 1, "2026-11-20")])
    assert [row for row in text.splitlines() if row.startswith("#")] == [
        "# Knowledge", "## blog", "## shop", "### Questions and answers", "## All projects",
    ]  # fmt: skip
    assert "\n## shop\n\n4 articles, last changed 2026-11-16.\n\n- [[concepts/shop|shop]] (2026-11-12)\n" in text
    assert "- [[concepts/blog-1|blog thing 1]] (2026-11-18): What it is.\n" in text
    assert "\n\n### Questions and answers\n\n- [[qa/" in text


def test_a_large_index_of_many_projects_stays_one_page_and_leads_to_the_list_of_each() -> None:
    many = [row for n in range(60) for row in of(f"p{n}-{n:06}", 50, f"2026-{n % 12 + 1:02}-01")]
    text = index_page.index(many)
    assert len(text.splitlines()) < 250
    lists = index_page.lists(many)
    assert len(lists) == 60
    assert all(f"[[{name.removesuffix('.md')}|" in text for name in lists)
    assert "[[concepts/p7-3|" in lists["lists/p7-000007.md"]


def test_beyond_that_every_project_has_a_list() -> None:
    many = [*rows(300), *of("blog-4d5e6f", 3)]
    lists = index_page.lists(many)
    assert set(lists) == {"lists/all-projects.md", "lists/blog-4d5e6f.md"}
    assert all(f"[[{name.removesuffix('.md')}|" in index_page.index(many) for name in lists)


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
    monkeypatch.setattr(layout, "VERSION", layout.VERSION + 1)
    with Index(cache.index.path) as newer:
        assert len(newer) == 0
        assert ArticleCache(cache.wiki, newer).rows() == before
    assert read == []
