"""The index stays one page, another names everything, the article cache knows what changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoria.base.paths import Paths
from memoria.daily.entry import fingerprint
from memoria.ground import clock
from memoria.index.index import Index
from memoria.search import layout
from memoria.wiki import index_page
from memoria.wiki.article import Article
from memoria.wiki.article_cache import ArticleCache, Row
from memoria.wiki.folder import Wiki
from places import TESTS
from wiki_home import PORT


def rows(count: int) -> list[Row]:
    titles = [f"{'abcdefghij'[n % 10]} thing {n}" for n in range(count)]
    return [Row(f"concepts/t{n}", title, "s " * 200, f"2026-{n % 12 + 1:02}-01") for n, title in enumerate(titles)]


def index(rows: list[Row], folder: Path) -> str:
    return (index_page.pages(rows, folder)["index.md"] or b"").decode()


def test_the_index_names_every_article_once_and_what_earlier_versions_made_goes(tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    for name in ("lists/shop.md", "all-articles.md", "log.md"):
        (tmp_path / name).write_text("of an earlier version")
    pages = index_page.pages(rows(1_000), tmp_path)
    listed = Counter(re.findall(rb"\[\[(concepts/t\d+)\|", pages["index.md"] or b""))
    assert (len(listed), set(listed.values())) == (1_000, {1})
    assert (pages["lists/shop.md"], pages["all-articles.md"], "log.md" in pages) == (None, None, False)


def of(project: str, count: int, day: str = "2026-11-18", folder: str = "concepts") -> list[Row]:
    name = project.rsplit("-", 1)[0] or "common"
    return [Row(f"{folder}/{name}-{n}", f"{name} thing {n}", "What it is.", day, project=project) for n in range(count)]


def test_the_index_leads_by_project_the_last_changed_first_and_tells_when(tmp_path: Path) -> None:
    shop = [*of("shop-1a2b3c", 2, "2026-11-16"), Row("concepts/shop", "shop", "", "2026-11-12", project="shop-1a2b3c")]
    asked = of("shop-1a2b3c", 1, "2026-11-11", "qa")
    mini = Row("concepts/mini", "mini", "", "soon", project="mini-7a8b9c")
    text = index([*shop, *asked, *of("blog-4d5e6f", 2), *of("", 1, "2026-11-20"), mini], tmp_path)
    told = (TESTS / "fixtures" / "pages" / "index.md").read_text("utf-8")
    assert text.removeprefix(index_page.INTRO) == told


def test_the_log_says_which_entries_were_taken_in_and_their_text_then() -> None:
    took = "\n- Took in: [[daily/2026-11-18#^e-a1|x]], [[daily/2026-11-18#^e-b2|y]]\n"
    log = f"{took}\n<!-- memoria took=a1:ecab19cd8e4d b2:49150181 -->\n"
    assert index_page.fingerprints(log) == {"a1": "ecab19cd8e4d", "b2": ""}
    block = index_page.log_block(clock.now(), [PORT], ["concepts/port"], [])
    assert index_page.fingerprints(block) == {PORT.id: fingerprint(PORT)}


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ArticleCache]:
    """The cache of a wiki of three articles."""
    wiki = Wiki(Paths(str(tmp_path)))
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
    (cache.wiki.folder / "concepts/b.md").write_text("---\naliases: [x, y]\n---\n# another title\n")
    (cache.wiki.folder / "concepts/c.md").unlink()
    now = cache.rows()
    assert {slug: row.title for slug, row in now.items()} == {"concepts/a": "a", "concepts/b": "another title"}
    assert now["concepts/b"] == Row("concepts/b", "another title", "", "", ("x", "y"))
    assert cache.rows() == now
    assert read == ["concepts/b"]
    assert cache.index._db.execute("SELECT count(*) FROM kept_1").fetchone()[0] == 2, "nothing stays of what is gone"


def test_the_article_cache_survives_an_emptied_index(
    cache: ArticleCache, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cache.rows()
    read.clear()
    monkeypatch.setattr(layout, "VERSION", layout.VERSION + 1)
    with Index(cache.index.path) as newer:
        assert len(newer) == 0
        assert ArticleCache(cache.wiki, newer).rows() == before
    assert read == []
