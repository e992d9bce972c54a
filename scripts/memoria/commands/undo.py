"""Undo: restore the wiki as it was before the last compiles, and the facts that a consolidation ended.

What a person has changed since then is left alone. The entries of an undone compile are not lost: the next compile
takes them in again, perhaps with a better model, a corrected entry, or without a forgotten one.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from memoria.amending.undo import Undone, undo
from memoria.base import invocation
from memoria.ground import locks, printable
from memoria.ground.command_parser import positive
from memoria.ground.errors import ExpectedError, NothingToUndoError
from memoria.ground.home import Home
from memoria.wiki.folder import INDEX
from memoria.wiki.transaction import Transactions


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--steps", type=positive, default=1, metavar="N", help="how many changes of the wiki to undo")
    parser.add_argument("--list", action="store_true", help="list what can be undone, newest first, and stop")
    parser.add_argument("--show", action="store_true", help="show what a change did, and stop")
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
        undone, waiting = undo(home, args.steps)
    if args.json:
        print(
            json.dumps({"undone": [asdict(each) for each in undone], "waiting": waiting}, indent=2, ensure_ascii=False)
        )
        return 0
    for each in undone:
        _say(each)
    if waiting:
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


def _say(undone: Undone) -> None:
    more = f", {printable.counted(len(undone.facts), 'fact')} current again" if undone.facts else ""
    print(f"Undone: {undone.label}; {printable.counted(len(undone.restored), 'file')} restored{more}")
    for path in undone.left_alone:
        if path == INDEX or path.startswith("lists/"):
            continue  # memoria writes them, also after a person's edit of an article
        print(f"  left alone, changed by hand since then: {path}")
