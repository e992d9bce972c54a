"""Session: the flush of one session, from its waiting jobs to entries of the daily log.

There are two steps. ``unwritten_turns`` finds the turns that no entry holds, and whether they are worth a model call
now. ``write_entries`` makes an entry of each stretch. Turns are identified by key, so that the next worker can finish
the work of one that was killed at any point. This module knows neither the spool nor the lock; the worker decides what
happens to the jobs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memoria.base.settings import Settings
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.daily.open_items import OpenItems
from memoria.ground.errors import BadAnswerError, TranscriptMissingError
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.models.metered import Metered
from memoria.statements.keeper import Keeper
from memoria.transcripts.archive import Archive
from memoria.transcripts.intake import Intake, Stretch, stretches
from memoria.worker import conversation
from memoria.worker.conversation import is_urgent
from memoria.worker.writer import Session, Writer

MISSING_S = 24 * 3600  # a transcript that has not appeared by then never will


@dataclass(frozen=True, slots=True)
class Unwritten:
    """The turns of a session that no entry holds, as ``stretches`` of one model call each, from an ``intake`` of jobs.

    ``is_enough``: they are to be written now, without waiting for the session's next event.
    """

    session: Session
    intake: Intake
    stretches: Iterable[Stretch] = ()
    is_enough: bool = True


@dataclass(frozen=True, slots=True)
class SessionFlush:
    """Flushes one session of a home at a time."""

    home: Home
    ledger: Ledger
    writer: Writer

    @classmethod
    def of(cls, home: Home, daily: DailyLog, ledger: Ledger, keeper: Keeper) -> SessionFlush:
        """Return the flush for a home whose logs, ledger and facts are open already."""
        settings = home.settings
        redactor = Redactor(settings.redact_extra)
        model = Metered.of(home, ledger)
        archive = Archive.of(home.paths, settings.archive_mb, redactor)
        return cls(home, ledger, Writer(home, daily, ledger, model, archive, keeper, OpenItems(daily, ledger)))

    def unwritten_turns(self, intake: Intake, now: float, *, insist: bool = False) -> Unwritten:
        """Return what is not written yet.

        ``insist``: take the session for ended. Raise TranscriptMissingError when the transcript of no job exists yet.
        """
        settings = self.home.settings
        age = abs(now - intake.newest)  # a job from the future was written before the clock was set back
        over = insist or intake.ended or age >= settings.flush_idle_min * 60
        intake = _with_transcripts(intake, age, settings)
        turns = intake.turns(lambda key: self.ledger.entry_of(key) is not None, settle=over)
        cut = stretches(turns, settings.call_chars, self.home.zone)
        ahead = _look_ahead(cut, settings)
        session = Session.of(intake, settings, self.home.paths)  # after a look at the turns, for their folders
        enough = _is_enough(ahead, intake, settings, over=over)
        return Unwritten(session, intake, itertools.chain(ahead, cut), enough)

    def write_entries(self, unwritten: Unwritten) -> Iterator[str]:
        """Write an entry for every stretch that the model answers well, and yield the entries' ids.

        When a part of a long turn fails, its later parts wait with it, because the last one records the turn as
        written. Raise the first BadAnswerError after everything else is written. Of excluded or forgotten turns, only
        the keys are recorded.
        """
        fault: BadAnswerError | None = None
        broken = False
        before = conversation.answer_before(self.home, unwritten.intake)
        for stretch in unwritten.stretches:
            if not broken:
                try:
                    if entry := self.writer.write_entry(stretch, unwritten.session, before):
                        yield entry
                except BadAnswerError as error:  # the model may well answer the next stretch
                    fault = fault or error
                    broken = True
            broken = broken and stretch.continued
            before = conversation.last_answer(stretch.turns, self.writer.archive.redactor.redact) or before
        dropped = unwritten.intake.dropped
        for reason in dict.fromkeys(dropped.values()):
            keys = [key for key, why in dropped.items() if why == reason]
            self.ledger.record_nothing(keys, unwritten.session.id, reason)
        for gap in unwritten.intake.missing:
            self.ledger.note("missing", unwritten.session.id, gap)
        if fault:
            raise fault


def _with_transcripts(intake: Intake, age: float, settings: Settings) -> Intake:
    """Return the intake without the jobs whose transcript is missing; those wait on.

    The client writes a transcript within moments of the hook or not at all, so old jobs are not waited for.
    """
    absent = intake.wait_for_transcripts(max(0.0, settings.transcript_wait_s - age)) if age < MISSING_S else []
    if len(absent) == len(intake.jobs):
        raise TranscriptMissingError(f"the transcript of session {intake.session} does not exist yet")
    return intake.without(absent) if absent else intake


def _look_ahead(rest: Iterator[Stretch], settings: Settings) -> list[Stretch]:
    """Return as many stretches as it takes to know that there is enough for a call."""
    most = max(settings.flush_turns_end, settings.flush_turns_compact, settings.flush_turns_stop, 1)
    ahead: list[Stretch] = []
    for stretch in rest:
        ahead.append(stretch)
        if sum(known.spoken for known in ahead) >= most:
            break
    return ahead


def _is_enough(ahead: Sequence[Stretch], intake: Intake, settings: Settings, *, over: bool) -> bool:
    """Return whether these turns are worth a call now; if not, they wait for the session's next event."""
    count = sum(stretch.spoken for stretch in ahead)
    if over:
        return count >= settings.flush_turns_end or count == 0
    turns = (turn for stretch in ahead for turn in stretch.turns)
    if settings.learn_at_once and not intake.is_echo and is_urgent(turns):
        return True
    if any(job.event == "PreCompact" for job in intake.jobs) and count >= settings.flush_turns_compact:
        return True
    # Count two turns per answer, as the hook does: a worker that another session started must not summarise sooner.
    answers = sum(job.event == "Stop" for job in intake.jobs)
    return min(count, answers * 2) >= settings.flush_turns_stop
