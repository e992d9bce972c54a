"""Flush: turn what the hooks spooled into entries of the daily log.

One worker at a time; all waiting jobs of a session together. A job goes only after its entry is on disk, and turns are
told apart by key, so that a worker killed anywhere is made good by the next. Starts the compile when it is due.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import itertools
import logging
import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from memoria import (
    backoff,
    bulletin,
    clock,
    detach,
    exclude,
    feeds,
    gate,
    locks,
    project,
    state,
    steps,
    tally,
)
from memoria.archive import Archive
from memoria.daily import DailyLog, Entry, Learned
from memoria.errors import (
    BadAnswerError,
    ExpectedError,
    LedgerDamagedError,
    LedgerError,
    MemoryStoreError,
    ModelError,
    ModelUnavailableError,
    OverBudgetError,
    TranscriptMissingError,
)
from memoria.home import Home
from memoria.index import Index
from memoria.intake import Intake, Stretch, UnreadableJobError, stretches
from memoria.ledger import Ledger
from memoria.memory import lines
from memoria.memory.event import Event
from memoria.memory.keep import Keeper
from memoria.memory.sync import Sync
from memoria.models import tasks
from memoria.models.base import JsonObject
from memoria.models.learner import Learner, Proven, Session
from memoria.models.metered import Metered
from memoria.page import Pages
from memoria.receipt import check_some
from memoria.redact import Redactor
from memoria.remote import Server
from memoria.spool import Job, Spool
from memoria.turn import Exchange, exchanges

log = logging.getLogger(__name__)

STALE_TMP_S = 24 * 3600  # a hook writes its job within milliseconds; what is this old belongs to one that died
LONGEST_WAIT_S = 26 * 3600  # a backoff is shorter; a budget waits until tomorrow, on the longest day
MISSING_S = 24 * 3600  # a transcript that has not appeared by then will not
OUTSIDE = (ModelUnavailableError, TranscriptMissingError, LedgerError, OSError)  # faults that are none of the job's own


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
            Learner(
                Keeper.of(paths, home.zone, server=bool(settings.memory_api_url)),
                [metered],
                Path(paths.state),
                every=settings.learn_every,
                chars=settings.call_chars,
            ),
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
        self._clean_tmp()
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
        if not self.insist and any(self._must_wait(job) for job in jobs):
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
        """Whether a failed job's next try is yet to come; one later than any was set by a wrong clock."""
        return 0 < self.ledger.tries(job.name)[1] - self.now() <= LONGEST_WAIT_S

    def _take(self, intake: Intake, report: Report) -> None:
        settings, paths = self.home.settings, self.home.paths
        excluded = exclude.reason(intake.cwd, settings, paths)
        if excluded:  # since the hook ran: what waits is not kept
            keys = [turn.key for turn in intake.turns(lambda _: False, settle=True)]
            self.ledger.record_nothing(keys, intake.session, excluded)
            self._done(intake)
            return
        age = abs(self.now() - intake.newest)  # a job from the future was written before the clock was set back
        # The client writes a transcript within moments of the hook or not at all; old jobs are only looked at.
        if age < MISSING_S and not intake.wait_for_transcripts(max(0.0, settings.transcript_wait_s - age)):
            raise TranscriptMissingError(f"the transcript of session {intake.session} is not there yet")
        over = self.insist or intake.ended or age >= settings.flush_idle_min * 60
        turns = intake.turns(lambda key: self.ledger.entry_of(key) is not None, settle=over)
        rest = stretches(turns, settings.call_chars, self.home.zone)
        ahead = self._look_ahead(rest)
        if not self._is_enough(sum(stretch.spoken for stretch in ahead), intake, over):
            self._learn(intake)
            return
        for job in intake.jobs:
            self.spool.claim(job)
        faults = self._write_all(itertools.chain(ahead, rest), intake, report)
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
        return count >= settings.flush_turns_stop

    def _write(self, stretch: Stretch, intake: Intake, report: Report) -> None:
        if not stretch.spoken:
            self.ledger.record_nothing(stretch.keys, intake.session, "nothing was said")
            return
        clean = tuple(redacted(part, self.archive.redactor) for part in stretch.exchanges)
        stretch = replace(stretch, exchanges=clean)
        tally.count(self.home.paths, intake.session, stretch.exchanges)
        owner = project.of(intake.cwd, self.home.settings.split_worktrees)
        material = {"project": owner.name, "exchanges": [exchange.material() for exchange in stretch.exchanges]}
        completion = self.model.complete(tasks.flush(material), owner.key)
        steps.reached("flush.answered")
        if not completion.data["worth_saving"]:
            self.ledger.record_nothing(stretch.keys, intake.session, f"{completion.model}: nothing worth saving")
            return
        session = Session(intake.session, owner.key, owner.name, intake.cwd)
        proven = self.learner.proven(session, stretch.exchanges, completion.data["learned"])
        entry = self._entry(completion.data, completion.model, stretch, intake.session, owner)
        entry = replace(entry, learned=tuple(map(_learned, proven.fresh)))
        # First, so that an entry in the log can always be traced; one whose writer dies here is kept again.
        self.archive.keep(entry.id, entry.day, (turn for part in stretch.exchanges for turn in part.turns))
        self.daily.append(entry)
        self.ledger.record(entry.booked)
        self._keep(session, proven)
        report.entries.append(entry.id)
        log.info("entry %s: %s", entry.id, entry.title)

    def _keep(self, session: Session, proven: Proven) -> None:
        """Facts that cannot reach their store wait in its outbox; the entry stands, and with it the session."""
        try:
            self.learner.settle(session, proven)
        except MemoryStoreError as error:
            log.warning("%s", error)

    def _learn(self, intake: Intake) -> None:
        """Judge what the session has said so far, while it goes on; nothing is recorded as captured by that."""
        if intake.is_echo:
            return
        owner = project.of(intake.cwd, self.home.settings.split_worktrees)
        turns = intake.turns(lambda key: self.ledger.entry_of(key) is not None, settle=False)
        said = [redacted(part, self.archive.redactor) for part in exchanges(turns)]
        try:
            self.learner.run(Session(intake.session, owner.key, owner.name, intake.cwd), lambda: said)
        except (MemoryStoreError, ModelError) as error:
            log.warning("learning of session %s waits: %s", intake.session, error)

    def _entry(self, data: JsonObject, model: str, stretch: Stretch, session: str, owner: project.Project) -> Entry:
        identity = _short_id(f"{session} {stretch.identity}", 8)
        moment = next((part.time for part in stretch.exchanges if part.time), None) or clock.now()
        return Entry(
            id=identity,
            day=self.home.zone.day(moment),
            time=f"{self.home.zone.local(moment):%H:%M}",
            session=session,
            project=owner.name,
            project_key=owner.key,
            title=" ".join(data["title"].split()),  # ledger and log take it as one line, as the daily log does
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

    def _clean_tmp(self) -> None:
        paths = self.home.paths
        hidden = [
            (folder, ".*.tmp")
            for folder in (paths.archive, paths.page, Path(paths.page, "short"), paths.where, paths.knowledge)
        ]
        for folder, pattern in ((self.spool.tmp, "*"), (paths.cursors, "*.tmp"), *hidden):
            for path in Path(folder).glob(pattern):
                try:
                    if abs(self.now() - path.stat().st_mtime) > STALE_TMP_S:
                        path.unlink()
                except FileNotFoundError:  # the hook has just moved it
                    continue


def redacted(part: Exchange, redactor: Redactor) -> Exchange:
    """The exchange without secrets: nothing below sees them, neither model nor daily log nor archive."""
    return Exchange(
        tuple(
            replace(turn, text=redactor.redact(turn.text), tools=tuple(map(redactor.redact, turn.tools)))
            for turn in part.turns
        )
    )


def _learned(event: Event) -> Learned:
    """A fact as it stands in an entry, with its proof and particulars."""
    return Learned(event.kind, event.content, event.id, tuple(lines.render(event).splitlines()[1:]))


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
            steps.reached("worker.locked")
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
        steps.reached("flush.unlocked")
        # A hook that came while the lock was held relied on this second look.
        if all(job.name in report.seen for job in Spool(home.paths.spool).jobs()):
            return entries


def _run_locked(home: Home, *, insist: bool) -> Report:
    _be_modest()
    flush = Flush.of(home, insist=insist)
    try:
        _rotate(home)
        report = flush.run()
        _exchange_facts(home, flush.learner.keeper)
        if report.entries:
            _prepare_pages(home, flush)
        _tell_user(home, report)
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


def _prepare_pages(home: Home, flush: Flush) -> None:
    """Bring the search index up to date, and with it what new sessions start with."""
    try:
        with Index(home.paths.index) as index:
            feeds.refresh(index, home.paths)
            Pages.of(home.paths).prepare(home.settings.page_chars, flush.ledger, flush.daily, index)
    except OSError as error:  # both can be made again; what was kept is kept
        log.warning("the pages for new sessions were not prepared: %s", error)


def _rotate(home: Home) -> None:
    """The logs that hooks and the worker's own output append to keep one old file, as memoria.log does."""
    for name in ("hook.log", "worker.out"):
        path = Path(home.paths.log, name)
        if path.exists() and path.stat().st_size > home.settings.log_bytes:
            path.replace(path.with_name(name + ".1"))


def _exchange_facts(home: Home, keeper: Keeper) -> None:
    """Bring facts to the memory server and back, when the user has one."""
    settings = home.settings
    if settings.memory_api_url:
        server = Server(settings.memory_api_url, settings.memory_api_key)
        done = Sync(keeper, server, Path(home.paths.state, "sync.lock")).run(full=True)
        for problem in done.problems:
            log.warning("memory server: %s", problem)


def _tell_user(home: Home, report: Report) -> None:
    """Leave a line for the next session's start for each kind of trouble; what is over is taken back."""
    folder = Path(home.paths.state)
    ends = {
        "failure": (report.failures, "Nothing is lost; it is tried again later. `memoria status` shows details."),
        "deferred": (report.deferred, "Nothing is lost. `memoria status` shows what waits."),
    }
    for kind, (texts, end) in ends.items():
        if texts:
            bulletin.tell(folder, kind, f"memoria: {texts[0]}. {end}")
        elif not Spool(home.paths.spool).jobs():
            bulletin.clear(folder, kind)


def _be_modest() -> None:
    """Take the lowest priority: a memory must not be felt."""
    if hasattr(os, "nice"):
        os.nice(max(0, 10 - os.nice(0)))


def _is_bug(error: Exception) -> bool:
    return not isinstance(error, (ExpectedError, OSError))


def _short_id(text: str, length: int) -> str:
    return base64.b32encode(hashlib.sha1(text.encode("utf-8", "replace")).digest()).decode().lower()[:length]  # noqa: S324


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
        ledger = Ledger(Path(home.paths.ledger))
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
