"""Learn: judging turns as they come, each once, with as few model calls as will do.

An exchange that the local check flags is judged alone at once; when ``every`` others that hold something have gathered,
they are judged together; the flush learns from what is left. An exchange counts as judged only when its events are
safe; it is known by its first turn and by its text, so that a rewritten transcript repeats nothing. One extraction at a
time per session: who finds another at work leaves word and goes; the worker looks again before it ends.

The judge is a chain: the models in order, then the patterns of ``notice``. Every link's claims pass the same check.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from memoria import clock, locks, notice
from memoria.errors import ModelError
from memoria.fence import fenced
from memoria.memory import event as facts
from memoria.memory import saved
from memoria.memory.event import Checked, Event, Material, Stamp
from memoria.memory.keep import Keeper, Kept
from memoria.models import tasks
from memoria.models.base import JsonObject, Model, Prompt, Usage
from memoria.notice import Notice
from memoria.turn import Exchange

log = logging.getLogger(__name__)

LONGEST_SAID: Final = 20_000  # characters of one thing said; more is pasted
PROMPT: Final = Path(__file__).parent / "prompts" / "learn.md"
SCHEMA: Final[JsonObject] = {"type": "object", "properties": {"learned": tasks.EVENTS}, "required": ["learned"]}


@dataclass(frozen=True, slots=True)
class Unit:
    """An exchange that waits to be judged: the ``marks`` it is known by, what the local check saw."""

    exchange: Exchange
    marks: tuple[str, ...]
    notice: Notice


@dataclass(frozen=True, slots=True)
class Batch:
    """Exchanges for one call; ``flagged``: one alone, because the local check spoke."""

    units: tuple[Unit, ...]
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """The checked events of one call, who answered, what it took."""

    events: tuple[Event, ...]
    dropped: tuple[str, ...]
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did: batches judged, facts kept, claims dropped (with reasons), facts the assistant saved itself."""

    calls: tuple[Judged, ...] = ()
    kept: Kept = field(default_factory=Kept)
    saved: tuple[Event, ...] = ()

    def __add__(self, other: Report) -> Report:
        """Both together."""
        return Report(self.calls + other.calls, self.kept + other.kept, self.saved + other.saved)


@dataclass(frozen=True, slots=True)
class Proven:
    """Events that passed the check; ``fresh`` are not known yet; ``marks`` of the exchanges they were found in."""

    events: tuple[Event, ...] = ()
    fresh: tuple[Event, ...] = ()
    marks: tuple[str, ...] = ()
    report: Report = field(default_factory=Report)


def skip(given: dict[str, Any], *, own: bool, project: str, excluded: Sequence[str] = ()) -> str:
    """Why a Stop hook's turn is not learned from, ``""`` when it is.

    ``given``: the hook's input. ``own``: whether the session is one of memoria's model calls. ``project``: its folder.
    """
    if own:
        return "one of memoria's own sessions"
    if given.get("stop_hook_active"):
        return "a Stop hook made the client go on"
    if given.get("hook_event_name") == "SubagentStop" or given.get("agent_id"):
        return "a sub-agent"
    if any(fnmatch(project, pattern) or fnmatch(Path(project).name, pattern) for pattern in excluded):
        return "an excluded project"
    return ""


# -- what is to be judged, and when


def pending(exchanges: Iterable[Exchange], judged: set[str]) -> list[Unit]:
    """The exchanges of a session, in order, that were not judged yet; those without a word of the user are none."""
    units = []
    for exchange in exchanges:
        if exchange.texts("user"):
            marks = _marks(exchange)
            if not judged.intersection(marks):
                units.append(Unit(exchange, marks, notice.notice(exchange.material())))
    return units


def due(waiting: Sequence[Unit], every: int, chars: int = 60_000) -> list[Batch]:
    """The calls to make now: each flagged exchange alone; the rest together once ``every`` of them hold something.

    ``chars``: most characters of conversation in one call; what is longer takes several.
    """
    alone = [Batch((unit,), flagged=True) for unit in waiting if unit.notice.flagged]
    rest = [unit for unit in waiting if not unit.notice.flagged]
    if sum(not unit.notice.trivial for unit in rest) < max(1, every):
        return alone
    return alone + _packed(rest, chars)


def _packed(units: Sequence[Unit], chars: int) -> list[Batch]:
    batches: list[list[Unit]] = []
    size = 0
    for unit in units:
        if not batches or size + unit.exchange.size > chars:
            batches.append([])
            size = 0
        batches[-1].append(unit)
        size += unit.exchange.size
    return [Batch(tuple(batch)) for batch in batches]


def _marks(exchange: Exchange) -> tuple[str, ...]:
    """The first user turn's key, and what the user said: one of them outlives a compaction or a rewrite."""
    first = next(turn for turn in exchange.turns if turn.role == "user" and turn.text)
    moment = exchange.time.isoformat() if exchange.time else ""
    said = "\n".join([moment, *exchange.texts("user")])
    return first.key, "t-" + hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]


# -- the judge


def judge(materials: Sequence[JsonObject], stamp: Stamp, models: Sequence[Model], *, patterns: bool = True) -> Judged:
    """Ask the models in order; the first answer counts. With ``patterns`` they answer when no model does.

    ``materials``: exchanges as ``Exchange.material`` gives them. Raises the last ModelError without ``patterns``.
    """
    failure: ModelError | None = None
    for model in models:
        try:
            completion = model.complete(_prompt(materials, stamp.project))
        except ModelError as error:
            log.info("learn: %s did not answer: %s", model.name, error)
            failure = error
            continue
        checked = facts.check(completion.data.get("learned"), Material.of(materials), stamp)
        return _told(checked, completion.model, completion.usage)
    if failure and not patterns:
        raise failure
    return _told(notice.judge(materials, stamp), "patterns", Usage())


def _told(checked: Checked, model: str, usage: Usage) -> Judged:
    for reason in checked.dropped:
        log.info("learn: dropped an event of %s: %s", model, reason)
    return Judged(checked.events, checked.dropped, model, usage)


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
    if len(text) <= LONGEST_SAID:
        return text
    half = LONGEST_SAID // 2
    return f"{text[:half]}\n… ({len(text) - 2 * half} characters left out) …\n{text[-half:]}"


# -- the run


@dataclass(frozen=True, slots=True)
class Session:
    """Whose turns they are: session id, project key and name, its folder."""

    id: str
    project: str
    name: str
    cwd: str = ""


class Learner:
    """Judges the sessions of one home."""

    def __init__(
        self, keeper: Keeper, models: Sequence[Model], state: Path, *, every: int = 5, chars: int = 60_000
    ) -> None:
        """``every`` and ``chars``: the settings ``learn_every`` and ``call_chars``; ``state``: the state folder."""
        self.keeper = keeper
        self.models = models
        self.folder = state / "learn"
        self.every = every
        self.chars = chars

    def run(self, session: Session, read: Callable[[], Sequence[Exchange]]) -> Report:
        """Judge what is due of a session. ``read`` gives its exchanges as they stand when it is called.

        While another run is at it, this one only leaves word; the other takes the new turns along in one trailing run.
        A ModelError or MemoryStoreError ends the run; what was not judged stays for the next.
        """
        name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in session.id)[:100] or "-"
        wanted = self.folder / f"{name}.wanted"
        self.folder.mkdir(parents=True, exist_ok=True)
        wanted.touch()
        report = Report()
        while wanted.exists():
            with locks.held(self.folder / f"{name}.lock") as mine:
                if not mine:
                    return report
                wanted.unlink(missing_ok=True)
                report += self._once(session, read())
        return report

    def _once(self, session: Session, exchanges: Sequence[Exchange]) -> Report:
        report = Report(kept=self.keeper.drain())
        waiting = pending(exchanges, self.keeper.store.judged(session.id))
        for batch in due(waiting, self.every, self.chars):
            report += self._judge(session, batch)
        return report

    def _judge(self, session: Session, batch: Batch) -> Report:
        exchanges = [unit.exchange for unit in batch.units]
        judged = judge([exchange.material() for exchange in exchanges], stamp(session, exchanges), self.models)
        news, known = _sifted(judged.events, exchanges, session.cwd)
        kept = self.keeper.take(news, session.name)
        self.keeper.store.mark_judged(session.id, [mark for unit in batch.units for mark in unit.marks])
        return Report((judged,), kept, tuple(known))

    def unjudged(self, session: Session, exchanges: Sequence[Exchange]) -> list[Exchange]:
        """What a flush may still learn from."""
        return [unit.exchange for unit in pending(exchanges, self.keeper.store.judged(session.id))]

    def proven(self, session: Session, exchanges: Sequence[Exchange], claims: object) -> Proven:
        """What a flush's own answer learned (its ``learned`` list) from the exchanges not judged before; keeps nothing.

        A claim whose quote stands only in exchanges that were judged already finds no proof, and is dropped.
        """
        waiting = pending(exchanges, self.keeper.store.judged(session.id))
        rest = [unit.exchange for unit in waiting]
        if not rest:
            return Proven()
        material = Material.of([exchange.material() for exchange in rest])
        checked = facts.check(claims, material, stamp(session, rest))
        news, known = _sifted(checked.events, rest, session.cwd)
        fresh = tuple(event for event in news if not self.keeper.store.twin(event))
        marks = tuple(mark for unit in waiting for mark in unit.marks)
        return Proven(tuple(news), fresh, marks, Report((_told(checked, "flush", Usage()),), saved=tuple(known)))

    def settle(self, session: Session, proven: Proven) -> Report:
        """Keep them, after the entry that shows the fresh ones is on disk; the known ones are counted."""
        kept = self.keeper.take(proven.events, session.name)
        self.keeper.store.mark_judged(session.id, proven.marks)
        return proven.report + Report(kept=kept)

    def from_flush(self, session: Session, exchanges: Sequence[Exchange], claims: object) -> Report:
        """Both in one step, where no entry is to show them."""
        return self.settle(session, self.proven(session, exchanges, claims))


def stamp(session: Session, exchanges: Sequence[Exchange]) -> Stamp:
    """Where and when these exchanges happened; the time is the last one's."""
    moments = [exchange.time for exchange in exchanges if exchange.time]
    return Stamp(session.project, session.id, moments[-1] if moments else clock.now())


def _sifted(events: Iterable[Event], exchanges: Sequence[Exchange], cwd: str) -> tuple[list[Event], list[Event]]:
    """What is to be kept, and what the assistant saved itself."""
    tools = [line for exchange in exchanges for turn in exchange.turns for line in turn.tools]
    texts = saved.from_lines(tools, cwd)
    news = saved.without_saved(events, texts)
    return news, [event for event in events if event not in news]
