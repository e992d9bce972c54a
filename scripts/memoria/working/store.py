"""Store: what every home of working memory can do, and the shapes that pass between.

A store keeps records (JSON text, a version, a deadline) under a scope's name and a key. It knows nothing of tasks,
scratchpads or checkpoints; whoever writes those says so through keys that begin with ``_`` (internal: never listed
with the others, never evicted, kept by ``clear``) and through changes (pure functions that a store applies
atomically).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

INTERNAL = "_"  # first character of the keys that memoria keeps for itself


@dataclass(frozen=True, slots=True)
class Record:
    """One stored value.

    ``value`` is JSON text. ``version`` grows with every write of the key and is at least the time of the write in
    microseconds since 1970, so that versions of different stores can be compared. ``expires`` is in seconds since
    1970, None for never.
    """

    value: str
    version: int
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class Put:
    """A value on its way into a store: JSON text, seconds to live (None: for ever)."""

    value: str
    ttl: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A named pure function of ``changes.CHANGES`` and its JSON argument: a write that does not undo another's."""

    name: str
    argument: dict[str, Any]
    id: str = field(default_factory=lambda: uuid.uuid4().hex)  # a store that knows it does not apply the change again


@dataclass(frozen=True, slots=True)
class ScopeSeen:
    """A scope that a store holds: its name and when it was last opened, in seconds since 1970."""

    name: str
    seen: float


@dataclass(frozen=True, slots=True)
class StoreStats:
    """How a store is: its name, whether it answers, whether it stands in for another, and anything worth a line."""

    store: str
    healthy: bool
    degraded: bool = False
    reason: str = ""
    waiting: int = 0  # writes that another store has not seen yet
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Disk:
    """What a server has on its disk. Moments are in seconds since 1970 of the server's clock.

    ``run`` names the server process (empty: unknown). What it accepted before ``safe`` is on the disk. ``stores`` is
    whether it stores anything there at all.
    """

    run: str
    now: float
    safe: float
    stores: bool = True


class Store(Protocol):
    """All methods may raise ``WorkingStoreError``; one that cannot be reached raises ``StoreUnreachableError``."""

    async def get(self, scope: str, key: str) -> Record | None:
        """The live record, which thereby becomes the most recently used; None when there is none."""

    async def records(self, scope: str, *, internal: bool = False) -> dict[str, Record]:
        """All live records of the scope that are internal, or those that are not, by key in order."""

    async def put(self, scope: str, key: str, put: Put, *, limit: int | None = None) -> int:
        """Write and return the version.

        Of the keys that are not internal at most ``limit`` stay; the least recently used go.
        """

    async def change(self, scope: str, key: str, change: Change, *, ttl: float | None) -> str:
        """Apply a change atomically; returns the new JSON text."""

    async def delete(self, scope: str, key: str) -> bool:
        """Whether there was a live record; there is none afterwards."""

    async def clear(self, scope: str) -> int:
        """Delete all keys that are not internal; how many live ones there were."""

    async def restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...]) -> None:
        """Replace every key that is not internal, and the named internal ones, by ``puts``, in one step."""

    async def register(self, scope: str, ttl: float | None) -> None:
        """Note that the scope was opened, for ``scopes``; forgotten after ``ttl`` seconds."""

    async def scopes(self) -> list[ScopeSeen]:
        """The scopes opened lately, the latest first."""

    async def stats(self) -> StoreStats:
        """How the store is; never raises ``StoreUnreachableError``."""

    async def close(self) -> None:
        """Let go of files and connections; closing twice is allowed."""


def is_internal(key: str) -> bool:
    """Whether memoria keeps this key for itself."""
    return key.startswith(INTERNAL)


def next_version(previous: int) -> int:
    """The version of a write now: the time in microseconds, or one more than the one before when clocks run back."""
    return max(previous + 1, time.time_ns() // 1000)


def deadline(ttl: float | None, now: float) -> float | None:
    """Seconds to live as a moment."""
    return None if ttl is None else now + ttl
