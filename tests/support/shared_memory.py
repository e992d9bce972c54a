"""Machines that share working memory through one Redis server, for tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from memoria.working import WorkingMemory
from memoria.working.shared_store import SharedStore


def raw(url: str) -> Any:
    import redis.asyncio as redis  # noqa: PLC0415 (an extra)

    return redis.Redis.from_url(url, decode_responses=True)


@asynccontextmanager
async def machine(url: str, file: Path, session: str = "s") -> AsyncIterator[WorkingMemory]:
    """One machine, with an embedded store of its own."""
    store = SharedStore(url, file)
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
