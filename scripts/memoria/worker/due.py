"""Due: start the worker when turns of an open session are due to be judged."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field

from memoria.capture import detach
from memoria.capture.spool import Job, Spool
from memoria.daily.ledger import Ledger
from memoria.ground.errors import LedgerError, MemoryStoreError
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.statements.store import Store as Facts
from memoria.transcripts.intake import Intake, UnreadableJobError
from memoria.worker.pending import Pending

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DueCheck:
    """The local check of the waiting jobs; ``seen``: names of the jobs that were checked."""

    home: Home
    seen: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Check the sessions with jobs since the last run, and start the worker when any of their turns are due."""
        spool = Spool(self.home.paths.spool)
        waiting = spool.jobs()
        fresh = {job.session for job in waiting if job.name not in self.seen and job.is_recent()}
        self.seen.update(job.name for job in waiting)
        try:
            if fresh and self._is_due(spool, [[job for job in waiting if job.session == name] for name in fresh]):
                log.info("%s", detach.start_worker(self.home.settings, self.home.paths))
        except (LedgerError, MemoryStoreError, sqlite3.Error) as error:
            log.warning("cannot determine what is due to be judged: %s", error)

    def has_news(self) -> bool:
        """Return whether jobs have arrived since the last run."""
        return any(job.name not in self.seen for job in Spool(self.home.paths.spool).jobs())

    def _is_due(self, spool: Spool, sessions: list[list[Job]]) -> bool:
        paths, settings = self.home.paths, self.home.settings
        with closing(Ledger.of(paths)) as ledger, Facts.of(paths) as facts:
            waiting = Pending(self.home, ledger, facts, Redactor(settings.redact_extra))
            return any(self._has_due(waiting, spool, jobs) for jobs in sessions)

    def _has_due(self, waiting: Pending, spool: Spool, jobs: list[Job]) -> bool:
        try:
            return bool(waiting.due(Intake.of(self.home, spool, jobs)))
        except (OSError, UnreadableJobError) as error:  # a worker is at it, or it cannot know what was forgotten
            log.debug("what is due of %s is not known now: %s", jobs[0].session, error)
            return False
