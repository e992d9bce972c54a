"""Worker: one at a time, flush until nothing new waits; then prepare the pages and start the compile if it is due."""

from __future__ import annotations

import logging
from pathlib import Path

from memoria.base import failpoints
from memoria.briefing import housekeeping, refresh
from memoria.capture import detach
from memoria.capture.spool import Spool
from memoria.daily import gate
from memoria.daily.ledger import Ledger
from memoria.flushing.session import Flush, Report
from memoria.ground import clock, locks
from memoria.ground.errors import LedgerDamagedError
from memoria.ground.home import Home

log = logging.getLogger(__name__)


def work(home: Home, *, insist: bool = False) -> int:
    """The worker: flush until nothing new waits, then prepare pages and start the compile if it is due."""
    entries = 0
    begun_anew = False
    while True:
        detach.worker_looks(home.paths)
        with locks.held(Path(home.paths.worker_lock)) as mine:
            if not mine:
                log.info("another worker is at work; it will look again")
                return entries
            failpoints.reached("worker.locked")
            try:
                report = _run_locked(home, insist=insist)
            except LedgerDamagedError as error:
                if begun_anew:
                    raise
                begun_anew = True
                log.warning("%s", error)
                Ledger.set_aside(Path(home.paths.ledger))
                continue
            entries += len(report.entries)
        failpoints.reached("flush.unlocked")
        # A hook that came while the lock was held relied on this second look.
        if all(job.name in report.seen for job in Spool(home.paths.spool).jobs()):
            return entries


def _run_locked(home: Home, *, insist: bool) -> Report:
    housekeeping.be_modest()
    flush = Flush.of(home, insist=insist)
    try:
        housekeeping.rotate(home)
        report = flush.run()
        housekeeping.bring_in(flush.learner.keeper)
        housekeeping.compare_with_client(home, flush.learner.keeper)
        housekeeping.exchange_facts(home, flush.learner.keeper)
        store = flush.learner.keeper.store
        if report.entries or store.revision or store.meta().get("unshown") or flush.ledger.get(refresh.DUE):
            refresh.renew(home, flush.learner.keeper)
        housekeeping.tell_user(home, report.failures, report.deferred)
        last = flush.ledger.get("last_compile")
        moment = clock.parse(last) if last else None
        waiting = flush.ledger.counts()["uncompiled"]
        flush.ledger.put("last_flush", clock.now().isoformat())
    finally:
        flush.close()
    if gate.compile_due(waiting, moment, clock.now(), home.settings.compile_interval_min):
        ways = [[*way, "--due"] for way in detach.commands("compile.py", home.settings)]
        if ways:
            detach.start(ways, home.paths)
    return report
