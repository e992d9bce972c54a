"""Learner: the judge of what was said, and the way of what it finds into the store.

The judge is a chain: the model that the settings name, then those of ``learn_models``, then the patterns of ``notice``.
Every link's claims pass the same check. Only a model's answer closes an exchange: while there is none the patterns
speak, and the exchange waits for a model or for the flush, whose own answer is held to what was not judged yet. An
exchange counts as judged only when its facts are safe. When it is time is the docket's business.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from memoria.base import failpoints
from memoria.base.fence import fenced
from memoria.daily.ledger import Ledger
from memoria.facts import already_saved, local_judge
from memoria.facts import fact as facts
from memoria.facts.fact import Checked, Fact, Material, Stamp
from memoria.facts.keeper import Keeper, Kept
from memoria.ground import clock
from memoria.ground.errors import MemoryStoreError, ModelError
from memoria.ground.home import Home
from memoria.language import statements
from memoria.learning import pending
from memoria.learning.pending import Batch, Pending
from memoria.models import chain, tasks
from memoria.models.metered import Metered
from memoria.models.protocol import JsonObject, Model, Prompt, Usage
from memoria.redaction.redact import Redactor
from memoria.transcripts import client_saved
from memoria.transcripts.intake import Intake
from memoria.transcripts.turn import Exchange

log = logging.getLogger(__name__)

MAX_SAID: Final = 20_000  # characters of one thing said; more is pasted
PROMPT: Final = tasks.PROMPTS / "learn.md"
SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {"learned": {name: part for name, part in tasks.FACTS.items() if name != "default"}},
    "required": ["learned"],  # an answer that does not speak of it is no answer
}


@dataclass(frozen=True, slots=True)
class Judged:
    """The checked facts of one call, who answered, what it took; ``failure``: why the patterns had to."""

    facts: tuple[Fact, ...]
    dropped: tuple[str, ...]
    model: str
    usage: Usage
    failure: ModelError | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did: batches judged, facts kept, claims dropped (with reasons), facts the assistant saved itself."""

    calls: tuple[Judged, ...] = ()
    kept: Kept = field(default_factory=Kept)
    saved: tuple[Fact, ...] = ()

    def __add__(self, other: Report) -> Report:
        """Both together."""
        return Report(self.calls + other.calls, self.kept + other.kept, self.saved + other.saved)


@dataclass(frozen=True, slots=True)
class Proven:
    """Events that passed the check; ``fresh`` are not known yet; ``marks`` of the exchanges they were found in."""

    facts: tuple[Fact, ...] = ()
    fresh: tuple[Fact, ...] = ()
    marks: tuple[str, ...] = ()
    report: Report = field(default_factory=Report)


@dataclass(frozen=True, slots=True)
class Session:
    """Whose turns they are: session id, project key and name, its folder."""

    id: str
    project: str
    name: str
    cwd: str = ""


# -- the judge


def judge(materials: Sequence[JsonObject], stamp: Stamp, models: Sequence[Model]) -> Judged:
    """Ask the models in order; the first answer counts. When there is none, the patterns speak.

    ``materials``: exchanges as ``Unit.material`` gives them. ``failure`` is then the first model's, the one that
    the user chose; without models there is none.
    """
    failure: ModelError | None = None
    for model in models:
        try:
            completion = model.complete(_prompt(materials, stamp.project))
        except ModelError as error:
            log.info("learn: %s did not answer: %s", model.name, error)
            failure = failure or error
            continue
        checked = facts.check(completion.data["learned"], Material.of(materials), stamp)
        return _told(checked, completion.model, completion.usage)
    return _told(local_judge.judge(materials, stamp), "patterns", Usage(), failure)


def _told(checked: Checked, model: str, usage: Usage, failure: ModelError | None = None) -> Judged:
    for reason in checked.dropped:
        log.info("learn: dropped a fact of %s: %s", model, reason)
    return Judged(checked.facts, checked.dropped, model, usage, failure)


def _prompt(materials: Sequence[JsonObject], project: str) -> Prompt:
    shown = "\n\n".join(json.dumps(_brief(material), ensure_ascii=False, indent=0) for material in materials)
    text = PROMPT.read_text(encoding="utf-8").strip() + "\n\n" + fenced("conversation", shown)
    return Prompt("learn", text, SCHEMA, {"exchanges": list(materials)}, project)


def _brief(material: JsonObject) -> JsonObject:
    """An exchange without the middle of what was pasted: what a person says of it stands before or after."""
    return {
        name: _ends(said) if isinstance(said, str) else [_ends(line) for line in said]
        if isinstance(said, list) else said for name, said in material.items()
    }  # fmt: skip


def _ends(text: str) -> str:
    if len(text) <= MAX_SAID:
        return text
    half = MAX_SAID // 2
    return f"{text[:half]}\n… ({len(text) - 2 * half} characters left out) …\n{text[-half:]}"


def links(home: Home, ledger: Ledger, first: Metered) -> list[Metered]:
    """The models to ask in order: the settings' own, then those of ``learn_models`` that are not part of it.

    None more when ``offline`` is part of it: it always answers, and who names it wants no model.
    """
    settings = home.settings
    known = {chain.backend(name) for name in settings.model.split(",")}
    more = [name for name in settings.learn_models if chain.backend(name) not in known]
    if "offline" in known:
        more = []
    return [first, *(Metered.around(chain.named([name], settings, home.paths), home, ledger) for name in more)]


# -- the run


class Learner:
    """Judges the sessions of one home; the caller holds the worker lock, so that one extraction runs at a time."""

    def __init__(self, keeper: Keeper, models: Sequence[Model], listed: Pending) -> None:
        """``models`` in the order they are asked; ``listed``: what waits and when it is due."""
        self.keeper = keeper
        self.models = models
        self.docket = listed

    @classmethod
    def of(cls, home: Home, ledger: Ledger, model: Metered, redactor: Redactor) -> Learner:
        """The learner of a home whose model is ``model``."""
        keeper = Keeper.at(home)
        return cls(keeper, links(home, ledger, model), Pending(home, ledger, keeper.store, redactor))

    def hear(self, session: Session, intake: Intake, *, rest: bool = True) -> Report:
        """Judge what is due of a session that goes on. What cannot be judged or kept now waits; nothing is raised.

        ``rest``: also what the local check did not flag; not when a flush follows, which learns from that.
        """
        report = Report()
        try:
            for batch in self.docket.due(intake, rest=rest):
                report += self._judge(session, batch, next((call.failure for call in report.calls), None))
        except (MemoryStoreError, sqlite3.Error, OSError) as error:
            log.warning("learning of session %s waits: %s", session.id, error)
            self.docket.failed(session.id, error)
        return report

    def _judge(self, session: Session, batch: Batch, failure: ModelError | None) -> Report:
        """``failure``: no model answered a moment ago, so none is asked for this batch."""
        exchanges = [unit.exchange for unit in batch]
        materials = [unit.material() for unit in batch]
        told = judge(materials, stamp(session, exchanges), () if failure else self.models)
        failpoints.reached("judge.answered")
        news, known = self._sifted(told.facts, exchanges, session)
        kept = self.keeper.take(news, session.name)
        failpoints.reached("judge.kept")
        if not failure and (told.failure is None or self.docket.failed(session.id, told.failure)):
            self.docket.judged(session.id, batch)
            failpoints.reached("judge.booked")
        if not failure and told.failure is None:
            self.docket.answered(session.id)
        return Report((replace(told, failure=told.failure or failure),), kept, tuple(known))

    # -- what a flush learns

    def proven(
        self, session: Session, exchanges: Iterable[Exchange], claims: object, *, continued: bool = False
    ) -> Proven:
        """What a flush's own answer learned (its ``learned`` list) from the exchanges not judged before; keeps nothing.

        A claim whose quote stands only in exchanges that were judged already finds no proof, and is dropped.
        ``continued``: they are a piece of one long turn, whose key is left to its last piece: else that is passed over.
        """
        waiting = pending.pending(pending.own(exchanges), self.keeper.store.judged)
        rest = [unit.exchange for unit in waiting]
        if not rest:
            return Proven()
        material = Material.of([exchange.material() for exchange in rest])
        checked = facts.check(claims, material, stamp(session, rest))
        news, known = self._sifted(checked.facts, rest, session)
        news = _apart(news)  # in their entry all of them stand before the first is in the store
        store = self.keeper.store
        fresh = tuple(fact for fact in news if not store.get(fact.id) and not store.twin(fact))
        marks = tuple(mark for unit in waiting for mark in unit.marks[continued:])
        return Proven(tuple(news), fresh, marks, Report((_told(checked, "flush", Usage()),), saved=tuple(known)))

    def told(self, session: Session, exchanges: Iterable[Exchange], day: date) -> list[Fact]:
        """What was learned from these exchanges while the session went on and still holds: their entry takes it in."""
        moments = {exchange.time for exchange in pending.own(exchanges)}
        return [
            fact
            for fact in self.keeper.lines.loose(day)
            if fact.session == session.id and fact.time in moments and fact.ended is None
        ]

    def settle(self, session: Session, proven: Proven) -> Report:
        """Keep them, after the entry that shows the fresh ones is on disk; the known ones are counted.

        Facts that cannot reach their store wait in its outbox; the entry stands, and with it the session.
        """
        report = proven.report
        try:
            report += Report(kept=self.keeper.take(proven.facts, session.name))
            self.keeper.store.mark_judged(session.id, proven.marks)
        except MemoryStoreError as error:
            log.warning("%s", error)
        return report

    def _sifted(
        self, facts: Iterable[Fact], exchanges: Sequence[Exchange], session: Session
    ) -> tuple[list[Fact], list[Fact]]:
        """What is to be kept, and what the assistant saved itself.

        What it saved and is known here, perhaps from another project, is counted even so. Left out is what stands in
        the store from these very words: the patterns spoke while there was no model.
        """
        tools = [line for exchange in exchanges for turn in exchange.turns for line in turn.tools]
        unsaved = already_saved.without_saved(facts, client_saved.from_lines(tools, session.cwd))
        moments = {exchange.time for exchange in exchanges}
        told = [
            fact for fact in self.keeper.store.facts(live=False) if fact.session == session.id and fact.time in moments
        ]
        wanted = [fact for fact in facts if fact in unsaved or self.keeper.store.twin(fact)]
        news = [fact for fact in wanted if not any(_from_same_words(fact, known) for known in told)]
        return news, [fact for fact in facts if fact not in unsaved]


def stamp(session: Session, exchanges: Sequence[Exchange]) -> Stamp:
    """Where and when these exchanges happened; the time is the last one's."""
    moments = [exchange.time for exchange in exchanges if exchange.time]
    return Stamp(session.project, session.id, moments[-1] if moments else clock.now())


def _apart(facts: Iterable[Fact]) -> list[Fact]:
    """Without those that say again what one before them says."""
    kept: dict[Fact, statements.Words] = {}
    for fact in facts:
        told = statements.words(fact.content)
        if not any(statements.same(told, words) for words in kept.values()):
            kept[fact] = told
    return list(kept)


def _from_same_words(one: Fact, other: Fact) -> bool:
    quote, known = (" ".join(fact.quote.split()).casefold() for fact in (one, other))
    return bool(quote and known) and (quote in known or known in quote) and one.id != other.id
