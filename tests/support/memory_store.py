"""MemoryStore: working memory inside one process, to hold the other stores against. Gone when the process ends."""

from __future__ import annotations

import heapq
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from memoria.working.store import (
    Change,
    Put,
    Record,
    ScopeSeen,
    StoreStats,
    applied,
    deadline,
    is_internal,
    next_version,
)  # fmt: skip


@dataclass(slots=True)
class _Room:
    """One scope's records: the others in the order of use, and the deadlines as a heap."""

    others: OrderedDict[str, Record] = field(default_factory=OrderedDict)
    internal: dict[str, Record] = field(default_factory=dict)
    deadlines: list[tuple[float, str]] = field(default_factory=list)

    def part(self, key: str) -> dict[str, Record]:
        return self.internal if is_internal(key) else self.others

    def remind(self, key: str, moment: float) -> None:
        """Remember a deadline; those of replaced writes are swept out before they outnumber the live ones."""
        heapq.heappush(self.deadlines, (moment, key))
        if len(self.deadlines) > 64 + 2 * (len(self.others) + len(self.internal)):
            both = (*self.others.items(), *self.internal.items())
            self.deadlines = [(record.expires, key) for key, record in both if record.expires is not None]
            heapq.heapify(self.deadlines)

    def expire(self, now: float) -> None:
        """Drop what has passed its deadline; a deadline that a later write replaced is skipped."""
        while self.deadlines and self.deadlines[0][0] <= now:
            _, key = heapq.heappop(self.deadlines)
            record = self.part(key).get(key)
            if record is not None and record.expires is not None and record.expires <= now:
                del self.part(key)[key]


class MemoryStore:
    """A store in this process's memory; least-recently-used eviction costs the same however many keys there are."""

    def __init__(self) -> None:
        self._rooms: dict[str, _Room] = {}
        self._seen: dict[str, tuple[float, float | None]] = {}

    def _room(self, scope: str) -> _Room:
        room = self._rooms.setdefault(scope, _Room())
        room.expire(time.time())
        return room

    def _write(self, room: _Room, key: str, put: Put) -> None:
        part = room.part(key)
        old = part.pop(key, None)
        record = Record(put.value, next_version(old.version if old else 0), deadline(put.ttl, time.time()))
        part[key] = record
        if record.expires is not None:
            room.remind(key, record.expires)

    async def get(self, scope: str, key: str) -> Record | None:
        """See ``Store.get``."""
        room = self._room(scope)
        record = room.part(key).get(key)
        if record is not None and not is_internal(key):
            room.others.move_to_end(key)
        return record

    async def records(self, scope: str, *, internal: bool = False) -> dict[str, Record]:
        """See ``Store.records``."""
        room = self._room(scope)
        return dict(sorted((room.internal if internal else room.others).items()))

    async def put(self, scope: str, key: str, put: Put, *, limit: int | None = None) -> None:
        """See ``Store.put``."""
        room = self._room(scope)
        self._write(room, key, put)
        while limit is not None and len(room.others) > limit:
            room.others.popitem(last=False)

    async def change(self, scope: str, key: str, change: Change, *, ttl: float | None) -> str:
        """See ``Store.change``."""
        room = self._room(scope)
        old = room.part(key).get(key)
        value = applied(change, old.value if old else None)
        self._write(room, key, Put(value, ttl))
        return value

    async def delete(self, scope: str, key: str) -> bool:
        """See ``Store.delete``."""
        return self._room(scope).part(key).pop(key, None) is not None

    async def clear(self, scope: str) -> int:
        """See ``Store.clear``."""
        room = self._room(scope)
        count = len(room.others)
        room.others.clear()
        return count

    async def restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...]) -> None:
        """See ``Store.restore``."""
        room = self._room(scope)
        room.others.clear()
        for key in internal:
            room.internal.pop(key, None)
        for key, put in puts.items():
            self._write(room, key, put)

    async def register(self, scope: str, ttl: float | None) -> None:
        """See ``Store.register``."""
        now = time.time()
        self._seen[scope] = (now, deadline(ttl, now))

    async def scopes(self) -> list[ScopeSeen]:
        """See ``Store.scopes``."""
        now = time.time()
        live = [ScopeSeen(name, seen) for name, (seen, end) in self._seen.items() if end is None or end > now]
        return sorted(live, key=lambda scope: scope.seen, reverse=True)

    async def stats(self) -> StoreStats:
        """See ``Store.stats``."""
        return StoreStats("memory", healthy=True)

    async def close(self) -> None:
        """Nothing to let go of: the content stays until the process ends."""
