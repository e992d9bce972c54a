"""Facts: a person's change of learned facts, with everything that follows from it in wiki and prepared pages.

The daily log is changed first, then the store, then what was made of the facts elsewhere. If there is a memory server,
the change is queued for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.pages.refresh import consequences, renew
from memoria.statements.fact import MAX_STORED, Fact
from memoria.statements.keeper import Keeper


@dataclass(frozen=True, slots=True)
class Corrected:
    """The changed facts; ``told`` says in words what it means for the articles, ``""`` when it means nothing."""

    facts: tuple[Fact, ...]
    told: str


def edit(home: Home, keeper: Keeper, ident: str, text: str) -> Corrected:
    """Change the wording of a fact; raise ExpectedError when there is no such fact, or the text does not fit."""
    words = Redactor(home.settings.redact_extra).redact(text)
    if len(words) > MAX_STORED:
        raise ExpectedError(f"A fact has one to three sentences and at most {MAX_STORED} characters, not {len(words)}.")
    changed = keeper.edit(ident, words)
    return _published(home, keeper, [changed])


def delete(home: Home, keeper: Keeper, idents: Sequence[str]) -> Corrected:
    """Delete facts; raise ExpectedError, and delete none, when one of them does not exist."""
    known = [keeper.known(ident) for ident in idents]
    gone = [keeper.delete(fact.id) for fact in dict.fromkeys(known)]
    return _published(home, keeper, gone)


def promote(home: Home, keeper: Keeper, idents: Sequence[str]) -> Corrected:
    """Make facts hold in every project; raise ExpectedError, and change none, when one of them does not exist."""
    known = [keeper.known(ident) for ident in idents]
    return _published(home, keeper, [keeper.promote(fact.id) for fact in dict.fromkeys(known)])


def _published(home: Home, keeper: Keeper, changed: Iterable[Fact]) -> Corrected:
    """Bring wiki and pages up to date after a change of facts."""
    facts = tuple(changed)
    slugs = renew(home, keeper, {place for fact in facts for place in fact.projects})
    return Corrected(facts, consequences(slugs))
