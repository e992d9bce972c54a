"""Lines: how a statement stands on an article: its text, its link to where it is written, and its section.

All functions are pure but for looking a statement up in the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Final

from memoria.ground import clock, markdown
from memoria.search import comparison, identifiers
from memoria.search.words import words
from memoria.statements.fact import GLOBAL, Fact, Stamp, new_id
from memoria.statements.store import Place, Store
from memoria.wiki.article import (
    BEHAVIOUR,
    CONVENTIONS,
    DECISIONS,
    GOTCHAS,
    HISTORY,
    HOW_TO,
    Article,
    Claim,
    Section,
)  # fmt: skip

SECTION_OF: Final = {
    "decision": DECISIONS,
    "correction": CONVENTIONS,
    "preference": CONVENTIONS,
    "debugging": GOTCHAS,
    "workaround": GOTCHAS,
    "operational": HOW_TO,
}
"""The section that a statement of a kind stands in when nothing else is said; ``BEHAVIOUR`` for the others."""
REWORDED: Final = 0.5  # share of their words that two wordings of one statement have in common at least


def section_of(kind: str) -> str:
    """Return the section for statements of a kind."""
    return SECTION_OF.get(kind, BEHAVIOUR)


def kind_of(heading: str) -> str:
    """Return the kind of a statement that a person wrote under a heading."""
    return next((kind for kind, own in SECTION_OF.items() if own.casefold() == heading.casefold()), "fact")


def link(ident: str, day: date) -> str:
    """Return the target of a link to a statement in the log of a day."""
    return f"daily/{day.isoformat()}#^{ident}"


def claim_of(fact: Fact, store: Store) -> Claim:
    """Return the line of a statement; one that is written on its article alone keeps its id there."""
    day = store.day(fact.id)
    text = markdown.line(fact.content)
    return Claim(text, (link(fact.id, day),)) if day else Claim(text, (), fact.id)


def folded(text: str) -> str:
    """Return the words of a text, whatever a formatter made of its marks."""
    return " ".join(words(text))


def is_same_text(text: str, other: str) -> bool:
    """Return whether two texts consist of the same words."""
    return folded(text) == folded(other)


def is_rewording(text: str, known: str) -> bool:
    """Return whether a text says what another says: the same numbers, names and negations, in other words."""
    new, old = comparison.words(text), comparison.words(known)
    if (new.numbers, new.against, new.lettered) != (old.numbers, old.against, old.lettered):
        return False
    return _names(text) == _names(known) and comparison.similarity(new, old) >= REWORDED


def _names(text: str) -> set[str]:
    """Return the names in a text: of code, and what is written with a capital inside a sentence."""
    inside = (word.strip(".,;:!?\"'()`") for word in text.split()[1:])
    return {name.casefold() for name in (*identifiers.in_prose(text), *(word for word in inside if word[:1].isupper()))}


def places(article: Article) -> list[Place]:
    """Return the lines of statements that an article has, as the store keeps them."""
    found: dict[str, Place] = {}
    for section, _, claim in article.lines():
        if claim.id and not (claim.id in found and found[claim.id].is_current):
            found[claim.id] = Place(claim.id, claim.day, not section.named(HISTORY), claim.text)
    return list(found.values())


def is_for_statements(section: Section) -> bool:
    """Return whether a bullet in a section is a statement, and not a person's own list."""
    return section.is_claims or any(claim.ids for _, claim in section.claims())


def unnamed(article: Article) -> list[tuple[Section, int, Claim]]:
    """Return the current lines that have no id yet and may get one."""
    return [
        (section, number, claim)
        for section, number, claim in article.lines()
        if not section.named(HISTORY) and not claim.ids and not claim.block and words(claim.text)
        and (claim.sources or is_for_statements(section))
    ]  # fmt: skip


def found_on(article: Article, section: Section, claim: Claim, undated: date, origins: Mapping[str, str]) -> Fact:
    """Return the statement that stands on an article alone, of an earlier version or by a person.

    Its day is that of the newest entry that it cites, ``undated`` when it cites none; it was said by the user when it
    cites none, because then a person wrote it there. It belongs where the entries do whose ``origins`` are known.
    """
    day = date.fromisoformat(claim.day) if clock.is_day(claim.day) else undated
    projects = dict.fromkeys(origins[source] for source in claim.sources if source in origins)
    place, *others = projects or (article.project or GLOBAL,)
    stamp = Stamp(place, "", datetime.combine(day, time(12), UTC))
    kind, content = kind_of(section.heading), claim.text
    ident = new_id(article.slug, content, stamp)
    origin = "assistant" if claim.sources else "user"
    return Fact(kind, content, 0.5, origin, stamp.project, stamp.time, ident, also=tuple(others))
