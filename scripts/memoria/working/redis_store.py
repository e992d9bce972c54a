"""Redis store: working memory that agents on several machines share.

A scope's keys have one prefix, ``memoria:{<scope>}:``. A value is a string ``<version>:<expires in us or 0>:<json>``
under ``v:<key>``, with Redis's own time to live. Internal keys (task state, notes, checkpoints) have none, because a
full server with a ``volatile-*`` policy evicts the keys that have one; they go with the scope. Beside the values a
scope has two sorted sets: ``u`` (keys by last use) and ``i`` (the internal keys); nothing is searched with KEYS or
SCAN. What the server expires or evicts itself is a miss; its entry in the set goes when keys are evicted, or with the
scope.

A write is one script, so that it happens whole or not at all, and a version always exceeds the one before, however the
machines' clocks differ. A deleted key leaves an empty value (``<version>:0:``) for a day: an older write that arrives
late does not bring it back.

A call may take as long as the server takes: ``FailoverStore`` limits the time. One server is meant, not a cluster: the
set of scopes lies outside their prefixes.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar, cast

import redis.asyncio as redis
from redis import exceptions
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from memoria.ground.errors import StoreBusyError, StoreUnreachableError, WorkingStoreError
from memoria.working.store import (
    MERGED,
    Change,
    Put,
    Record,
    ScopeSeen,
    StoreStats,
    applied,
    is_internal,
    merging,
)  # fmt: skip

T = TypeVar("T")
Client = Any  # the package leaves its scripts and pipelines untyped

PREFIX = "memoria:"
SCOPES = PREFIX + "scopes"  # scope names by when they were opened last
ENDS = PREFIX + "ends"  # scope names by when they are forgotten
CONTENTION_S = 0.5  # then a change that others keep overtaking fails
BATCH = 200  # values in one round trip
TOMBSTONE_MS = 24 * 3600 * 1000

_COMMON = f"""
local p = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function index(key) return p .. (string.byte(key) == 95 and 'i' or 'u') end
local function version(key)  -- of what stands there; 0: nothing
  return tonumber(string.match(redis.call('GETRANGE', p .. 'v:' .. key, 0, 20), '^%d+') or 0)
end
local function drop(key, at)
  redis.call('SET', p .. 'v:' .. key, string.format('%.0f:0:', at), 'PX', {TOMBSTONE_MS})
  return redis.call('ZREM', index(key), key)
end
"""

# Key, value, us to live ('' for ever), how many keys may stay ('' all), and what must hold: 'same' and the version that
# must stand there, 'newer' and the version that the value has elsewhere, or nothing. Returns false when it was written,
# else what stands there. Of the keys that were not used for longest those that have expired go first.
_WRITE = (
    _COMMON
    + """
local key, ttl, limit = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local had, brought = version(key), tonumber(ARGV[6])
if (ARGV[5] == 'same' and had ~= brought) or (ARGV[5] == 'newer' and had >= brought) then
  return redis.call('GET', p .. 'v:' .. key) or ''
end
local at = ARGV[5] == 'newer' and brought or math.max(had + 1, now)
local text = string.format('%.0f:%.0f:', at, ttl and now + ttl or 0) .. ARGV[2]
if ttl and string.byte(key) ~= 95 then
  redis.call('SET', p .. 'v:' .. key, text, 'PX', math.ceil(ttl / 1000))
else
  redis.call('SET', p .. 'v:' .. key, text)
end
redis.call('ZADD', index(key), string.format('%.0f', now), key)
local over = limit and redis.call('ZCARD', p .. 'u') - limit or 0
if over > 0 then
  for _, old in ipairs(redis.call('ZRANGE', p .. 'u', 0, over + 15)) do
    if redis.call('EXISTS', p .. 'v:' .. old) == 0 then over = over - redis.call('ZREM', p .. 'u', old) end
  end
  local oldest = over > 0 and redis.call('ZPOPMIN', p .. 'u', over) or {}
  for n = 1, #oldest, 2 do redis.call('DEL', p .. 'v:' .. oldest[n]) end
end
return false
"""
)

# The version of the deletion ('' for now), older writes than which go, and the keys, '' for all that are not internal.
# Returns how many went.
_DELETE = (
    _COMMON
    + """
local given, gone = tonumber(ARGV[1]), 0
for n = 2, #ARGV do
  for _, key in ipairs(ARGV[n] == '' and redis.call('ZRANGE', p .. 'u', 0, -1) or {ARGV[n]}) do
    local had, there = version(key), redis.call('EXISTS', p .. 'v:' .. key)
    if not given or given > had then gone = gone + there * drop(key, given or math.max(had + 1, now)) end
  end
end
return gone
"""
)

_EVICTS = (
    "the server's maxmemory-policy is {}: when it is full it also evicts task state, notes and checkpoints; "
    "volatile-lru and noeviction keep them"
)
_UNUSABLE = (
    exceptions.ConnectionError,  # also: wrong password, still loading
    exceptions.TimeoutError, exceptions.OutOfMemoryError, exceptions.ReadOnlyError, exceptions.NoPermissionError,
)  # fmt: skip
# An error inside a script arrives as a plain one on older servers. MISCONF: the server cannot save to its disk.
_UNUSABLE_CODES = ("OOM ", "READONLY ", "NOPERM ", "MISCONF ", "NOREPLICAS ", "MASTERDOWN ", "can't run this command")


class RedisStore:
    """A store on a Redis server, version 6.2 or later."""

    def __init__(self, url: str) -> None:
        """``url`` as in ``redis://[:password@]host[:port][/database]``; nothing is connected yet."""
        self._client: Client = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_connect_timeout=None,
            socket_timeout=None,
            retry=Retry(NoBackoff(), 1),  # a connection that a restart has cut; waiting longer is the caller's affair
        )
        self._write: Client = self._client.register_script(_WRITE)
        self._delete: Client = self._client.register_script(_DELETE)
        scheme, _, rest = url.partition("://")
        self.where = f"{scheme}://{rest.rpartition('@')[2]}"  # without a password

    async def get(self, scope: str, key: str) -> Record | None:
        """See ``Store.get``."""
        prefix = _prefix(scope)
        if is_internal(key):
            text = await self._run(self._client.get(f"{prefix}v:{key}"))
        else:
            async with self._client.pipeline(transaction=False) as pipe:
                pipe.get(f"{prefix}v:{key}")
                pipe.zadd(f"{prefix}u", {key: time.time_ns() // 1000}, xx=True, gt=True)
                text, _ = await self._run(pipe.execute())
        return _record(text)

    async def records(self, scope: str, *, internal: bool = False) -> dict[str, Record]:
        """See ``Store.records``."""
        prefix, found = _prefix(scope), dict[str, Record]()
        keys: list[str] = sorted(await self._run(self._client.zrange(prefix + ("i" if internal else "u"), 0, -1)))
        for start in range(0, len(keys), BATCH):
            batch = keys[start : start + BATCH]
            texts = await self._run(self._client.mget([f"{prefix}v:{key}" for key in batch]))
            found |= {key: record for key, text in zip(batch, texts, strict=True) if (record := _record(text))}
        return found

    async def put(self, scope: str, key: str, put: Put, *, limit: int | None = None) -> None:
        """See ``Store.put``."""
        await self._run(self._writing(self._client, scope, key, put, limit=limit))

    async def change(self, scope: str, key: str, change: Change, *, ttl: float | None) -> str:
        """See ``Store.change``; compares and sets, for ``CONTENTION_S`` while others are faster."""
        give_up = time.monotonic() + CONTENTION_S
        text: str | None = await self._run(self._client.get(f"{_prefix(scope)}v:{key}"))
        while time.monotonic() < give_up:
            there = _record(text)
            value = applied(change, there.value if there else None)
            version = text.partition(":")[0] if text else 0
            text = await self._run(self._writing(self._client, scope, key, Put(value, ttl), "same", version))
            if text is None:
                return value
            await asyncio.sleep(random.uniform(0, 0.005))  # noqa: S311 (jitter, not a secret)
        raise StoreBusyError(f"redis at {self.where}: others kept changing {key!r} for {CONTENTION_S:g} s")

    async def delete(self, scope: str, key: str) -> bool:
        """See ``Store.delete``."""
        return bool(await self._run(self._deleting(self._client, scope, [key])))

    async def clear(self, scope: str) -> int:
        """See ``Store.clear``."""
        return int(await self._run(self._deleting(self._client, scope, [""])))

    async def restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...]) -> None:
        """See ``Store.restore``."""
        async with self._client.pipeline(transaction=True) as pipe:
            await self._deleting(pipe, scope, ["", *internal])
            for key, put in puts.items():
                await self._writing(pipe, scope, key, put)
            await self._run(pipe.execute())

    async def take_over(self, scope: str, deleted: Mapping[str, int], records: Mapping[str, Record]) -> None:
        """See ``SharedStore.take_over``."""
        async with self._client.pipeline(transaction=False) as pipe:
            for key, version in deleted.items():
                await self._deleting(pipe, scope, [key], version)
            for key, record in records.items():
                if key not in MERGED:
                    await self._writing(pipe, scope, key, Put(record.value, record.left), "newer", record.version)
            await self._run(pipe.execute())
        for key in MERGED:
            if key in records:
                await self.change(scope, key, merging(records[key].value), ttl=records[key].left)

    async def register(self, scope: str, ttl: float | None) -> None:
        """See ``Store.register``; also deletes a few scopes that are forgotten by now."""
        now = time.time()
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.zadd(SCOPES, {scope: now})
            pipe.zadd(ENDS, {scope: "inf" if ttl is None else now + ttl})
            pipe.zrange(ENDS, "-inf", int(now), byscore=True, offset=0, num=20)
            *_, dead = await self._run(pipe.execute())
        for name in dead:
            prefix = _prefix(name)
            keys = [key for index in "iu" for key in await self._run(self._client.zrange(prefix + index, 0, -1))]
            async with self._client.pipeline(transaction=True) as pipe:
                pipe.unlink(prefix + "i", prefix + "u", prefix + "a", *(f"{prefix}v:{key}" for key in keys))
                pipe.zrem(SCOPES, name)
                pipe.zrem(ENDS, name)
                await self._run(pipe.execute())

    async def scopes(self) -> list[ScopeSeen]:
        """See ``Store.scopes``."""
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.zrange(SCOPES, 0, -1, desc=True, withscores=True)
            pipe.zrange(ENDS, "-inf", time.time(), byscore=True)
            seen, dead = await self._run(pipe.execute())
        return [ScopeSeen(name, float(score)) for name, score in seen if name not in dead]

    async def stats(self) -> StoreStats:
        """See ``Store.stats``."""
        extra = {"where": self.where}
        try:
            await self.ping()
            memory: dict[str, Any] = await self._run(self._client.info("memory"))
        except StoreUnreachableError as error:
            return StoreStats("redis", healthy=False, reason=str(error), extra=extra)
        except WorkingStoreError:  # this user may not ask
            memory = {}
        policy = str(memory.get("maxmemory_policy", "noeviction"))
        evicts = memory.get("maxmemory") and policy.startswith("allkeys-")
        return StoreStats("redis", healthy=True, reason=_EVICTS.format(policy) if evicts else "", extra=extra)

    async def close(self) -> None:
        """See ``Store.close``."""
        await self._client.aclose()

    async def ping(self) -> None:
        """See ``SharedStore.ping``."""
        await self._run(self._client.ping())

    def _writing(
        self, client: Client, scope: str, key: str, put: Put, *must: str | int, limit: int | None = None
    ) -> Awaitable[str | None]:
        """Return the call that writes a value, or adds the call to a pipeline."""
        ttl = "" if put.ttl is None else max(1, int(put.ttl * 1e6))
        arguments = [key, put.value, ttl, "" if limit is None else limit, *must]
        return cast("Awaitable[str | None]", self._write(keys=[_prefix(scope)], args=arguments, client=client))

    def _deleting(self, client: Client, scope: str, keys: list[str], version: int | str = "") -> Awaitable[int]:
        """Return the call that deletes keys, or adds the call to a pipeline."""
        return cast("Awaitable[int]", self._delete(keys=[_prefix(scope)], args=[version, *keys], client=client))

    async def _run(self, call: Awaitable[T]) -> T:
        try:
            return await call
        except exceptions.RedisError as error:
            raise self._failure(error) from error

    def _failure(self, error: exceptions.RedisError) -> WorkingStoreError:
        """Return the client's error as ours: the server cannot be used now, or refuses this one command."""
        if isinstance(error, _UNUSABLE) or any(code in str(error) for code in _UNUSABLE_CODES):
            return StoreUnreachableError(f"redis at {self.where} cannot be used now: {error}")
        return WorkingStoreError(f"redis at {self.where}: {error}")


def _prefix(scope: str) -> str:
    return f"{PREFIX}{{{scope}}}:"


def _record(text: str | None) -> Record | None:
    """Return a stored text as a record; None for nothing, for what a deletion left behind and for what has expired."""
    if not text:
        return None
    try:
        version, expires, value = text.split(":", 2)
        record = Record(value, int(version), int(expires) / 1e6 if expires != "0" else None)
    except ValueError:
        raise WorkingStoreError(f"redis: a value under {PREFIX} is not memoria's: {text[:40]!r}") from None
    is_live = record.expires is None or record.expires > time.time()
    return record if value and is_live else None
