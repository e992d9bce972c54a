"""Flush: turn spooled jobs into entries of the daily log; started by hooks or by hand."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing

from memoria.base import invocation
from memoria.capture import detach
from memoria.capture.spool import Job, Spool
from memoria.daily.ledger import Ledger
from memoria.ground.home import Home
from memoria.ground.printable import amount
from memoria.pages.housekeeping import retry_failed
from memoria.worker.worker import work


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options to ``parser``."""
    parser.add_argument("--now", action="store_true", help="summarise what is in the spool without waiting for more "
                        "turns or for the next attempt of a failed job")  # fmt: skip
    parser.add_argument("--retry-failed", action="store_true", help="retry the jobs that were set aside after failing")


def command(args: argparse.Namespace, home: Home) -> int:
    """Run the worker; on a terminal, print what it did."""
    if args.retry_failed:
        retry_failed(home)
    entries = work(home, insist=args.now)
    if not detach.is_detached():
        jobs = Spool(home.paths.spool).jobs()
        hint = f": {_reason(home, jobs, insisted=args.now)}" if jobs else ""
        print(f"Wrote {amount(entries, 'entry')}; {amount(len(jobs), 'job')} waiting{hint}.")
    return 0


def _reason(home: Home, jobs: Sequence[Job], *, insisted: bool) -> str:
    """Return why jobs wait, and what can be done."""
    if detach.is_locked(home.paths.worker_lock):
        return "another worker is at work and will look at them when it is done"
    now = "" if insisted else f"; {invocation.command('flush --now')} does not wait"
    with closing(Ledger(home.paths)) as ledger:
        reasons = [reason for job in jobs if (reason := ledger.tries(job.name)[2])]
    return (reasons[0].rstrip(".") if reasons else "for more turns") + now
