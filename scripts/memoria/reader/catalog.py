"""Catalog: what the pages show of all articles, projects and facts, as the files were when it was read.

Nothing in it changes; when a file has changed, another catalog is read. What is hidden is not in it. A request looks at
the times and sizes of all files, unless another did less than two seconds ago. The search index is brought up to date
only for the pages that need it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from memoria.base import project
from memoria.base.settings import Settings
from memoria.base.visibility import Visibility
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Booked, Ledger
from memoria.daily.open_items import OpenItem, OpenItems
from memoria.ground import projects
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.statements.fact import GLOBAL, Fact
from memoria.statements.keeper import Keeper
from memoria.wiki.article_cache import ArticleCache, LinkTargets, Row
from memoria.wiki.folder import Wiki

INSIDE = "knowledge/"
EVERY_SECONDS = 2.0  # between two looks at the files


@dataclass(frozen=True, slots=True)
class ProjectView:
    """A project as the first page shows it; ``last`` is its latest entry, ``articles`` are its newest first."""

    key: str
    label: str
    last: Booked | None
    items: tuple[OpenItem, ...]
    articles: tuple[Row, ...]

    @property
    def day(self) -> str:
        """ISO day on which something was last said or written in it."""
        return max(self.last.day if self.last else "", self.articles[0].updated if self.articles else "")


@dataclass(frozen=True, slots=True)
class Catalog:
    """See the module. ``backlinks``: by slug the articles that link to it; ``facts``: by id, the latest first.

    ``holding``: the id of the entry that holds each statement.
    """

    rows: Mapping[str, Row]
    backlinks: Mapping[str, tuple[str, ...]]
    targets: LinkTargets
    entries: Mapping[str, Booked]
    projects: tuple[ProjectView, ...]
    labels: Mapping[str, str]
    facts: Mapping[str, Fact]
    holding: Mapping[str, str]

    @classmethod
    def read(cls, home: Home, visible: Visibility) -> Catalog:
        """Return the catalog of what may be shown of a home; it does not need the words in the search index."""
        with Index(home.paths.index) as index:
            index.resolve(project.aliases(home.paths.projects))
            rows = {
                slug: row
                for slug, row in ArticleCache(Wiki(home.paths), index).rows().items()
                if visible.shows(row.project)
            }
        with closing(Ledger(home.paths)) as ledger:
            daily = DailyLog(home.paths)
            daily.refresh(ledger)
            entries = {entry.id: entry for entry in ledger.entries() if visible.shows(entry.project)}
            keys = {row.project for row in rows.values()} | {entry.project for entry in entries.values()}
            items = OpenItems(daily, ledger).all_of(keys)
        with Keeper.at(home) as keeper:
            holding = keeper.store.entries()
            known = [fact for fact in keeper.store.facts(live=False) if any(map(visible.shows, fact.projects))]
        facts = {fact.id: fact for fact in sorted(known, key=lambda fact: fact.last or fact.time, reverse=True)}
        targets = LinkTargets(Path(home.paths.home), rows.values())
        labels = projects.labels({key for key in keys if key}, project.read(home.paths.projects))
        shown = _projects(keys, labels, entries.values(), items, rows.values())
        return cls(rows, _backlinks(targets, rows), targets, entries, shown, labels, facts, holding)

    def label(self, key: str) -> str:
        """Return what a project is called; what belongs to no project is for all of them."""
        return "everywhere" if key in ("", GLOBAL) else self.labels.get(key) or project.name_of(key)

    def entry_of(self, anchor: str) -> str:
        """Return the id of the entry that a block id (``^e-01k9x2``, ``^l-7f3a91kd``) means, or that holds it."""
        name = anchor.removeprefix("^")
        return name[2:] if name.startswith("e-") else self.holding.get(name, "")

    def slug(self, target: str) -> str:
        """Return the article that a link's target means, ``""`` when it means none."""
        slug = self.targets.page(target)
        return slug.removeprefix(INSIDE) if slug.removeprefix(INSIDE) in self.rows else ""


def slug_of(path: str) -> str:
    """Return the slug of an article that is in this file below the home."""
    return path.removeprefix(INSIDE).removesuffix(".md")


def _backlinks(targets: LinkTargets, rows: Mapping[str, Row]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for slug, row in rows.items():
        for name in row.links:
            other = targets.page(name).removeprefix(INSIDE)
            if other in rows and other != slug and slug not in (known := found.setdefault(other, [])):
                known.append(slug)
    return {slug: tuple(sorted(others, key=lambda other: rows[other].title.casefold()))
            for slug, others in found.items()}  # fmt: skip


def _projects(
    keys: Iterable[str],
    labels: Mapping[str, str],
    entries: Iterable[Booked],
    items: Iterable[OpenItem],
    rows: Iterable[Row],
) -> tuple[ProjectView, ...]:
    last = {entry.project: entry for entry in entries}  # they come oldest first
    articles: dict[str, list[Row]] = {}
    for row in rows:
        articles.setdefault(row.project, []).append(row)
    left: dict[str, list[OpenItem]] = {}
    for item in items:
        left.setdefault(item.project, []).append(item)
    found = [
        ProjectView(
            key, labels.get(key, "everywhere"), last.get(key), tuple(reversed(left.get(key, ()))),
            tuple(sorted(articles.get(key, ()), key=lambda row: row.updated, reverse=True)),
        )
        for key in keys
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda shown: (shown.day, shown.label), reverse=True))


Stamps = tuple[frozenset[tuple[str, object]], frozenset[tuple[str, str]]]


class Watch:
    """The present catalog of a home; ``number`` grows with each new one."""

    def __init__(self, home: Home, visible: Callable[[], Visibility]) -> None:
        self.home = home
        self.visible = visible
        self.number = 0
        self.every_seconds = EVERY_SECONDS
        self._lock = threading.RLock()
        self._catalog: Catalog | None = None
        self._stamps: Stamps | None = None
        self._looked = 0.0
        self._indexed = 0  # the number of the catalog for which the search index was brought up to date

    def catalog(self) -> Catalog:
        """Return the catalog of the last look; look again when that is too long ago."""
        with self._lock:
            if self._catalog is None or time.monotonic() - self._looked >= self.every_seconds:
                self._catalog = self.look()
            return self._catalog

    def look(self) -> Catalog:
        """Return the catalog for the files as they are now."""
        with self._lock:
            stamps = self._read_stamps()
            if stamps != self._stamps or self._catalog is None:
                self._catalog, self._stamps = Catalog.read(self.home, self.visible()), stamps
                self.number += 1
            self._looked = time.monotonic()
            return self._catalog

    @contextmanager
    def index(self) -> Iterator[tuple[Index, str]]:
        """Open the search index; yield it, and a sentence when it does not know all files of the catalog."""
        if (number := self.number) == self._indexed:
            with Index(self.home.paths.index) as index:
                yield index, ""
            return
        with sources.open_searchable(self.home) as (index, lacking):
            if not lacking:
                self._indexed = number
            yield index, lacking

    def _read_stamps(self) -> Stamps:
        """Return what the catalog depends on: the files, and what the user has excluded by now."""
        self._read_exclusions()
        hidden = frozenset(("hidden", key) for key in self.visible().hidden_keys())
        days = frozenset(DailyLog(self.home.paths).stamps().items())
        said = (self.home.paths.projects, self.home.paths.folders)  # which projects there are, and which are hidden
        projects = frozenset((path, change_time(path)) for path in said)
        return frozenset(Wiki(self.home.paths).files()) | projects | hidden, days

    def _read_exclusions(self) -> None:
        """Let an exclusion hold that was set while the server runs; other settings hold after the next start."""
        fresh = Settings.load()
        if not fresh.refusal:
            self.home.settings.exclude = fresh.exclude


def change_time(path: str) -> int:
    """Return when a file was changed (ns), 0 when it is not there."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 (as everywhere for paths of the home)
    except OSError:
        return 0
