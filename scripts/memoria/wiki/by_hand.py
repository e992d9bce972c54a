"""By hand: what a person changed in an article since it was last read.

A line whose words changed is the same statement in other words, or another statement that ends it. A line that is gone
ends its statement, unless that stands elsewhere. A new bullet among statements is a statement. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from memoria.search.words import words
from memoria.statements.fact import MAX_STORED, plain
from memoria.statements.store import Place, Store
from memoria.wiki import lines
from memoria.wiki.article import HISTORY, Article

REWORDED, REPLACED, GONE, NEW, RELINKED = "reworded", "replaced", "gone", "new", "relinked"
MANY, SHARE = 20, 0.1  # more changed or missing lines at once, and this share of all, are no person's work


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a person: what it is, of which statement, and the words and heading that stand there now."""

    what: str
    slug: str
    id: str = ""
    text: str = ""
    heading: str = ""


def edits(article: Article, known: Mapping[str, Place], store: Store) -> Iterator[Edit]:
    """Yield what a person changed; ``known``: the lines that the article had when it was last read."""
    current: set[str] = set()
    for section, _, claim in article.lines():
        if section.named(HISTORY) or not claim.id:
            continue
        current.add(claim.id)
        fact, is_known = store.get(claim.id), claim.id in known
        if len(claim.text) > MAX_STORED or (is_known and lines.is_same_text(claim.text, known[claim.id].words)):
            continue  # an article of an earlier version has words of its own
        if fact is None:  # deleted meanwhile: other words are another statement
            if is_known:
                yield Edit(NEW, article.slug, claim.id, claim.text, section.heading)
            continue
        if any(lines.is_same_text(claim.text, wording) for wording in (fact.content, *fact.wordings)):
            continue  # a copy from before the statement was reworded
        same = fact.ended is None and lines.is_rewording(claim.text, fact.content)
        yield Edit(REWORDED if same else REPLACED, article.slug, claim.id, claim.text, section.heading)
    live = {ident: fact for ident, place in known.items() if place.is_current and (fact := store.get(ident))}
    gone = {ident: fact for ident, fact in live.items() if ident not in current and fact.ended is None}
    for section, _, claim in lines.unnamed(article):
        if claim.sources or len(claim.text) > MAX_STORED or not words(plain(claim.text)):
            continue
        own = next((ident for ident, fact in gone.items() if lines.is_same_text(claim.text, fact.content)), "")
        gone.pop(own, None)  # only its link is gone
        yield Edit(RELINKED if own else NEW, article.slug, own, claim.text, section.heading)
    yield from (Edit(GONE, article.slug, ident) for ident in gone)


def is_a_person(found: Iterable[Edit], total: int) -> bool:
    """Return whether so many changes at once are a person's, and no formatter's, checkout's or half a save's."""
    return sum(edit.what in (REWORDED, REPLACED, GONE) for edit in found) <= max(MANY, SHARE * total)


def moved(found: Collection[Edit], articles: Iterable[Article]) -> set[str]:
    """Return the ids of the lines that are gone from one article because they stand on another one now."""
    gone = {edit.id for edit in found if edit.what == GONE}
    return gone & {claim.id for article in articles for claim in article.claims}
