"""Flush: turn spooled jobs into entries of the daily log; started by hooks or by hand."""

from __future__ import annotations

import argparse

from memoria.capture import detach
from memoria.capture.spool import Spool
from memoria.ground.home import Home
from memoria.ground.printable import counted
from memoria.pages.housekeeping import retry_failed
from memoria.worker.worker import work


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options to ``parser``."""
    parser.add_argument(
        "--now",
        action="store_true",
        help="summarise what is in the spool without waiting for more turns or for the next attempt of a failed job",
    )
    parser.add_argument("--retry-failed", action="store_true", help="retry the jobs that were set aside after failing")


def command(args: argparse.Namespace, home: Home) -> int:
    """Run the worker; on a terminal, print what it did."""
    if args.retry_failed:
        retry_failed(home)
    entries = work(home, insist=args.now)
    if not detach.is_detached():
        waiting = counted(len(Spool(home.paths.spool).jobs()), "job")
        is_busy = detach.is_locked(home.paths.worker_lock)
        hint = ": another worker is at work and will look at them when it is done" if is_busy else ""
        print(f"Wrote {counted(entries, 'entry')}; {waiting} waiting{hint}.")
    return 0
