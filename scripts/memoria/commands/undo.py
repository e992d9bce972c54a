"""Undo: restore the wiki as it was before the last compiles, and the facts that ended with them.

What a person has changed since then is left alone. The entries of an undone compile are not lost: the next compile
takes them in again, perhaps with a better model, a corrected entry, or without a forgotten one.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator
from pathlib import Path

from memoria.amending.corrections import Undone, undo
from memoria.base import invocation
from memoria.ground import locks, printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.wiki.folder import INDEX
from memoria.wiki.settle import BROUGHT
from memoria.wiki.transaction import End, Row, Step, Transactions


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--steps", type=int, default=1, metavar="N", help="how many changes of the wiki to undo")
    which.add_argument("--list", action="store_true", help="list what can be undone, newest first, and stop")
    which.add_argument("--show", nargs="?", type=int, const=1, metavar="N",
                       help="show what the N-th last change did, and stop")  # fmt: skip


def command(args: argparse.Namespace, home: Home) -> int:
    """Undo the newest steps, or show one; raise ExpectedError when there are fewer."""
    if args.show is not None:
        transactions = Transactions(home.paths)
        _refuse_more_than(len(transactions.steps()), args.show)
        _show(transactions, args.show)
        return 0
    with locks.require(Path(home.paths.compile_lock), "A compile"):
        transactions = Transactions(home.paths)
        transactions.recover()
        if args.list:
            _list(transactions)
            return 0
        _refuse_more_than(len(transactions.steps()), args.steps)
        undone, waiting = undo(home, args.steps)
    for each in undone:
        _say(each)
    if waiting:
        entries = printable.amount(waiting, "entry")
        print(f"{entries} waiting again for the next compile ({invocation.command('status')} shows how many).")
    return 0


def _refuse_more_than(known: int, wanted: int) -> None:
    if not 1 <= wanted <= known:
        can = f"{printable.amount(known, 'step')} can be undone, not {wanted}" if known else "Nothing can be undone"
        raise ExpectedError(f"{can}; {invocation.command('undo --list')} lists what there is.")


def _show(transactions: Transactions, number: int) -> None:
    """Print what one change did, as a unified diff, and the facts that ended with it."""
    step = transactions.steps()[number - 1]
    print(f"# {step.label}")
    for row in step.files:
        print("\n".join(_file(transactions, step, row)))
    for end in step.facts:
        print("\n".join(_fact(end)))


def _fact(end: End) -> Iterator[str]:
    why = end.get("why", "")
    verb = "is repeated by" if end.get("repetition") else "gave way to"
    yield f"fact {end['id']} {verb} {end.get('successor') or 'a claim'}{f': {why}' if why else ''}"
    yield f"-{end.get('content', '')}"


def _file(transactions: Transactions, step: Step, row: Row) -> Iterator[str]:
    old, new = transactions.content_before(step, row), transactions.content_after(step, row)
    path = row["path"]
    names = "/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}"
    return difflib.unified_diff(_lines(old), _lines(new), *names, lineterm="")


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()


def _list(transactions: Transactions) -> None:
    if not transactions.steps():
        print("Nothing can be undone.")
    for number, step in enumerate(transactions.steps(), 1):
        changed = [*(row["path"] for row in step.files), *(f"fact {end['id']}" for end in step.facts)]
        print(f"{number:>3}  {step.label}: {', '.join(changed)}")


def _say(undone: Undone) -> None:
    more = f", {printable.amount(len(undone.facts), 'fact')} current again" if undone.facts else ""
    print(f"Undone: {undone.label}; {printable.amount(len(undone.restored), 'file')} restored{more}")
    if undone.label.startswith(BROUGHT):
        print("  Edits of yours that it took in go back too. Articles go on telling what is learned; "
              "`memoria learned` changes that.")  # fmt: skip
    for path in undone.left_alone:
        if path == INDEX:
            continue  # memoria writes it, also after a person's edit of an article
        print(f"  left alone, changed since then or its copy is damaged: {path}")
