"""Headings: under which heading of a page a claim stands.

A short page lists its claims under ``Key Points``. A longer one, or one for which the model named headings, has
sections: how things are today first, then decisions, then gotchas. Where the model names none, the kind of what the
cited entries say decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memoria.daily.entry import Entry
from memoria.search import comparison
from memoria.search.words import jaccard, stems
from memoria.wiki.article import (
    BEHAVIOUR,
    CONVENTIONS,
    DECISIONS,
    GOTCHAS,
    HOW_TO,
    KEY_POINTS,
    Article,
    Claim,
    heading_of,
)

FLAT_CLAIMS = 6  # a page with more claims has sections
SAME_ITEM = 0.5  # a claim is made of the item of an entry that shares this part of its words

EntryOf = Callable[[str], Entry | None]

_KINDS = {
    "correction": CONVENTIONS,
    "preference": CONVENTIONS,
    "decision": DECISIONS,
    "debugging": GOTCHAS,
    "workaround": GOTCHAS,
    "operational": HOW_TO,
}


def of(claim: Claim, row: Mapping[str, Any], article: Article, old: Claim | None, entry_of: EntryOf) -> str:
    """Return the heading for a new claim: the one that the model named, else that of the claim it replaces."""
    heading = named(row.get("section", ""), article)
    if not heading and old is not None:
        heading = next((heading for heading, known in article.headed_claims if known == old), "")
    if heading:
        return heading
    return by_kind(claim, entry_of) if _has_sections(article) else KEY_POINTS


def named(text: str, article: Article) -> str:
    """Return the heading that a model means: one of the page's with the same words, or a new one; ``""`` for none."""
    heading = heading_of(text)
    same = (section.heading for section in article.sections if stems(section.heading) == stems(heading))
    return next(same, heading) if heading and stems(heading) else heading


def divide(article: Article, entry_of: EntryOf) -> None:
    """Move the claims under Key Points to sections when the page has others, or more claims than a list bears."""
    flat = [claim for heading, claim in article.headed_claims if heading.casefold() == KEY_POINTS.casefold()]
    if not _has_sections(article) and len(flat) <= FLAT_CLAIMS:
        return
    for claim in flat:
        if claim.sources:
            article.move(claim, by_kind(claim, entry_of))


def by_kind(claim: Claim, entry_of: EntryOf) -> str:
    """Return the heading for the kind of what the cited entries say."""
    said = comparison.words(claim.text).stems
    best, heading = SAME_ITEM, BEHAVIOUR
    for source in claim.sources:
        entry = entry_of(source)
        for kind, text in _items(entry) if entry else ():
            share = jaccard(said, comparison.words(text).stems)
            if share > best or (share == best and heading == BEHAVIOUR):
                best, heading = share, _KINDS.get(kind, BEHAVIOUR)
    return heading


def _items(entry: Entry) -> Iterable[tuple[str, str]]:
    yield from ((learned.kind, learned.text) for learned in entry.learned)
    yield from (("decision", text) for text in entry.decisions)
    yield from (("debugging", text) for text in entry.lessons)


def _has_sections(article: Article) -> bool:
    return any(heading.casefold() != KEY_POINTS.casefold() for heading, _ in article.headed_claims)
