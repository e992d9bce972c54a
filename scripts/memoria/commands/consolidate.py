"""Consolidate: ask now which of the most similar statements still hold, whatever was asked today."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from memoria.base import invocation, state
from memoria.daily.ledger import Ledger
from memoria.ground import locks, printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.models.metered import Metered
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.wiki.transaction import Transactions
from memoria.worker.candidates import Pair
from memoria.worker.consolidation import Consolidation, Report


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--dry-run", action="store_true", help="print which pairs would be asked about and stop")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Make one call, or with ``--dry-run`` none; return 0."""
    state.make_folders(home.paths)
    with locks.held(Path(home.paths.compile_lock)) as mine:
        if not mine:
            raise ExpectedError("A compile is running; try again when it is done.")
        Transactions.of(home.paths).recover()
        ledger = Ledger.of(home.paths)
        try:
            with Index(home.paths.index) as index, Keeper.at(home) as keeper:
                sources.refresh(index, home.paths)
                run = Consolidation(home, ledger, index, Metered.of(home, ledger), keeper)
                pairs = run.likeliest()
                if args.dry_run:
                    _preview(run, pairs, as_json=args.json)
                else:
                    _say(run.run(pairs), as_json=args.json)
        finally:
            ledger.close()
    return 0


def _preview(run: Consolidation, pairs: Sequence[Pair], *, as_json: bool) -> None:
    chars = len(run.prompt(pairs).text) if pairs else 0
    if as_json:
        named = [{"first": _named(pair.first), "second": _named(pair.second)} for pair in pairs]
        print(json.dumps({"pairs": named, "model": run.model.name, "prompt_chars": chars}, indent=2))
        return
    size = printable.counted(chars, "character")
    print(f"{printable.counted(len(pairs), 'pair')} to ask about ({run.model.name}), in a prompt of {size}.")
    for pair in pairs:
        print(f"- {pair.first.id}: {printable.line(pair.first.content)}")
        print(f"  {pair.second.id}: {printable.line(pair.second.content)}")


def _named(fact: Fact) -> dict[str, str]:
    return {"id": fact.id, "text": fact.content}


def _say(report: Report, *, as_json: bool) -> None:
    if as_json:
        facts = {"pairs": report.pairs, "applied": report.applied, "refused": report.refused}
        print(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    ended = printable.counted(len(report.applied), "statement")
    print(f"{printable.counted(report.pairs, 'pair')} asked about, {ended} ended.")
    for each in report.applied:
        relation = "is repeated by" if each.get("repetition") else "gave way to"
        print(f"- {each['id']} {relation} {each['successor']}: {printable.line(each['content'])}")
    for reason in report.refused:
        print(f"  not applied: {reason}")
    if report.applied:
        print(f"{invocation.shown('undo --show')} shows the change, {invocation.shown('undo')} takes it back.")
