"""Flush: turn what the hooks spooled into entries of the daily log; as hooks start it, or by hand."""

from __future__ import annotations

import argparse
import contextlib
import sys

from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.flushing.worker import work
from memoria.ground.errors import LedgerDamagedError
from memoria.ground.home import Home


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command line takes."""
    parser.add_argument(
        "--now",
        action="store_true",
        help="do not wait for more turns, or for a failed job's next try: summarise what is in the spool",
    )
    parser.add_argument("--retry-failed", action="store_true", help="let jobs that were set aside wait again first")


def _retry_failed(home: Home, spool: Spool) -> None:
    """What was set aside waits again, with all its tries and no time to wait out: a person has looked at it."""
    jobs = spool.jobs(spool.failed)
    with contextlib.suppress(LedgerDamagedError):  # the worker begins a new one, and that knows of no tries
        ledger = Ledger.of(home.paths)
        try:
            ledger.forget_tries(job.name for job in jobs)
        finally:
            ledger.close()
    for job in jobs:
        spool.retry(job)


def command(args: argparse.Namespace, home: Home) -> int:
    """Run the worker; as hooks start it, or by hand."""
    spool = Spool(home.paths.spool)
    if args.retry_failed:
        _retry_failed(home, spool)
    entries = work(home, insist=args.now)
    if sys.stdout.isatty():
        print(f"{entries} entries written; {len(spool.jobs())} jobs wait.")
    return 0
