"""Snapshot: a home's wiki and daily logs, read once for the rules of lint.

It contains pages, links and entries, and no judgement of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path

from memoria.base import project
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.ground import home_files, markdown
from memoria.ground.home import Home
from memoria.search.words import words
from memoria.wiki import index_page
from memoria.wiki.article import Article
from memoria.wiki.folder import LOG, Wiki
from memoria.wiki.links import LinkTargets


@dataclass(slots=True)
class Page:
    """A file of the wiki; ``article`` is None when ``problem`` describes a fault of its frontmatter."""

    slug: str
    text: str
    article: Article | None = None
    problem: str = ""
    links: list[markdown.Link] = field(default_factory=list)

    @property
    def words(self) -> frozenset[str]:
        """The words of title, summary and claims."""
        if self.article is None:
            return frozenset()
        sentences = (self.article.summary, *(claim.text for claim in self.article.claims))
        return frozenset(words(" ".join((self.article.title, *sentences))))


class Snapshot:
    """Everything that lint examines; ``today`` is in the user's zone."""

    def __init__(self, home: Home, today: date) -> None:
        self.home = home
        self.today = today
        self.wiki = Wiki.of(home.paths)
        self.daily = DailyLog.of(home.paths)
        self.pages = {slug: _page(self.wiki, slug) for slug in self.wiki.slugs()}
        self.articles = {slug: page.article for slug, page in self.pages.items() if page.article}
        self.targets = LinkTargets(Path(home.paths.home), self.articles)

    def readable(self) -> Iterator[tuple[str, Article]]:
        """Yield slug and article of every page with valid frontmatter."""
        yield from self.articles.items()

    @cached_property
    def owners(self) -> dict[str, str]:
        """The key of the project that each readable page belongs to; empty for a page of all projects."""
        known = project.known(self.home.paths.projects)
        return {slug: known.current(article.project) for slug, article in self.articles.items()}

    @cached_property
    def linked(self) -> dict[str, set[str]]:
        """The slugs of the other articles that each slug links to."""
        found: dict[str, set[str]] = {}
        for slug, page in self.pages.items():
            targets = {self.targets.page(link.target).removeprefix("knowledge/") for link in page.links if link.target}
            found[slug] = {target for target in targets if target in self.pages and target != slug}
        return found

    @cached_property
    def entries(self) -> list[Entry]:
        """Every entry of the daily logs."""
        return [entry for day in self.daily.days() for entry in self.daily.entries(day)]

    @cached_property
    def compiled(self) -> set[str]:
        """The ids of the entries that the wiki's log records as taken in."""
        return index_page.compiled_entries(_text(self.wiki.folder / LOG))

    def strays(self) -> Iterator[home_files.LeftOut]:
        """Yield the files that are not read."""
        yield from home_files.left_out(self.wiki.folder, is_daily=False)
        for found in home_files.left_out(self.daily.folder, is_daily=True):
            yield found._replace(name=f"daily/{found.name}")


def _page(wiki: Wiki, slug: str) -> Page:
    text = _text(wiki.folder / f"{slug}.md")
    page = Page(slug, text, links=markdown.links(markdown.split_frontmatter(text)[1]))
    try:
        page.article = Article(slug, text)
    except ValueError as error:
        page.problem = str(error)
    return page


def _text(path: Path) -> str:
    try:
        return home_files.read(path).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
