"""Corrections: a person's change of a statement with what follows from it, and taking back steps of the wiki.

The daily log is changed first, then the store, then the articles that show it and the prepared pages. If there is a
memory server, the change is queued for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from memoria.daily import gate
from memoria.daily.ledger import Ledger
from memoria.ground import clock, home_files, locks
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.index.index import Index
from memoria.pages import housekeeping
from memoria.pages.refresh import consequences, renew
from memoria.statements.fact import MAX_STORED, Ending, Fact
from memoria.statements.keeper import Keeper
from memoria.wiki import index_page
from memoria.wiki.folder import LOG
from memoria.wiki.settle import Settle
from memoria.wiki.transaction import FOLLOWS, Transactions


@dataclass(frozen=True, slots=True)
class Corrected:
    """The changed facts; ``told`` says in words what it means for the articles, ``""`` when it means nothing."""

    facts: tuple[Fact, ...]
    told: str


def edit(home: Home, keeper: Keeper, ident: str, text: str) -> Corrected:
    """Change the wording of a fact, which is the user's from then on.

    Raise ExpectedError when there is no such fact, or the text does not fit.
    """
    words = Redactor(home.settings.redact_extra).redact(text)
    if len(words) > MAX_STORED:
        raise ExpectedError(f"A fact has one to three sentences and at most {MAX_STORED} characters, not {len(words)}.")
    changed = keeper.edit(ident, words, is_users=True)
    return _publish(home, keeper, [changed])


def delete(home: Home, keeper: Keeper, idents: Sequence[str]) -> Corrected:
    """Delete facts; raise ExpectedError, and delete none, when one of them does not exist."""
    known = [keeper.get(ident) for ident in idents]
    gone = [keeper.delete(fact.id) for fact in dict.fromkeys(known)]
    return _publish(home, keeper, gone)


def promote(home: Home, keeper: Keeper, idents: Sequence[str]) -> Corrected:
    """Make facts hold in every project; raise ExpectedError, and change none, when one of them does not exist."""
    known = [keeper.get(ident) for ident in idents]
    return _publish(home, keeper, [keeper.promote(fact.id) for fact in dict.fromkeys(known)])


def _publish(home: Home, keeper: Keeper, changed: Iterable[Fact]) -> Corrected:
    """Bring wiki and pages up to date after a change of facts."""
    facts = tuple(changed)
    slugs = renew(home, keeper, {place for fact in facts for place in fact.projects})
    return Corrected(facts, consequences(slugs))


def retire(home: Home, ident: str) -> None:
    """End a statement; articles move its line to the history, in one step that ``memoria undo`` takes back with it.

    Raise ExpectedError when there is no such statement, or it holds no longer.
    """
    with (
        locks.require(Path(home.paths.compile_lock), "A compile"),
        Keeper.at(home) as keeper,
        Index(home.paths.index) as index,
    ):
        Settle(home, keeper, index).run()  # so that it is known where the statement stands
        fact = keeper.get(ident)
        if fact.ended:
            raise ExpectedError("It holds no longer already.")
        keeper.take([], endings=[Ending(fact.id, clock.now(), "user")])
        stored = keeper.get(ident).ended or clock.now()  # by which it is taken back
        end = Ending(fact.id, stored, "user").to_dict() | {
            "content": fact.content,
            "why": "the user said that it no longer holds",
        }
        shown = keeper.store.places_of(fact.id)
        Settle(home, keeper, index, ends=[end] if shown else [], label="retired a statement").run()
    with Keeper.at(home) as keeper:  # without the lock, so that the wiki's own pages are brought up to date too
        renew(home, keeper)


@dataclass(frozen=True, slots=True)
class Undone:
    """A step that was undone: files ``restored`` and ``left_alone``, and the ids of the ``facts`` that hold again."""

    label: str
    restored: list[str]
    left_alone: list[str]
    facts: list[str]


def undo(home: Home, steps: int) -> tuple[list[Undone], int]:
    """Undo the newest steps; return them, and how many entries wait again. The caller holds the compile lock."""
    transactions = Transactions(home.paths)
    before = _take_over(home)
    undone = []
    for _ in range(steps):
        step = transactions.steps()[0]
        undone.append(Undone(*transactions.undo(), [str(end["id"]) for end in step.facts]))
    return undone, _settle(home, before, _take_over(home))


def _take_over(home: Home) -> dict[str, str]:
    try:
        text = home_files.text(Path(home.paths.knowledge, LOG))
    except FileNotFoundError:
        return {}
    return index_page.fingerprints(text)


def _settle(home: Home, before: dict[str, str], after: dict[str, str]) -> int:
    """Mark the entries as waiting, for one interval at least, and bring index and pages up to date."""
    waiting = {ident for ident, took in before.items() if after.get(ident) != took}
    with closing(Ledger(home.paths)) as ledger:
        ledger.mark_waiting(waiting - after.keys())
        ledger.mark_compiled({ident: after[ident] for ident in waiting & after.keys()})
        ledger.put(gate.COMPILED, clock.now().isoformat())
        ledger.put(gate.FAILED, value=True)  # so that even the first entries wait for one interval
        waiting &= {entry.id for entry in ledger.entries()}
    with Keeper.at(home) as keeper:
        housekeeping.bring_in(keeper)
        with Index(home.paths.index) as index:  # so that nothing is told that was deleted or taken back
            Settle(home, keeper, index, label=FOLLOWS).run()
        renew(home, keeper)
    return len(waiting)
