"""Store: the protocol of a store of working memory, and the types that it uses.

A store holds records (JSON text, a version, an expiry time) under a scope's name and a key. It knows nothing of tasks,
scratchpads or checkpoints. These use internal keys, which begin with ``_`` and are never listed with the others, never
evicted, and kept by ``clear``. They also use changes, which are pure functions that a store applies atomically.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

INTERNAL = "_"  # first character of internal keys


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
    """A value to write: JSON text and seconds to live (None: for ever)."""

    value: str
    ttl: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A write that does not undo another one: the name of a pure function in ``changes.CHANGES`` and its argument."""

    name: str
    argument: dict[str, Any]
    id: str = field(default_factory=lambda: uuid.uuid4().hex)  # a store that knows it does not apply the change again


@dataclass(frozen=True, slots=True)
class ScopeSeen:
    """A scope in a store: its name and when it was last opened, in seconds since 1970."""

    name: str
    seen: float


@dataclass(frozen=True, slots=True)
class StoreStats:
    """A store's condition.

    ``healthy``: whether it answers; ``degraded``: whether it replaces an unreachable store; ``reason``: why.
    """

    store: str
    healthy: bool
    degraded: bool = False
    reason: str = ""
    waiting: int = 0  # writes that were not replayed to another store yet
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
        """Return the live record and make it the most recently used one; return None when there is none."""

    async def records(self, scope: str, *, internal: bool = False) -> dict[str, Record]:
        """Return all live records of the scope, either internal or not, sorted by key."""

    async def put(self, scope: str, key: str, put: Put, *, limit: int | None = None) -> int:
        """Write a value and return its version.

        At most ``limit`` keys that are not internal stay; the least recently used ones are evicted.
        """

    async def change(self, scope: str, key: str, change: Change, *, ttl: float | None) -> str:
        """Apply a change atomically and return the new JSON text."""

    async def delete(self, scope: str, key: str) -> bool:
        """Delete the record; return whether there was a live one."""

    async def clear(self, scope: str) -> int:
        """Delete all keys that are not internal; return how many live ones there were."""

    async def restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...]) -> None:
        """Replace all keys that are not internal, and the named internal ones, with ``puts`` in one step."""

    async def register(self, scope: str, ttl: float | None) -> None:
        """Record for ``scopes`` that the scope was opened; the record expires after ``ttl`` seconds."""

    async def scopes(self) -> list[ScopeSeen]:
        """Return the registered scopes, the most recently opened first."""

    async def stats(self) -> StoreStats:
        """Return the store's condition; never raise ``StoreUnreachableError``."""

    async def close(self) -> None:
        """Close files and connections; closing twice is allowed."""


def is_internal(key: str) -> bool:
    """Return whether the key is internal."""
    return key.startswith(INTERNAL)


def next_version(previous: int) -> int:
    """Return the version of a write now: the time in microseconds, but always more than ``previous``."""
    return max(previous + 1, time.time_ns() // 1000)


def deadline(ttl: float | None, now: float) -> float | None:
    """Return the expiry time of a value written at ``now`` with ``ttl`` seconds to live; None for ever."""
    return None if ttl is None else now + ttl
