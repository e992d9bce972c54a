"""Past: the wiki and the facts as they were at the end of a day.

What a step that can be undone replaced is known exactly. Before these steps, an article is worked out from its History
and from the days of the entries that it cites; what a person changed by hand carries no time and stands as it is now.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from memoria.ground import clock
from memoria.ground.errors import StillReadingError
from memoria.reader import days, facts, rewind
from memoria.reader.site import Site
from memoria.statements.fact import Fact
from memoria.wiki.article import Article
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import Wiki
from memoria.wiki.transaction import Transactions


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
    then = [rewind.fact_at(fact, moment, zone) for fact in facts.all_of(site).known.values() if fact.time < moment]
    return sorted((fact for fact in then if fact.ended is None), key=lambda fact: fact.last or fact.time, reverse=True)


def rows_at(site: Site, day: date) -> tuple[list[Row], list[Row]]:
    """Return the articles that rested on an entry by the end of a day, and those that cite none."""
    if not site.watch.has_indexed:
        raise StillReadingError("The search index is being built, which says which articles cite an entry.")
    entries, first = site.catalog.entries, dict[str, str]()
    for ident, slugs in days.citations(site).items():
        for slug in slugs if ident in entries else ():
            first[slug] = min(first.get(slug, "9"), entries[ident].day)
    rows = sorted(site.catalog.rows.values(), key=lambda row: (row.title.casefold(), row.slug))
    there = [row for row in rows if first.get(row.slug, "9") <= day.isoformat()]
    return there, [row for row in rows if row.slug not in first]


def text_at(site: Site, slug: str, day: date) -> tuple[str, bool]:
    """Return the text of an article at the end of a day, ``""`` for none, and whether it is known exactly."""
    moment = end_of(site, day)
    exact = _replaced(site, slug, moment)
    if exact is not None:
        return exact, True
    data = Wiki.of(site.home.paths).read(slug)
    if data is None:
        return "", False
    article = Article(slug, data.decode("utf-8", "replace"))
    known = {entry.id: site.home.zone.midnight(date.fromisoformat(entry.day))
             for entry in site.catalog.entries.values()}  # fmt: skip
    return rewind.article_at(article, moment, known, site.home.zone), False


def _replaced(site: Site, slug: str, moment: datetime) -> str | None:
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
