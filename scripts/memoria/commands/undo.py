"""Undo: restore the wiki as it was before the last compiles, and the facts that a consolidation ended.

What a person has changed since then is left alone. The entries of an undone compile are not lost: the next compile
takes them in again, perhaps with a better model, a corrected entry, or without a forgotten one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from memoria.base import invocation
from memoria.briefing import housekeeping
from memoria.briefing.refresh import renew
from memoria.daily import gate
from memoria.daily.ledger import Ledger
from memoria.facts.keeper import Keeper
from memoria.ground import clock, locks, printable
from memoria.ground.argument_types import positive
from memoria.ground.errors import ExpectedError, NothingToUndoError
from memoria.ground.home import Home
from memoria.wiki import index_page
from memoria.wiki.folder import INDEX, LOG
from memoria.wiki.transaction import Transactions


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--steps", type=positive, default=1, metavar="N", help="how many changes of the wiki to undo")
    parser.add_argument("--list", action="store_true", help="list what can be undone, newest first, and stop")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Undo the newest steps; raise NothingToUndoError when there are fewer."""
    with locks.held(Path(home.paths.compile_lock)) as mine:
        if not mine:
            raise ExpectedError("A compile is running; try again when it is done.")
        transactions = Transactions.of(home.paths)
        transactions.recover()
        if args.list:
            _list(transactions, as_json=args.json)
            return 0
        known = len(transactions.steps())
        if args.steps < 1 or args.steps > known:
            stored = printable.counted(known, "step")
            raise NothingToUndoError(
                f"Only {stored} can be undone; {invocation.shown('undo --list')} lists what there is."
            )
        before = _taken(home)
        undone = []
        for _ in range(args.steps):
            facts = [end["id"] for end in transactions.steps()[0].facts]
            label, restored, left_alone = transactions.undo()
            undone.append({"label": label, "restored": restored, "left_alone": left_alone, "facts": facts})
            if not args.json:
                _say(label, restored, left_alone, len(facts))
        waiting = _settle(home, before, _taken(home))
    if args.json:
        print(json.dumps({"undone": undone, "waiting": waiting}, indent=2, ensure_ascii=False))
    elif waiting:
        entries = printable.counted(waiting, "entry")
        print(f"{entries} waiting again for the next compile ({invocation.shown('status')} shows how many).")
    return 0


def _list(transactions: Transactions, *, as_json: bool) -> None:
    steps = [
        {"label": step.label, "files": [row["path"] for row in step.files], "facts": [end["id"] for end in step.facts]}
        for step in transactions.steps()
    ]
    if as_json:
        print(json.dumps({"steps": steps}, indent=2, ensure_ascii=False))
        return
    for number, step in enumerate(steps, 1):
        changed = [*step["files"], *(f"fact {ident}" for ident in step["facts"])]
        print(f"{number:>3}  {step['label']}: {', '.join(changed)}")


def _say(label: str, restored: list[str], left_alone: list[str], facts: int) -> None:
    more = f", {printable.counted(facts, 'fact')} current again" if facts else ""
    print(f"Undone: {label}; {printable.counted(len(restored), 'file')} restored{more}")
    for path in left_alone:
        if path == INDEX or path.startswith("lists/"):
            continue  # memoria writes them, also after a person's edit of an article
        print(f"  left alone, changed by hand since then: {path}")


def _taken(home: Home) -> dict[str, str]:
    try:
        text = Path(home.paths.knowledge, LOG).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return {}
    return index_page.fingerprints(text)


def _settle(home: Home, before: dict[str, str], after: dict[str, str]) -> int:
    """Mark the entries as waiting, for one interval at least, and bring index and pages up to date; return how many."""
    waiting = {ident for ident, took in before.items() if after.get(ident) != took}
    ledger = Ledger.of(home.paths)
    try:
        ledger.mark_waiting(waiting - after.keys())
        ledger.mark_compiled({ident: after[ident] for ident in waiting & after.keys()})
        ledger.put(gate.COMPILED, clock.now().isoformat())
        ledger.put(gate.FAILED, value=True)  # so that even the first entries wait for one interval
    finally:
        ledger.close()
    with Keeper.at(home) as keeper:
        housekeeping.bring_in(keeper)
        renew(home, keeper)
    return len(waiting)
