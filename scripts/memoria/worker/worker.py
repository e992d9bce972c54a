"""Worker: flush the waiting jobs session by session, then prepare the pages and start a compile that is due.

Only one worker runs at a time. A job is removed only after its entry is on disk. A job that fails waits longer each
time, and is finally set aside with the reason. This module knows the states of a job, but not what a flush does.
"""

from __future__ import annotations

import logging
import os
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memoria.audit.changes import Changes
from memoria.base import failpoints, project, state
from memoria.capture import detach, open_sessions
from memoria.capture.spool import Job, Spool
from memoria.daily import gate
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.daily.open_items import OpenItems
from memoria.ground import clock, database, locks, projects
from memoria.ground.errors import (
    ExpectedError,
    LedgerDamagedError,
    LedgerError,
    ModelUnavailableError,
    OverBudgetError,
    TranscriptMissingError,
)
from memoria.ground.home import Home
from memoria.ground.printable import clause
from memoria.pages import housekeeping, notices
from memoria.search import layout
from memoria.statements.keeper import Keeper

if TYPE_CHECKING:
    from memoria.transcripts.intake import Intake
    from memoria.worker.writer import Writer

log = logging.getLogger(__name__)

# Errors that the job did not cause.
OUTSIDE = (ModelUnavailableError, TranscriptMissingError, LedgerError, OSError, sqlite3.OperationalError)


@dataclass(slots=True)
class Report:
    """What a run did.

    ``entries``: ids of the entries it wrote; ``failures``: one sentence per failed session or job; ``deferred``: one
    sentence per session that waits for the budget.
    """

    entries: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    deferred: list[str] = field(default_factory=list)


class Worker:
    """One run over a home's spool."""

    def __init__(self, home: Home, *, insist: bool = False) -> None:
        """``insist``: a person asked, so do not wait for more turns or for the next attempt of a failed job."""
        self.home, self.insist = home, insist
        self.spool, self.daily = Spool(home.paths.spool), DailyLog(home.paths)
        self.ledger, self.keeper = Ledger(home.paths), Keeper(home.paths, home.zone)
        self.now: Callable[[], float] = time.time
        self.roll: Callable[[], float] = random.random  # spreads attempts

    def close(self) -> None:
        """Close the databases."""
        self.keeper.store.db.close()
        self.ledger.close()

    @cached_property
    def flush(self) -> Writer:
        """What writes entries, created for the first session that waits."""
        from memoria.worker.writer import Writer  # noqa: PLC0415 (0.2 s with the patterns of redaction)

        return Writer(self.home, self.daily, self.ledger, self.keeper)

    def run(self) -> Report:
        """Process everything that waits once; the caller holds the worker lock."""
        report = Report()
        state.make_folders(self.home.paths)
        housekeeping.clean(self.home.paths)
        self.home.tighten()
        self.daily.sweep()
        if OpenItems(self.daily, self.ledger).refresh():
            self.ledger.put(housekeeping.PAGES_DUE, value=True)
        self._learn_projects()
        self.keeper.refresh()
        if self.ledger.get("team"):  # of a version that made them statements of the user's memory
            with suppress(ExpectedError):  # of a log that is being saved: the next worker goes on
                for fact in self.keeper.store.facts(live=False):
                    if (fact.session, fact.origin) == ("team", "tool"):
                        self.keeper.delete(fact.id)
                self.ledger.put("team", value=None)
        if Path(self.home.paths.team).exists():
            from memoria.exchange import team  # noqa: PLC0415 (as in ``flush``)

            if team.follow(self.home, self.keeper):
                self.ledger.put(housekeeping.PAGES_DUE, value=True)
        for job in self.spool.jobs(self.spool.cur):  # left by a worker that died, since this one holds the lock
            self.spool.release(job)
        self._pick_up()
        for jobs in self._sessions():
            if not any(self._must_wait(job) for job in jobs):
                self._take(jobs, report)
        return report

    def _learn_projects(self) -> None:
        """Learn to which projects the folders of waiting sessions belong, and unite what was kept apart by path."""
        cwds = []
        for job in self.spool.jobs():
            with suppress(OSError, ValueError):  # set aside when it is read
                cwds.append(str(self.spool.header(job).get("cwd") or ""))
        if cwds:
            projects.Projects(self.home.paths.projects).learn(cwds, split_worktrees=self.home.settings.split_worktrees)
        if self.ledger.rename_projects(project.aliases(self.home.paths.projects)):
            self.ledger.put(housekeeping.PAGES_DUE, value=True)

    def _pick_up(self) -> None:
        """Spool turns that no hook captured: of a session whose terminal was killed, or whose hooks never ran."""
        if open_sessions.find_dead(self.home.paths):
            from memoria.worker import killed  # noqa: PLC0415 (as in ``flush``)

            killed.take_up(self.home, self.spool)
        if not Changes(self.home, self.ledger, self.spool).is_any_due():
            return
        from memoria.audit.receipt import check_some  # noqa: PLC0415 (as in ``flush``)

        for account in check_some(self.home, self.ledger, self.spool):
            missing, path = account.missing, account.found.path
            log.info("session %s: %d of %d turns were picked up from %s", account.session, missing, account.turns, path)

    def _sessions(self) -> list[list[Job]]:
        """Return the waiting jobs grouped by session, the session that has waited longest first."""
        groups: dict[str, list[Job]] = {}
        for job in self.spool.jobs(self.spool.new):
            groups.setdefault(job.session, []).append(job)
        return list(groups.values())

    def _must_wait(self, job: Job) -> bool:
        """Return whether it is too early for a failed job's next attempt; it never is when a person asked."""
        return not self.insist and clock.is_waiting(self.ledger.tries(job.name)[1], self.now())

    def _take(self, jobs: list[Job], report: Report) -> None:
        """Flush one session; an error in it must not stop the others."""
        session = jobs[0].session
        try:
            intake = self._intake(jobs, report)
            if intake is not None:
                jobs, session = intake.jobs, intake.session
                self._flush_session(intake, report)
        except Exception as error:  # noqa: BLE001 (one of three: an error in one session must not stop the others)
            is_bug = not isinstance(error, (ExpectedError, OSError))
            log.warning("session %s: %s: %s", session, type(error).__name__, error, exc_info=is_bug)
            self._record_failure(jobs, session, error, report)

    def _intake(self, jobs: list[Job], report: Report) -> Intake | None:
        """Read the jobs' headers; set aside a job that cannot be read and continue with the others."""
        from memoria.transcripts.intake import Intake, UnreadableJobError  # noqa: PLC0415 (as in ``flush``)

        while jobs:
            try:
                return Intake.of(self.home, self.spool, jobs)
            except UnreadableJobError as error:
                self.spool.claim(error.job)
                self.spool.fail(error.job, str(error))
                report.failures.append(f"{clause(error)}; set aside in {self.spool.failed}")
                jobs = [job for job in jobs if job is not error.job]
            except FileNotFoundError as error:  # somebody removed a job by hand
                report.failures.append(f"{error.filename} is gone")
                return None
        return None

    def _flush_session(self, intake: Intake, report: Report) -> None:
        """If there is enough to write, claim the jobs, write entries and acknowledge the jobs."""
        unwritten = self.flush.unwritten_turns(intake, self.now(), insist=self.insist)
        projects.see_folder(self.home.paths, unwritten.session.project, unwritten.session.cwd)
        from memoria.exchange import team  # noqa: PLC0415 (as in ``flush``)

        team.ask(self.home, unwritten.session.cwd)
        if not unwritten.is_enough:
            return
        for job in unwritten.intake.jobs:
            self.spool.claim(job)
        report.entries += self.flush.write_entries(unwritten)
        self._acknowledge(unwritten.intake)

    def _acknowledge(self, intake: Intake) -> None:
        """Remove the jobs whose turns are all recorded, except those with prompts that may yet be withdrawn."""
        self.ledger.forget_tries(job.name for job in intake.jobs)
        for job in intake.jobs:
            if job.name in intake.unresolved:
                self.spool.release(job)
            else:
                self.spool.acknowledge(job)

    def _record_failure(self, jobs: list[Job], session: str, error: Exception, report: Report) -> None:
        """Record the failure and let the jobs wait; set aside those that failed too often."""
        counted = not isinstance(error, OUTSIDE)
        names = [job.name for job in jobs]
        count = max(self.ledger.tries(name)[0] for name in names) + 1
        self.ledger.fail(names, counted=counted, not_before=self._next_try(error, count), reason=str(error))
        given_up = {name for name in names if counted and self.ledger.tries(name)[0] >= self.home.settings.max_attempts}
        if isinstance(error, OverBudgetError):
            report.deferred.append(str(error))
        elif not isinstance(error, TranscriptMissingError):  # a session closed without a prompt is not a failure
            report.failures.append(f"session {session}: {error}")
        for job in jobs:
            self.spool.claim(job)
            if job.name in given_up:
                self.spool.fail(job, f"{type(error).__name__}: {error}")
            else:
                self.spool.release(job)

    def _next_try(self, error: Exception, count: int) -> float:
        """Return when to retry jobs that failed for the ``count``-th time, in seconds since the epoch."""
        if isinstance(error, TranscriptMissingError):
            return self.now()  # the session's next hook may find the transcript, and looking for it is cheap
        if isinstance(error, OverBudgetError) and error.until:
            return max(self.now(), error.until.timestamp())
        return self.now() + clock.backoff(count, self.roll())


def work(home: Home, *, insist: bool = False) -> int:
    """Flush until no new job waits, then prepare pages and start a compile that is due; return the entries written.

    ``insist``: a person asked, so wait for a worker that is at work: it would leave what is not worth a call yet.
    """
    entries = 0
    begun_anew = False
    spool, seen = Spool(home.paths.spool), set[str]()
    while True:
        with locks.take(Path(home.paths.worker_lock), locks.PATIENCE_S if insist else 0) as mine:
            if not mine:
                log.info("another worker is running; it will look again")
                return entries
            failpoints.reach("worker.locked")
            seen.update(job.name for job in spool.jobs())
            try:
                report = _run_locked(home, insist=insist)
            except LedgerDamagedError as error:
                if begun_anew:
                    raise
                begun_anew = True
                log.warning("%s", error)
                database.set_aside(Path(home.paths.ledger))
                continue
            entries += len(report.entries)
        failpoints.reach("flush.unlocked")
        # A hook that ran while the lock was held relies on this second look; what was looked at is left to the next.
        if seen.issuperset(job.name for job in spool.jobs()):
            exchange(home, is_news=bool(entries))
            return entries


def exchange(home: Home, *, is_news: bool) -> None:
    """Exchange with other machines and the memory server; the caller holds no lock, so that nothing waits for them."""
    if home.settings.sync or home.settings.memory_api_url:
        from memoria.worker import together  # noqa: PLC0415 (as in ``flush``)

        together.run(home, is_news=is_news)


def _run_locked(home: Home, *, insist: bool) -> Report:
    detach.lower_priority()
    _finish_forget(home)
    with closing(Worker(home, insist=insist)) as worker:
        housekeeping.rotate(home)
        report = worker.run()
        _bring_up_to_date(worker, report)
        is_due = gate.is_due(worker.ledger, home)
        worker.ledger.put("last_flush", clock.now().isoformat())
    if is_due and (command := detach.command(home.settings, "compile")):
        detach.start([*command, "--due"], home.paths)
    return report


def _finish_forget(home: Home) -> None:
    """Go on with a forget that was interrupted, before anything reads what it left."""
    if not os.path.exists(home.paths.forgetting):  # noqa: PTH110 (a str)
        return
    from memoria.amending import removal  # noqa: PLC0415 (as in ``flush``)

    with locks.take(Path(home.paths.compile_lock)) as no_compile, locks.take(Path(home.paths.observer_lock)) as alone:
        if not (no_compile and alone):
            log.info("a forget that was interrupted waits for the next worker")
            return
        try:
            removal.finish(home)
            log.info("a forget that was interrupted has been completed")
        except (ExpectedError, OSError, sqlite3.Error) as error:
            log.warning("a forget that was interrupted cannot be completed yet: %s", error)


def _bring_up_to_date(worker: Worker, report: Report) -> None:
    """Store the facts that waited, prepare pages when anything is new, and leave notices of failures for the user."""
    home = worker.home
    housekeeping.bring_in(worker.keeper)
    if (
        housekeeping.are_pages_outdated(home)
        or not layout.is_current(home.paths.index)
        or report.entries  # whoever renews the pages beside this worker may have seen none of them
        or worker.keeper.store.meta().get("unshown")
        or worker.ledger.get(housekeeping.PAGES_DUE)
        or (worker.ledger.get(housekeeping.WIKI_STATE) or "") != housekeeping.wiki_state(home.paths)
    ):
        from memoria.pages import refresh  # noqa: PLC0415 (as in ``flush``)

        refresh.renew(home, worker.keeper)
    housekeeping.tell_user(home, report.failures, report.deferred)
    notices.prepare_day(home)
