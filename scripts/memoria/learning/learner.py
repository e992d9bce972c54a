"""Learner: the way of learned facts from a session's exchanges into the store.

While a session goes on, what is due is judged; a flush brings claims of its own about what was not judged yet. Only a
model's answer closes an exchange: while there is none the patterns speak, and the exchange waits for a model or for the
flush. An exchange counts as judged only when its facts are safe. ``judge`` asks the models; ``pending`` knows when.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from memoria.base import failpoints
from memoria.daily.ledger import Ledger
from memoria.facts import already_saved
from memoria.facts.fact import Fact
from memoria.facts.keeper import Keeper, Kept
from memoria.ground.errors import MemoryStoreError, ModelError
from memoria.ground.home import Home
from memoria.learning import pending
from memoria.learning.judge import Judged, checked, judge, judges
from memoria.learning.pending import Batch, Pending
from memoria.learning.session import Session
from memoria.models.metered import Metered
from memoria.models.protocol import Model
from memoria.redaction.redact import Redactor
from memoria.transcripts import client_saved
from memoria.transcripts.intake import Intake
from memoria.transcripts.turn import Exchange

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did: calls made, facts put into the store, facts that the assistant had saved itself."""

    calls: tuple[Judged, ...] = ()
    stored: Kept = field(default_factory=Kept)
    saved: tuple[Fact, ...] = ()

    def __add__(self, other: Report) -> Report:
        """Return both together."""
        return Report(self.calls + other.calls, self.stored + other.stored, self.saved + other.saved)


@dataclass(frozen=True, slots=True)
class Findings:
    """What a flush learns. ``facts`` its answer proved, of which the ``fresh`` are in no store yet.

    ``known``: learned while the session went on; ``marks`` of the exchanges that the answer was held against.
    """

    facts: tuple[Fact, ...] = ()
    fresh: tuple[Fact, ...] = ()
    known: tuple[Fact, ...] = ()
    marks: tuple[str, ...] = ()
    report: Report = field(default_factory=Report)


class Learner:
    """Learns from the sessions of one home; the caller holds the worker lock, so that one extraction runs at a time."""

    def __init__(self, keeper: Keeper, models: Sequence[Model], waiting: Pending) -> None:
        """``models`` in the order they are asked; ``waiting``: which exchanges wait to be judged, and until when."""
        self.keeper = keeper
        self.models = models
        self.pending = waiting

    @classmethod
    def of(cls, home: Home, ledger: Ledger, keeper: Keeper, model: Metered, redactor: Redactor) -> Learner:
        """Return the learner of a home whose model is ``model``."""
        return cls(keeper, judges(home, ledger, model), Pending(home, ledger, keeper.store, redactor))

    # -- while a session goes on

    def judge_due(self, session: Session, intake: Intake, *, rest: bool = True) -> Report:
        """Judge what is due of a session that goes on. What cannot be judged or stored now waits; nothing is raised.

        ``rest``: also what the local check did not flag; not when a flush follows, which learns from that.
        """
        report = Report()
        try:
            for batch in self.pending.due(intake, rest=rest):
                report += self._judge(session, batch, next((call.failure for call in report.calls), None))
        except (MemoryStoreError, sqlite3.Error, OSError) as error:
            log.warning("learning of session %s waits: %s", session.id, error)
            self.pending.postpone(session.id, error)
        return report

    def _judge(self, session: Session, batch: Batch, failure: ModelError | None) -> Report:
        """``failure``: no model answered a moment ago, so none is asked for this batch."""
        exchanges = [unit.exchange for unit in batch]
        texts, earlier = _saved_by_assistant(session, exchanges), self._stored(session, exchanges)
        stamp = session.stamp(exchanges)
        materials = [unit.material() for unit in batch]
        judged = judge(materials, stamp, () if failure else self.models)
        failpoints.reached("judge.answered")
        news, saved = already_saved.sort(judged.facts, texts, earlier, self.keeper.store.twin)
        stored = self.keeper.take(news, session.name)
        failpoints.reached("judge.kept")
        if not failure and (judged.failure is None or self.pending.postpone(session.id, judged.failure)):
            self.pending.close(session.id, batch)
            failpoints.reached("judge.booked")
        if not failure and judged.failure is None:
            self.pending.forget_failures(session.id)
        return Report((replace(judged, failure=judged.failure or failure),), stored, tuple(saved))

    # -- what a flush learns

    def findings(
        self, session: Session, exchanges: Iterable[Exchange], claims: object, day: date, *, continued: bool = False
    ) -> Findings:
        """Return what a flush learns from exchanges of a ``day``; its own claims (its ``learned`` list) are checked.

        A claim whose quote stands only in exchanges that were judged already finds no proof, and is dropped.
        ``continued``: they are a piece of one long turn, whose key is left to its last piece. Stores nothing.
        """
        own = pending.without_sidechains(exchanges)
        known = self._learned_while_open(session, own, day)
        waiting = pending.unjudged(own, self.keeper.store.judged)
        rest = [unit.exchange for unit in waiting]
        if not rest:
            return Findings(known=known)
        texts, earlier = _saved_by_assistant(session, rest), self._stored(session, rest)
        stamp = session.stamp(rest)
        judged = checked(claims, [exchange.material() for exchange in rest], stamp, "flush")
        news, saved = already_saved.sort(judged.facts, texts, earlier, self.keeper.store.twin)
        news = already_saved.without_repeats(news)  # in their entry all of them stand before the first is in the store
        store = self.keeper.store
        fresh = tuple(fact for fact in news if not store.get(fact.id) and not store.twin(fact))
        marks = tuple(mark for unit in waiting for mark in unit.marks[continued:])
        return Findings(tuple(news), fresh, known, marks, Report((judged,), saved=tuple(saved)))

    def _learned_while_open(self, session: Session, exchanges: Iterable[Exchange], day: date) -> tuple[Fact, ...]:
        """Return what was learned from these exchanges while the session went on and still holds.

        These facts stand in the daily log outside an entry; the session's entry takes them in.
        """
        moments = {exchange.time for exchange in exchanges}
        return tuple(
            fact
            for fact in self.keeper.lines.loose(day)
            if fact.session == session.id and fact.time in moments and fact.ended is None
        )

    def keep(self, session: Session, findings: Findings) -> Report:
        """Store the facts, after the entry that shows the fresh ones is on disk; the known ones are counted.

        Facts that cannot reach their store wait in its outbox; the entry stands, and with it the session.
        """
        report = findings.report
        try:
            report += Report(stored=self.keeper.take(findings.facts, session.name))
            self.keeper.store.mark_judged(session.id, findings.marks)
        except MemoryStoreError as error:
            log.warning("%s", error)
        return report

    def _stored(self, session: Session, exchanges: Iterable[Exchange]) -> list[Fact]:
        """Return what was learned from these exchanges before, also what holds no longer."""
        moments = {exchange.time for exchange in exchanges}
        facts = self.keeper.store.facts(live=False)
        return [fact for fact in facts if fact.session == session.id and fact.time in moments]


def _saved_by_assistant(session: Session, exchanges: Iterable[Exchange]) -> list[str]:
    """Return the texts that the assistant put into the client's own memory in these exchanges."""
    tools = [line for exchange in exchanges for turn in exchange.turns for line in turn.tools]
    return client_saved.from_lines(tools, session.cwd)
