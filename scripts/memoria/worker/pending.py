"""Pending: which exchanges of a session wait to be judged for facts, and whether they are due.

An exchange whose words of the user hold a cue is due at once; a flush learns from the rest. An exchange is identified
by its first turn and by its words, so that nothing is judged again after a transcript was rewritten. This module knows
waiting jobs, marks and failed attempts; it asks no model and stores no fact.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memoria.daily.ledger import JUDGING, Ledger
from memoria.ground import clock
from memoria.ground.errors import BadAnswerError, OverBudgetError
from memoria.ground.files import sha256
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.search import cues
from memoria.statements.claim_check import MAX_FACTS
from memoria.statements.store import Store
from memoria.transcripts.intake import Intake
from memoria.transcripts.turn import Exchange, exchanges, steps

log = logging.getLogger(__name__)

LEFT_S: Final = 24 * 3600
BEFORE: Final = 1_200  # characters of the assistant's previous message that are shown with the user's reply to it


@dataclass(frozen=True, slots=True)
class Unit:
    """An exchange that waits to be judged: the ``marks`` that identify it and what the local check found."""

    exchange: Exchange
    marks: tuple[str, ...]
    is_urgent: bool
    before: str = ""  # the end of the assistant's previous message, which a correction refers to

    def material(self) -> dict[str, Any]:
        """Return the exchange for the judge. ``before`` proves no fact, because it is judged with its own exchange."""
        told = {"steps": steps([self.exchange])[0]}
        return self.exchange.material() | told | ({"before": self.before} if self.before else {})


Batch = tuple[Unit, ...]  # for one call


def without_sidechains(parts: Iterable[Exchange]) -> list[Exchange]:
    """Return the exchanges without the turns of sub-agents, whose "user" is the assistant."""
    return [kept for part in parts if (kept := _without_sidechains(part)).turns]


def _without_sidechains(part: Exchange) -> Exchange:
    return Exchange(tuple(turn for turn in part.turns if not turn.sidechain))


def unjudged(parts: Iterable[Exchange], judged: Callable[[list[str]], set[str]]) -> list[Unit]:
    """Return the exchanges, in order, that were not judged yet and contain text from the user.

    ``judged`` returns those of the given marks that belong to judged exchanges.
    """
    spoken = list(parts)
    before = ["", *("\n\n".join(part.texts("assistant"))[-BEFORE:] for part in spoken)]
    marked = [(part, _marks(part), said) for part, said in zip(spoken, before, strict=False) if part.texts("user")]
    done = judged([mark for _, marks, _ in marked for mark in marks])
    return [_unit(exchange, marks, said) for exchange, marks, said in marked if not done.intersection(marks)]


def _unit(exchange: Exchange, marks: tuple[str, ...], before: str) -> Unit:
    said = "\n".join(exchange.texts("user"))
    return Unit(exchange, marks, bool(cues.stated(said)), before)


def judged(parts: Iterable[Exchange], known: Callable[[list[str]], set[str]]) -> list[bool]:
    """Return for each exchange whether it was judged already; ``known`` as in ``unjudged``."""
    marks = [_marks(part) if part.texts("user") else () for part in map(_without_sidechains, parts)]
    done = known([mark for each in marks for mark in each])
    return [bool(done.intersection(each)) for each in marks]


def due(waiting: Sequence[Unit], chars: int = 60_000) -> list[Batch]:
    """Return the batches of urgent exchanges to judge now.

    One is normally judged in a call of its own. Several wait only when they came during another call or while no model
    answered; a batch then holds at most ``MAX_FACTS`` of them and ``chars`` characters.
    """
    batches: list[list[Unit]] = []
    size = 0
    for unit in waiting:
        if not unit.is_urgent:
            continue
        if not batches or size + unit.exchange.size > chars or len(batches[-1]) == MAX_FACTS:
            batches.append([])
            size = 0
        batches[-1].append(unit)
        size += unit.exchange.size
    return [tuple(batch) for batch in batches]


def _marks(exchange: Exchange) -> tuple[str, ...]:
    """Return the first user turn's key and a digest of the user's words; one of them survives a rewrite."""
    first = next(turn for turn in exchange.turns if turn.role == "user" and turn.text)
    moment = exchange.time.isoformat() if exchange.time else ""
    said = "\n".join([moment, *exchange.texts("user")])
    return first.key, "t-" + sha256(said)[:16]


@dataclass(slots=True)
class Pending:
    """The exchanges that wait in one home.

    ``now`` returns seconds since the epoch; ``roll`` returns a number in [0, 1) for the jitter of waiting times.
    """

    home: Home
    ledger: Ledger
    store: Store
    redactor: Redactor
    now: Callable[[], float] = time.time
    roll: Callable[[], float] = random.random

    def due(self, intake: Intake) -> list[Batch]:
        """Return the batches to judge now for an open session, redacted."""
        reason = self.reason_to_wait(intake)
        if reason:
            log.debug("session %s is not judged now: %s", intake.session, reason)
            return []
        return due(self.waiting(intake), self.home.settings.call_chars)

    def waiting(self, intake: Intake) -> list[Unit]:
        """Return the exchanges that are in no entry yet and were not judged."""
        turns = intake.turns(lambda key: self.ledger.entry_of(key) is not None, settle=False)
        spoken = exchanges(turn for turn in turns if not turn.sidechain)
        clean = [exchange.cleaned(self.redactor.redact) for exchange in spoken]
        return unjudged(clean, self.store.judged)

    def reason_to_wait(self, intake: Intake) -> str:
        """Return why nothing of the session is judged now; ``""`` when it may be judged."""
        if not self.home.settings.learn_at_once:
            return "learn_at_once is off"
        if intake.is_echo:
            return "a Stop hook made the client go on"
        jobs = (job.name for job in intake.jobs)  # a session whose flush has just failed waits as well
        for name in (JUDGING, f"{JUDGING} {intake.session}", *jobs):
            _, not_before, reason = self.ledger.tries(name)
            if clock.is_waiting(not_before, self.now()):
                return f"the last attempt failed ({reason})"
        return ""

    def postpone(self, session: str, error: Exception) -> None:
        """Delay judging, longer with each failure: for this session after a bad answer, else for all sessions.

        After too many bad answers it is left to the session's flush for a day.
        """
        bad = isinstance(error, BadAnswerError)
        name = f"{JUDGING} {session}" if bad else JUDGING
        count = self.ledger.tries(name)[0] + 1
        wait = LEFT_S if bad and count >= self.home.settings.max_attempts else clock.backoff(count, self.roll())
        if isinstance(error, OverBudgetError) and error.until:
            wait = max(0.0, error.until.timestamp() - self.now())
        self.ledger.failed([name], counted=True, not_before=self.now() + wait, reason=str(error))

    def close(self, session: str, batch: Batch) -> None:
        """Mark these exchanges as judged."""
        self.store.mark_judged(session, [mark for unit in batch for mark in unit.marks])

    def forget_failures(self, session: str) -> None:
        """Forget the failed attempts, because a model has answered."""
        self.ledger.forget_tries([JUDGING, f"{JUDGING} {session}"])
