"""Lint rules: what can be wrong with a wiki, each rule a function from a snapshot to its findings.

A rule is a row of ``RULES``. A snapshot is a home's wiki and daily logs, read once for all of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memoria.daily.daily_log import DailyLog
from memoria.daily.day_text import DayText
from memoria.ground import home_files, markdown
from memoria.ground.home import Home
from memoria.ground.markdown import Link
from memoria.statements.lines import Lines
from memoria.wiki.article import Article
from memoria.wiki.article_cache import LinkTargets
from memoria.wiki.folder import Wiki

ERROR, WARNING = "error", "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault; ``page`` is relative to the home."""

    rule: str
    severity: str
    page: str
    text: str


Found = Iterator[tuple[str, str]]  # page, text


def broken_links(snapshot: Snapshot) -> Found:
    """Find links to pages, headings or blocks that do not exist."""
    for slug, page in snapshot.pages.items():
        for link in page.links:
            if not _is_source(link) and (problem := snapshot.targets.problem(link, f"knowledge/{slug}")):
                yield slug, f"`[[{link.target}{link.anchor}]]`: {problem}"


def dead_sources(snapshot: Snapshot) -> Found:
    """Find lines that cite a statement or an entry that no daily log has."""
    for slug, page in snapshot.pages.items():
        for link in page.links:
            if _is_source(link) and snapshot.targets.problem(link):
                yield slug, f"cites `{link.target}{link.anchor}`, which does not exist"


def missing_sources(snapshot: Snapshot) -> Found:
    """Find lines that cite nothing and are no statements."""
    for slug, article in snapshot.articles.items():
        for claim in article.claims:
            if not claim.sources and not claim.ids:
                yield slug, f"no source for “{claim.text[:100]}”"


def find_ended(snapshot: Snapshot) -> Found:
    """Find statements that hold no longer in rows that a person gave another form, which memoria leaves alone."""
    facts = [fact for day in snapshot.daily.days() for fact in Lines(snapshot.daily).read(day)]
    over = {fact.id for fact in facts if fact.ended}
    for slug, article in snapshot.articles.items():
        for ident, claim in article.unread_rows.items():
            if ident in over:
                yield slug, f"“{claim.text[:100]}” holds no longer; change the row, its form is yours"


def block_ids(snapshot: Snapshot) -> Found:
    """Find entries of a daily log whose block id is missing or occurs twice, so that no link can refer to them."""
    counts: dict[str, Counter[str]] = {}
    for entry in snapshot.entries:
        day = f"daily/{entry.day.isoformat()}"
        if day not in counts:
            counts[day] = DayText(snapshot.daily.text(entry.day)).block_ids()
        times = counts[day][f"e-{entry.id}"]
        if times != 1:
            fault = f"occurs {times} times" if times else "is missing"
            yield f"{day}.md", f"entry {entry.id}: its line `^e-{entry.id}` {fault}"


def frontmatter(snapshot: Snapshot) -> Found:
    """Find frontmatter that is not valid YAML; what it lacks is no fault of a note by hand."""
    yield from ((slug, page.problem) for slug, page in snapshot.pages.items() if page.article is None)


def paths(snapshot: Snapshot) -> Found:
    """Find files that are not read."""
    for folder, name in ((snapshot.wiki.folder, ""), (snapshot.daily.folder, "daily/")):
        for stray in home_files.other_files(folder, is_daily=bool(name)):
            yield name + stray.name, f"{stray.reason} and is not read"


def duplicate_titles(snapshot: Snapshot) -> Found:
    """Find titles and aliases that two pages share."""
    named: defaultdict[str, set[str]] = defaultdict(set)
    for slug, article in snapshot.articles.items():
        for name in (article.title, *article.aliases):
            named[name.casefold()].add(slug)
    for name, slugs in sorted(named.items()):
        if len(slugs) > 1:
            first, *others = sorted(slugs)
            yield first, f"“{name}” is also a name of {', '.join(f'[[{slug}]]' for slug in others)}"


RULES: dict[str, tuple[str, Callable[[Snapshot], Found]]] = {
    "broken-link": (ERROR, broken_links),
    "dead-source": (ERROR, dead_sources),
    "block-id": (ERROR, block_ids),
    "frontmatter": (ERROR, frontmatter),
    "ended": (WARNING, find_ended),
    "path": (WARNING, paths),
    "missing-source": (WARNING, missing_sources),
    "duplicate-title": (WARNING, duplicate_titles),
}


def findings(snapshot: Snapshot) -> list[Finding]:
    """Return the findings of all rules, the most severe first."""
    found = []
    for rule, (severity, check) in RULES.items():
        found += [Finding(rule, severity, page_of(page), text) for page, text in check(snapshot)]
    return found


def page_of(name: str) -> str:
    """Return the path, relative to the home, of an article or a daily log that a rule names."""
    place = name if name.startswith("daily/") else f"knowledge/{name}"
    return place if place.endswith(".md") else f"{place}.md"


def _is_source(link: Link) -> bool:
    return link.target.startswith("daily/") and link.anchor.startswith(("#^e-", "#^l-"))


@dataclass(slots=True)
class Page:
    """A file of the wiki; ``article`` is None when ``problem`` describes a fault of its frontmatter."""

    links: list[markdown.Link]
    article: Article | None = None
    problem: str = ""


class Snapshot:
    """Everything that lint examines."""

    def __init__(self, home: Home) -> None:
        self.wiki = Wiki(home.paths)
        self.daily = DailyLog(home.paths)
        self.pages = {slug: _page(self.wiki, slug) for slug in self.wiki.slugs()}
        self.articles = {slug: page.article for slug, page in self.pages.items() if page.article}
        self.entries = [entry for day in self.daily.days() for entry in self.daily.entries(day)]
        self.targets = LinkTargets(Path(home.paths.home), self.articles.values())


def _page(wiki: Wiki, slug: str) -> Page:
    text = (wiki.read(slug) or b"").decode("utf-8", "surrogateescape")
    page = Page(markdown.links(markdown.split_frontmatter(text)[1]))
    try:
        page.article = Article(slug, text)
    except ValueError as error:
        page.problem = str(error)
    return page
