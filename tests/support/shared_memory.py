"""Machines that share working memory through one Redis server, for tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from memoria.working import WorkingMemory
from memoria.working.failover_store import FailoverStore, SharedStore
from memoria.working.sqlite_store import SqliteStore


def shared(url: str) -> SharedStore:
    from memoria.working.redis_store import RedisStore  # noqa: PLC0415 (an extra)

    return RedisStore(url)


@asynccontextmanager
async def machine(url: str, file: Path, session: str = "s") -> AsyncIterator[WorkingMemory]:
    """One machine: its own embedded store behind the shared one."""
    store = FailoverStore(lambda: shared(url), SqliteStore(file, standing_in=True))
    memory = await WorkingMemory.for_session(session, store=store)
    try:
        yield memory
    finally:
        await memory.close()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    deadline = time.monotonic() + 60
    while not await holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def until_back(memory: WorkingMemory) -> None:
    async def back() -> bool:
        stats = await memory.get_stats()
        return stats["store"] == "redis" and not stats["degraded"]

    await until(back)
