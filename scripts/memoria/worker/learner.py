"""Learner: what a flush learns from a session's exchanges, and how it reaches the store.

The entry is on disk before the statements that it shows are in the store, which is read back from the daily logs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from memoria.base import project
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground import clock
from memoria.ground.clock import Zone
from memoria.ground.errors import MemoryStoreError
from memoria.models.protocol import JsonObject
from memoria.search import comparison
from memoria.statements import claim_check
from memoria.statements.claim_check import Material
from memoria.statements.fact import Ending, Fact, Stamp
from memoria.statements.keeper import Keeper, Outcome
from memoria.transcripts import clients
from memoria.transcripts.intake import Intake
from memoria.transcripts.turn import Exchange, steps
from memoria.worker.conversation import SPEAKERS

log = logging.getLogger(__name__)


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


@dataclass(frozen=True, slots=True)
class Findings:
    """What a flush learns.

    ``facts``: those that its answer proves; ``fresh``: those of them that are not in the store yet. ``endings``: the
    ends of known facts. ``asked``: the phrases for facts that had none, by their ids.
    """

    facts: tuple[Fact, ...] = ()
    fresh: tuple[Fact, ...] = ()
    endings: tuple[Ending, ...] = ()
    asked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Learner:
    """Learns from the sessions of one home; the caller holds the worker lock, so that only one learner runs."""

    keeper: Keeper

    def near(self, session: Session, exchanges: Iterable[Exchange]) -> list[JsonObject]:
        """Return the known facts nearest to what was said and touched in these exchanges, as a model is shown them.

        Those that this session has brought are among them, because it may take back what it said before.
        """
        own = list(exchanges)
        said = [text for exchange in own for role in ("user", "assistant") for text in exchange.texts(role)]
        touched = [line for exchange in own for turn in exchange.turns for line in turn.tools]
        return shown(self.keeper.store.near("\n".join((*said, *touched)), session.project), self.keeper.zone)

    def findings(
        self,
        session: Session,
        exchanges: Iterable[Exchange],
        answer: JsonObject,
        day: date,
        near: Sequence[JsonObject],
        before: str = "",
    ) -> Findings:
        """Return what a flush learns from exchanges of ``day``, checked against them; nothing is stored.

        ``near``: the known facts that the model was shown; ``before``: what Claude had said last. The words of
        sub-agents, whose "user" is the assistant, prove nothing.
        """
        own = [Exchange(turns) for part in exchanges if (turns := tuple(t for t in part.turns if not t.sidechain))]
        asked = claim_check.asked(answer.get("asked"), [str(fact["id"]) for fact in near if not fact.get("is_asked")])
        spoken = [part for part in own if part.texts("user")]
        if not spoken:
            return Findings(asked=asked)
        material = Material.of([part.material() | {"steps": steps([part])[0]} for part in spoken])
        found = claim_check.check(
            answer.get("statements"), material, self._stamp(session, spoken, own, day),
            shown={str(fact["id"]): str(fact["content"]) for fact in near}, ended=answer.get("ended", ()),
            told="\n".join([before, *(turn.text for part in own for turn in part.turns if turn.role in SPEAKERS)]),
        )  # fmt: skip
        store = self.keeper.store
        # The entry shows all of them before the first is in the store, so they are compared with one another here.
        news = [found.facts[place] for place in comparison.distinct([fact.content for fact in found.facts])]
        fresh = tuple(fact for fact in news if not store.get(fact.id) and not self.keeper.repeated(fact))
        return Findings(tuple(news), fresh, found.endings, asked)

    def _stamp(self, session: Session, rest: Sequence[Exchange], own: Iterable[Exchange], day: date) -> Stamp:
        """Return the stamp of facts from ``rest`` in an entry of ``day``: a time of that day, whose log they are in."""

        def of_day(parts: Iterable[Exchange]) -> list[Exchange]:
            return [part for part in parts if part.time and self.keeper.zone.day(part.time) == day]

        return session.stamp(of_day(rest) or of_day(own) or rest)

    def keep(self, session: Session, findings: Findings) -> Outcome:
        """Store the facts after the entry that shows the fresh ones is on disk; count those that are known already.

        Facts that cannot be stored wait in the outbox; the entry and the session are recorded nevertheless.
        """
        try:
            stored = self.keeper.take(findings.facts, session.name, endings=findings.endings)
            for ident, phrases in findings.asked.items():
                self.keeper.ask(ident, phrases)
        except MemoryStoreError as error:
            log.warning("%s", error)
            return Outcome()
        return stored
