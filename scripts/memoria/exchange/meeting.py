"""Meeting: read what other machines wrote, write what they lack, and leave no forgotten word in anybody's folder.

A segment is deleted only by who has read it and writes what lives of it elsewhere in the same step. When another
machine was faster, everything is read again. Knows records and carriers, and nothing of what the texts say.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from memoria.base import failpoints, invocation
from memoria.exchange.carriers import Carrier, CarrierError, Place
from memoria.exchange.keys import Key
from memoria.exchange.record import ARTICLE, ENDING, ENTRY, STATEMENT, Record, seal, unseal
from memoria.exchange.records import TO_FORGET, Records
from memoria.ground.errors import ExpectedError
from memoria.ground.files import sha256

TRIES: Final = 5  # when another machine was faster
FACTOR: Final = 8  # how many segments of one order of size become one
DELETED: Final = "deleted"  # as what a record without a text is counted
ABOUT: Final = "about"  # what a machine says of itself, beside its segments
TEST: Final[Place] = ("key", "test")  # sealed with the key: who cannot open it has another one
_PROOF: Final = b"memoria"
_DIGEST: Final = 16  # digits after it, which say whether it is whole


class WrongKeyError(ExpectedError):
    """The carrier's records are sealed with another key; nothing was read and nothing written."""


@dataclass(slots=True)
class Meeting:
    """One exchange of a home's records by a carrier."""

    records: Records
    carrier: Carrier
    key: Key | None
    machine: str  # the name of its own folder there
    clean: Callable[[str], str] = str  # returns a text without what is forgotten
    about: Callable[[], dict[str, Any]] = dict  # what this machine says of itself when it is sent
    came: dict[str, Counter[str]] = field(default_factory=dict)  # new records by their kinds, by who wrote them
    sent: Counter[str] = field(default_factory=Counter)

    def hold(self) -> None:
        """Read and write until nobody was faster; raise CarrierError when the carrier cannot be used now."""
        for _ in range(TRIES):
            listed = self._check(self.carrier.list_files())
            with self.records.transaction():
                scrub = self._read(listed)
            places = [(machine, name) for machine, name in listed if name == ABOUT and machine != self.machine]
            found = {machine: told for (machine, _), data in self.carrier.read(places) if (told := self._parse(data))}
            self.records.keep("others", self.records.get("others", {}) | found)  # who is not listed may hold it still
            failpoints.reach("exchange.read")
            new, gone = self._changes(listed, scrub)
            if (not new and not gone) or self._write(new, gone):
                if scrub or self.records.get(TO_FORGET):  # or another machine has taken it out of our folder
                    self.carrier.shred()
                return
        raise CarrierError("Other machines kept writing at the same time.")

    def rekey(self, key: Key) -> None:
        """Write everything anew with another key, and delete what was sealed with the old one, or with none."""
        self.hold()
        listed = self._check(self.carrier.list_files())
        self.key = key
        with self.records.transaction():
            self.records.release(self.records.segments())
        new, _ = self._changes(set(), ())
        if not self._write(new, listed - new.keys()):
            raise CarrierError("Another machine was writing at the same time; try again.")

    def _check(self, listed: set[Place]) -> set[Place]:
        """Return the files that concern us; raise WrongKeyError when another key, or none, is in use there."""
        for _, data in self.carrier.read([TEST] if TEST in listed else []):
            proof, digest = data[:-_DIGEST], data[-_DIGEST:].decode("ascii", "replace")
            if sha256(proof)[:_DIGEST] != digest:
                raise CarrierError("The other machines' files are still on their way.")
            if self.key is None or self.key.open(proof) != _PROOF:
                why = "with another key" if self.key else "and this machine has no key"
                ask = invocation.command(f"sync {invocation.quote(self.carrier.address)}")
                raise WrongKeyError(f"What lies there is encrypted {why}. {ask} asks for its twelve words.")
        ours = {(machine, name) for machine, name in listed if name == ABOUT or name.endswith(ENDING)}
        return ours | ({TEST} & listed)

    # -- reading

    def _read(self, listed: set[Place]) -> set[Place]:
        """Take in what is new; return the segments that hold what is forgotten."""
        known = self.records.segments().keys()
        self.records.release(known - listed)
        fresh = {(machine, name) for machine, name in listed - known if name.endswith(ENDING)}
        read = [(place, unseal(data, self.key)) for place, data in self.carrier.read(fresh)]
        for place, found in read:  # first: by them all it is known what others have seen
            self.records.hold(*place, found)
        for (machine, _), found in read:
            self.records.scrub([record.dot for record in found if self._take(record, machine)])
        return self.records.forgotten_in()

    def _take(self, record: Record, machine: str) -> bool:
        """Take in a record; return whether it holds what is forgotten, without which it is written anew."""
        if self.records.clean(record, self.clean):
            return True
        known = {each.digest for each in self.records.current(record.id)} if machine != self.machine else set()
        if self.records.add(record) and machine != self.machine and record.digest not in known:
            self.came.setdefault(record.machine, Counter())[_kind_of(record)] += 1
        return False

    # -- writing

    def _changes(self, listed: set[Place], scrub: Iterable[Place]) -> tuple[dict[Place, bytes], set[Place]]:
        """Return the files to write, our own first, and those to delete."""
        lines = self.records.unsent_lines()
        self.sent = Counter(_kind_of(Record.parse(line)) for line in lines)
        written, gone = [(self.machine, lines)], set(scrub)
        for machine, name in gone:
            left = self.records.live_lines(machine, name)
            if machine == self.machine:
                lines += left
            else:
                written.append((machine, left))
        orders: dict[int, list[Place]] = {}
        for place, count in self.records.segments().items() if lines else ():
            if place[0] == self.machine and place not in gone:
                orders.setdefault(_order(count), []).append(place)
        while len(grown := orders.pop(_order(len(lines)), [])) >= FACTOR - 1:  # of many of a size all
            gone |= set(grown)
            lines += [line for place in grown for line in self.records.live_lines(*place)]
        new = {}
        if self.key and TEST not in listed:
            proof = self.key.seal(_PROOF)
            new[TEST] = proof + sha256(proof)[:_DIGEST].encode()
        for machine, left in written:
            name, data = seal(set(left), self.key)
            new |= {(machine, name): data} if left else {}
        if new or gone or self.came or (self.machine, ABOUT) not in listed:
            told = json.dumps(self.about(), ensure_ascii=False).encode()
            new[self.machine, ABOUT] = self.key.seal(told) if self.key else told
        return new, gone - new.keys()

    def _write(self, new: dict[Place, bytes], gone: set[Place]) -> bool:
        if not self.carrier.write(new, gone):
            return False
        failpoints.reach("exchange.sent")
        with self.records.transaction():
            self.records.release(gone)
            for place, data in new.items():
                self.records.hold(*place, unseal(data, self.key))
        return True

    def _parse(self, data: bytes) -> dict[str, Any]:
        plain = self.key.open(data) if self.key else data
        try:
            told = json.loads(plain or b"")
        except ValueError:
            return {}
        return told if isinstance(told, dict) else {}


def opens(key: Key, carrier: Carrier) -> bool:
    """Return whether a key opens what lies there."""
    return all(key.open(data[:-_DIGEST]) == _PROOF for _, data in carrier.read([TEST]))


def _kind_of(record: Record) -> str:
    """Return as what a record is counted."""
    return DELETED if record.text is None and record.kind in (ENTRY, STATEMENT, ARTICLE) else record.kind


def _order(count: int) -> int:
    """Return the order of a segment's size: 0 below 4 records, and one more for each ``FACTOR`` times as many."""
    return count.bit_length() // 3
