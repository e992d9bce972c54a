"""Compile: turn new entries of the daily logs into linked articles, started by the worker or by hand."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from memoria.base import failpoints, invocation
from memoria.base.project import name_of
from memoria.daily import gate
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground import clock, locks, printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.pages import notices, refresh
from memoria.worker import worker
from memoria.worker.compiler import Batch, Compile, Report, take_all

log = logging.getLogger(__name__)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="entries that are new or were edited since (the default)")
    which.add_argument("--file", metavar="DAILY", help="only the entries of one daily log, e.g. daily/2026-11-21.md")
    which.add_argument("--retry-failed", action="store_true", help="entries that were set aside, because the model's "
                       "answers about them did not pass the checks")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="print what would be compiled and stop")
    parser.add_argument("--force", action="store_true", help="with --all or --file: every entry again; also "
                        "take every change in the articles for yours, however many there are")  # fmt: skip
    parser.add_argument("--due", action="store_true", help="only if it is time for one (as the worker calls it)")


def command(args: argparse.Namespace, home: Home) -> int:
    """Compile by hand or, with ``--due``, for the worker; return 0 when every waiting entry is in the wiki."""
    seen: set[str] = set()
    while True:
        lock = Path(home.paths.compile_lock)
        with locks.take(lock) if args.due else locks.require(lock, "Another compile") as mine:
            if args.due and not mine:
                return 0
            failpoints.reach("compile.locked")
            _compile_locked(args, home, seen)
        # A worker that found the lock held relies on this second check; what was looked at is left to the next compile.
        with closing(Ledger(home.paths)) as ledger:
            if not args.due or not gate.is_due(ledger, home, seen):
                break
    if args.due and seen:
        worker.exchange(home, is_news=True)
    return 0


def _compile_locked(args: argparse.Namespace, home: Home, seen: set[str]) -> None:
    """Compile what waits, and add the jobs that were looked at to ``seen``."""
    compile_ = Compile(home)
    try:
        day = _day(args.file, compile_.daily)
        compile_.prepare()
        held, stepped = (0, []) if args.dry_run else compile_.settle(takes_all=args.force, again=not args.due)
        if stepped and not args.due:
            print(f"{printable.amount(len(stepped), 'article')} brought up to date with the logs and your edits.")
        seen |= gate.jobs(gate.waiting_entries(compile_.ledger, home))
        if args.due and not gate.is_due(compile_.ledger, home):
            return
        if not args.dry_run:
            compile_.daily.mark_all(compile_.ledger)
            compile_.keeper.refresh()
            seen |= gate.jobs(gate.waiting_entries(compile_.ledger, home))
        again = args.force and (args.all or bool(args.file))
        entries = compile_.waiting_entries(everything=again, day=day, aside=args.retry_failed)
        batches = compile_.add_pairs(list(compile_.batches(entries, again=again)))
        if args.dry_run:
            _preview(compile_, batches)
        else:
            _run(compile_, batches, args)
        if held and not args.due:
            raise ExpectedError(refresh.describe_held(held))
    finally:
        compile_.close()


def _day(name: str | None, daily: DailyLog) -> str:
    """Return the day of the daily log that is named, ``""`` when none is."""
    stem = Path(name or "").stem
    if name and stem not in daily.stamps():
        raise ExpectedError(f"There is no daily log {name}; name one of {daily.folder}, such as daily/2026-11-21.md.")
    return stem


def _preview(compile_: Compile, batches: Sequence[Batch]) -> None:
    entries = sum(len(batch.entries) for batch in batches)
    sizes = [len(compile_.prompt(batch).text) if batch.facts else 0 for batch in batches]
    calls = printable.amount(sum(map(bool, sizes)), "model call")
    print(f"{printable.amount(entries, 'entry')} to compile, in {calls} ({compile_.model.model.name}).")
    for batch, size in zip(batches, sizes, strict=True):
        held = f"{printable.amount(len(batch.facts), 'statement')} of {printable.amount(len(batch.entries), 'entry')}"
        if size:
            print(f"- {name_of(batch.key)}: {held}, a prompt of {printable.amount(size, 'character')}")
    if compile_.ledger.count_by_hand() or not all(sizes):
        print("What you wrote by hand is not counted yet, and may take a call more.")


def _run(compile_: Compile, batches: Sequence[Batch], args: argparse.Namespace) -> None:
    """Compile the batches, and prepare the pages."""
    # Booked before the calls, so that a failing compile is retried after the interval and not by every worker.
    compile_.ledger.put(gate.COMPILED, clock.now().isoformat())
    compile_.ledger.put(gate.FAILED, value=True)
    report = Report()
    total = sum(len(batch.entries) for batch in batches)
    failure = take_all(compile_, batches, report, quiet=args.due)
    compile_.ledger.put(gate.FAILED, value=failure is not None)
    if not failure:
        compile_.mark_compiled(batches)
    refresh.prepare_all(compile_.home, compile_.ledger, compile_.index, compile_.keeper)
    notices.prepare_day(compile_.home)
    log.info("%s", _counts(compile_, report, total))
    if not args.due:
        _say(compile_, report, total)
    if failure:
        taken = {entry.id for batch in batches for entry in batch.entries}
        waiting = len({entry.id for entry in compile_.waiting_entries()} & taken)
        compile_.ledger.note("compile-failed", "", str(failure))
        raise ExpectedError(f"{failure} ({printable.amount(waiting, 'entry')} waiting; nothing is lost)")


def _counts(compile_: Compile, report: Report, total: int) -> str:
    spent = compile_.model.spent
    tokens = spent.input_tokens + spent.output_tokens
    return (
        f"{report.entries:,} of {printable.amount(total, 'entry')} compiled: "
        f"{printable.amount(len(report.created), 'article')} created, {len(set(report.updated))} updated; "
        f"{printable.amount(tokens, 'token')}, ${spent.cost_usd:.4f}"
    )


def _say(compile_: Compile, report: Report, total: int) -> None:
    print(_counts(compile_, report, total))
    for reason in report.refused:
        print(f"  not written: {reason}")
    if report.aside:
        print(f"  {printable.amount(report.aside, 'entry')} set aside, because the answers about them did not pass; "
              f"{invocation.command('compile --retry-failed')} asks again")  # fmt: skip
