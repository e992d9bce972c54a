"""Diff: print what a compile changed in the wiki, as a unified diff, and the facts that a consolidation ended."""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Iterator

from memoria.base import invocation
from memoria.ground import printable
from memoria.ground.command_parser import positive
from memoria.ground.errors import NothingToUndoError
from memoria.ground.home import Home
from memoria.wiki.transaction import End, Row, Step, Transactions


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--step", type=positive, default=1, metavar="N", help="which change of the wiki: 1 is the last")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the diff of one step; raise NothingToUndoError when it does not exist."""
    transactions = Transactions.of(home.paths)
    known = transactions.steps()
    if not 1 <= args.step <= len(known):
        stored = printable.counted(len(known), "step")
        raise NothingToUndoError(
            f"There is no such change: {stored} stored. {invocation.shown('undo --list')} lists them."
        )
    step = known[args.step - 1]
    if args.json:
        files = [{"path": row["path"], "diff": "\n".join(_file(transactions, step, row))} for row in step.files]
        print(json.dumps({"label": step.label, "files": files, "facts": step.facts}, indent=2, ensure_ascii=False))
        return 0
    print(f"# {step.label}")
    for row in step.files:
        print("\n".join(_file(transactions, step, row)))
    for end in step.facts:
        print("\n".join(_fact(end)))
    return 0


def _fact(end: End) -> Iterator[str]:
    instead, why = end.get("instead", ""), end.get("why", "")
    verb = "is repeated by" if end.get("repetition") else "gave way to"
    yield f"fact {end['id']} {verb} {end.get('successor') or 'a claim'}{f': {why}' if why else ''}"
    yield f"-{end.get('content', '')}"
    yield f" {instead}"


def _file(transactions: Transactions, step: Step, row: Row) -> Iterator[str]:
    old, new = transactions.before(step, row), transactions.after(step, row)
    path = row["path"]
    names = "/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}"
    return difflib.unified_diff(_lines(old), _lines(new), *names, lineterm="")


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()
