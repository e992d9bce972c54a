"""Shared store: the embedded store, exchanged with a Redis server that agents on several machines share.

Every call is served by the embedded store. Around it the scope is exchanged with the server, if that answers within
``CALL_S``: what is newer there is taken over, what is newer here is sent, and a task and lists of notes and checkpoints
that both sides changed are merged. So a server that is away, full or read-only costs nothing but the exchange, which is
made up for when it can be used again; ``stats`` says so until then.

A scope is one hash, ``memoria:{<scope>}``: ``<version>:<expires in us or 0>:<json>`` by key, and under the empty key a
word that every writer replaces. A writer that sees the word it left need read nothing; one whose hash was changed while
it looked at it looks again. A deleted key leaves an empty value for a day. No hash has a time to live, because a full
server with a ``volatile-*`` policy evicts what has one; it goes with the scope. Nothing is searched with KEYS or SCAN.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from memoria.base.invocation import DISTRIBUTION
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground.errors import StoreUnreachableError, WorkingStoreError
from memoria.working.store import Record, SqliteStore, StoreStats

log = logging.getLogger(__name__)
Client = Any  # the package leaves its pipelines untyped

PREFIX = "memoria:"
ENDS = PREFIX + "ends"  # the names of scopes that were opened, by when they are forgotten
FORMER = PREFIX + "scopes"  # the names of the scopes that 0.2 kept as a key for each value
WORD = ""  # the field of the word that changes with the hash; no key is empty
TOMBSTONE_S = 86_400.0
FIRST_RETRY_S, LAST_RETRY_S = 1.0, 30.0
CALL_S = 1.0  # the longest that one exchange may take


def open_store(settings: Settings | None = None, paths: Paths | None = None) -> SqliteStore:
    """Return the embedded store in the state folder, exchanged with Redis when ``redis_url`` is set."""
    settings = settings or Settings.load()
    file = Path((paths or Paths.of(settings)).working)
    url = settings.redis_url
    return SharedStore(url, file) if url else SqliteStore(file)


def make_client(url: str) -> Client:
    """Return a client of that Redis server. Raise StoreUnreachableError when it can never be reached."""
    try:
        import redis.asyncio as redis  # noqa: PLC0415 (an optional dependency; slow to import)
        from redis.asyncio.retry import Retry  # noqa: PLC0415 (as above)
        from redis.backoff import NoBackoff  # noqa: PLC0415 (as above)
    except ImportError:
        raise StoreUnreachableError(
            f"MEMORIA_REDIS_URL is set, but the redis package is missing; install {DISTRIBUTION}[redis]"
        ) from None
    try:
        return redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_connect_timeout=None,
            socket_timeout=None,
            retry=Retry(NoBackoff(), 1),  # a connection that a restart has cut; waiting longer is the caller's affair
        )
    except ValueError as error:
        raise StoreUnreachableError(f"MEMORIA_REDIS_URL is not a valid Redis URL: {error}") from error


class SharedStore(SqliteStore):
    """The embedded store, exchanged with the Redis server at ``url``, version 6.2 or later."""

    def __init__(self, url: str, path: Path, connect: Callable[[str], Client] = make_client) -> None:
        """``connect`` may raise ``StoreUnreachableError``; nothing is connected yet."""
        super().__init__(path, is_shared=True)
        self._url, self._connect = url, connect
        self._client: Client = None
        self._known: dict[str, str | None] = {}  # the word of each scope when it was last exchanged
        self._up = False
        self._reason = ""
        self._next = 0.0  # time.monotonic() of the next try to use the server
        self._delay = FIRST_RETRY_S
        self._turn = asyncio.Lock()
        scheme, _, rest = url.partition("://")
        self.where = f"{scheme}://{rest.rpartition('@')[2]}"  # without a password

    async def register(self, scope: str, ttl: float | None) -> None:
        """Record that the scope was opened; its first use exchanges it as one that is not known."""
        await super().register(scope, ttl)
        self._known.pop(scope, None)

    async def scopes(self) -> list[str]:
        """Return the scopes, also those that only other machines have opened."""
        found = set(await super().scopes())

        async def add() -> None:
            found.update(await self._client.zrangebyscore(ENDS, time.time(), "inf"))

        await self._meet("", add)
        return sorted(found)

    async def stats(self) -> StoreStats:
        """Return the stats of the server; ``degraded`` with the reason while nothing is exchanged with it."""
        await self._meet("", lambda: self._client.ping())  # noqa: PLW0108 (the client is made by then)
        stats = await super().stats()
        if not self._up:
            return replace(stats, degraded=True, reason=self._reason)
        return replace(stats, store="redis", where=self.where)

    async def close(self) -> None:
        """Close the connection to the server and the file."""
        if self._client is not None:
            with suppress(StoreUnreachableError):
                async with self._limit():
                    await self._client.aclose()
        await super().close()

    async def _meet(self, scope: str, work: Callable[[], Awaitable[None]] | None = None) -> None:
        """Exchange a scope with the server, or do other ``work`` there, if it can be used."""
        async with self._turn:
            if not self._up and time.monotonic() < self._next:
                return
            try:
                self._client = self._client or self._connect(self._url)  # under load its import takes long
                async with self._limit():
                    for waiting in () if self._up else await self.unsent_scopes():
                        await self._exchange(waiting)
                    await (work() if work else self._exchange(scope))
            except WorkingStoreError as error:
                self._leave(error)
            else:
                self._up, self._delay = True, FIRST_RETRY_S

    async def _exchange(self, scope: str) -> None:
        """Take over what is newer on the server, and send what is newer here."""
        name = f"{PREFIX}{{{scope}}}"
        known = self._known.get(scope)
        if known and scope not in await self.unsent_scopes() and await self._client.hget(name, WORD) == known:
            return  # nothing is new on either side
        async with self._client.pipeline() as pipe:
            while True:
                await pipe.watch(name)
                word = await pipe.hget(name, WORD)
                if (word is None or scope not in self._known) and not await self._announce(scope) and word is None:
                    return  # it is over: what is sent now would never go
                theirs: dict[str, Record] | None = None
                if word is None or word != self._known.get(scope):
                    stored = await pipe.hgetall(name)
                    theirs = {key: _record(text) for key, text in stored.items() if key != WORD}
                outgoing = await self.unite(scope, theirs, TOMBSTONE_S)
                expired = [key for key, record in (theirs or {}).items() if record.is_expired and key not in outgoing]
                if outgoing or expired:
                    word = uuid.uuid4().hex
                    pipe.multi()
                    pipe.hset(name, mapping={WORD: word, **{key: _text(each) for key, each in outgoing.items()}})
                    if expired:
                        pipe.hdel(name, *expired)
                    if not await _is_done(pipe):
                        await asyncio.sleep(random.uniform(0, 0.005))  # noqa: S311 (jitter, not a secret)
                        continue
                    await self.mark_sent(scope, {key: each.version for key, each in outgoing.items()})
                self._known[scope] = word
                return

    async def _announce(self, scope: str) -> bool:
        """Record that a scope is open, and delete a few that are forgotten by now; return whether it is open here."""
        now, opened = time.time(), await self.scope_expiry(scope)
        for former in await self._client.zrange(FORMER, 0, -1):
            await self._take_over(former)
        async with self._client.pipeline(transaction=False) as pipe:
            if opened:
                expires = opened[0]
                pipe.zadd(ENDS, {scope: "inf" if expires is None else expires})
            pipe.zrange(ENDS, "-inf", now, byscore=True, offset=0, num=20)
            *_, dead = await pipe.execute()
            if dead:
                pipe.unlink(*(f"{PREFIX}{{{name}}}" for name in dead))
                pipe.zrem(ENDS, *dead)
                await pipe.execute()
        return opened is not None

    async def _take_over(self, scope: str) -> None:
        """Bring what memoria 0.2 kept of a scope into its hash."""
        name = f"{PREFIX}{{{scope}}}"
        keys = [key for index in "iu" for key in await self._client.zrange(f"{name}:{index}", 0, -1)]
        texts = await self._client.mget([f"{name}:v:{key}" for key in keys]) if keys else []
        async with self._client.pipeline(transaction=True) as pipe:
            for key, text in zip(keys, texts, strict=True):
                if text and _record(text).value:
                    pipe.hsetnx(name, key, text)
            pipe.hset(name, WORD, uuid.uuid4().hex)
            pipe.unlink(f"{name}:i", f"{name}:u", f"{name}:a", *(f"{name}:v:{key}" for key in keys))
            pipe.zrem(FORMER, scope)
            await pipe.execute()

    def _leave(self, error: WorkingStoreError) -> None:
        """Exchange nothing until the next try."""
        if self._up or not self._reason:
            log.warning("working memory: %s; it is exchanged when that is over", error)
        self._reason = str(error)
        self._up, self._next = False, time.monotonic() + self._delay
        self._delay = min(2 * self._delay, LAST_RETRY_S)

    @asynccontextmanager
    async def _limit(self) -> AsyncIterator[None]:
        """Let what is done inside last at most ``CALL_S``; raise StoreUnreachableError after that, or if it fails."""
        from redis.exceptions import RedisError  # noqa: PLC0415 (of the optional dependency)

        try:
            async with asyncio.timeout(CALL_S):
                yield
        except TimeoutError:
            raise StoreUnreachableError(f"redis at {self.where} did not answer within {CALL_S:g} s") from None
        except RedisError as error:
            raise StoreUnreachableError(f"redis at {self.where} cannot be used now: {error}") from error


async def _is_done(pipe: Client) -> bool:
    """Execute what is queued; return False when the hash that was watched has changed."""
    from redis.exceptions import WatchError  # noqa: PLC0415 (of the optional dependency)

    try:
        await pipe.execute()
    except WatchError:
        return False
    return True


def _text(record: Record) -> str:
    return f"{record.version}:{0 if record.expires is None else max(1, int(record.expires * 1e6))}:{record.value}"


def _record(text: str) -> Record:
    try:
        version, expires, value = text.split(":", 2)
        return Record(value, int(version), int(expires) / 1e6 if expires != "0" else None)
    except ValueError:
        raise WorkingStoreError(f"redis: a value under {PREFIX} is not memoria's: {text[:40]!r}") from None
