"""Redis store: working memory that agents on several machines share.

A scope's keys have one prefix, ``memoria:{<scope>}:``. A value is a string ``<version>:<expires in us or 0>:<json>``
under ``v:<key>``, with Redis's own time to live. Beside the values a scope has three sorted sets: ``u`` (keys by last
use), ``x`` (keys by deadline) and ``i`` (the internal keys); nothing is searched with KEYS or SCAN. What the server
expires or evicts itself is a miss, and its entry in the sets goes when it is met.

Every write is one script, so that it happens whole or not at all; the server's clock gives the versions. A deleted key
leaves an empty value (``<version>:0:``) for a day: a late replay of an older write does not bring it back.

One server is meant, not a cluster: the set of scopes lies outside their prefixes.
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

from memoria.errors import StoreUnreachableError, WorkingStoreError
from memoria.working import changes
from memoria.working.store import Change, Put, Record, ScopeSeen, StoreStats, is_internal

T = TypeVar("T")

PREFIX = "memoria:"
SCOPES = PREFIX + "scopes"  # scope names by when they were opened last
ENDS = PREFIX + "ends"  # scope names by when they are forgotten
CONNECT_S = 1.0
CALL_S = 2.0
TOMBSTONE_MS = 24 * 3600 * 1000
BATCH = 200  # values in one round trip

_ALLKEYS = (
    "the server's maxmemory-policy is {}: when it is full it also evicts the lists of keys, and list_keys, get_all and "
    "clear then miss some; volatile-lru keeps them"
)

_COMMON = f"""
local p = KEYS[1]
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end
local function head(key)  -- version of what stands there, 0 for nothing, and whether it is alive
  local s = redis.call('GETRANGE', p .. 'v:' .. key, 0, 40)
  local version, rest = string.match(s, '^(%d+):%d+:(.?)')
  return tonumber(version or 0), rest ~= nil and rest ~= ''
end
local function drop(key, version)
  redis.call('SET', p .. 'v:' .. key, string.format('%.0f:0:', version), 'PX', {TOMBSTONE_MS})
  redis.call('ZREM', p .. (string.sub(key, 1, 1) == '_' and 'i' or 'u'), key)
  redis.call('ZREM', p .. 'x', key)
end
local function write(key, value, expires, version, t)
  local name = p .. 'v:' .. key
  local text = string.format('%.0f:%.0f:', version, expires) .. value
  if expires > 0 then
    redis.call('SET', name, text, 'PX', math.max(1, math.ceil((expires - t) / 1000)))
    redis.call('ZADD', p .. 'x', expires, key)
  else
    redis.call('SET', name, text)
    redis.call('ZREM', p .. 'x', key)
  end
  redis.call('ZADD', p .. (string.sub(key, 1, 1) == '_' and 'i' or 'u'), t, key)
end
"""

# The stored text, and the key becomes the most recently used.
_GET = """
local text = redis.call('GET', KEYS[1])
if text and string.sub(text, -1) ~= ':' then
  local t = redis.call('TIME')
  redis.call('ZADD', KEYS[2], t[1] * 1000000 + t[2], ARGV[1])
end
return text
"""

# Takes keys out of the sets whose values the server has expired or evicted.
_FORGET = """
for _, key in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[1] .. 'v:' .. key) == 0 then
    for _, set in ipairs({'u', 'x', 'i'}) do redis.call('ZREM', KEYS[1] .. set, key) end
  end
end
return true
"""

# key, value, us to live (0: for ever), limit (0: none), version it must have (empty: any) or, with 'newer' after it,
# the version it brings along and that must be newer. Returns the version as text, or false.
_PUT = (
    _COMMON
    + """
local key, value, ttl, limit = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local t = now()
local had, alive = head(key)
local version = math.max(had + 1, t)
if ARGV[6] == 'newer' then
  if tonumber(ARGV[5]) <= had then return false end
  version = tonumber(ARGV[5])
elseif ARGV[5] ~= '' and tonumber(ARGV[5]) ~= (alive and had or 0) then
  return false
end
write(key, value, ttl > 0 and t + ttl or 0, version, t)
if limit > 0 and redis.call('ZCARD', p .. 'u') > limit then
  for _, dead in ipairs(redis.call('ZRANGEBYSCORE', p .. 'x', '-inf', t, 'LIMIT', 0, 100)) do
    redis.call('ZREM', p .. 'u', dead)
    redis.call('ZREM', p .. 'i', dead)
    redis.call('ZREM', p .. 'x', dead)
  end
  local over = redis.call('ZCARD', p .. 'u') - limit
  if over > 0 then
    local oldest = redis.call('ZPOPMIN', p .. 'u', over)
    for n = 1, #oldest, 2 do
      redis.call('DEL', p .. 'v:' .. oldest[n])
      redis.call('ZREM', p .. 'x', oldest[n])
    end
  end
end
return string.format('%.0f', version)
"""
)

# keys; ARGV[1] is the version of the deletion (empty: now), older writes than which go. Returns how many were alive.
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

# version or empty; how many internal keys; these; then key, value, us to live (0: for ever) of each new record.
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
    """A store on a Redis server, version 6 or later."""

    def __init__(self, url: str) -> None:
        """``url`` as in ``redis://[:password@]host[:port][/database]``; nothing is connected yet."""
        self._client = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_connect_timeout=CONNECT_S,
            socket_timeout=CALL_S,
            retry=Retry(NoBackoff(), 1),  # a connection that a restart has cut; waiting longer is the caller's affair
        )
        self.where = _without_password(url)
        self._scripts: dict[str, str] = {}
        self._prefixes: dict[str, str] = {}

    async def get(self, scope: str, key: str) -> Record | None:
        """See ``Store.get``."""
        prefix = self._prefix(scope)
        if is_internal(key):
            return _record(cast("str | None", await self._run(self._client.get(f"{prefix}v:{key}"))))
        return _record(await self._script(_GET, (f"{prefix}v:{key}", f"{prefix}u"), (key,)))

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
                await self._script(_FORGET, (prefix,), tuple(gone))
        return found

    async def put(self, scope: str, key: str, put: Put, *, limit: int | None = None) -> int:
        """See ``Store.put``."""
        arguments = (key, put.value, _microseconds(put.ttl), limit or 0, "", "")
        return int(await self._script(_PUT, (self._prefix(scope),), arguments))

    async def change(self, scope: str, key: str, change: Change, *, ttl: float | None) -> str:
        """See ``Store.change``; compare and set, again when another was faster."""
        while True:
            old = await self.get(scope, key)
            value = changes.apply(change, old.value if old else None)
            expected = str(old.version if old else 0)
            arguments = (key, value, _microseconds(ttl), 0, expected, "")
            if await self._script(_PUT, (self._prefix(scope),), arguments) is not None:
                return value
            await asyncio.sleep(random.uniform(0, 0.005))  # noqa: S311 (jitter, not a secret)

    async def delete(self, scope: str, key: str) -> bool:
        """See ``Store.delete``."""
        return bool(await self._script(_DELETE, (self._prefix(scope),), ("", key)))

    async def clear(self, scope: str) -> int:
        """See ``Store.clear``."""
        return int(await self._script(_DELETE, (self._prefix(scope),), ("",)))

    async def restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...]) -> None:
        """See ``Store.restore``."""
        await self._restore(scope, puts, internal, "")

    async def register(self, scope: str, ttl: float | None) -> None:
        """See ``Store.register``; also clears away the sets of a few scopes that have been forgotten."""
        now = time.time()
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.zadd(SCOPES, {scope: now})
            pipe.zadd(ENDS, {scope: "inf" if ttl is None else now + ttl})
            pipe.zrange(ENDS, "-inf", cast("int", now), byscore=True, offset=0, num=20)
            *_, dead = await self._run(pipe.execute())
        if dead:
            async with self._client.pipeline(transaction=False) as pipe:
                pipe.unlink(*(self._prefix(name) + index for name in dead for index in "uxi"))
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
        await self._client.aclose()

    async def ping(self) -> None:
        """Return when the server takes commands; ``StoreUnreachableError`` when it does not."""
        await self._run(cast("Awaitable[Any]", self._client.ping()))

    async def replay(self, operation: Mapping[str, Any]) -> None:
        """Apply a write that another store took in our place, where nothing newer stands. Twice is the same as once.

        ``operation`` is an entry of ``SqliteStore``'s journal. What has expired since is left out.
        """
        scope, version, now = operation["scope"], str(operation["version"]), time.time()
        prefix = self._prefix(scope)
        match operation["op"]:
            case "put":
                left = _left(operation["expires"], now)
                if left is None or left > 0:
                    arguments = (operation["key"], operation["value"], _microseconds(left), operation["limit"] or 0)
                    await self._script(_PUT, (prefix,), (*arguments, version, "newer"))
            case "change":
                left = _left(operation["expires"], now)
                if left is None or left > 0:
                    change = Change(operation["change"], operation["argument"])
                    await self.change(scope, operation["key"], change, ttl=left)
            case "delete":
                await self._script(_DELETE, (prefix,), (version, operation["key"]))
            case "clear":
                await self._script(_DELETE, (prefix,), (version,))
            case "restore":
                lefts = {key: (value, _left(end, now)) for key, (value, end) in operation["puts"].items()}
                puts = {key: Put(value, left) for key, (value, left) in lefts.items() if left is None or left > 0}
                await self._restore(scope, puts, tuple(operation["internal"]), version)

    async def _restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...], version: str) -> None:
        arguments: list[str | int] = [version, len(internal), *internal]
        for key, put in puts.items():
            arguments += [key, put.value, _microseconds(put.ttl)]
        await self._script(_RESTORE, (self._prefix(scope),), tuple(arguments))

    def _prefix(self, scope: str) -> str:
        prefix = self._prefixes.get(scope)
        if prefix is None:
            prefix = self._prefixes[scope] = f"{PREFIX}{{{scope}}}:"
        return prefix

    async def _script(self, source: str, keys: tuple[str, ...], arguments: tuple[str | int, ...]) -> Any:
        """Run a script by its hash; loads it first when the server does not know it (new, restarted, flushed)."""
        digest = self._scripts.get(source)
        if digest is None:
            digest = self._scripts[source] = await self._run(self._client.script_load(source))
        try:
            return await self._run(self._client.evalsha(digest, len(keys), *keys, *arguments))
        except _NoScriptError:
            await self._run(self._client.script_load(source))
            return await self._run(self._client.evalsha(digest, len(keys), *keys, *arguments))

    async def _run(self, call: Awaitable[T]) -> T:
        try:
            return await call
        except exceptions.NoScriptError as error:
            raise _NoScriptError(str(error)) from error
        except _UNREACHABLE as error:
            raise StoreUnreachableError(f"redis at {self.where} cannot be used now: {error}") from error
        except exceptions.RedisError as error:
            if str(error).startswith("MISCONF"):  # cannot save to its disk and therefore takes no writes
                raise StoreUnreachableError(f"redis at {self.where} takes no writes: {error}") from error
            raise WorkingStoreError(f"redis at {self.where}: {error}") from error


class _NoScriptError(Exception):
    """The server does not know the script's hash."""


_UNREACHABLE = (
    exceptions.ConnectionError,  # also: wrong password, still loading
    exceptions.TimeoutError,
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    OSError,
)


def _record(text: str | None) -> Record | None:
    """A stored text as a record; None for nothing and for what a deletion left behind."""
    if text is None:
        return None
    version, expires, value = text.split(":", 2)
    if not value:
        return None
    return Record(value, int(version), int(expires) / 1e6 if expires != "0" else None)


def _microseconds(ttl: float | None) -> int:
    """Seconds to live as whole microseconds, at least one; 0 for ever."""
    return 0 if ttl is None else max(1, int(ttl * 1e6))


def _left(expires: float | None, now: float) -> float | None:
    return None if expires is None else expires - now


def _without_password(url: str) -> str:
    """The URL as it may be shown."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
