"""Failover store: a shared store, and the embedded one while the shared one cannot be used.

While the shared store does not answer, or accepts no writes, everything goes to the embedded store, and ``stats`` says
so; what was written before cannot be read then. When it can be used again, what the embedded store holds is written
back to it once, by key and time: the newer value stays, a task and lists of notes and checkpoints are merged. A scope
for which the shared store refuses a command is served by the embedded store until the process ends.

No call waits for the shared store longer than ``CALL_S``.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

from memoria.base.invocation import DISTRIBUTION
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground.errors import StoreBusyError, StoreUnreachableError, WorkingStoreError
from memoria.working.sqlite_store import SqliteStore
from memoria.working.store import Change, Put, Record, ScopeSeen, Store, StoreStats

log = logging.getLogger(__name__)
T = TypeVar("T")

FIRST_RETRY_S = 1.0
LAST_RETRY_S = 30.0
CALL_S = 1.0  # the longest that one call waits for the shared store
SLICE_S = 0.3  # the longest that one call writes back
BATCH = 50  # records that are written back in one step


class SharedStore(Store, Protocol):
    """A store that takes over what another one holds."""

    async def ping(self) -> None:
        """Return when the store can be used; ``StoreUnreachableError`` when it cannot."""

    async def take_over(self, scope: str, deleted: Mapping[str, int], records: Mapping[str, Record]) -> None:
        """Apply what happened elsewhere where nothing newer stands. Twice is the same as once."""


def open_store(settings: Settings | None = None, paths: Paths | None = None) -> Store:
    """Return the embedded store in the state folder, or Redis with it as a fallback when ``redis_url`` is set."""
    settings = settings or Settings.load()
    file = Path((paths or Paths.of(settings)).working)
    url = settings.redis_url
    return FailoverStore(lambda: shared_store(url), SqliteStore(file, standing_in=True)) if url else SqliteStore(file)


def shared_store(url: str) -> SharedStore:
    """Return the store on that Redis server, not connected yet. StoreUnreachableError when it can never be reached."""
    try:
        from memoria.working.redis_store import RedisStore  # noqa: PLC0415 (an optional dependency; slow to import)
    except ImportError:
        raise StoreUnreachableError(
            f"MEMORIA_REDIS_URL is set, but the redis package is missing; install {DISTRIBUTION}[redis]"
        ) from None
    try:
        return RedisStore(url)
    except ValueError as error:
        raise StoreUnreachableError(f"MEMORIA_REDIS_URL is not a valid Redis URL: {error}") from error


class FailoverStore:
    """``connect``'s store while it can be used, else ``embedded``."""

    def __init__(self, connect: Callable[[], SharedStore], embedded: SqliteStore) -> None:
        """``connect`` may raise ``StoreUnreachableError`` (its package is missing, its address makes no sense)."""
        self._connect = connect
        self._embedded = embedded
        self._shared: SharedStore | None = None
        self._up = False
        self._reason = ""
        self._refused: set[str] = set()  # scopes for which the shared store has refused a command
        self._next = 0.0  # time.monotonic() of the next try to use the shared store
        self._delay = FIRST_RETRY_S
        self._turn = asyncio.Lock()

    async def get(self, scope: str, key: str) -> Record | None:
        """See ``Store.get``."""
        return await self._served(scope, lambda store: store.get(scope, key))

    async def records(self, scope: str, *, internal: bool = False) -> dict[str, Record]:
        """See ``Store.records``."""
        return await self._served(scope, lambda store: store.records(scope, internal=internal))

    async def put(self, scope: str, key: str, put: Put, *, limit: int | None = None) -> None:
        """See ``Store.put``."""
        await self._served(scope, lambda store: store.put(scope, key, put, limit=limit))

    async def change(self, scope: str, key: str, change: Change, *, ttl: float | None) -> str:
        """See ``Store.change``."""
        return await self._served(scope, lambda store: store.change(scope, key, change, ttl=ttl))

    async def delete(self, scope: str, key: str) -> bool:
        """See ``Store.delete``."""
        return await self._served(scope, lambda store: store.delete(scope, key))

    async def clear(self, scope: str) -> int:
        """See ``Store.clear``."""
        return await self._served(scope, lambda store: store.clear(scope))

    async def restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...]) -> None:
        """See ``Store.restore``."""
        await self._served(scope, lambda store: store.restore(scope, puts, internal))

    async def register(self, scope: str, ttl: float | None) -> None:
        """See ``Store.register``."""
        await self._served(scope, lambda store: store.register(scope, ttl))

    async def scopes(self) -> list[ScopeSeen]:
        """See ``Store.scopes``."""
        return await self._served("", lambda store: store.scopes())

    async def stats(self) -> StoreStats:
        """Return the stats of the store in use; ``degraded`` with the reason when the embedded one serves anything."""
        stats = await self._served("", lambda store: store.stats())
        if self._up and not stats.healthy:  # lost between two calls
            self._leave(StoreUnreachableError(stats.reason))
            stats = await self._embedded.stats()
        return replace(stats, degraded=True, reason=self._reason) if self._refused or not self._up else stats

    async def close(self) -> None:
        """See ``Store.close``."""
        if self._shared is not None:
            with suppress(StoreUnreachableError):
                async with _limit():
                    await self._shared.close()
        await self._embedded.close()

    async def _served(self, scope: str, call: Callable[[Store], Awaitable[T]]) -> T:
        """Return what the shared store answers, or the embedded one in its place."""
        shared = await self._usable()
        if shared is not None and scope not in self._refused:
            try:
                async with _limit():
                    return await call(shared)
            except StoreBusyError:  # others were faster all the time; what this call writes goes there with the next
                self._up = False
            except WorkingStoreError as error:
                self._leave(error, scope)
        return await call(self._embedded)

    async def _usable(self) -> SharedStore | None:
        """Return the shared store once it can be used and holds what it has missed."""
        async with self._turn:
            if not self._up and time.monotonic() >= self._next:
                try:
                    self._shared = self._shared or self._connect()  # under load its import takes longer than any call
                    async with _limit():
                        await self._shared.ping()
                        self._up = await self._write_back(self._shared)
                except WorkingStoreError as error:
                    self._leave(error)
                else:
                    self._delay = FIRST_RETRY_S
            return self._shared if self._up else None

    async def _write_back(self, shared: SharedStore) -> bool:
        """Give the shared store what the embedded one holds, for ``SLICE_S``; return whether that was all."""
        stop = time.monotonic() + SLICE_S
        opened = await self._embedded.opened()
        for scope in await self._embedded.held():
            if scope in self._refused:
                continue
            try:
                if scope in opened:  # else it was when the shared store could be used, which knows its end
                    expires = opened[scope]
                    await shared.register(scope, None if expires is None else max(1.0, expires - time.time()))
                while await self._hand_over(shared, scope):
                    if time.monotonic() > stop:
                        self._reason = "what was written while the shared store was away is still being written back"
                        return False
            except (StoreUnreachableError, StoreBusyError):
                raise
            except WorkingStoreError as error:
                self._leave(error, scope)
        return True

    async def _hand_over(self, shared: SharedStore, scope: str) -> bool:
        """Write back some of what is held of a scope; return whether there was any."""
        deleted = await self._embedded.deleted(scope)
        both = await self._embedded.records(scope, internal=True) | await self._embedded.records(scope)
        records = dict(islice(both.items(), BATCH))
        await shared.take_over(scope, deleted, records)
        await self._embedded.forget(scope, [*deleted.items(), *((key, each.version) for key, each in records.items())])
        return bool(deleted or records)

    def _leave(self, error: WorkingStoreError, scope: str = "") -> None:
        """Use the embedded store: until the next try, or to the end for a scope whose command was refused."""
        refused = scope and not isinstance(error, StoreUnreachableError)
        if refused:
            self._refused.add(scope)
        elif not self._up and time.monotonic() < self._next:
            return  # of several calls under way at once the first counts
        if self._up or refused or not self._reason:
            log.warning("working memory: %s; the embedded store stands in", error)
        self._reason = str(error)
        if not refused:
            self._up, self._next = False, time.monotonic() + self._delay
            self._delay = min(2 * self._delay, LAST_RETRY_S)


@asynccontextmanager
async def _limit() -> AsyncIterator[None]:
    """Let what is done inside last at most ``CALL_S``. Raise StoreUnreachableError after that."""
    try:
        async with asyncio.timeout(CALL_S):
            yield
    except TimeoutError:
        raise StoreUnreachableError(f"the shared store did not answer within {CALL_S:g} s") from None
