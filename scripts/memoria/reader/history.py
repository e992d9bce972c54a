"""History: what happened on each day, and the facts and articles as they were at the end of one.

What a step that can be undone replaced is known exactly. Before these steps, an article is worked out from its History
and from the days of the entries that it cites: what did not come before the moment is left out again, a fact that ended
later holds again, and a claim that moved to an article's History later stands in the article. What a person changed by
hand and what was forgotten carry no time and stand as they are now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from memoria.daily.ledger import Booked
from memoria.ground import clock
from memoria.ground.clock import Zone
from memoria.ground.errors import StillReadingError
from memoria.index.index import Index
from memoria.reader.catalog import slug_of
from memoria.reader.site import Site
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.wiki.article import HISTORY, KEY_POINTS, RELATED, Article, Claim, Section
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import Wiki
from memoria.wiki.transaction import Transactions

Known = Mapping[str, datetime]  # by the id of an entry, when the memory had it


def end_of(site: Site, day: date) -> datetime:
    """Return the last moment of a day."""
    return site.home.zone.midnight(day + timedelta(days=1)) - timedelta(microseconds=1)


def asked_day(site: Site, text: str) -> date | None:
    """Return the day that a query names, None for none, for today and for a day to come."""
    day = date.fromisoformat(text) if clock.is_day(text) else None
    return day if day and day < site.today else None


def facts_at(site: Site, day: date) -> list[Fact]:
    """Return the facts that held at the end of a day, as they were worded then, the latest first."""
    moment, zone = end_of(site, day), site.home.zone
    then = [fact_at(fact, moment, zone) for fact in facts(site).known.values() if fact.time < moment]
    return sorted((fact for fact in then if fact.ended is None), key=lambda fact: fact.last or fact.time, reverse=True)


def rows_at(site: Site, day: date) -> tuple[list[Row], list[Row]]:
    """Return the articles that rested on an entry by the end of a day, and those that cite none."""
    if not site.watch.has_indexed:
        raise StillReadingError("The search index is being built, which says which articles cite an entry.")
    entries, first = site.catalog.entries, dict[str, str]()
    for ident, slugs in citations(site).items():
        for slug in slugs if ident in entries else ():
            first[slug] = min(first.get(slug, "9"), entries[ident].day)
    rows = sorted(site.catalog.rows.values(), key=lambda row: (row.title.casefold(), row.slug))
    there = [row for row in rows if first.get(row.slug, "9") <= day.isoformat()]
    return there, [row for row in rows if row.slug not in first]


def text_at(site: Site, slug: str, day: date) -> tuple[str, bool]:
    """Return the text of an article at the end of a day, ``""`` for none, and whether it is known exactly."""
    moment = end_of(site, day)
    exact = _replaced_text(site, slug, moment)
    if exact is not None:
        return exact, True
    data = Wiki.of(site.home.paths).read(slug)
    if data is None:
        return "", False
    article = Article(slug, data.decode("utf-8", "replace"))
    known = {entry.id: site.home.zone.midnight(date.fromisoformat(entry.day))
             for entry in site.catalog.entries.values()}  # fmt: skip
    return article_at(article, moment, known, site.home.zone), False


def _replaced_text(site: Site, slug: str, moment: datetime) -> str | None:
    """Return what the first step after a moment replaced; None when no step that is still known changed the article."""
    transactions = Transactions.of(site.home.paths)
    found: str | None = None
    for step in transactions.steps():  # newest first
        if _time(step.name) < moment:
            break
        for row in step.files:
            if row["path"] == f"{slug}.md":
                found = (transactions.before(step, row) or b"").decode("utf-8", "replace")
    return found


def _time(name: str) -> datetime:
    try:
        return datetime.strptime(name.partition("-")[2], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)


def fact_at(fact: Fact, moment: datetime, zone: Zone) -> Fact:
    """Return a fact as it was; how often it had been said by then is known only for the last time."""
    if fact.ended and fact.ended >= moment:
        fact = replace(fact, ended=None, successor="", repetition=False)
    if fact.last and fact.last >= moment:
        seen = max(1, fact.seen - 1)
        fact = replace(fact, seen=seen, last=fact.time if seen > 1 else None)
    day = zone.day(moment).isoformat()
    later = next((number for number, row in enumerate(fact.history) if row[:10] > day), None)
    if later is None:
        return fact
    return replace(fact, content=fact.history[later].partition(" ")[2], history=fact.history[:later])


def article_at(article: Article, moment: datetime, known: Known, zone: Zone) -> str:
    """Return an article as it was, ``""`` when it did not exist; changes ``article``."""
    today = zone.day(moment).isoformat()
    all_sources = [source for claim in (*article.claims, *article.past) for source in claim.sources]
    if not all_sources:
        return article.render() if article.front.text("created")[:10] <= today else ""

    def is_known(source: str) -> bool:
        if "#^l-" in source:
            return source.removeprefix("daily/")[:10] <= today
        return entry_of(source) in known and known[entry_of(source)] < moment

    current = [claim for claim, day in _past(article) if day > today]
    for section in article.sections:
        _drop(section, lambda claim, _: bool(claim.sources) and not any(map(is_known, claim.sources)))
        if section.named(HISTORY):
            _drop(section, lambda _, row: row.partition("Until ")[2][:10] > today)
    for section, number, claim in article.lines():
        section.put(number, replace(claim, sources=tuple(filter(is_known, claim.sources))).render())
    for claim in current:
        if any(map(is_known, claim.sources)):
            article.section(KEY_POINTS).add(claim.render())
    if not any(claim.sources for claim in article.claims):
        return ""
    if not all(map(is_known, all_sources)):  # a summary tells of everything in the article
        article.lead = [row for row in article.lead if row.startswith("# ") or not row.strip()]
        article.sections = [section for section in article.sections if not section.named(RELATED)]
    article.sections = [section for section in article.sections if any(section.rows)]
    return article.render()


def entry_of(source: str) -> str:
    """Return the id of the entry that a claim's source names."""
    return source.rpartition("#^e-")[2]


def _past(article: Article) -> Iterator[tuple[Claim, str]]:
    """Yield the claims under History, each with the day on which it ceased to hold."""
    rows = (claim.text for section in article.sections if section.named(HISTORY) for _, claim in section.claims())
    for claim, text in zip(article.past, rows, strict=True):
        day = text.partition("Until ")[2][:10]
        if clock.is_day(day):
            yield claim, day


def _drop(section: Section, goes: Callable[[Claim, str], bool]) -> None:
    """Remove the claims for which ``goes`` is true, with the lines below them."""
    for number, claim in reversed([*section.claims()]):
        if goes(claim, section.rows[number]):
            del section.rows[number : section.block(number)]


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
