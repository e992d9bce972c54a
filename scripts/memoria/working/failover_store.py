"""Failover store: a shared store, and the embedded one for what the shared one cannot do now.

- While the shared store is away, reads and writes go to the embedded store, which journals the writes. What was written
  there before cannot be read then; ``stats`` says so.
- While it answers but accepts no writes (full, read-only, a user without write), reads go to it and are merged with the
  journal, to which the writes go. A scope for which it refuses single commands is served by the embedded store.
- When it accepts writes again the journal is replayed, by one process at a time and in slices, so that no call takes
  long. Each entry is applied once. What is newer over there stays; appends are added to what others appended.

An accepted entry stays in the journal until the shared store has it on its disk, or for ``KEEP_S``. When that store is
restarted without it, the entry is replayed again (docs/decisions/0030-working-memory.md).

The other processes learn that the shared store is away, so that not each one waits for a connection to fail.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Literal, Protocol, TypeVar

from memoria.ground import locks
from memoria.ground.errors import StoreBusyError, StoreReadOnlyError, StoreUnreachableError, WorkingStoreError
from memoria.working.overlay import merged
from memoria.working.sqlite_store import SqliteStore
from memoria.working.store import Change, Disk, Put, Record, ScopeSeen, Store, StoreStats, is_internal

log = logging.getLogger(__name__)
T = TypeVar("T")

FIRST_RETRY_S = 1.0
LAST_RETRY_S = 30.0
LOOK_S = 30.0  # how often a store that is up looks for what another process left in the journal
COPIES_LOOK_S = 1.0  # how often while the journal holds what may not be on the shared store's disk
GLANCE_S = 0.05  # how long another process's journal entries may go unnoticed by readers
CALL_S = 1.0  # the longest that one call waits for the shared store
SLICE_S = 0.3  # the longest that one call replays
KEEP_S = 24 * 3600.0  # how long an accepted entry stays when the shared store never writes it to a disk
BATCH = 100
_AWAY = "unreachable_until"


class _Later(Enum):
    """Says that the shared store did not serve a call."""

    LATER = 0


LATER = _Later.LATER


class SharedStore(Store, Protocol):
    """A store that accepts late writes."""

    async def ping(self) -> None:
        """Return when the store answers commands; ``StoreUnreachableError`` when it does not."""

    async def disk(self) -> Disk:
        """Return what the store has on its disk."""

    async def replay(self, operations: Sequence[Mapping[str, Any]]) -> None:
        """Apply journalled writes of one scope in their order where nothing newer stands, each once."""


class FailoverStore:
    """``connect``'s store while it can be used, else ``embedded`` (which must keep a journal)."""

    def __init__(self, connect: Callable[[], SharedStore], embedded: SqliteStore) -> None:
        """``connect`` may raise ``StoreUnreachableError`` (its package is missing, its address makes no sense)."""
        self._connect = connect
        self._embedded = embedded
        self._shared: SharedStore | None = None
        self._up = False
        self._refuses = False  # it is up and accepts no writes
        self._reason = ""
        self._journaled: dict[str, bool] = {}  # scopes with journal entries; True: with waiting ones
        self._held: set[str] = set()  # scopes for which the shared store has refused an entry
        self._next = 0.0  # time.monotonic() of the next look: at the journal when up, at the shared store when down
        self._glance = 0.0  # time.monotonic() of the next glance at other processes' journal entries
        self._delay = FIRST_RETRY_S
        self._fresh = True
        self._turn = asyncio.Lock()

    async def get(self, scope: str, key: str) -> Record | None:
        """See ``Store.get``."""
        return await self._get(self._deadline(), scope, key)

    async def records(self, scope: str, *, internal: bool = False) -> dict[str, Record]:
        """See ``Store.records``."""
        return await self._records(self._deadline(), scope, internal=internal)

    async def put(self, scope: str, key: str, put: Put, *, limit: int | None = None) -> int:
        """See ``Store.put``."""
        until = self._deadline()
        version = await self._direct(until, scope, lambda store: store.put(scope, key, put, limit=limit))
        if version is LATER:
            version = await self._embedded.put(scope, key, put, limit=limit)
            await self._hand_over(until, scope)
        return version

    async def change(self, scope: str, key: str, change: Change, *, ttl: float | None) -> str:
        """See ``Store.change``."""
        until = self._deadline()
        value = await self._direct(until, scope, lambda store: store.change(scope, key, change, ttl=ttl))
        if value is LATER:
            value = await self._embedded.change(scope, key, change, ttl=ttl)
            await self._hand_over(until, scope)
            if self._up and (record := await self._get(until, scope, key)):
                return record.value  # what the shared store holds as well, not only what was written here
        return value

    async def delete(self, scope: str, key: str) -> bool:
        """See ``Store.delete``."""
        until = self._deadline()
        gone = await self._direct(until, scope, lambda store: store.delete(scope, key), removes=True)
        if gone is LATER:
            there = await self._get(until, scope, key)
            await self._embedded.delete(scope, key)
            await self._hand_over(until, scope)
            return there is not None
        return gone

    async def clear(self, scope: str) -> int:
        """See ``Store.clear``."""
        until = self._deadline()
        count = await self._direct(until, scope, lambda store: store.clear(scope), removes=True)
        if count is LATER:
            there = await self._records(until, scope, internal=False)
            await self._embedded.clear(scope)
            await self._hand_over(until, scope)
            return len(there)
        return count

    async def restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...]) -> None:
        """See ``Store.restore``."""
        until = self._deadline()
        done = await self._direct(until, scope, lambda store: store.restore(scope, puts, internal), removes=True)
        if done is LATER:
            await self._embedded.restore(scope, puts, internal)
            await self._hand_over(until, scope)

    async def register(self, scope: str, ttl: float | None) -> None:
        """See ``Store.register``."""
        until = self._deadline()
        if await self._direct(until, scope, lambda store: store.register(scope, ttl)) is LATER:
            await self._embedded.register(scope, ttl)
            await self._hand_over(until, scope)

    async def scopes(self) -> list[ScopeSeen]:
        """See ``Store.scopes``."""
        found = await self._ask(self._deadline(), "", lambda store: store.scopes())
        if found is LATER or any(self._journaled.values()):
            both = {seen.name: seen for seen in await self._embedded.scopes()}
            both |= {} if found is LATER else {seen.name: seen for seen in found}
            return sorted(both.values(), key=lambda seen: seen.seen, reverse=True)
        return found

    async def stats(self) -> StoreStats:
        """Return the stats of the store in use; ``degraded`` with the reason when the embedded one serves anything."""
        stats = await self._ask(self._deadline(), "", lambda store: store.stats())
        if stats is not LATER and not stats.healthy:  # lost between two calls
            await self._lose(StoreUnreachableError(stats.reason))
        if stats is LATER or not self._up:
            return replace(await self._embedded.stats(), degraded=True, reason=self._reason)
        degraded = self._refuses or bool(self._held)
        reason = self._reason if degraded else stats.reason
        return replace(stats, degraded=degraded, reason=reason, waiting=await self._embedded.waiting())

    async def close(self) -> None:
        """See ``Store.close``."""
        if self._shared is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CALL_S):
                    await self._shared.close()
        await self._embedded.close()

    def _deadline(self) -> float:
        """Return the time.monotonic() at which a call that begins now stops waiting for the shared store.

        The import of the store's package is no part of that wait: under load it takes longer than a healthy server.
        """
        if self._shared is None and time.monotonic() >= self._next:
            with contextlib.suppress(StoreUnreachableError):  # the look tries again, and says why
                self._shared = self._connect()
        return time.monotonic() + CALL_S

    async def _get(self, until: float, scope: str, key: str) -> Record | None:
        found = await self._ask(until, scope, lambda store: store.get(scope, key))
        if found is LATER:
            return await self._embedded.get(scope, key)
        if self._journaled.get(scope):
            records = {} if found is None else {key: found}
            return merged(records, await self._embedded.operations(scope)).get(key)
        return found

    async def _records(self, until: float, scope: str, *, internal: bool) -> dict[str, Record]:
        found = await self._ask(until, scope, lambda store: store.records(scope, internal=internal))
        if found is LATER:
            return await self._embedded.records(scope, internal=internal)
        if self._journaled.get(scope):
            both = merged(found, await self._embedded.operations(scope))
            return {key: record for key, record in both.items() if is_internal(key) == internal}
        return found

    async def _direct(
        self, until: float, scope: str, call: Callable[[Store], Awaitable[T]], *, removes: bool = False
    ) -> T | Literal[_Later.LATER]:
        """Write to the shared store unless the write must go through the journal.

        It must while earlier writes of the scope wait there. What removes values must also while the journal holds
        copies of accepted writes: replayed again, they would bring the values back.
        """
        if self._is_due():
            await self._ask(until, scope, _nothing)
        waits = self._journaled.get(scope)
        if not self._up or self._refuses or waits or (removes and waits is not None):
            return LATER
        return await self._ask(until, scope, call, writes=True)

    async def _hand_over(self, until: float, scope: str) -> None:
        """Replay what was just journalled, unless it is known that the shared store will not accept it."""
        self._journaled[scope] = True
        if self._up and not self._refuses and scope not in self._held:
            self._next = 0.0
            await self._ask(until, scope, _nothing)

    async def _ask(
        self, until: float, scope: str, call: Callable[[Store], Awaitable[T]], *, writes: bool = False
    ) -> T | Literal[_Later.LATER]:
        """Return what the shared store answers; ``LATER`` when it cannot be used, or not for this call."""
        if time.monotonic() > until - CALL_S / 10:
            return LATER
        try:
            async with asyncio.timeout(until - time.monotonic()):
                if self._is_due():
                    await self._look()
                if not self._up or self._shared is None:
                    return LATER
                return await self._call(self._shared, scope, call)
        except TimeoutError:
            await self._lose(StoreUnreachableError(f"the shared store did not answer within {CALL_S:g} s"))
        except StoreUnreachableError as error:
            if writes and isinstance(error, StoreReadOnlyError):
                self._refuse(error)
            else:
                await self._lose(error)
        return LATER

    async def _call(
        self, shared: SharedStore, scope: str, call: Callable[[Store], Awaitable[T]]
    ) -> T | Literal[_Later.LATER]:
        """Return what ``call`` returns; ``LATER`` when the shared store refuses this one command."""
        try:
            return await call(shared)
        except (StoreUnreachableError, StoreBusyError) as error:
            if isinstance(error, StoreBusyError):  # the journal is replayed by one process at a time
                return LATER
            raise
        except WorkingStoreError as error:
            self._hold(scope, error)
            return LATER

    def _is_due(self) -> bool:
        now = time.monotonic()
        return now >= self._next or (self._up and now >= self._glance)

    async def _look(self) -> None:
        """Reach the shared store if it can be reached, and give it what it has missed."""
        async with self._turn:
            if self._up:
                self._glance = time.monotonic() + GLANCE_S
                self._journaled = await self._embedded.journaled()
                if self._has_waiting() and not self._refuses:
                    self._next = 0.0
            if time.monotonic() < self._next:
                return
            if self._fresh:
                await self._heed_others()
            if self._shared is None:
                self._shared = self._connect()
            was_up, self._fresh = self._up, False
            if not was_up:
                await _reach(self._shared)
                if await self._embedded.remembered(_AWAY):
                    await self._embedded.remember(_AWAY, 0)
            try:
                await self._replay(self._shared, again=not was_up and bool(self._reason))
            except StoreReadOnlyError as error:
                self._refuse(error)
            self._up = True

    async def _heed_others(self) -> None:
        """Do not try what another process has just seen fail."""
        self._fresh = False
        left = await self._embedded.remembered(_AWAY) - time.time()
        if 0 < left <= LAST_RETRY_S:
            raise StoreUnreachableError("the shared store could not be reached a moment ago")

    async def _lose(self, error: StoreUnreachableError) -> None:
        """Use the embedded store alone until the next look; of several calls under way at once the first counts."""
        if not self._up and time.monotonic() < self._next:
            return
        if self._up or not self._reason:
            log.warning("working memory: %s; the embedded store stands in", error)
        self._up, self._refuses, self._reason, self._fresh = False, False, str(error), False
        self._back_off()
        await self._embedded.remember(_AWAY, self._next - time.monotonic() + time.time())

    def _refuse(self, error: StoreReadOnlyError) -> None:
        """Write to the journal until the next look, and go on reading from the shared store; the first counts."""
        if self._refuses and time.monotonic() < self._next:
            return
        if not self._refuses:
            log.warning("working memory: %s; writes are journalled", error)
        self._refuses, self._reason = True, str(error)
        self._back_off()

    def _hold(self, scope: str, error: WorkingStoreError) -> None:
        """Use the embedded store for one scope until the next look."""
        if scope not in self._held:
            log.warning("working memory: %s: %s; the embedded store stands in", scope, error)
        self._held.add(scope)
        self._reason = str(error)
        self._next = min(self._next, time.monotonic() + FIRST_RETRY_S)

    def _back_off(self) -> None:
        self._next = time.monotonic() + self._delay
        self._delay = min(2 * self._delay, LAST_RETRY_S)

    def _has_waiting(self) -> bool:
        """Return whether the journal holds what the shared store has not been seen to refuse."""
        return any(waits and scope not in self._held for scope, waits in self._journaled.items())

    async def _replay(self, shared: SharedStore, *, again: bool) -> None:
        """Replay a slice of the journal; ``again``: after an outage, in which an unknown server may have restarted."""
        self._journaled = await self._embedded.journaled()
        mine, stop = not self._journaled, time.monotonic() + SLICE_S
        while self._journaled and not mine and time.monotonic() < stop:
            with locks.held(self._embedded.path.with_name(f"{self._embedded.path.name}.replay.lock")) as mine:
                if mine:
                    await self._replay_slice(shared, stop, again=again)
            if not mine:  # another process replays
                await asyncio.sleep(random.uniform(0.001, 0.010))  # noqa: S311 (jitter, not a secret)
            self._journaled = await self._embedded.journaled()
        if not self._journaled:
            self._held = set()
        if mine:
            self._refuses, self._delay = False, FIRST_RETRY_S
        if self._has_waiting() and not self._refuses:
            self._next = 0.0  # the next call goes on
        else:
            self._next = time.monotonic() + (COPIES_LOOK_S if self._journaled or self._held else LOOK_S)

    async def _replay_slice(self, shared: SharedStore, stop: float, *, again: bool) -> None:
        """Replay entries, oldest first, until ``stop``; a scope's entries wait behind a refused one.

        Accepted entries stay until the shared store has them on its disk; those that another process of the server
        accepted wait once more.
        """
        self._held = set()
        asked, disk = time.monotonic(), await shared.disk()
        run = disk.run or ("" if again else "unknown")
        await self._embedded.settle(run, max(disk.safe, disk.now - KEEP_S))
        after, skipped = 0, set[str]()
        while time.monotonic() < stop and (entries := await self._embedded.noted(after, BATCH)):
            after, groups = entries[-1][0], dict[str, list[tuple[int, dict[str, Any]]]]()
            for number, operation in entries:
                groups.setdefault(operation["scope"], []).append((number, operation))
            for scope, group in groups.items():
                if scope in skipped or not await self._is_accepted(shared, scope, [each for _, each in group]):
                    skipped.add(scope)
                else:
                    accepted = disk.now + time.monotonic() - asked + 1
                    await self._embedded.take(group, run or "unknown", accepted)

    async def _is_accepted(self, shared: SharedStore, scope: str, operations: Sequence[Mapping[str, Any]]) -> bool:
        """Replay entries of one scope; return whether the shared store took them. Raises ``StoreUnreachableError``."""
        try:
            await shared.replay(operations)
        except StoreUnreachableError:
            raise
        except StoreBusyError:
            return False
        except WorkingStoreError as error:
            self._hold(scope, error)
            return False
        return True


async def _nothing(_: Store) -> None:
    """For the sake of the look that precedes each call."""


async def _reach(shared: SharedStore) -> None:
    """Return when the shared store answers. Raises ``StoreUnreachableError`` when it cannot be used at all."""
    try:
        await shared.ping()
    except StoreUnreachableError:
        raise
    except WorkingStoreError as error:  # there is no such database
        raise StoreUnreachableError(str(error)) from error
