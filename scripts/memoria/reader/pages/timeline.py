"""Timeline: days with their sessions, what each taught and changed; and one day."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Booked
from memoria.ground import clock, home_files
from memoria.reader import address
from memoria.reader.site import Asked, Site, View, not_found
from memoria.search.layout import block_ids
from memoria.statements.fact import Fact
from memoria.wiki.article_cache import Row

PAGE = 10  # days on one page
EVENTS, FACTS, ARTICLES = 6, 3, 4  # that a day of the timeline shows


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
    return site.cache("days", lambda: _read_days(site))


def _citations(site: Site) -> dict[str, tuple[str, ...]]:
    """Return the slugs of the articles that may be shown and cite each entry, by the entry's id."""
    folder = Path(site.home.paths.knowledge)
    slugs: dict[str, set[str]] = {}
    for slug in site.catalog.rows:
        with suppress(OSError):
            for ident in block_ids(home_files.text(folder / f"{slug}.md", folder)):
                slugs.setdefault(site.catalog.entry_of(ident), set()).add(slug)
    return {entry: tuple(sorted(citing)) for entry, citing in slugs.items()}


def _read_days(site: Site) -> tuple[Day, ...]:
    zone, catalog, cited = site.home.zone, site.catalog, _citations(site)
    taught: dict[tuple[str, str], list[Fact]] = {}
    ended: dict[str, list[Fact]] = {}
    for fact in catalog.facts.values():
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


def show(site: Site, asked: Asked) -> View:
    """Return the days, of one ``project`` if one is given."""
    key, found = asked.query.get("project", ""), days(site)
    if key:
        own = ((day, tuple(event for event in day.events if event.entry.project == key)) for day in found)
        found = tuple(replace(day, events=events, ended=()) for day, events in own if events)
    values = {
        "shown": address.paginate(found, PAGE, "/timeline", asked.query),
        "project": key,
        "projects": sorted({(shown.label, shown.key) for shown in site.catalog.projects if shown.key}),
        "label": site.catalog.label,
        "events": EVENTS,
        "facts": FACTS,
        "articles": ARTICLES,
    }
    return View("timeline.html", "Timeline", values)


def show_day(site: Site, asked: Asked) -> View:
    """Return one day: its entries, what they taught, and the articles that rest on them."""
    name = asked.path["day"]
    known = days(site)
    place = next((number for number, day in enumerate(known) if day.day == name), None)
    if place is None:
        return not_found("Nothing is noted for this day." if clock.is_day(name) else "There is no such day.")
    day = known[place]
    entries = {entry.id: entry for entry in DailyLog(site.home.paths).entries(date.fromisoformat(name))}
    values = {
        "day_of": day,
        "entries": entries,
        "label": site.catalog.label,
        "line": site.markdown.line,
        "earlier": known[place + 1].day if place + 1 < len(known) else "",
        "later": known[place - 1].day if place else "",
    }
    return View("day.html", name, values)
