"""Redis store: working memory that agents on several machines share.

A scope's keys have one prefix, ``memoria:{<scope>}:``. A value is a string ``<version>:<expires in us or 0>:<json>``
under ``v:<key>``, with Redis's own time to live. Internal keys (task state, notes, checkpoints) have none, because a
full server with a ``volatile-*`` policy evicts the keys that have one. ``register`` deletes those whose deadline in the
value has passed. Beside the values a scope has three sorted sets: ``u`` (keys by last use), ``i`` (the internal keys)
and ``a`` (ids of the changes applied lately); nothing is searched with KEYS or SCAN. What the server expires or evicts
itself is a miss, and its entry in the set goes when it is met.

A read is one GET. Which keys were read is kept in the process and sent before anything is evicted, or after ``TOUCHES``
reads. A write is one script, so that it happens whole or not at all, and a version always exceeds the one before,
however the machines' clocks differ; at the limit a second call evicts. A deleted key leaves an empty value
(``<version>:0:``) for a day: a late replay of an older write does not bring it back. The id of a change is stored in
the step that applies it, so that a change whose answer was lost is not applied again.

A call may take as long as the server takes: ``FailoverStore`` limits the time.

One server is meant, not a cluster: the set of scopes lies outside their prefixes.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import redis.asyncio as redis
from redis import exceptions
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from memoria.ground.errors import StoreBusyError, StoreReadOnlyError, StoreUnreachableError, WorkingStoreError
from memoria.working import changes, redis_scripts
from memoria.working.store import Change, Disk, Put, Record, ScopeSeen, StoreStats, is_internal

T = TypeVar("T")

PREFIX = "memoria:"
SCOPES = PREFIX + "scopes"  # scope names by when they were opened last
ENDS = PREFIX + "ends"  # scope names by when they are forgotten
CONTENTION_S = 0.5  # then a change that others keep overtaking fails
FSYNC_S = 2.0  # ``appendfsync everysec`` writes at the latest after this time
TOUCHES = 64
BATCH = 200  # values in one round trip

_ALLKEYS = (
    "the server's maxmemory-policy is {}: when it is full it also evicts task state, notes, checkpoints and the lists "
    "of keys; volatile-lru and noeviction keep them"
)
_VOLATILE = "the server stores nothing on disk: what is written to it is gone when it restarts"


class RedisStore:
    """A store on a Redis server, version 6.2 or later."""

    def __init__(self, url: str) -> None:
        """``url`` as in ``redis://[:password@]host[:port][/database]``; nothing is connected yet."""
        self._client = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_connect_timeout=None,
            socket_timeout=None,
            retry=Retry(NoBackoff(), 1),  # a connection that a restart has cut; waiting longer is the caller's affair
        )
        self._command: Callable[..., Awaitable[Any]] = self._client.execute_command  # the package leaves it untyped
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
        if record is not None:
            if is_internal(key):
                return record if _is_live(record) else None
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
            read = {key: record for key, text in zip(batch, texts, strict=True) if (record := _record(text))}
            found |= {key: record for key, record in read.items() if not internal or _is_live(record)}
            if gone := [key for key, text in zip(batch, texts, strict=True) if text is None]:
                with contextlib.suppress(StoreReadOnlyError):  # reading goes on when the server accepts no writes
                    await self._script(redis_scripts.FORGET, prefix, tuple(gone))
        return found

    async def put(self, scope: str, key: str, put: Put, *, limit: int | None = None) -> int:
        """See ``Store.put``."""
        now = time.time_ns() // 1000
        if put.ttl is None:
            end, left = 0, ""
        else:
            end = now + int(put.ttl * 1e6)
            left = "" if is_internal(key) else str(max(1, math.ceil(put.ttl * 1000)))
        arguments = (key, f"{now}:{end}:{put.value}", left, "" if limit is None else limit)
        bumped: str | None = await self._script(redis_scripts.SET, self._prefix(scope), arguments)
        if bumped is None:
            return now
        if bumped[0] == "-":
            await self._evict(scope, limit or 0)
        return int(bumped.lstrip("-") or now)

    async def change(self, scope: str, key: str, change: Change, *, ttl: float | None) -> str:
        """See ``Store.change``."""
        return await self._change(scope, key, [change], ttl)

    async def delete(self, scope: str, key: str) -> bool:
        """See ``Store.delete``."""
        return bool(await self._script(redis_scripts.DELETE, self._prefix(scope), ("", key)))

    async def clear(self, scope: str) -> int:
        """See ``Store.clear``."""
        return int(await self._script(redis_scripts.DELETE, self._prefix(scope), ("",)))

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
        for name in dead:
            await self._script(redis_scripts.SWEEP, self._prefix(name), (name,), SCOPES, ENDS)

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
            await self.ping()
            memory: dict[str, Any] = await self._asked(self._client.info("memory"), {})
            disk = await self.disk()
        except WorkingStoreError as error:
            return StoreStats("redis", healthy=False, reason=str(error), extra={"where": self.where})
        policy = str(memory.get("maxmemory_policy", ""))
        reasons = [_ALLKEYS.format(policy)] if policy.startswith("allkeys-") and memory.get("maxmemory") else []
        reasons += [] if disk.stores else [_VOLATILE]
        extra = {"where": self.where, "policy": policy}
        return StoreStats("redis", healthy=True, reason="; ".join(reasons), extra=extra)

    async def close(self) -> None:
        """See ``Store.close``."""
        try:
            with contextlib.suppress(WorkingStoreError):  # when it was read matters less than closing
                for scope in list(self._touched):
                    await self._evict(scope, 0)
        finally:
            await self._client.aclose()

    async def ping(self) -> None:
        """Return when the server answers commands; ``StoreUnreachableError`` when it does not."""
        with contextlib.suppress(StoreReadOnlyError):  # so it answers a user who may not ask, or when its disk fails
            await self._run(cast("Awaitable[Any]", self._client.ping()))

    async def disk(self) -> Disk:
        """Return what the server has on its disk, as far as it lets this user ask."""
        server: dict[str, Any] = await self._asked(self._client.info("server"), {})
        stored: dict[str, Any] = await self._asked(self._client.info("persistence"), {})
        save: dict[Any, Any] = await self._asked(self._client.config_get("save"), {"save": "unknown"})
        now, safe = int(server.get("server_time_usec", time.time() * 1e6)) / 1e6, 0.0
        if stored.get("rdb_last_bgsave_status") == "ok":  # the snapshot is of the moment when saving began
            safe = stored.get("rdb_last_save_time", 0) - max(0, stored.get("rdb_last_bgsave_time_sec", 0)) - 1
        appends = bool(stored.get("aof_enabled"))
        if appends and stored.get("aof_last_write_status") == "ok" and not stored.get("aof_pending_bio_fsync"):
            safe = max(safe, now - FSYNC_S)
        return Disk(str(server.get("run_id", "")), now, safe, stores=appends or bool(save.get("save")))

    async def _asked(self, call: Awaitable[T], unknown: T) -> T:
        """Return the server's answer, or ``unknown`` when this user may not ask."""
        try:
            return await self._run(call)
        except StoreReadOnlyError:
            return unknown
        except StoreUnreachableError:
            raise
        except WorkingStoreError:
            return unknown

    async def replay(self, operations: Sequence[Mapping[str, Any]]) -> None:
        """Apply writes of one scope that another store took in our place. Twice is the same as once.

        They are entries of ``SqliteStore``'s journal in their order. What has expired since is left out, and what is
        newer here stays. Writes that follow each other are combined: a server that writes each command to its
        disk may need 10 ms for one.
        """
        puts: dict[str, Mapping[str, Any]] = {}
        changed: dict[str, list[Mapping[str, Any]]] = {}
        for operation in operations:
            key = operation.get("key", "")
            if operation["op"] == "put" and key not in changed:
                puts[key] = operation
            elif operation["op"] == "change" and key not in puts:
                changed.setdefault(key, []).append(operation)
            else:
                await self._replay_combined(operation["scope"], puts, changed)
                puts, changed = {}, {}
                await self._replay_one(operation)
        if operations:
            await self._replay_combined(operations[0]["scope"], puts, changed)

    async def _replay_combined(
        self, scope: str, puts: Mapping[str, Mapping[str, Any]], changed: Mapping[str, list[Mapping[str, Any]]]
    ) -> None:
        """Replay puts in one round trip, and the changes of each key as one write."""
        now = time.time()
        live = [put for put in puts.values() if (left := _left(put["expires"], now)) is None or left > 0]
        if live:
            async with self._client.pipeline(transaction=False) as pipe:
                pipe.script_load(redis_scripts.PUT)
                for put in live:
                    ttl = _microseconds(_left(put["expires"], now))
                    arguments = (put["key"], put["value"], str(ttl), str(put["version"]), "newer")
                    pipe.evalsha(redis_scripts.digest(redis_scripts.PUT), 1, self._prefix(scope), *arguments)
                await self._run(pipe.execute())
            if limit := live[-1]["limit"]:
                await self._evict(scope, limit)
        for key, operations in changed.items():
            left = _left(operations[-1]["expires"], now)
            if left is None or left > 0:
                made = [Change(each["change"], each["argument"], each.get("id", "")) for each in operations]
                await self._change(scope, key, made, left)

    async def _replay_one(self, operation: Mapping[str, Any]) -> None:
        scope, version, now = operation["scope"], str(operation["version"]), time.time()
        match operation["op"]:
            case "put":
                await self._replay_combined(scope, {operation["key"]: operation}, {})
            case "change":
                await self._replay_combined(scope, {}, {operation["key"]: [operation]})
            case "delete":
                await self._script(redis_scripts.DELETE, self._prefix(scope), (version, operation["key"]))
            case "clear":
                await self._script(redis_scripts.DELETE, self._prefix(scope), (version,))
            case "restore":
                lefts = {key: (value, _left(end, now)) for key, (value, end) in operation["puts"].items()}
                puts = {key: Put(value, left) for key, (value, left) in lefts.items() if left is None or left > 0}
                await self._restore(scope, puts, tuple(operation["internal"]), version)
            case "register":
                left = _left(operation["expires"], now)
                if left is None or left > 0:
                    await self.register(scope, left)

    async def _change(self, scope: str, key: str, made: Sequence[Change], ttl: float | None) -> str:
        """Apply changes that were not applied before; compare and set, for ``CONTENTION_S`` while others are faster."""
        prefix, give_up = self._prefix(scope), time.monotonic() + CONTENTION_S
        text: Any = await self._run(self._command("GET", f"{prefix}v:{key}"))
        while time.monotonic() < give_up:
            there = _record(text or None)
            old = there.value if there and _is_live(there) else None
            if not made:
                return old or "null"
            value = changes.apply_all(made, old)
            ids = [change.id for change in made if change.id]
            expected = str(there.version if there else 0)
            written = await self._script(
                redis_scripts.PUT, prefix, (key, value, _microseconds(ttl), expected, "same", *ids)
            )
            if written == "applied":
                scores = await self._run(self._client.zmscore(f"{prefix}a", ids))
                applied = {name for name, score in zip(ids, scores, strict=True) if score is not None}
                made = [change for change in made if change.id not in applied]
                written = await self._run(self._command("GET", f"{prefix}v:{key}"))
            elif written.isdecimal():
                return value
            text = written
            await asyncio.sleep(random.uniform(0, 0.005))  # noqa: S311 (jitter, not a secret)
        raise StoreBusyError(f"redis at {self.where}: others kept changing {key!r} for {CONTENTION_S:g} s")

    async def _restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...], version: str) -> None:
        arguments: list[str | int] = [version, len(internal), *internal]
        for key, put in puts.items():
            arguments += [key, put.value, _microseconds(put.ttl)]
        await self._script(redis_scripts.RESTORE, self._prefix(scope), tuple(arguments))

    def _prefix(self, scope: str) -> str:
        prefix = self._prefixes.get(scope)
        if prefix is None:
            prefix = self._prefixes[scope] = f"{PREFIX}{{{scope}}}:"
        return prefix

    async def _evict(self, scope: str, limit: int) -> None:
        """Tell the server what was read lately; with a limit, keep the most recently used keys only."""
        read = [part for pair in self._touched.pop(scope, {}).items() for part in pair]
        with contextlib.suppress(StoreReadOnlyError):  # what was read is read, and what was written is written
            await self._script(redis_scripts.EVICT, self._prefix(scope), (limit or sys.maxsize, *read))

    async def _script(self, source: str, prefix: str, arguments: tuple[str | int, ...], *keys: str) -> Any:
        """Run a script by its hash; loads it first when the server does not know it (new, restarted, flushed)."""
        digest = redis_scripts.digest(source)
        try:
            try:
                return await self._command("EVALSHA", digest, 1 + len(keys), prefix, *keys, *arguments)
            except exceptions.NoScriptError:
                await self._client.script_load(source)
                return await self._command("EVALSHA", digest, 1 + len(keys), prefix, *keys, *arguments)
        except exceptions.RedisError as error:
            raise self._failure(error) from error

    async def _run(self, call: Awaitable[T]) -> T:
        try:
            return await call
        except exceptions.RedisError as error:
            raise self._failure(error) from error

    def _failure(self, error: exceptions.RedisError) -> WorkingStoreError:
        """Return the client's error as ours: no answer, no writes now, or this one command is refused."""
        if isinstance(error, _UNREACHABLE):
            return StoreUnreachableError(f"redis at {self.where} cannot be used now: {error}")
        if isinstance(error, _READ_ONLY) or any(code in str(error) for code in _READ_ONLY_CODES):
            return StoreReadOnlyError(f"redis at {self.where} accepts no writes now: {error}")
        return WorkingStoreError(f"redis at {self.where}: {error}")


_UNREACHABLE = (
    exceptions.ConnectionError,  # also: wrong password, still loading
    exceptions.TimeoutError,
)
_READ_ONLY = (exceptions.OutOfMemoryError, exceptions.ReadOnlyError, exceptions.NoPermissionError)
# An error inside a script arrives as a plain one on older servers. MISCONF: the server cannot save to its disk.
_READ_ONLY_CODES = ("OOM ", "READONLY ", "NOPERM ", "MISCONF ", "NOREPLICAS ", "MASTERDOWN ", "can't run this command")


def _record(text: str | None) -> Record | None:
    """A stored text as a record; None for nothing and for what a deletion left behind."""
    if text is None:
        return None
    try:
        version, expires, value = text.split(":", 2)
        if not value:
            return None
        return Record(value, int(version), int(expires) / 1e6 if expires != "0" else None)
    except ValueError:
        raise WorkingStoreError(f"redis: a value under {PREFIX} is not memoria's: {text[:40]!r}") from None


def _is_live(record: Record) -> bool:
    """Return whether a record that the server does not expire itself has time left."""
    return record.expires is None or record.expires > time.time()


def _microseconds(ttl: float | None) -> int:
    """Seconds to live as whole microseconds, at least one; 0 for ever."""
    return 0 if ttl is None else max(1, int(ttl * 1e6))


def _left(expires: float | None, now: float) -> float | None:
    return None if expires is None else expires - now


def _without_password(url: str) -> str:
    """The URL as it may be shown."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
