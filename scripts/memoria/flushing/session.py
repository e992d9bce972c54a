"""Flush: turn what the hooks spooled into entries of the daily log.

One worker at a time; all waiting jobs of a session together. A job goes only after its entry is on disk, and turns are
told apart by key, so that a worker killed anywhere is made good by the next. A session that goes on is handed to the
learner instead. Starts the compile when it is due.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import logging
import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from memoria.audit.receipt import check_some
from memoria.base import exclude, failpoints, project, state
from memoria.briefing import housekeeping, refresh
from memoria.capture.spool import Job, Spool
from memoria.daily.daily_log import DailyLog, Entry, Learned
from memoria.daily.ledger import Ledger
from memoria.facts import lines
from memoria.facts.fact import Fact
from memoria.ground import backoff, clock
from memoria.ground.errors import (
    BadAnswerError,
    ExpectedError,
    LedgerError,
    ModelUnavailableError,
    OverBudgetError,
    TranscriptMissingError,
)
from memoria.ground.home import Home
from memoria.learning.learner import Learner, Session
from memoria.models import tasks
from memoria.models.metered import Metered
from memoria.models.protocol import JsonObject
from memoria.redaction.redact import Redactor
from memoria.transcripts.archive import Archive
from memoria.transcripts.intake import Intake, Stretch, UnreadableJobError, stretches

log = logging.getLogger(__name__)

MISSING_S = 24 * 3600  # a transcript that has not appeared by then will not
# Faults that are none of the job's own.
OUTSIDE = (ModelUnavailableError, TranscriptMissingError, LedgerError, OSError, sqlite3.OperationalError)


@dataclass(slots=True)
class Report:
    """What a run did. ``seen``: every job it looked at; ``entries``: ids written; ``failures``: one a session.

    ``deferred``: one sentence for each session that waits for the budget.
    """

    seen: set[str] = field(default_factory=set)
    entries: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    deferred: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Flush:
    """The verb with its nouns."""

    home: Home
    spool: Spool
    daily: DailyLog
    ledger: Ledger
    model: Metered
    archive: Archive
    learner: Learner
    insist: bool = False  # wait for no more turns and no failed job's next try: a person asked
    now: Callable[[], float] = time.time
    roll: Callable[[], float] = random.random

    @classmethod
    def of(cls, home: Home, *, insist: bool = False) -> Flush:
        """Build the nouns from a home."""
        paths, settings = home.paths, home.settings
        ledger = Ledger(Path(paths.ledger))
        redactor = Redactor(settings.redact_extra)
        metered = Metered.of(home, ledger)
        return cls(
            home,
            Spool(paths.spool),
            DailyLog.of(paths),
            ledger,
            metered,
            Archive(Path(paths.archive), settings.archive_mb * 1_000_000, redactor),
            Learner.of(home, ledger, metered, redactor),
            insist,
        )

    def close(self) -> None:
        """Let go of the databases."""
        self.learner.keeper.store.db.close()
        self.ledger.close()

    def run(self) -> Report:
        """Go once through everything that waits; the caller holds the worker lock."""
        report = Report()
        state.make_folders(self.home.paths)
        housekeeping.clean(self.home.paths)
        self.daily.sweep()
        self.daily.refresh(self.ledger)
        for job in self.spool.jobs(self.spool.cur):  # left by a worker that died: the lock is ours, so it is gone
            self.spool.release(job)
        self._pick_up()
        for jobs in self._sessions():
            report.seen.update(job.name for job in jobs)
            self._session(jobs, report)
        return report

    def _pick_up(self) -> None:
        """Spool what no hook captured: the session of a killed terminal, or one whose hooks never fired."""
        for account in check_some(self.home, self.ledger, self.spool):
            text = f"{account.missing} of {account.turns} turns were picked up from {account.found.path}"
            self.ledger.note("picked-up", account.session, text)
            log.info("session %s: %s", account.session, text)

    def _sessions(self) -> list[list[Job]]:
        """Waiting jobs by session, the session that waits longest first."""
        groups: dict[str, list[Job]] = {}
        for job in self.spool.jobs(self.spool.new):
            groups.setdefault(job.session, []).append(job)
        return list(groups.values())

    def _session(self, jobs: list[Job], report: Report) -> None:
        if any(self._must_wait(job) for job in jobs):
            return  # it failed a short while ago
        try:
            intake = Intake(self.spool, jobs, self.home.settings.keep_sidechains)
        except UnreadableJobError as error:
            self.spool.claim(error.job)
            self.spool.fail(error.job, str(error))
            report.failures.append(f"{error}; set aside in {self.spool.failed}")
            rest = [job for job in jobs if job is not error.job]
            if rest:
                self._session(rest, report)
            return
        except FileNotFoundError as error:  # somebody took a job away by hand
            report.failures.append(f"{error.filename} is gone")
            return
        try:
            self._take(intake, report)
        except Exception as error:  # noqa: BLE001 (one of three: one session's fault must not stop the others)
            log.warning("session %s: %s: %s", intake.session, type(error).__name__, error, exc_info=_is_bug(error))
            self._failed(intake, error, report)

    def _must_wait(self, job: Job) -> bool:
        """Whether a failed job's next try is yet to come; a person who asks waits for none."""
        return not self.insist and backoff.is_on(self.ledger.tries(job.name)[1], self.now())

    def _take(self, intake: Intake, report: Report) -> None:
        settings, paths = self.home.settings, self.home.paths
        excluded = exclude.reason(intake.cwd, settings, paths)
        if excluded:  # since the hook ran: what waits is not kept
            keys = [turn.key for turn in intake.turns(lambda _: False, settle=True)]
            self.ledger.record_nothing(keys, intake.session, excluded)
            self._done(intake)
            return
        age = abs(self.now() - intake.newest)  # a job from the future was written before the clock was set back
        over = self.insist or intake.ended or age >= settings.flush_idle_min * 60
        # The client writes a transcript within moments of the hook or not at all; old jobs are only looked at.
        absent = intake.wait_for_transcripts(max(0.0, settings.transcript_wait_s - age)) if age < MISSING_S else []
        if len(absent) == len(intake.jobs):
            raise TranscriptMissingError(f"the transcript of session {intake.session} is not there yet")
        if absent:  # they wait on; what the session said elsewhere does not wait with them
            rest = [job for job in intake.jobs if job not in absent]
            intake = Intake(self.spool, rest, settings.keep_sidechains)
        turns = intake.turns(lambda key: self.ledger.entry_of(key) is not None, settle=over)
        cut = stretches(turns, settings.call_chars, self.home.zone)
        ahead = self._look_ahead(cut)
        enough = self._is_enough(sum(stretch.spoken for stretch in ahead), intake, over)
        if not over:  # what the local check flags is judged by itself; the rest with others, or by the flush
            self.learner.hear(self._whose(intake), intake, rest=not enough)
        if not enough:
            return
        for job in intake.jobs:
            self.spool.claim(job)
        faults = self._write_all(itertools.chain(ahead, cut), intake, report)
        for gap in intake.missing:
            self.ledger.note("missing", intake.session, gap)
        if faults:
            raise faults[0]
        self._done(intake)

    def _look_ahead(self, rest: Iterator[Stretch]) -> list[Stretch]:
        """As many stretches as it takes to know that there is enough."""
        settings = self.home.settings
        most = max(settings.flush_turns_end, settings.flush_turns_compact, settings.flush_turns_stop, 1)
        ahead: list[Stretch] = []
        for stretch in rest:
            ahead.append(stretch)
            if sum(known.spoken for known in ahead) >= most:
                break
        return ahead

    def _write_all(self, rest: Iterable[Stretch], intake: Intake, report: Report) -> list[BadAnswerError]:
        """Write every stretch that the model answers well; the faults of the others.

        When a piece of a long turn fails, its further pieces wait with it: the last one records the turn as kept.
        """
        faults: list[BadAnswerError] = []
        broken = False
        for stretch in rest:
            if not broken:
                try:
                    self._write(stretch, intake, report)
                except BadAnswerError as error:  # the next stretch may well be answered
                    faults.append(error)
                    broken = True
            broken = broken and stretch.continued
        return faults

    def _is_enough(self, count: int, intake: Intake, over: bool) -> bool:
        """Whether there is enough to be worth a call; what is too little waits for the session's next event."""
        settings = self.home.settings
        if over:
            return count >= settings.flush_turns_end or count == 0
        if any(job.event == "PreCompact" for job in intake.jobs) and count >= settings.flush_turns_compact:
            return True
        # As the hook reckons, an answer is two turns: a worker that came to judge must not summarise sooner.
        answers = sum(job.event == "Stop" for job in intake.jobs)
        return min(count, answers * 2) >= settings.flush_turns_stop

    def _write(self, stretch: Stretch, intake: Intake, report: Report) -> None:
        if not stretch.spoken:
            self.ledger.record_nothing(stretch.keys, intake.session, "nothing was said")
            return
        clean = tuple(part.cleaned(self.archive.redactor.redact) for part in stretch.exchanges)
        stretch = replace(stretch, exchanges=clean)
        session = self._whose(intake)
        material = {"project": session.name, "exchanges": [exchange.material() for exchange in stretch.exchanges]}
        completion = self.model.complete(tasks.flush(material), session.project)
        failpoints.reached("flush.answered")
        claims = completion.data["learned"]
        proven = self.learner.proven(session, stretch.exchanges, claims, continued=stretch.continued)
        entry = self._entry(completion.data, completion.model, stretch, session)
        told = self.learner.told(session, stretch.exchanges, entry.day)
        entry = replace(entry, learned=tuple(map(_learned, (*told, *proven.fresh))))
        if not completion.data["worth_saving"] and not entry.learned:  # what was learned is compiled from its entry
            self.ledger.record_nothing(stretch.keys, intake.session, f"{completion.model}: nothing worth saving")
            self.learner.settle(session, proven)
            return
        # First, so that an entry in the log can always be traced; one whose writer dies here is kept again.
        self.archive.keep(entry.id, entry.day, (turn for part in stretch.exchanges for turn in part.turns))
        if not report.entries:
            self.ledger.put(refresh.DUE, value=True)  # a worker that dies before they are made leaves them to the next
        self.daily.append(entry, partial(lines.without, idents={fact.id for fact in told}))
        self.ledger.record(entry.booked)
        self.learner.settle(session, proven)
        report.entries.append(entry.id)
        log.info("entry %s: %s", entry.id, entry.title)

    def _whose(self, intake: Intake) -> Session:
        owner = project.of(intake.cwd, self.home.settings.split_worktrees)
        return Session(intake.session, owner.key, owner.name, intake.cwd)

    def _entry(self, data: JsonObject, model: str, stretch: Stretch, session: Session) -> Entry:
        identity = _short_id(f"{session.id} {stretch.identity}", 8)
        moment = next((part.time for part in stretch.exchanges if part.time), None) or clock.now()
        return Entry(
            id=identity,
            day=self.home.zone.day(moment),
            time=f"{self.home.zone.local(moment):%H:%M}",
            session=session.id,
            project=session.name,
            project_key=session.project,
            title=" ".join(data["title"].split())
            or "What was learned",  # ledger and log take it as one line, as the daily log does
            context=data["context"],
            key_exchanges=tuple(data["key_exchanges"]),
            decisions=tuple(data["decisions"]),
            lessons=tuple(data["lessons"]),
            action_items=tuple(data["action_items"]),
            turns=stretch.keys,
            model=model,
        )

    def _done(self, intake: Intake) -> None:
        """Everything of these jobs is recorded: they go, but for those with prompts that may yet be taken back."""
        for job in intake.jobs:
            self.spool.claim(job)
            if job.name in intake.unresolved:
                self.spool.release(job)
            else:
                self.spool.acknowledge(job)
        self.ledger.forget_tries(job.name for job in intake.jobs)

    def _failed(self, intake: Intake, error: Exception, report: Report) -> None:
        counted = not isinstance(error, OUTSIDE)
        names = [job.name for job in intake.jobs]
        worst = max(self.ledger.tries(name)[0] for name in names) + 1
        wait = backoff.delay(worst, self.roll())
        if isinstance(error, TranscriptMissingError):
            wait = 0.0  # the session's next hook may find it, and looking costs nothing
        elif isinstance(error, OverBudgetError) and error.until:
            wait = max(0.0, error.until.timestamp() - self.now())
        self.ledger.failed(names, counted=counted, not_before=self.now() + wait, reason=str(error))
        if isinstance(error, OverBudgetError):
            report.deferred.append(str(error))
        elif not isinstance(error, TranscriptMissingError):  # a session opened and left without a word is no failure
            report.failures.append(f"session {intake.session}: {error}")
        for job in intake.jobs:
            self.spool.claim(job)
            if counted and self.ledger.tries(job.name)[0] >= self.home.settings.max_attempts:
                self.spool.fail(job, f"{type(error).__name__}: {error}")
            else:
                self.spool.release(job)


def _learned(fact: Fact) -> Learned:
    """A fact as it stands in an entry, with its proof and particulars."""
    return Learned(fact.kind, fact.content, fact.id, tuple(lines.render(fact).splitlines()[1:]))


def _is_bug(error: Exception) -> bool:
    return not isinstance(error, (ExpectedError, OSError))


def _short_id(text: str, length: int) -> str:
    return base64.b32encode(hashlib.sha1(text.encode("utf-8", "replace")).digest()).decode().lower()[:length]  # noqa: S324
