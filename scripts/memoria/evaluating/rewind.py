"""Rewind: the Markdown of a home as it was at a moment of the past.

Entries, facts and claims carry their times, so that what did not come before the moment can be left out again. A fact
that ended later holds again, and a claim that moved to an article's history later stands in the article. Three things
carry no time and stay as they are: a person's edits, closed action items, and what was forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta

from memoria.daily.day_text import DayText, Part
from memoria.ground import clock
from memoria.ground.clock import Zone
from memoria.statements import lines
from memoria.statements.fact import Fact
from memoria.wiki.article import HISTORY, KEY_POINTS, RELATED, Article, Claim, Section

Known = Mapping[str, datetime]  # by the id of an entry, when the memory had it

_LOOSE = "### Learned ("


def moments_of_day(text: str, day: date, known: Known, zone: Zone) -> Iterator[datetime]:
    """Yield each moment at which the log of a day may have changed."""
    parts = DayText(text)
    yield zone.midnight(day + timedelta(days=1))  # what a person wrote is known from the next day on
    yield from (known[entry.id] for entry in parts.entries(day) if entry.id in known)
    for fact in lines.of_day(parts, day):
        yield from filter(None, (fact.time, fact.last, fact.ended))
        yield from (zone.midnight(date.fromisoformat(row[:10])) for row in fact.history if clock.is_day(row[:10]))


def day_at(text: str, day: date, moment: datetime, known: Known, zone: Zone) -> str:
    """Return the log of a day as it was; ``""`` when nothing stood in it."""
    whole = DayText(text)
    facts = {fact.id: fact for fact in lines.of_day(whole, day)}
    is_over = zone.day(moment) > day
    kept = [part for part in whole.parts(day) if _stood(part, moment, known, is_over=is_over)]
    then = DayText("".join(part.raw for part in kept), whole.aliases)
    for line in reversed(list(then.learned())):
        fact = facts.get(line.learned.id)
        if fact is None:
            continue
        if fact.time >= moment:
            then.remove(line)
        elif (was := fact_at(fact, moment, zone)) != fact:
            then.change(line, lines.learned(was))
    has_content = any(part.heading or part.entry for part in DayText(then.text).parts(day))
    return then.text if has_content else ""


def _stood(part: Part, moment: datetime, known: Known, *, is_over: bool) -> bool:
    if part.entry:
        return part.entry.id in known and known[part.entry.id] < moment
    return is_over or part.heading.startswith(_LOOSE) or not part.heading


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


def moments_of_article(article: Article, known: Known, zone: Zone) -> Iterator[datetime]:
    """Yield each moment at which an article may have changed."""
    for claim in (*article.claims, *article.past):
        yield from (known[ident] for ident in map(entry_of, claim.sources) if ident in known)
    for _, day in _past(article):
        yield zone.midnight(date.fromisoformat(day))
    created = article.front.text("created")[:10]
    if clock.is_day(created):
        yield zone.midnight(date.fromisoformat(created))


def article_at(article: Article, moment: datetime, known: Known, zone: Zone) -> str:
    """Return an article as it was, ``""`` when it did not exist; changes ``article``."""
    today = zone.day(moment).isoformat()
    all_sources = [source for claim in (*article.claims, *article.past) for source in claim.sources]
    if not all_sources:
        return article.render() if article.front.text("created")[:10] <= today else ""

    def is_known(source: str) -> bool:
        return entry_of(source) in known and known[entry_of(source)] < moment

    current = [claim for claim, day in _past(article) if day > today]
    for section in article.sections:
        _drop(section, lambda claim, _: bool(claim.sources) and not any(map(is_known, claim.sources)))
        if section.named(HISTORY):
            _drop(section, lambda _, row: row.partition("Until ")[2][:10] > today)
    for claim in article.claims:
        article.drop_sources(claim, [source for source in claim.sources if not is_known(source)])
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
