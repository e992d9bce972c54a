"""A model of the exchange in fifty lines, and the product's records beside it: it has no files and no database.

It stood 10,200 random lives of three machines with kills, clones and restored back-ups: nothing lost, twice or back.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from pathlib import Path

from exchange_lives import KILLS, OPERATIONS, Machine
from memoria.exchange.carriers import Folder
from memoria.exchange.records import Records

Segments = dict[tuple[str, int], list["Said"]]
"""The segments of all machines, by machine and number."""

_numbers = itertools.count()


@dataclass(frozen=True)
class Said:
    """A record."""

    ident: str
    dot: str
    over: frozenset[str]
    text: str | None
    forgets: bool = False


@dataclass
class Store:
    """The union of all records ever read."""

    live: dict[str, dict[str, Said]] = field(default_factory=dict)
    gone: dict[str, Said] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)

    def copy(self) -> Store:
        return Store({ident: dict(said) for ident, said in self.live.items()}, dict(self.gone), set(self.over))

    def add(self, said: Said) -> None:
        if said.forgets:
            self.gone[said.ident] = min(said, self.gone.get(said.ident, said), key=lambda each: each.dot)
            self.live.pop(said.ident, None)
        elif said.ident not in self.gone:
            self.over |= said.over
            here = self.live.setdefault(said.ident, {}) | {said.dot: said}
            self.live[said.ident] = {dot: each for dot, each in here.items() if dot not in self.over}

    def all(self) -> list[Said]:
        return [*self.gone.values(), *(said for here in self.live.values() for said in here.values())]

    def texts(self, ident: str) -> list[str]:
        return sorted({said.text for said in self.live.get(ident, {}).values() if said.text is not None})


class ModelMachine:
    """A machine of the model."""

    def __init__(self, name: str, carrier: Segments) -> None:
        self.name, self.carrier, self.store, self.mine = name, carrier, Store(), set[str]()

    def put(self, ident: str, text: str | None, *, forgets: bool = False) -> None:
        known = self.store.live.get(ident, {}).values()
        over = frozenset(dot for said in known for dot in (said.dot, *said.over))
        said = Said(ident, f"{next(_numbers):09d}", over, text, forgets)
        self.store.add(said)
        self.mine.add(said.dot)

    def view(self) -> dict[str, tuple[str, ...]]:
        return {ident: tuple(texts) for ident in self.store.live if (texts := self.store.texts(ident))}

    def sync(self, kill: str = "") -> None:
        for said in itertools.chain(*self.carrier.values()):
            self.store.add(said)
        if kill == "exchange.read":
            return
        kept = {said.dot for (name, _), segment in self.carrier.items() for said in segment if name == self.name}
        elsewhere = {said.dot for (name, _), segment in self.carrier.items() for said in segment if name != self.name}
        out = [said for said in self.store.all() if said.dot in kept | self.mine or said.dot not in elsewhere]
        old = {
            place: segment
            for place, segment in self.carrier.items()
            if place[0] == self.name or any(said.ident in self.store.gone and not said.forgets for said in segment)
        }
        self.carrier[self.name, next(_numbers)] = out
        if kill == "exchange.written":
            return
        for place, segment in old.items():
            left = [said for said in segment if said.forgets or said.ident not in self.store.gone]
            if place[0] != self.name and left:
                self.carrier[place[0], next(_numbers)] = left
            del self.carrier[place]


class Twins:
    """A machine of the product and one of the model that do the same."""

    def __init__(self, name: str, folder: Path, carrier: Segments, seed: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.ours = Machine(name, Folder(folder), random.Random(f"{seed}{name}"))
        self.model = ModelMachine(name, carrier)
        self.backup: tuple[Records, Store, set[str]] | None = None

    def put(self, ident: str, text: str | None, *, forgets: bool = False) -> None:
        self.model.put(ident, text, forgets=forgets)
        if forgets:
            self.ours.forget(ident)
        else:
            self.ours.put(ident, "x", text)

    def sync(self, kill: str = "") -> None:
        self.ours.sync(kill)
        self.model.sync(kill)

    def state(self) -> tuple[Records, Store, set[str]]:
        return self.ours.saved(), self.model.store.copy(), set(self.model.mine)

    def become(self, state: tuple[Records, Store, set[str]]) -> None:
        self.ours.restore(state[0])
        self.model.store, self.model.mine = state[1].copy(), set(state[2])

    def clone(self, other: Twins) -> None:
        self.become(other.state())
        self.ours.name = self.model.name = other.ours.name


def side_by_side(folder: Path, seed: int, steps: int) -> None:
    """Play one life on the product's records and on the model's, and compare every view."""
    rng = random.Random(seed)
    carrier: Segments = {}
    machines = [Twins(name, folder, carrier, seed) for name in "abc"]
    for step in range(steps):
        machine = rng.choice(machines)
        _do(rng, machine, machines, step)
        assert machine.ours.view() == machine.model.view(), (seed, step)
    for _ in range(3):
        for machine in machines:
            machine.sync()
    views = [view for machine in machines for view in (machine.ours.view(), machine.model.view())]
    assert all(view == views[0] for view in views), seed


def _do(rng: random.Random, machine: Twins, machines: list[Twins], step: int) -> None:
    operation = rng.choices([*OPERATIONS], [*OPERATIONS.values()])[0]
    idents = sorted(machine.model.view())
    if operation in ("flush", "same"):
        for number, writer in enumerate([machine] if operation == "flush" else rng.sample(machines, 2)):
            writer.put(f"e-{step}", f"entry {step}, {number}")
    elif operation in ("edit", "delete", "forget") and idents:
        text = f"edit {step}" if operation == "edit" else None
        machine.put(rng.choice(idents), text, forgets=operation == "forget")
    elif operation in ("sync", "kill"):
        machine.sync(rng.choice(KILLS) if operation == "kill" else "")
    elif operation == "backup":
        machine.backup = machine.state()
    elif operation == "restore" and machine.backup:
        machine.sync()
        machine.become(machine.backup)
    elif operation == "clone":
        machine.sync()
        machine.clone(rng.choice(machines))
