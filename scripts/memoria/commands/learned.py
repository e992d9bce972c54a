"""Learned: list, filter, edit, delete and promote the learned facts.

Every change goes to the daily log first, then to the store and to the prepared pages; the next exchange brings it to
other machines and the memory server.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from typing import Final

from memoria.amending import corrections
from memoria.amending.corrections import Corrected
from memoria.base import invocation, project
from memoria.daily.entry import FACT, Reference
from memoria.daily.ledger import Ledger
from memoria.ground import printable, projects
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.statements.fact import GLOBAL, KINDS, Fact
from memoria.statements.keeper import Keeper
from memoria.statements.store import repeat_mark


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``memoria learned [list|edit|delete|promote]``; list is default."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    show = actions.add_parser("list", help="the facts, newest last (the default)")
    show.add_argument("words", nargs="*", help="only facts that share a word with these, best first; or an id")
    show.add_argument("--kind", choices=KINDS, default="", help="only this kind")
    show.add_argument("--project", default="", help="only this project (its name, key or folder) and global facts")
    show.add_argument("--ended", action="store_true", help="also replaced facts")
    edit = actions.add_parser("edit", help="change the wording of a fact")
    edit.add_argument("id")
    edit.add_argument("text", nargs="+")
    delete = actions.add_parser("delete", help="forget facts, here and on the memory server")
    delete.add_argument("id", nargs="+")
    promote = actions.add_parser("promote", help="make facts hold in every project")
    promote.add_argument("id", nargs="+")
    show.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")  # given before, too
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(action="list", words=[], project="", kind="", ended=False)


def command(args: argparse.Namespace, home: Home) -> int:
    """Run one action; return 0, or 1 after a line that says what to do."""
    with Keeper.at(home) as keeper:
        return _ACTIONS[args.action](args, home, keeper)


def _list(args: argparse.Namespace, home: Home, keeper: Keeper) -> int:
    key = _project_key(args.project, home, keeper)
    named = Reference.of(" ".join(args.words))
    if named:
        found = _named_facts(named, keeper)
    elif args.words:
        found = keeper.store.match(" ".join(args.words), key, live=not args.ended)
    else:
        found = keeper.store.facts(live=not args.ended, project=key)
    found = [fact for fact in found if not args.kind or fact.kind == args.kind]
    if args.json:
        print(json.dumps([fact.to_dict() for fact in found], ensure_ascii=False, indent=2))
        return 0
    return _print(home, keeper, found)


def _named_facts(named: Reference, keeper: Keeper) -> list[Fact]:
    """Return the fact with this id, or the facts of this entry."""
    if named.kind == FACT:
        return [keeper.get(named.anchor)]
    entry = keeper.lines.daily.entry(named.id)
    if entry is None:
        raise ExpectedError(f"there is no entry {named.anchor}.")
    return [fact for learned in entry.learned if (fact := keeper.store.get(learned.id))]


def _edit(args: argparse.Namespace, home: Home, keeper: Keeper) -> int:
    return _print(home, keeper, _tell(corrections.edit(home, keeper, args.id, " ".join(args.text)), home))


def _delete(args: argparse.Namespace, home: Home, keeper: Keeper) -> int:
    gone = _tell(corrections.delete(home, keeper, args.id), home)
    print(f"{printable.amount(len(gone), 'fact')} deleted: " + ", ".join(fact.id for fact in gone))
    return 0


def _promote(args: argparse.Namespace, home: Home, keeper: Keeper) -> int:
    return _print(home, keeper, _tell(corrections.promote(home, keeper, args.id), home))


_ACTIONS: Final[dict[str, Callable[[argparse.Namespace, Home, Keeper], int]]] = {
    "list": _list, "edit": _edit, "delete": _delete, "promote": _promote,
}  # fmt: skip


def _tell(done: Corrected, home: Home) -> list[Fact]:
    """Say what a change means for the articles, and when the memory server will receive it; return the facts."""
    if done.told:
        print(done.told, file=sys.stderr)
    if home.settings.memory_api_url:
        now = f"{invocation.command('sync')} does it now"
        print(f"The next worker will update the memory server; {now}.", file=sys.stderr)
    return list(done.facts)


def _project_key(given: str, home: Home, keeper: Keeper) -> str:
    """Return the key of the project that is meant, ``""`` when none is."""
    if not given:
        return ""
    known = {place for fact in keeper.store.facts(live=False) for place in fact.projects}
    with closing(Ledger(home.paths)) as ledger:
        known |= {entry.project for entry in ledger.entries()}
    return projects.resolve_folder(given, known - {GLOBAL}, home)


def _print(home: Home, keeper: Keeper, facts: list[Fact]) -> int:
    keys = {*keeper.store.projects(), *(key for fact in facts for key in fact.projects)} - {GLOBAL}
    labels = projects.labels(keys, project.read(home.paths.projects))
    live = {fact.id for fact in keeper.store.facts()} if any(fact.beside for fact in facts) else set()
    for fact in facts:
        print(_row(fact, home, labels, live))
    if not facts:
        print("No fact matches.")
    return 0


def _row(fact: Fact, home: Home, labels: Mapping[str, str], live: Collection[str]) -> str:
    place, *others = ["everywhere" if key == GLOBAL else labels.get(key, key) for key in fact.projects]
    notes = [f"{home.zone.day(fact.last or fact.time)}", place]
    times = printable.amount(fact.seen, "time")
    notes += [repeat_mark(fact) or f"said {times}"] if fact.seen > 1 else []
    notes += [f"also in {', '.join(others)}"] if others else []
    notes += fact.beside_note(live)
    notes += [f"replaced by {fact.successor}" if fact.successor else "ended"] if fact.ended else []
    return f"{fact.id}  [{fact.kind}] {fact.content}  ({', '.join(notes)})"
