"""Timeline: days with their sessions, what each taught and changed; and one day."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date

from memoria.daily.daily_log import DailyLog
from memoria.ground import clock
from memoria.reader import address, history
from memoria.reader.history import Day, Event
from memoria.reader.site import Asked, Site, View, not_found
from memoria.statements.fact import KINDS

PAGE = 10  # days on one page
EVENTS, FACTS, ARTICLES = 6, 3, 4  # that a day of the timeline shows


def show(site: Site, asked: Asked) -> View:
    """Return the days, filtered by ``project``, ``kind`` of what was learned, and ``q``."""
    key, kind, words = (asked.query.get(name, "") for name in ("project", "kind", "q"))
    found: tuple[Day, ...] = history.days(site)
    if key or kind or words:
        fits = _fits(key, kind, words.casefold().split())
        narrowed = (replace(day, events=tuple(filter(fits, day.events)), ended=()) for day in found)
        found = tuple(day for day in narrowed if day.events)
    values = {
        "shown": address.paginate(found, PAGE, "/timeline", asked.query),
        "query": words,
        "kind": kind,
        "kinds": KINDS,
        "project": key,
        "projects": sorted({(shown.label, shown.key) for shown in site.catalog.projects if shown.key}),
        "label": site.catalog.label,
        "events": EVENTS,
        "facts": FACTS,
        "articles": ARTICLES,
    }
    return View("timeline.html", "Timeline", values)


def _fits(key: str, kind: str, words: list[str]) -> Callable[[Event], bool]:
    def fits(event: Event) -> bool:
        if key and event.entry.project != key:
            return False
        if kind and all(fact.kind != kind for fact in event.facts):
            return False
        texts = (event.entry.title, *(fact.content for fact in event.facts), *(row.title for row in event.articles))
        said = "\n".join(texts).casefold() if words else ""
        return all(word in said for word in words)

    return fits


def show_day(site: Site, asked: Asked) -> View:
    """Return one day: its entries, what they taught, and the articles that rest on them."""
    name = asked.path["day"]
    known = history.days(site)
    place = next((number for number, day in enumerate(known) if day.day == name), None)
    if place is None:
        return not_found("Nothing is noted for this day." if clock.is_day(name) else "There is no such day.")
    day = known[place]
    entries = {entry.id: entry for entry in DailyLog.of(site.home.paths).entries(date.fromisoformat(name))}
    values = {
        "day_of": day,
        "entries": entries,
        "label": site.catalog.label,
        "line": site.markdown.line,
        "earlier": known[place + 1].day if place + 1 < len(known) else "",
        "later": known[place - 1].day if place else "",
    }
    return View("day.html", name, values)
