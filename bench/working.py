"""How long working memory takes: ``uv run python -m bench.working [--rounds N]``.

Embedded store: p50 and p99 of get and set, from the caller's side, and beside them a hop to a thread and back, which is
what running the calls in a thread would add. Redis: the same calls against a bare client's GET and SET of the same
value on the same server, in turn, so that both see the same machine. Eviction: a set at the limit, small and large.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from memoria.working import Limits, WorkingMemory
from memoria.working.failover_store import FailoverStore
from memoria.working.sqlite_store import SqliteStore
from memoria.working.store import Store
from memory_store import MemoryStore
from redis_server import MISSING, RedisServer

VALUE = {"step": "flush", "files": ["scripts/memoria/flush.py", "tests/test_flush.py"], "done": 12, "note": "x" * 120}
Call = Callable[[int], Awaitable[object]]


async def measure(calls: dict[str, Call], rounds: int) -> dict[str, list[float]]:
    """Microseconds of each call, the calls taking turns."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for number in range(50):
            await call(number)
    gc.collect()
    for number in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter_ns()
            await call(number)
            taken[name].append((time.perf_counter_ns() - start) / 1000)
    return taken


def show(taken: dict[str, list[float]]) -> None:
    for name, times in taken.items():
        cuts = statistics.quantiles(times, n=100)
        print(f"  {name:<34} p50 {statistics.median(times):8.0f} us   p99 {cuts[98]:8.0f} us")


def calls_of(memory: WorkingMemory, label: str) -> dict[str, Call]:
    return {
        f"{label} get": lambda number: memory.get(f"k{number % 100}"),
        f"{label} set": lambda number: memory.set(f"k{number % 100}", VALUE, ttl_seconds=3600),
    }


def new_keys(memory: WorkingMemory) -> Call:
    return lambda number: memory.set(f"n{number}", 1)


async def embedded(folder: Path, rounds: int) -> None:
    print("embedded store (SQLite)")
    async with await WorkingMemory.for_session("s", store=SqliteStore(folder / "working.db")) as memory:
        calls = calls_of(memory, "embedded")
        calls["embedded append_scratchpad"] = lambda number: memory.append_scratchpad(f"note {number}")
        calls["a hop to a thread and back"] = lambda _: asyncio.to_thread(int)
        show(await measure(calls, rounds))


async def eviction(folder: Path, rounds: int) -> None:
    print("a set of a new key at the limit, which evicts one")
    opened: dict[str, Callable[[int], Store]] = {
        "in-process": lambda _: MemoryStore(),
        "embedded": lambda keys: SqliteStore(folder / f"evict-{keys}.db"),
    }
    for label, make in opened.items():
        for keys in (100, 10_000):
            memory = await WorkingMemory.for_session("s", store=make(keys), limits=Limits(keys=keys))
            for number in range(keys):
                await memory.set(f"k{number}", number)
            show(await measure({f"{label}, {keys} keys": new_keys(memory)}, rounds))
            await memory.close()


async def shared(server: RedisServer, folder: Path, rounds: int) -> None:
    import redis.asyncio as redis  # noqa: PLC0415 (an extra)

    from memoria.working.redis_store import RedisStore  # noqa: PLC0415 (an extra)

    print("redis (against the bare client's call on the same server)")
    bare = redis.Redis.from_url(server.url, decode_responses=True)
    text = json.dumps(VALUE)
    store = FailoverStore(lambda: RedisStore(server.url), SqliteStore(folder / "embedded.db", standing_in=True))
    async with await WorkingMemory.for_session("s", store=store) as memory:
        calls: dict[str, Call] = {
            "bare GET": lambda number: bare.get(f"k{number % 100}"),
            **calls_of(memory, "redis"),
            "bare SET PX": lambda number: bare.set(f"k{number % 100}", text, px=3_600_000),
        }
        taken = await measure(calls, rounds)
        show(taken)
        for ours, theirs in (("redis get", "bare GET"), ("redis set", "bare SET PX")):
            ratio = statistics.median(taken[ours]) / statistics.median(taken[theirs])
            print(f"  {ours} / {theirs}: {ratio:.2f} (at most 1.3)")
    await bare.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3000)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(embedded(folder, rounds))
        asyncio.run(eviction(folder, rounds // 3))
        if shutil.which("redis-server") is None:
            print(f"redis: not measured, {MISSING}")
            return
        server = RedisServer(folder, "--appendonly", "no").start()
        try:
            asyncio.run(shared(server, folder, rounds))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
