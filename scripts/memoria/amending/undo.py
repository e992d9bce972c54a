"""Undo: restore the wiki as it was before its newest steps, and the facts that ended with them.

What a person has changed since then is left alone. The entries of an undone compile are not lost: the next compile
takes them in again. An entry that holds the user's word against a claim goes with the step, because it is taken back.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from memoria.amending.claims import withdraw
from memoria.daily import gate
from memoria.daily.ledger import Ledger
from memoria.ground import clock, home_files
from memoria.ground.home import Home
from memoria.pages import housekeeping
from memoria.pages.refresh import renew
from memoria.statements.keeper import Keeper
from memoria.wiki import corrected, index_page
from memoria.wiki.folder import LOG, Wiki
from memoria.wiki.transaction import Step, Transactions


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
        withdraw(home, _said(transactions, step))  # first: without its step, a compile would take it in
        undone.append(Undone(*transactions.undo(), [str(end["id"]) for end in step.facts]))
    slugs = {path.removesuffix(".md") for each in undone for path in each.restored}
    return undone, _settle(home, before, _taken(home), slugs)


def _said(transactions: Transactions, step: Step) -> set[str]:
    """Return the ids of the entries that hold the user's word for a step."""
    blocks = [transactions.after(step, row) for row in step.files if row["path"] == LOG]
    return {ident for block in blocks for ident in index_page.said((block or b"").decode("utf-8", "replace"))}


def _taken(home: Home) -> dict[str, str]:
    try:
        text = home_files.text(Path(home.paths.knowledge, LOG))
    except FileNotFoundError:
        return {}
    return index_page.fingerprints(text)


def _settle(home: Home, before: dict[str, str], after: dict[str, str], slugs: Collection[str]) -> int:
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
        wiki = Wiki.of(home.paths)
        pages = [page for slug in slugs if slug in wiki.slugs() and (page := wiki.get(slug))]
        keeper.store.restore(corrected.restored(pages, keeper.store.taken_back()))
        housekeeping.bring_in(keeper)
        renew(home, keeper)
    return len(waiting)
