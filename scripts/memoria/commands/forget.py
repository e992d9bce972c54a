"""Forget: remove a text, an entry, a session, a project or an article from everything that memoria stores.

The command shows what it would remove (``forget_plan`` finds it), then removes it (``removal``). At the end everything
is searched for it. A forget that was interrupted is completed by the next worker, or by the next run of the command.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memoria.amending import forget_plan, proof, removal
from memoria.amending.forget_plan import Plan
from memoria.amending.proof import Proof
from memoria.base import invocation
from memoria.daily.daily_log import DailyLog
from memoria.ground import locks, printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.wiki.transaction import Transactions
from memoria.worker import together

CONTINUED = "A forget that was interrupted has been completed.\n"
SHOWN_CHARS = 200  # of a title or a line, in the question to the user


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("what", nargs="*", help="a text, an entry (e-…), a fact (l-…), a session's id, a project or an "
                        "article")  # fmt: skip
    which, kinds = parser.add_mutually_exclusive_group(), forget_plan.KINDS
    which.add_argument("--project", default="", metavar="NAME", help="a project (its name or key), as --as project")
    which.add_argument("--as", dest="kind", choices=kinds, default="", help="its kind, if it could be several")
    parser.add_argument("--dry-run", action="store_true", help="show what would be removed and stop")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def command(args: argparse.Namespace, home: Home) -> int:
    """Show, ask, remove; return 1 when something contains it afterwards or cannot be read."""
    target = args.project or " ".join(args.what).strip()
    if not target or (args.project and args.what):
        raise ExpectedError("Name one thing to forget: a text, an entry, a session, an article, or a --project.")
    with _hold_workers(home):
        Transactions(home.paths).recover()
        DailyLog(home.paths).take_in_copies()
        finished = None if args.dry_run else removal.finish(home)
        is_same = finished is not None and finished.target == target
        plan = finished if finished and is_same else _plan(args, home, target)
        done = is_same or _remove(args, home, plan)
        found = asyncio.run(proof.search(home, plan.proof_texts)) if done and plan.proof_texts else Proof()
        if done:
            print(CONTINUED * is_same + "\n".join(_show_proof(home, plan, found)))
    for line in together.spread_forgetting(home) if done and home.settings.sync else []:
        print(line)
    return 0 if found.is_clean else 1


def _plan(args: argparse.Namespace, home: Home, target: str) -> Plan:
    plan = forget_plan.plan(home, target, "project" if args.project else args.kind)
    if plan.is_empty:
        raise ExpectedError("Nothing is stored about it; there is nothing to forget.")  # unnamed, as the log keeps it
    return plan


def _remove(args: argparse.Namespace, home: Home, plan: Plan) -> bool:
    """Show the plan and carry it out when the user agrees; return whether it was carried out."""
    print("\n".join(_show_plan(plan)))
    unasked = "Nothing was removed. Add --yes to remove it, or --dry-run to see what would be removed."
    if args.dry_run or not (args.yes or printable.confirm("Remove all this? It cannot be undone.", unasked)):
        return False
    removal.carry_out(home, plan)
    return True


@contextmanager
def _hold_workers(home: Home) -> Iterator[None]:
    """Keep worker, compile and observer from running in the meantime; say what is waited for."""
    paths = home.paths
    with ExitStack() as stack:
        for lock, who in ((paths.worker_lock, "the worker, which may be asking a model"),
                          (paths.compile_lock, "a compile"), (paths.observer_lock, "the observer")):  # fmt: skip
            stack.enter_context(locks.wait(Path(lock), f"memoria: waiting for {who} ..."))
        yield


# -- printing


def _show_plan(plan: Plan) -> Iterator[str]:
    yield f"To forget the {plan.kind} {plan.target!r}:"
    for entry in plan.entries:
        turns = printable.amount(len(entry.turns), "turn")
        yield f"- entry {entry.source}: {printable.line(entry.title or 'removed by hand')[:SHOWN_CHARS]} ({turns})"
    for ident in sorted(plan.tombstones):
        yield f"- remaining copies of the forgotten entry {ident}"
    for day, row in plan.rows:
        yield f"- daily/{day.isoformat()}: {printable.line(row)[:SHOWN_CHARS]}"
    for fact in plan.facts:
        yield f"- learned fact {fact.id}: {printable.line(fact.content)[:SHOWN_CHARS]}"
    for slug, count in sorted(plan.articles.items()):
        yield f"- article {slug}: " + ("the whole page" if count < 0 else printable.amount(count, "line"))
    for path, (before, after) in sorted(plan.others.items()):
        count = before.count(b"\n") - (after or b"").count(b"\n")
        shown = "the whole file" if after is None else printable.amount(count, "line")
        yield f"- {printable.line(str(path))}: {shown}"
    for row in plan.shared:
        yield f"- from a team: {printable.line(row)[:SHOWN_CHARS]}"
    for folder in plan.folders:
        yield f"- that {printable.line(folder)} is a project's folder, and its remote"
    if count := sum(plan.archives.values()):
        yield f"- {printable.amount(count, 'archived turn')}"
    if plan.jobs:
        yield f"- {printable.amount(len(plan.jobs), 'spooled job')}, entirely or in part"
    yield "- all steps that could be undone, and copies in indexes, prepared pages, working memory, ledger and logs"
    for fact in plan.outlived:
        again = invocation.command(f"learned edit {fact.id} WORDS")
        yield f"What it ended stays ended: {printable.line(fact.content)[:SHOWN_CHARS]} ({again} lets it hold again)"


def _show_proof(home: Home, plan: Plan, found: Proof) -> Iterator[str]:
    """Yield what was searched, and what may hold the text still."""
    searched = f"{printable.amount(found.files, 'file')} ({printable.amount(found.bytes, 'byte')})"
    if found.values:
        searched += f" and {printable.amount(found.values, 'value')} of working memory"
    if not plan.proof_texts:
        yield "Removed. It has no words to search everything for; what it said may stand elsewhere."
    else:
        result = "nothing contains it" if found.is_clean else "not everything is clean"
        yield f"{'Forgotten' if found.is_clean else 'Removed'}. Searched {searched}: {result}."
    yield from (f"Still contains it: {printable.line(place)}" for place in found.holding)
    yield from (f"Cannot be read, and may contain it: {printable.line(place)}" for place in found.unread)
    if found.holding and plan.kind == "fact":
        command = invocation.command(f"forget --as text {shlex.quote(plan.proof_texts[-1])}")
        yield f"The statement is gone, and not the conversation; {command} takes its words from there too."
    if home.settings.memory_api_url:
        yield "The memory server is told to delete its copies of the facts with the next exchange."
    if home.settings.sync and plan.folders:
        yield "Other machines forget this. What they had not sent yet, and the project's name, forget there too."
    if files := sorted({*found.client, *plan.transcripts}):
        yield "Files of coding agents or of a team contain it; memoria does not change them and keeps nothing of it:"
        yield from (f"- {printable.line(path)}" for path in files)
