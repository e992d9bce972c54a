"""Failover store: use a shared store, and the embedded one while the shared one is unreachable.

During an outage, reads and writes go to the embedded store, which journals the writes. When the shared store answers
again, the journal is replayed before any other call. Newer values in the shared store are kept, and appends are merged
with those of other machines. Values written to the shared store before the outage cannot be read during it; ``stats``
reports that.

The outage is recorded for other processes, so that each of them does not have to wait for a failing connection.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from memoria.ground.errors import StoreUnreachableError, WorkingStoreError
from memoria.working.sqlite_store import SqliteStore
from memoria.working.store import Change, Put, Record, ScopeSeen, Store, StoreStats

log = logging.getLogger(__name__)
T = TypeVar("T")

FIRST_RETRY_S = 1.0
LAST_RETRY_S = 30.0
CHECK_S = 30.0  # while the shared store is up, seconds between checks for entries of other processes in the journal
_AWAY = "unreachable_until"


class SharedStore(Store, Protocol):
    """A store that accepts late writes."""

    async def ping(self) -> None:
        """Return when the store accepts commands; raise ``StoreUnreachableError`` if it does not."""

    async def replay(self, operation: Mapping[str, Any]) -> None:
        """Apply a journalled write unless the store holds a newer value."""


class FailoverStore:
    """Uses ``connect``'s store while it is reachable, else ``embedded`` (which must keep a journal)."""

    def __init__(self, connect: Callable[[], SharedStore], embedded: SqliteStore) -> None:
        """``connect`` may raise ``StoreUnreachableError``, e.g. when its package is missing or its URL is invalid."""
        self._connect = connect
        self._embedded = embedded
        self._shared: SharedStore | None = None
        self._up = False
        self._reason = ""
        self._next = 0.0  # time.monotonic() of the next check: of the journal when up, of the shared store when down
        self._delay = FIRST_RETRY_S
        self._fresh = True
        self._turn = asyncio.Lock()

    async def get(self, scope: str, key: str) -> Record | None:
        """See ``Store.get``."""
        return await self._use(lambda store: store.get(scope, key))

    async def records(self, scope: str, *, internal: bool = False) -> dict[str, Record]:
        """See ``Store.records``."""
        return await self._use(lambda store: store.records(scope, internal=internal))

    async def put(self, scope: str, key: str, put: Put, *, limit: int | None = None) -> int:
        """See ``Store.put``."""
        return await self._use(lambda store: store.put(scope, key, put, limit=limit))

    async def change(self, scope: str, key: str, change: Change, *, ttl: float | None) -> str:
        """See ``Store.change``."""
        return await self._use(lambda store: store.change(scope, key, change, ttl=ttl))

    async def delete(self, scope: str, key: str) -> bool:
        """See ``Store.delete``."""
        return await self._use(lambda store: store.delete(scope, key))

    async def clear(self, scope: str) -> int:
        """See ``Store.clear``."""
        return await self._use(lambda store: store.clear(scope))

    async def restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...]) -> None:
        """See ``Store.restore``."""
        await self._use(lambda store: store.restore(scope, puts, internal))

    async def register(self, scope: str, ttl: float | None) -> None:
        """See ``Store.register``."""
        await self._use(lambda store: store.register(scope, ttl))

    async def scopes(self) -> list[ScopeSeen]:
        """See ``Store.scopes``."""
        return await self._use(lambda store: store.scopes())

    async def stats(self) -> StoreStats:
        """Return the stats of the store in use, with ``degraded`` and the reason when it is the embedded one."""
        stats = await self._use(lambda store: store.stats())
        if self._up and not stats.healthy:  # the connection was lost between two calls
            await self._lose(StoreUnreachableError(stats.reason))
        if self._up:
            return replace(stats, waiting=await self._embedded.waiting())
        return replace(await self._embedded.stats(), degraded=True, reason=self._reason)

    async def close(self) -> None:
        """See ``Store.close``."""
        if self._shared is not None:
            await self._shared.close()
        await self._embedded.close()

    async def _use(self, call: Callable[[Store], Awaitable[T]]) -> T:
        if time.monotonic() >= self._next:
            await self._check()
        if self._up and self._shared is not None:
            try:
                return await call(self._shared)
            except StoreUnreachableError as error:
                await self._lose(error)
        return await call(self._embedded)

    async def _check(self) -> None:
        """Connect to the shared store if it is reachable, and replay the journal."""
        async with self._turn:
            if time.monotonic() < self._next:  # another task has just checked
                return
            try:
                if self._fresh:
                    await self._raise_known_outage()
                if self._shared is None:
                    self._shared = self._connect()
                if not self._up:
                    await self._shared.ping()
                await self._replay(self._shared)
            except StoreUnreachableError as error:
                await self._lose(error)
                return
            if not self._up:
                await self._embedded.remember(_AWAY, 0)
            self._up, self._reason, self._delay = True, "", FIRST_RETRY_S
            self._next = time.monotonic() + CHECK_S

    async def _raise_known_outage(self) -> None:
        """Raise StoreUnreachableError when another process has just failed to connect."""
        self._fresh = False
        left = await self._embedded.remembered(_AWAY) - time.time()
        if 0 < left <= LAST_RETRY_S:
            raise StoreUnreachableError("the shared store was unreachable a moment ago")

    async def _lose(self, error: StoreUnreachableError) -> None:
        if self._up or not self._reason:
            log.warning("working memory: %s; using the embedded store", error)
        self._up, self._reason, self._fresh = False, str(error), False
        self._next = time.monotonic() + self._delay
        await self._embedded.remember(_AWAY, time.time() + self._delay)
        self._delay = min(2 * self._delay, LAST_RETRY_S)

    async def _replay(self, shared: SharedStore) -> None:
        """Replay the journal, oldest first; a write that the shared store refuses is logged and stays there."""
        after = 0
        while entries := await self._embedded.noted(after, 100):
            for number, operation in entries:
                after = number
                try:
                    await shared.replay(operation)
                except StoreUnreachableError:
                    raise
                except WorkingStoreError as error:
                    log.warning("working memory: journal entry %d was refused: %s", number, error)
                else:
                    await self._embedded.settle(number, operation)
