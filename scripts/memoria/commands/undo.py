"""Undo: restore the wiki as it was before the last compiles, and the facts that ended with them.

What a person has changed since then is left alone. The entries of an undone compile are not lost: the next compile
takes them in again, perhaps with a better model, a corrected entry, or without a forgotten one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from memoria.amending.corrections import Undone, undo
from memoria.base import invocation
from memoria.ground import locks, printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.wiki import index_page
from memoria.wiki.folder import INDEX
from memoria.wiki.transaction import Transactions


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--steps", type=int, default=1, metavar="N", help="how many changes of the wiki to undo")
    parser.add_argument("--list", action="store_true", help="list what can be undone, newest first, and stop")


def command(args: argparse.Namespace, home: Home) -> int:
    """Undo the newest steps; raise ExpectedError when there are fewer."""
    with locks.needed(Path(home.paths.compile_lock), "A compile"):
        transactions = Transactions.of(home.paths)
        transactions.recover()
        if args.list:
            _list(transactions)
            return 0
        known = len(transactions.steps())
        if not 1 <= args.steps <= known:
            stored = printable.counted(known, "step")
            raise ExpectedError(f"Only {stored} can be undone; {invocation.shown('undo --list')} lists what there is.")
        undone, waiting = undo(home, args.steps)
    for each in undone:
        _say(each)
    if waiting:
        entries = printable.counted(waiting, "entry")
        print(f"{entries} waiting again for the next compile ({invocation.shown('status')} shows how many).")
    return 0


def _list(transactions: Transactions) -> None:
    for number, step in enumerate(transactions.steps(), 1):
        changed = [*(row["path"] for row in step.files), *(f"fact {end['id']}" for end in step.facts)]
        print(f"{number:>3}  {step.label}: {', '.join(changed)}")


def _say(undone: Undone) -> None:
    more = f", {printable.counted(len(undone.facts), 'fact')} current again" if undone.facts else ""
    print(f"Undone: {undone.label}; {printable.counted(len(undone.restored), 'file')} restored{more}")
    for path in undone.left_alone:
        if path in (INDEX, index_page.ALL):
            continue  # memoria writes them, also after a person's edit of an article
        print(f"  left alone, changed by hand since then: {path}")
