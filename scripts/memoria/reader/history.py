"""History: what happened on each day, which articles cite each entry, and all facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memoria.daily.ledger import Booked
from memoria.index.index import Index
from memoria.reader.catalog import slug_of
from memoria.reader.site import Site
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.wiki.article_cache import Row


@dataclass(frozen=True, slots=True)
class Event:
    """An entry with the facts of its session on its day, and the articles that rest on it."""

    entry: Booked
    facts: tuple[Fact, ...]
    articles: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Day:
    """A day with its events, the latest first, and the facts that ceased to hold on it."""

    day: str
    events: tuple[Event, ...]
    ended: tuple[Fact, ...]


def days(site: Site) -> tuple[Day, ...]:
    """Return the days on which something happened, the latest first."""
    return site.cached("days", lambda: _read_days(site))


def citations(site: Site) -> Mapping[str, tuple[str, ...]]:
    """Return the slugs of the articles that may be shown and cite each entry, by the entry's id."""
    return site.cached("citations", lambda: _read_citations(site))


def _read_citations(site: Site) -> dict[str, tuple[str, ...]]:
    rows = site.catalog.rows
    with Index(site.home.paths.index) as index:
        found = index.citations()
    slugs: dict[str, set[str]] = {}
    for ident, paths in found.items():
        slugs.setdefault(site.catalog.entry_of(ident), set()).update(map(slug_of, paths))
    return {entry: tuple(sorted(cited & rows.keys())) for entry, cited in slugs.items()}


def _read_days(site: Site) -> tuple[Day, ...]:
    zone, catalog, cited = site.home.zone, site.catalog, citations(site)
    taught: dict[tuple[str, str], list[Fact]] = {}
    ended: dict[str, list[Fact]] = {}
    for fact in facts(site).known.values():
        taught.setdefault((fact.session, zone.day(fact.time).isoformat()), []).append(fact)
        if fact.ended and fact.is_outdated:
            ended.setdefault(zone.day(fact.ended).isoformat(), []).append(fact)
    events: dict[str, list[Event]] = {}
    for entry in catalog.entries.values():
        learned = taught.pop((entry.session, entry.day), [])  # shown with the first entry of a session's day
        rows = tuple(catalog.rows[slug] for slug in cited.get(entry.id, ()))
        events.setdefault(entry.day, []).append(Event(entry, tuple(learned), rows))
    names = sorted({*events, *ended}, reverse=True)
    return tuple(Day(name, tuple(reversed(events.get(name, []))), tuple(ended.get(name, []))) for name in names)


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts by id, the latest first; ``replaced``: by id the facts that gave way to it."""

    known: dict[str, Fact]
    replaced: dict[str, tuple[Fact, ...]]


def facts(site: Site) -> Facts:
    """Return the facts as they are now."""
    return site.cached(
        "facts", lambda: _read_facts(site)
    )  # they stand in the daily logs, with which the catalog changes


def _read_facts(site: Site) -> Facts:
    visible = site.visible()
    with Keeper.at(site.home) as keeper:
        found = [fact for fact in keeper.store.facts(live=False) if any(map(visible.shows, fact.projects))]
    found.sort(key=lambda fact: fact.last or fact.time, reverse=True)
    replaced: dict[str, list[Fact]] = {}
    for fact in found:
        if fact.successor:
            replaced.setdefault(fact.successor, []).append(fact)
    return Facts({fact.id: fact for fact in found}, {ident: tuple(olds) for ident, olds in replaced.items()})
