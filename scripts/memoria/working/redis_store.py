"""Redis store: working memory shared by agents on several machines.

All keys of a scope have the prefix ``memoria:{<scope>}:``. A value is a string
``<version>:<expires in us or 0>:<json>`` under ``v:<key>``, with Redis's own time to live. In addition, a scope has
two sorted sets, ``u`` (keys by last use) and ``i`` (the internal keys), so that KEYS and SCAN are never needed. A value
that the server has expired or evicted is a miss, and its entry in the set is removed when it is found.

A read is one GET. The keys that were read are collected in the process and sent before an eviction, or after
``TOUCHES`` reads. A write is one script, so that it is atomic and a version always exceeds the previous one, however
much the machines' clocks differ; over the limit, a second call evicts. A deleted key leaves an empty value
(``<version>:0:``) for a day, so that a late replay of an older write does not restore it.

A cluster is not supported, because the set of scopes is outside the scopes' prefixes.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import random
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

import redis.asyncio as redis
from redis import exceptions
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from memoria.ground.errors import StoreUnreachableError, WorkingStoreError
from memoria.working import changes
from memoria.working.store import Change, Put, Record, ScopeSeen, StoreStats, is_internal

T = TypeVar("T")

PREFIX = "memoria:"
SCOPES = PREFIX + "scopes"  # scope names by the time when they were last opened
ENDS = PREFIX + "ends"  # scope names by the time when they expire
CONNECT_S = 1.0
CALL_S = 2.0
TOMBSTONE_MS = 24 * 3600 * 1000
TOUCHES = 64
BATCH = 200  # values in one round trip

_ALLKEYS = (
    "the server's maxmemory-policy is {}: when memory is full, it also evicts the lists of keys, so that list_keys, "
    "get_all and clear miss some keys; volatile-lru does not evict them"
)

_COMMON = f"""
local p, u = KEYS[1], KEYS[1] .. 'u'
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end
local function head(key)  -- the stored version (0 for none) and whether the value is alive
  local s = redis.call('GETRANGE', p .. 'v:' .. key, 0, 40)
  if s == '' then return 0, false end
  local version, rest = string.match(s, '^(%d+):%d+:(.?)')
  return tonumber(version or 0), rest ~= nil and rest ~= ''
end
local function drop(key, version)
  redis.call('SET', p .. 'v:' .. key, string.format('%.0f:0:', version), 'PX', {TOMBSTONE_MS})
  redis.call('ZREM', string.byte(key) == 95 and p .. 'i' or u, key)
end
local function write(key, value, expires, version, t)
  local name, text = p .. 'v:' .. key, string.format('%.0f:%.0f:%s', version, expires, value)
  if expires > 0 then
    redis.call('SET', name, text, 'PX', math.max(1, math.ceil((expires - t) / 1000)))
  else
    redis.call('SET', name, text)
  end
  redis.call('ZADD', string.byte(key) == 95 and p .. 'i' or u, t, key)
end
"""

# Removes keys from the sets whose values the server has expired or evicted.
_FORGET = """
for _, key in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[1] .. 'v:' .. key) == 0 then
    redis.call('ZREM', KEYS[1] .. 'u', key)
    redis.call('ZREM', KEYS[1] .. 'i', key)
  end
end
return true
"""

# The common write, kept short because its time is the overhead over a bare SET. Arguments: key, the text to store, ms
# to live (empty: for ever), limit (empty: none). Versions have 16 digits until the year 2286 and so compare as text.
# Returns nothing, or the version if it differs from the text's (clocks differ), after '-' if there are too many keys.
_SET = """
local key, text, ttl = ARGV[1], ARGV[2], ARGV[3]
local name, old, bumped = KEYS[1] .. 'v:' .. key, nil, nil
if ttl ~= '' then
  old = redis.call('SET', name, text, 'PX', ttl, 'GET')
else
  old = redis.call('SET', name, text, 'GET')
end
if old and old >= text and string.sub(old, 1, 16) >= string.sub(text, 1, 16) then
  bumped = string.format('%.0f', tonumber(string.sub(old, 1, 16)) + 1)
  text = bumped .. string.sub(text, 17)
  redis.call('SET', name, text, 'KEEPTTL')
end
if string.byte(key) == 95 then
  redis.call('ZADD', KEYS[1] .. 'i', string.sub(text, 1, 16), key)
else
  local u = KEYS[1] .. 'u'
  if redis.call('ZADD', u, string.sub(text, 1, 16), key) == 1 and ARGV[4] ~= '' then
    if redis.call('ZCARD', u) > tonumber(ARGV[4]) then return '-' .. (bumped or '') end
  end
end
return bumped
"""

# Arguments: key, value, us to live (0: for ever), a version, and 'same' or 'newer'. With 'same', the stored value must
# have that version (0: no value); with 'newer', the version is the new value's and must exceed the stored one. Returns
# the version as text, or false.
_PUT = (
    _COMMON
    + """
local key, ttl, expected = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local t = now()
local had, alive = head(key)
local version = math.max(had + 1, t)
if ARGV[5] == 'newer' then
  version = expected
  if version <= had then return false end
elseif expected ~= (alive and had or 0) then
  return false
end
write(key, ARGV[2], ttl > 0 and t + ttl or 0, version, t)
return string.format('%.0f', version)
"""
)

# Arguments: limit, then key and time of use of each key that was read. Among the oldest few, missing values go first.
_EVICT = """
local u, v, limit = KEYS[1] .. 'u', KEYS[1] .. 'v:', tonumber(ARGV[1])
for n = 2, #ARGV, 2 do redis.call('ZADD', u, 'XX', 'GT', ARGV[n + 1], ARGV[n]) end
local over = redis.call('ZCARD', u) - limit
if over <= 0 then return 0 end
for _, key in ipairs(redis.call('ZRANGE', u, 0, over + 15)) do
  if redis.call('EXISTS', v .. key) == 0 then over = over - redis.call('ZREM', u, key) end
end
if over > 0 then
  local oldest = redis.call('ZPOPMIN', u, over)
  for n = 1, #oldest, 2 do redis.call('DEL', v .. oldest[n]) end
end
return over
"""

# Arguments: the version of the deletion (empty: now), then keys. Deletes older writes; returns how many were alive.
_DELETE = (
    _COMMON
    + """
local t = ARGV[1] ~= '' and tonumber(ARGV[1]) or nil
local keys = {}
if #ARGV > 1 then
  for n = 2, #ARGV do keys[#keys + 1] = ARGV[n] end
else
  keys = redis.call('ZRANGE', p .. 'u', 0, -1)
end
local gone = 0
for _, key in ipairs(keys) do
  local had, alive = head(key)
  local version = t or math.max(had + 1, now())
  if version > had then
    if alive then gone = gone + 1 end
    drop(key, version)
  end
end
return gone
"""
)

# Arguments: version or empty; number of internal keys; these keys; then key, value and us to live (0: for ever) of each
# new record.
_RESTORE = (
    _COMMON
    + """
local t = now()
local given = ARGV[1] ~= '' and tonumber(ARGV[1]) or nil
local keys = redis.call('ZRANGE', p .. 'u', 0, -1)
local count = tonumber(ARGV[2])
for n = 3, 2 + count do keys[#keys + 1] = ARGV[n] end
local kept = {}
for _, key in ipairs(keys) do
  local had = head(key)
  if given and given <= had then kept[key] = true else drop(key, given or math.max(had + 1, t)) end
end
for n = 3 + count, #ARGV, 3 do
  local key, ttl = ARGV[n], tonumber(ARGV[n + 2])
  if not kept[key] then
    local had = head(key)
    write(key, ARGV[n + 1], ttl > 0 and t + ttl or 0, given and math.max(given, had) or math.max(had + 1, t), t)
  end
end
return true
"""
)


class RedisStore:
    """A store on a Redis server, version 6.2 or later."""

    def __init__(self, url: str) -> None:
        """``url``: ``redis://[:password@]host[:port][/database]``; the connection is opened by the first call."""
        self._client = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_connect_timeout=CONNECT_S,
            socket_timeout=CALL_S,
            retry=Retry(NoBackoff(), 1),  # once, for a connection cut by a restart; the caller decides how long to wait
        )
        self._command: Callable[..., Awaitable[Any]] = self._client.execute_command  # untyped in the package
        self.where = _without_password(url)
        self._touched: dict[str, dict[str, int]] = {}
        self._prefixes: dict[str, str] = {}

    async def get(self, scope: str, key: str) -> Record | None:
        """See ``Store.get``."""
        try:
            text: Any = await self._command("GET", f"{self._prefix(scope)}v:{key}")
        except exceptions.RedisError as error:
            raise self._failure(error) from error
        record = _record(text)
        if record is not None and not is_internal(key):
            touched = self._touched.setdefault(scope, {})
            touched[key] = time.time_ns() // 1000
            if len(touched) >= TOUCHES:
                await self._evict(scope, 0)
        return record

    async def records(self, scope: str, *, internal: bool = False) -> dict[str, Record]:
        """See ``Store.records``."""
        prefix = self._prefix(scope)
        index = prefix + ("i" if internal else "u")
        keys = sorted(cast("list[str]", await self._run(self._client.zrange(index, 0, -1))))
        found: dict[str, Record] = {}
        for start in range(0, len(keys), BATCH):
            batch = keys[start : start + BATCH]
            texts = cast("list[str | None]", await self._run(self._client.mget([f"{prefix}v:{key}" for key in batch])))
            live = {key: record for key, text in zip(batch, texts, strict=True) if (record := _record(text))}
            found |= live
            if gone := [key for key, text in zip(batch, texts, strict=True) if text is None]:
                await self._script(_FORGET, prefix, tuple(gone))
        return found

    async def put(self, scope: str, key: str, put: Put, *, limit: int | None = None) -> int:
        """See ``Store.put``."""
        now = time.time_ns() // 1000
        if put.ttl is None:
            end, left = 0, ""
        else:
            end, left = now + int(put.ttl * 1e6), str(max(1, math.ceil(put.ttl * 1000)))
        arguments = (key, f"{now}:{end}:{put.value}", left, "" if limit is None else limit)
        bumped: str | None = await self._script(_SET, self._prefix(scope), arguments)
        if bumped is None:
            return now
        if bumped[0] == "-":
            await self._evict(scope, limit or 0)
        return int(bumped.lstrip("-") or now)

    async def change(self, scope: str, key: str, change: Change, *, ttl: float | None) -> str:
        """See ``Store.change``; compare and set, repeated when another write came first."""
        while True:
            old = await self.get(scope, key)
            value = changes.apply(change, old.value if old else None)
            expected = str(old.version if old else 0)
            arguments = (key, value, _microseconds(ttl), expected, "same")
            if await self._script(_PUT, self._prefix(scope), arguments) is not None:
                return value
            await asyncio.sleep(random.uniform(0, 0.005))  # noqa: S311 (jitter, not a secret)

    async def delete(self, scope: str, key: str) -> bool:
        """See ``Store.delete``."""
        return bool(await self._script(_DELETE, self._prefix(scope), ("", key)))

    async def clear(self, scope: str) -> int:
        """See ``Store.clear``."""
        return int(await self._script(_DELETE, self._prefix(scope), ("",)))

    async def restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...]) -> None:
        """See ``Store.restore``."""
        await self._restore(scope, puts, internal, "")

    async def register(self, scope: str, ttl: float | None) -> None:
        """See ``Store.register``; also delete the sets of a few expired scopes."""
        now = time.time()
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.zadd(SCOPES, {scope: now})
            pipe.zadd(ENDS, {scope: "inf" if ttl is None else now + ttl})
            pipe.zrange(ENDS, "-inf", cast("int", now), byscore=True, offset=0, num=20)
            *_, dead = await self._run(pipe.execute())
        if dead:
            async with self._client.pipeline(transaction=False) as pipe:
                pipe.unlink(*(self._prefix(name) + index for name in dead for index in "ui"))
                pipe.zrem(SCOPES, *dead)
                pipe.zrem(ENDS, *dead)
                await self._run(pipe.execute())

    async def scopes(self) -> list[ScopeSeen]:
        """See ``Store.scopes``."""
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.zrange(SCOPES, 0, -1, desc=True, withscores=True)
            pipe.zrange(ENDS, "-inf", cast("int", time.time()), byscore=True)
            seen, dead = await self._run(pipe.execute())
        return [ScopeSeen(name, float(score)) for name, score in seen if name not in dead]

    async def stats(self) -> StoreStats:
        """See ``Store.stats``."""
        try:
            memory: dict[str, Any] = await self._run(self._client.info("memory"))
        except WorkingStoreError as error:
            return StoreStats("redis", healthy=False, reason=str(error), extra={"where": self.where})
        policy = str(memory.get("maxmemory_policy", ""))
        reason = _ALLKEYS.format(policy) if policy.startswith("allkeys-") and memory.get("maxmemory") else ""
        return StoreStats("redis", healthy=True, reason=reason, extra={"where": self.where, "policy": policy})

    async def close(self) -> None:
        """See ``Store.close``."""
        with contextlib.suppress(WorkingStoreError):  # times of use are not worth failing to close
            for scope in list(self._touched):
                await self._evict(scope, 0)
        await self._client.aclose()

    async def ping(self) -> None:
        """Return when the server accepts commands; raise ``StoreUnreachableError`` if it does not."""
        await self._run(cast("Awaitable[Any]", self._client.ping()))

    async def replay(self, operation: Mapping[str, Any]) -> None:
        """Apply a write that the embedded store took during an outage unless the server holds a newer value.

        ``operation`` is an entry of ``SqliteStore``'s journal. Values that have expired since are left out. Replaying
        an entry twice has no further effect.
        """
        scope, version, now = operation["scope"], str(operation["version"]), time.time()
        prefix = self._prefix(scope)
        match operation["op"]:
            case "put":
                left = _left(operation["expires"], now)
                if left is None or left > 0:
                    arguments = (operation["key"], operation["value"], _microseconds(left), version, "newer")
                    await self._script(_PUT, prefix, arguments)
                    if operation["limit"]:
                        await self._evict(scope, operation["limit"])
            case "change":
                left = _left(operation["expires"], now)
                if left is None or left > 0:
                    change = Change(operation["change"], operation["argument"])
                    await self.change(scope, operation["key"], change, ttl=left)
            case "delete":
                await self._script(_DELETE, prefix, (version, operation["key"]))
            case "clear":
                await self._script(_DELETE, prefix, (version,))
            case "restore":
                lefts = {key: (value, _left(end, now)) for key, (value, end) in operation["puts"].items()}
                puts = {key: Put(value, left) for key, (value, left) in lefts.items() if left is None or left > 0}
                await self._restore(scope, puts, tuple(operation["internal"]), version)

    async def _restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...], version: str) -> None:
        arguments: list[str | int] = [version, len(internal), *internal]
        for key, put in puts.items():
            arguments += [key, put.value, _microseconds(put.ttl)]
        await self._script(_RESTORE, self._prefix(scope), tuple(arguments))

    def _prefix(self, scope: str) -> str:
        prefix = self._prefixes.get(scope)
        if prefix is None:
            prefix = self._prefixes[scope] = f"{PREFIX}{{{scope}}}:"
        return prefix

    async def _evict(self, scope: str, limit: int) -> None:
        """Send the times of use to the server; with a limit, keep only the most recently used keys."""
        read = [part for pair in self._touched.pop(scope, {}).items() for part in pair]
        await self._script(_EVICT, self._prefix(scope), (limit or sys.maxsize, *read))

    async def _script(self, source: str, prefix: str, arguments: tuple[str | int, ...]) -> Any:
        """Run a script by its hash; load it first when the server does not know it (new, restarted or flushed)."""
        digest = _digest(source)
        try:
            try:
                return await self._command("EVALSHA", digest, 1, prefix, *arguments)
            except exceptions.NoScriptError:
                await self._client.script_load(source)
                return await self._command("EVALSHA", digest, 1, prefix, *arguments)
        except exceptions.RedisError as error:
            raise self._failure(error) from error

    async def _run(self, call: Awaitable[T]) -> T:
        try:
            return await call
        except exceptions.RedisError as error:
            raise self._failure(error) from error

    def _failure(self, error: exceptions.RedisError) -> WorkingStoreError:
        """Return the exception for an error of the client; MISCONF means that the server cannot save to disk."""
        if isinstance(error, _UNREACHABLE) or str(error).startswith("MISCONF"):
            return StoreUnreachableError(f"redis at {self.where} cannot be used now: {error}")
        return WorkingStoreError(f"redis at {self.where}: {error}")


@cache
def _digest(source: str) -> str:
    """Return the hash by which the server identifies a script."""
    return hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()


_UNREACHABLE = (
    exceptions.ConnectionError,  # includes a wrong password and a server that is still loading
    exceptions.TimeoutError,
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
)


def _record(text: str | None) -> Record | None:
    """Return a stored text as a record; None for a missing or deleted value."""
    if text is None:
        return None
    version, expires, value = text.split(":", 2)
    if not value:
        return None
    return Record(value, int(version), int(expires) / 1e6 if expires != "0" else None)


def _microseconds(ttl: float | None) -> int:
    """Return seconds to live as whole microseconds, at least one; 0 for ever."""
    return 0 if ttl is None else max(1, int(ttl * 1e6))


def _left(expires: float | None, now: float) -> float | None:
    return None if expires is None else expires - now


def _without_password(url: str) -> str:
    """Return the URL without user name and password."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
