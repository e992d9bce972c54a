"""Random lives of machines that exchange records, without homes."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest import mock

from memoria.base import failpoints
from memoria.exchange.carriers import Carrier, CarrierError, Folder, Place
from memoria.exchange.keys import Key
from memoria.exchange.meeting import Meeting
from memoria.exchange.record import FORGET, live_records, unseal
from memoria.exchange.records import Records

MEMORY = Path(":memory:")
KILLS = ("exchange.read", "exchange.written")


class Killed(BaseException):
    """What a failpoint raises in place of the death of the process."""


@contextmanager
def killed_at(step: str) -> Iterator[None]:
    """Let what runs in this block end at a failpoint as abruptly as a killed process, as far as files can tell."""

    def reached(name: str) -> None:
        if name == step:
            raise Killed

    with mock.patch.object(failpoints, "reach", reached), suppress(Killed):
        yield


class Machine:
    """A machine with records, and nothing else of a home."""

    def __init__(self, name: str, carrier: Carrier, rng: random.Random, key: Key | None = None) -> None:
        self.name, self.carrier, self.rng, self.key = name, carrier, rng, key
        self.records = Records(MEMORY, self._dot)

    def _dot(self) -> str:
        return f"{self.rng.getrandbits(64):016x}"

    def put(self, ident: str, kind: str, text: str | None) -> None:
        self.records.put(ident, kind, text, self.records.dots(ident))

    def forget(self, ident: str) -> None:
        self.records.put(ident, FORGET, None, ())

    def live(self, ident: str) -> list[str]:
        return sorted(record.text for record in live_records(self.records.current(ident)) if record.text is not None)

    def idents(self) -> list[str]:
        found = self.records.db.execute("SELECT DISTINCT id FROM records ORDER BY id").fetchall()
        return [ident for (ident,) in found if self.live(ident)]

    def view(self) -> dict[str, tuple[str, ...]]:
        return {ident: tuple(self.live(ident)) for ident in self.idents()}

    def sync(self, kill: str = "") -> None:
        with killed_at(kill), suppress(CarrierError):  # it goes on with the next one
            Meeting(self.records, self.carrier, self.key, self.name).hold()

    def saved(self) -> Records:
        copy = Records(MEMORY, self._dot)
        self.records.db.backup(copy.db)
        return copy

    def restore(self, saved: Records) -> None:
        self.records = Records(MEMORY, self._dot)
        saved.db.backup(self.records.db)


OPERATIONS = {"flush": 10, "same": 3, "edit": 10, "delete": 2, "forget": 2, "sync": 18, "kill": 4, "backup": 1,
              "restore": 1, "clone": 0.5}  # fmt: skip


class Replica(Folder):
    """A folder that a program like Syncthing keeps the same as others: each path has a version of its own."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True)
        super().__init__(root)
        self.versions: Counter[tuple[str, str]] = Counter()

    def write(self, new: Mapping[Place, bytes], gone: Collection[Place]) -> bool:
        for place in (*new, *gone):
            self.versions[place] += 1
        return super().write(new, gone)


def propagate(rng: random.Random, replicas: list[Replica], *, faults: bool) -> None:
    """Bring some changes from one replica to another, in any order, sometimes half, sometimes as conflict copies."""
    source, target = rng.sample(replicas, 2)
    places = sorted(source.versions)
    rng.shuffle(places)
    for place in places:
        if source.versions[place] <= target.versions[place] or (faults and rng.random() < 0.2):
            continue
        there, here = source.root.joinpath(*place), target.root.joinpath(*place)
        if there.exists():
            data = there.read_bytes()
            here.parent.mkdir(exist_ok=True)
            if faults and rng.random() < 0.08:
                here.write_bytes(data[: rng.randrange(len(data) + 1)])
                continue  # half of it; it comes again
            here.write_bytes(data)
            if faults and rng.random() < 0.05:
                copy = here.with_name(f"{here.stem}.sync-conflict-20261124-101010-ABC{here.suffix}")
                copy.write_bytes(data)
                target.versions[place[0], copy.name] = 1
        else:
            here.unlink(missing_ok=True)
        target.versions[place] = source.versions[place]


class Life:
    """One life of three machines over folders that a program synchronises."""

    def __init__(self, folder: Path, seed: int, key: Key | None = None) -> None:
        self.rng, self.key = random.Random(seed), key
        self.replicas = [Replica(folder / str(number)) for number in range(3)]
        self.machines = [Machine("abc"[number], self.replicas[number], self.rng, key) for number in range(3)]
        self.said: dict[str, str] = {}
        self.replaced: set[str] = set()
        self.forgotten: set[str] = set()
        self.backups: dict[int, Records] = {}

    def play(self, steps: int) -> list[str]:
        """Return what went wrong."""
        for step in range(steps):
            operation = self.rng.choices([*OPERATIONS, "net"], [*OPERATIONS.values(), 12])[0]
            if operation == "net":
                propagate(self.rng, self.replicas, faults=True)
            elif operation in ("flush", "same", "edit", "delete", "forget"):
                self._write(operation, step)
            else:
                self._move(operation)
        for _ in range(5):
            for machine in self.machines:
                machine.sync()
            for _ in range(24):
                propagate(self.rng, self.replicas, faults=False)
        return [*self._wrong(), *self._left()]

    def _write(self, operation: str, step: int) -> None:
        machine = self.rng.choice(self.machines)
        idents = machine.idents()
        if operation in ("flush", "same"):
            for writer in [machine] if operation == "flush" else self.rng.sample(self.machines, 2):
                text = f"2026-11-23\nentry {step} by {self.machines.index(writer)}."
                writer.put(f"e-{step}", "entry", text)
                self.said[text] = f"e-{step}"
        elif idents:
            ident = self.rng.choice(idents)
            self.replaced.update(machine.live(ident))
            if operation == "forget":
                self.forgotten.add(ident)
                machine.forget(ident)
            else:
                machine.put(ident, "x", f"edit {step}." if operation == "edit" else None)
                self.said |= {f"edit {step}.": ident} if operation == "edit" else {}

    def _move(self, operation: str) -> None:
        place = self.rng.randrange(3)
        machine = self.machines[place]
        if operation in ("sync", "kill"):
            machine.sync(self.rng.choice(KILLS) if operation == "kill" else "")
        elif operation == "backup":
            self.backups[place] = machine.saved()
        elif operation == "restore" and place in self.backups:
            machine.sync()
            machine.restore(self.backups[place])
        elif operation == "clone":
            machine.sync()  # what it had written is in its folder, and it is another machine from now on
            other = self.rng.choice(self.machines)
            machine.restore(other.saved())
            machine.name = other.name

    def _wrong(self) -> Iterator[str]:
        views = [machine.view() for machine in self.machines]
        if any(view != views[0] for view in views):
            yield "diverged"
        shown = Counter(text for texts in views[0].values() for text in texts)
        for text, ident in self.said.items():
            if ident in self.forgotten and shown[text]:
                yield f"back: {text}"
            elif ident not in self.forgotten and text not in self.replaced and not shown[text]:
                yield f"lost: {text}"
            if shown[text] > 1:
                yield f"twice: {text}"

    def _left(self) -> Iterator[str]:
        for replica in self.replicas:
            for _, data in replica.read(replica.list_files()):
                for record in unseal(data, self.key):
                    if record.text is not None and self.said.get(record.text) in self.forgotten:
                        yield f"left: {record.text}"


def fresh(folder: Path) -> Path:
    """Return an empty folder in the place of whatever was there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
