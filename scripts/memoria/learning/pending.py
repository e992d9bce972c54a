"""Pending: which exchanges of a session wait to be judged for learned facts, and whether their time has come.

Every exchange passes the local check of ``cues``, which asks no model. What it flags is due at once; when
``learn_every`` others that hold something have gathered, they are due together; a flush learns from what is left.
An exchange is known by its first turn and by its words, so that a transcript that was rewritten begins again and
repeats nothing. Knows waiting jobs, marks and failed tries; asks no model, keeps no fact.
"""

from __future__ import annotations

import hashlib
import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memoria.base import exclude
from memoria.daily.ledger import JUDGING, Ledger
from memoria.facts import local_judge
from memoria.facts.fact import MAX_FACTS
from memoria.facts.local_judge import Cues
from memoria.facts.store import Store
from memoria.ground import backoff
from memoria.ground.errors import BadAnswerError, OverBudgetError
from memoria.ground.home import Home
from memoria.redaction.redact import Redactor
from memoria.transcripts.intake import Intake
from memoria.transcripts.turn import Exchange, exchanges

log = logging.getLogger(__name__)

BEFORE: Final = 1_200  # characters of what the assistant had said that are shown with the answer to it


@dataclass(frozen=True, slots=True)
class Unit:
    """An exchange that waits to be judged: the ``marks`` it is known by, what the local check saw, what came before."""

    exchange: Exchange
    marks: tuple[str, ...]
    cues: Cues
    before: str = ""  # the end of what the assistant had said: a correction is about that

    def material(self) -> dict[str, Any]:
        """The exchange as the judge gets it. No fact is proven by ``before``: it was judged with its own exchange."""
        return self.exchange.material() | ({"before": self.before} if self.before else {})


Batch = tuple[Unit, ...]  # for one call


def without_sidechains(parts: Iterable[Exchange]) -> list[Exchange]:
    """Return the exchanges without what sub-agents said: whom they call their user is the assistant."""
    kept = (Exchange(tuple(turn for turn in part.turns if not turn.sidechain)) for part in parts)
    return [part for part in kept if part.turns]


def unjudged(parts: Iterable[Exchange], judged: Callable[[list[str]], set[str]]) -> list[Unit]:
    """Return the exchanges, in order, that were not judged yet and in which the user says something.

    ``judged`` returns those of the given marks that stand for judged exchanges.
    """
    spoken = list(parts)
    before = ["", *("\n\n".join(part.texts("assistant"))[-BEFORE:] for part in spoken)]
    marked = [(part, _marks(part), said) for part, said in zip(spoken, before, strict=False) if part.texts("user")]
    done = judged([mark for _, marks, _ in marked for mark in marks])
    return [
        Unit(exchange, marks, local_judge.notice(exchange.material()), said)
        for exchange, marks, said in marked
        if not done.intersection(marks)
    ]


def due(waiting: Sequence[Unit], every: int, chars: int = 60_000) -> list[Batch]:
    """The calls to make now: what is flagged; the rest together once ``every`` of it hold something (0: never).

    One flagged exchange is a call alone. Several wait only when they came while another call was made or could not be
    made: they are taken together, as many as a call may find facts. ``chars``: most characters of a call.
    """
    flagged = [unit for unit in waiting if unit.cues.flagged]
    rest = [unit for unit in waiting if not unit.cues.flagged]
    batches = _packed(flagged, chars, MAX_FACTS)
    if every and sum(not unit.cues.trivial for unit in rest) >= every:
        batches += _packed(rest, chars, len(rest))
    return batches


def _packed(units: Sequence[Unit], chars: int, most: int) -> list[Batch]:
    batches: list[list[Unit]] = []
    size = 0
    for unit in units:
        if not batches or size + unit.exchange.size > chars or len(batches[-1]) == most:
            batches.append([])
            size = 0
        batches[-1].append(unit)
        size += unit.exchange.size
    return [tuple(batch) for batch in batches]


def _marks(exchange: Exchange) -> tuple[str, ...]:
    """The first user turn's key, and what the user said: one of them outlives a compaction or a rewrite."""
    first = next(turn for turn in exchange.turns if turn.role == "user" and turn.text)
    moment = exchange.time.isoformat() if exchange.time else ""
    said = "\n".join([moment, *exchange.texts("user")])
    return first.key, "t-" + hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(slots=True)
class Pending:
    """What waits in one home. ``now``: seconds since the epoch; ``roll``: in [0, 1), for the spread of waits."""

    home: Home
    ledger: Ledger
    store: Store
    redactor: Redactor
    now: Callable[[], float] = time.time
    roll: Callable[[], float] = random.random

    def due(self, intake: Intake, *, rest: bool = True) -> list[Batch]:
        """The calls to make now for a session that goes on, secrets taken out; ``rest``: not what is flagged alone."""
        reason = self.reason_to_wait(intake)
        if reason:
            log.debug("session %s is not judged now: %s", intake.session, reason)
            return []
        settings = self.home.settings
        return due(self.waiting(intake), settings.learn_every if rest else 0, settings.call_chars)

    def waiting(self, intake: Intake) -> list[Unit]:
        """What stands in no entry yet and was not judged."""
        turns = intake.turns(lambda key: self.ledger.entry_of(key) is not None, settle=False)
        spoken = exchanges(turn for turn in turns if not turn.sidechain)
        clean = [exchange.cleaned(self.redactor.redact) for exchange in spoken]
        return unjudged(clean, self.store.judged)

    def reason_to_wait(self, intake: Intake) -> str:
        """Return why nothing of a session is judged now; ``""`` when it may be."""
        if not self.home.settings.learn_at_once:
            return "learn_at_once is off"
        if intake.is_echo:
            return "a Stop hook made the client go on"
        excluded = exclude.reason(intake.cwd, self.home.settings, self.home.paths)
        if excluded:
            return excluded
        jobs = (job.name for job in intake.jobs)  # a session whose flush failed a moment ago is left alone
        for name in (JUDGING, f"{JUDGING} {intake.session}", *jobs):
            _, not_before, reason = self.ledger.tries(name)
            if backoff.is_on(not_before, self.now()):
                return f"the last try failed ({reason})"
        return ""

    def postpone(self, session: str, error: Exception) -> bool:
        """Let judging wait, longer with each failure: this session's when an answer was bad, all when there was none.

        True when the answers were bad so often that no more are asked for.
        """
        bad = isinstance(error, BadAnswerError)
        name = f"{JUDGING} {session}" if bad else JUDGING
        count = self.ledger.tries(name)[0] + 1
        if bad and count >= self.home.settings.max_attempts:
            self.ledger.forget_tries([name])
            return True
        wait = backoff.delay(count, self.roll())
        if isinstance(error, OverBudgetError) and error.until:
            wait = max(0.0, error.until.timestamp() - self.now())
        self.ledger.failed([name], counted=True, not_before=self.now() + wait, reason=str(error))
        return False

    def close(self, session: str, batch: Batch) -> None:
        """Mark these exchanges as judged."""
        self.store.mark_judged(session, [mark for unit in batch for mark in unit.marks])

    def forget_failures(self, session: str) -> None:
        """Forget what failed before, because a model has answered."""
        self.ledger.forget_tries([JUDGING, f"{JUDGING} {session}"])
