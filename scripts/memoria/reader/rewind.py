"""Rewind: a fact and an article as they were at a moment of the past.

Facts and claims carry their times, so that what did not come before the moment can be left out again. A fact that ended
later holds again, and a claim that moved to an article's history later stands in the article. A person's edits and what
was forgotten carry no time and stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from memoria.ground import clock
from memoria.ground.clock import Zone
from memoria.statements.fact import Fact
from memoria.wiki.article import HISTORY, KEY_POINTS, RELATED, Article, Claim, Section

Known = Mapping[str, datetime]  # by the id of an entry, when the memory had it


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
