"""Days: what happened on each day: its entries, what they taught, and which articles rest on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memoria.daily.ledger import Booked
from memoria.index.index import Index
from memoria.reader import facts
from memoria.reader.catalog import slug_of
from memoria.reader.site import Site
from memoria.statements.fact import Fact
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


def all_of(site: Site) -> tuple[Day, ...]:
    """Return the days on which something happened, the latest first."""
    return site.cached("days", lambda: _read(site))


def citations(site: Site) -> Mapping[str, tuple[str, ...]]:
    """Return the slugs of the articles that may be shown and cite each entry, by the entry's id."""
    return site.cached("citations", lambda: _cited(site))


def _cited(site: Site) -> dict[str, tuple[str, ...]]:
    rows = site.catalog.rows
    with Index(site.home.paths.index) as index:
        found = index.citations()
    return {
        ident: tuple(sorted(slug for path in paths if (slug := slug_of(path)) in rows))
        for ident, paths in found.items()
    }


def _read(site: Site) -> tuple[Day, ...]:
    zone, catalog, cited = site.home.zone, site.catalog, citations(site)
    taught: dict[tuple[str, str], list[Fact]] = {}
    ended: dict[str, list[Fact]] = {}
    for fact in facts.all_of(site).known.values():
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
