"""Retry: give the jobs that were set aside after failing another chance."""

from __future__ import annotations

import contextlib

from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground.errors import LedgerDamagedError
from memoria.ground.home import Home


def retry_failed(home: Home, spool: Spool) -> None:
    """Put the jobs that were set aside back into the queue and forget their failed attempts."""
    jobs = spool.jobs(spool.failed)
    with contextlib.suppress(LedgerDamagedError):  # the worker creates a new ledger, without attempts
        ledger = Ledger.of(home.paths)
        try:
            ledger.forget_tries(job.name for job in jobs)
        finally:
            ledger.close()
    for job in jobs:
        spool.retry(job)
