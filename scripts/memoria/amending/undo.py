"""Undo: restore the wiki as it was before its newest steps, and the facts that ended with them.

What a person has changed since then is left alone. The entries of an undone compile are not lost: the next compile
takes them in again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memoria.daily import gate
from memoria.daily.ledger import Ledger
from memoria.ground import clock, home_files
from memoria.ground.home import Home
from memoria.pages import housekeeping
from memoria.pages.refresh import renew
from memoria.statements.keeper import Keeper
from memoria.wiki import index_page
from memoria.wiki.folder import LOG
from memoria.wiki.transaction import Transactions


@dataclass(frozen=True, slots=True)
class Undone:
    """A step that was undone: files ``restored`` and ``left_alone``, and the ids of the ``facts`` that hold again."""

    label: str
    restored: list[str]
    left_alone: list[str]
    facts: list[str]


def undo(home: Home, steps: int) -> tuple[list[Undone], int]:
    """Undo the newest steps; return them, and how many entries wait again. The caller holds the compile lock."""
    transactions = Transactions.of(home.paths)
    before = _taken(home)
    undone = []
    for _ in range(steps):
        step = transactions.steps()[0]
        undone.append(Undone(*transactions.undo(), [str(end["id"]) for end in step.facts]))
    return undone, _settle(home, before, _taken(home))


def _taken(home: Home) -> dict[str, str]:
    try:
        text = home_files.text(Path(home.paths.knowledge, LOG))
    except FileNotFoundError:
        return {}
    return index_page.fingerprints(text)


def _settle(home: Home, before: dict[str, str], after: dict[str, str]) -> int:
    """Mark the entries as waiting, for one interval at least, and bring index and pages up to date."""
    waiting = {ident for ident, took in before.items() if after.get(ident) != took}
    ledger = Ledger.of(home.paths)
    try:
        ledger.mark_waiting(waiting - after.keys())
        ledger.mark_compiled({ident: after[ident] for ident in waiting & after.keys()})
        ledger.put(gate.COMPILED, clock.now().isoformat())
        ledger.put(gate.FAILED, value=True)  # so that even the first entries wait for one interval
        waiting &= {entry.id for entry in ledger.entries()}
    finally:
        ledger.close()
    with Keeper.at(home) as keeper:
        housekeeping.bring_in(keeper)
        renew(home, keeper)
    return len(waiting)
