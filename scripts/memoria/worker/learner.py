"""Learner: bring learned facts from a session's exchanges into the store.

While a session is open, exchanges are judged when they are due. A flush makes claims of its own about the exchanges
that were not judged yet. Only a model's answer closes an exchange: without one it waits for a model or for the flush.
An exchange counts as judged only after its facts are stored. ``pending`` decides when.
"""

from __future__ import annotations

import itertools
import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from memoria.base import failpoints, project
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.daily.ledger import Ledger
from memoria.ground import clock
from memoria.ground.clock import Zone
from memoria.ground.errors import MemoryStoreError, ModelError
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.models import tasks
from memoria.models.metered import Metered
from memoria.models.protocol import JsonObject, Model, Prompt
from memoria.search import comparison
from memoria.statements import claim_check
from memoria.statements.claim_check import MAX_FACTS, MAX_OF_FLUSH, Checked, Material
from memoria.statements.fact import Ending, Fact, Stamp
from memoria.statements.keeper import Keeper, Outcome
from memoria.transcripts import clients
from memoria.transcripts.intake import Intake
from memoria.transcripts.turn import Exchange
from memoria.worker import pending
from memoria.worker.pending import Batch, Pending

log = logging.getLogger(__name__)

MAX_SAID: Final = 20_000  # characters of one message; a longer one contains pasted text
MAX_ANSWER: Final = 2_000  # of the assistant's last words in an exchange, which say what came of it
MAX_WAY: Final = 3_000  # of the commands and the assistant's words before that, of which the last ones are kept
MAX_STEP: Final = 400  # of one of these


@dataclass(frozen=True, slots=True)
class Session:
    """A session's id, its project's key and name, its working folder, and its agent (empty for Claude Code)."""

    id: str
    project: str
    name: str
    cwd: str = ""
    agent: str = ""

    @classmethod
    def of(cls, intake: Intake, settings: Settings, paths: Paths) -> Session:
        """Return the session of these jobs."""
        owner = project.of(intake.cwd, settings, paths)
        agent = "" if intake.client is clients.CLAUDE else intake.client.name
        return cls(intake.session, owner.key, owner.name, intake.cwd, agent)

    def stamp(self, exchanges: Sequence[Exchange]) -> Stamp:
        """Return where and when these exchanges happened; the time is that of the last exchange."""
        moments = [exchange.time for exchange in exchanges if exchange.time]
        return Stamp(self.project, self.id, moments[-1] if moments else clock.now(), self.agent)


def judge(materials: Sequence[JsonObject], stamp: Stamp, model: Model, near: Sequence[JsonObject] = ()) -> Checked:
    """Return the facts that a model finds, after the check. Raise ModelError when it gives no answer.

    ``materials``: exchanges as returned by ``Unit.material``. ``near``: the known facts nearest to them, as returned by
    ``shown``.
    """
    answer = model.complete(_prompt(materials, stamp.project, near)).data
    return checked(answer, materials, stamp, near)


def checked(
    answer: JsonObject,
    materials: Sequence[JsonObject],
    stamp: Stamp,
    near: Sequence[JsonObject],
    *,
    told: str = "",
    most: int = MAX_FACTS,
) -> Checked:
    """Return the facts, and the ends of facts among ``near``, in a model's answer that these exchanges prove.

    ``told`` and ``most``: as of ``claim_check.check``.
    """
    shown = {str(fact["id"]): str(fact["content"]) for fact in near}
    ended = answer.get("ended", ())
    material = Material.of(materials)
    return claim_check.check(answer.get("statements"), material, stamp, shown=shown, ended=ended, told=told, most=most)


def shown(near: Sequence[Fact], zone: Zone) -> list[JsonObject]:
    """Return known facts as a model is shown them."""
    return [
        {
            "id": fact.id,
            "kind": fact.kind,
            "day": zone.day(fact.last or fact.time).isoformat(),
            "origin": fact.origin,
            "content": fact.content,
            "is_asked": bool(fact.asked_as),
        }
        for fact in near
    ]


def _prompt(materials: Sequence[JsonObject], project: str, near: Sequence[JsonObject]) -> Prompt:
    material: JsonObject = {"known": list(near), "exchanges": list(materials)}
    brief = [{"steps": _brief(part, earlier)} for earlier, part in itertools.pairwise([{}, *materials])]
    return replace(tasks.learn(material, brief), project=project)


def _brief(material: JsonObject, earlier: JsonObject) -> list[tuple[str, str]]:
    """Return the steps of an exchange that facts are made of; ``earlier``: the material that stands before it.

    These are the user's words, the failures with their commands, the assistant's last words, and as much of what it
    said and ran before as fits. A long text loses its middle: a person comments before or after pasted text.
    """
    steps = tasks.steps_of(material)
    last = max((number for number, (label, _) in enumerate(steps) if label == "assistant"), default=0)
    room = MAX_WAY
    kept = []
    for number, (label, text) in reversed(list(enumerate(steps))):
        fails = [following for following, _ in steps[number + 1 : number + 2]] == ["error"]
        if label == "tool" and not fails and not text.startswith("Bash "):
            continue
        is_way = label in ("assistant", "tool") and number != last
        short = _ends(text, MAX_STEP if is_way else MAX_ANSWER if label == "assistant" else MAX_SAID)
        room -= len(short) * is_way
        if room >= 0 or not is_way or fails:
            kept.append((label, short))
    before = str(material.get("before", ""))
    is_above = str(earlier.get("assistant", "")).endswith(before)
    return ([] if is_above else [("before", before)]) + kept[::-1]


def _ends(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… ({len(text) - 2 * half} characters left out) …\n{text[-half:]}"


@dataclass(frozen=True, slots=True)
class Findings:
    """What a flush learns.

    ``facts``: those that its answer proves; ``fresh``: those of them that are not in the store yet. ``known``: facts
    learned while the session was open. ``marks``: those of the exchanges that the answer was checked against.
    ``endings``: the ends of known facts. ``asked``: the phrases for facts that had none, by their ids.
    """

    facts: tuple[Fact, ...] = ()
    fresh: tuple[Fact, ...] = ()
    known: tuple[Fact, ...] = ()
    marks: tuple[str, ...] = ()
    endings: tuple[Ending, ...] = ()
    asked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Learner:
    """Learns from the sessions of one home; the caller holds the worker lock, so that only one learner runs."""

    def __init__(self, keeper: Keeper, model: Model, waiting: Pending) -> None:
        """``waiting`` tells which exchanges wait to be judged, and until when."""
        self.keeper = keeper
        self.model = model
        self.pending = waiting

    @classmethod
    def of(cls, home: Home, ledger: Ledger, keeper: Keeper, model: Metered, redactor: Redactor) -> Learner:
        """Return the learner of a home whose model is ``model``."""
        return cls(keeper, model, Pending(home, ledger, keeper.store, redactor))

    # -- while a session is open

    def judge_due(self, session: Session, intake: Intake) -> Outcome:
        """Judge what is due of an open session. What cannot be judged or stored now waits; no error is raised."""
        stored = Outcome()
        try:
            for batch in self.pending.due(intake):
                stored += self._judge(session, batch)
        except (ModelError, MemoryStoreError, sqlite3.Error, OSError) as error:
            log.warning("learning of session %s waits: %s", session.id, error)
            self.pending.postpone(session.id, error)
        return stored

    def near(self, session: Session, exchanges: Iterable[Exchange]) -> list[JsonObject]:
        """Return the known facts nearest to what was said and touched in these exchanges, as a model is shown them.

        Those that this session has brought are among them, because it may take back what it said before.
        """
        own = list(exchanges)
        said = [text for exchange in own for role in ("user", "assistant") for text in exchange.texts(role)]
        touched = [line for exchange in own for turn in exchange.turns for line in turn.tools]
        return shown(self.keeper.store.near("\n".join((*said, *touched)), session.project), self.keeper.zone)

    def _judge(self, session: Session, batch: Batch) -> Outcome:
        """Judge and store one batch."""
        exchanges = [unit.exchange for unit in batch]
        stamp = session.stamp(exchanges)
        materials = [unit.material() for unit in batch]
        near = self.near(session, exchanges)
        found = judge(materials, stamp, self.model, near)
        failpoints.reached("judge.answered")
        stored = self.keeper.take(found.facts, session.name, endings=found.endings)
        failpoints.reached("judge.kept")
        self.pending.close(session.id, batch)
        failpoints.reached("judge.booked")
        self.pending.forget_failures(session.id)
        return stored

    # -- what a flush learns

    def judged(self, exchanges: Iterable[Exchange]) -> list[bool]:
        """Return for each exchange whether it was judged while its session was open."""
        return pending.judged(exchanges, self.keeper.store.judged)

    def findings(
        self,
        session: Session,
        exchanges: Iterable[Exchange],
        answer: JsonObject,
        day: date,
        *,
        near: Sequence[JsonObject] = (),
        continued: bool = False,
    ) -> Findings:
        """Return what a flush learns from exchanges of ``day``; check the facts in its ``answer``.

        A claim is dropped when its quote occurs only in exchanges that were judged already. ``near``: the known facts
        that the model was shown. ``continued``: the exchanges are a part of one long turn, whose key is marked with its
        last part. This method stores nothing.
        """
        own = pending.without_sidechains(exchanges)
        known = self._learned_while_open(session, own, day)
        asked = claim_check.asked(answer.get("asked"), [str(fact["id"]) for fact in near if not fact.get("is_asked")])
        waiting = pending.unjudged(own, self.keeper.store.judged)
        rest = [unit.exchange for unit in waiting]
        if not rest:
            return Findings(known=known, asked=asked)
        stamp = self._stamp(session, rest, own, day)
        told = "\n".join(text for part in own for role in ("user", "assistant") for text in part.texts(role))
        materials = [unit.material() for unit in waiting]
        found = checked(answer, materials, stamp, near, told=told, most=MAX_OF_FLUSH)
        store = self.keeper.store
        # The entry shows all of them before the first is in the store, so they are compared with one another here.
        news = [found.facts[place] for place in comparison.distinct([fact.content for fact in found.facts])]
        fresh = tuple(fact for fact in news if not store.get(fact.id) and not self.keeper.repeated(fact))
        marks = tuple(mark for unit in waiting for mark in unit.marks[continued:])
        return Findings(tuple(news), fresh, known, marks, found.endings, asked)

    def _stamp(self, session: Session, rest: Sequence[Exchange], own: Iterable[Exchange], day: date) -> Stamp:
        """Return the stamp of facts from ``rest`` in an entry of ``day``: a time of that day, whose log they are in."""

        def of_day(parts: Iterable[Exchange]) -> list[Exchange]:
            return [part for part in parts if part.time and self.keeper.zone.day(part.time) == day]

        return session.stamp(of_day(rest) or of_day(own) or rest)

    def _learned_while_open(self, session: Session, exchanges: Iterable[Exchange], day: date) -> tuple[Fact, ...]:
        """Return the facts learned from these exchanges of ``day`` while the session was open that still hold.

        They are in that daily log outside any entry; the session's entry will include them. What was said after
        midnight stays in the log of its own day.
        """
        moments = {exchange.time for exchange in exchanges}
        return tuple(
            fact
            for fact in self.keeper.lines.loose(day)
            if fact.session == session.id and fact.time in moments and fact.ended is None
        )

    def keep(self, session: Session, findings: Findings) -> Outcome:
        """Store the facts after the entry that shows the fresh ones is on disk; count those that are known already.

        Facts that cannot be stored wait in the outbox; the entry and the session are recorded nevertheless.
        """
        stored = Outcome()
        try:
            stored = self.keeper.take(findings.facts, session.name, endings=findings.endings)
            self.keeper.store.mark_judged(session.id, findings.marks)
            for ident, phrases in findings.asked.items():
                self.keeper.ask(ident, phrases)
        except MemoryStoreError as error:
            log.warning("%s", error)
        return stored
