"""A Redis server that refuses, fills up or forgets: nothing written is lost, nothing readable is hidden."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from memoria.working import Limits, Scope, TaskState, WorkingMemory
from memoria.working.failover_store import FailoverStore
from memoria.working.sqlite_store import MIGRATIONS, SqliteStore
from memoria.working.store import Put, Record
from redis_server import RedisServer, require_redis
from shared_memory import machine, shared, until, until_back

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("impatient")]
LIMIT_S = 2.0  # the longest that any call may take, whatever the server does


def raw(url: str) -> Any:
    import redis.asyncio as redis  # noqa: PLC0415 (an extra)

    return redis.Redis.from_url(url, decode_responses=True)


async def config(client: Any, **options: object) -> None:
    for name, value in options.items():
        await client.config_set(name.replace("_", "-"), value)


async def without_space(client: Any) -> None:
    await config(client, maxmemory_policy="noeviction", maxmemory=1)


async def with_space(client: Any) -> None:
    await config(client, maxmemory=0)


async def as_replica(client: Any) -> None:
    await client.execute_command("REPLICAOF", "127.0.0.1", "1")


async def as_master(client: Any) -> None:
    await client.execute_command("REPLICAOF", "NO", "ONE")


async def without_replicas(client: Any) -> None:
    await config(client, min_replicas_to_write=1)


async def as_before(client: Any) -> None:
    await config(client, min_replicas_to_write=0)


async def without_write(client: Any) -> None:
    await client.execute_command("ACL", "SETUSER", "default", "-@write", "-@scripting", "-@dangerous", "+acl")


async def with_write(client: Any) -> None:
    await client.execute_command("ACL", "SETUSER", "default", "+@all")


async def without_disk(client: Any) -> None:
    await config(client, save="3600 1")
    folder = Path((await client.config_get("dir"))["dir"])
    (folder / "dump.rdb").mkdir()
    await client.bgsave()

    async def failed() -> bool:
        return str((await client.info("persistence"))["rdb_last_bgsave_status"]) == "err"

    await until(failed)


async def with_disk(client: Any) -> None:
    await config(client, save="")


Fault = tuple[Callable[[Any], Awaitable[None]], Callable[[Any], Awaitable[None]], str]
NO_WRITES: dict[str, Fault] = {
    "OOM": (without_space, with_space, "maxmemory"),
    "READONLY": (as_replica, as_master, "read only replica"),
    "NOREPLICAS": (without_replicas, as_before, "NOREPLICAS"),
    "NOPERM": (without_write, with_write, "permission"),
    "MISCONF": (without_disk, with_disk, "MISCONF"),
}


@pytest.mark.parametrize("fault", NO_WRITES)
def test_a_server_that_accepts_no_writes_is_left_and_given_what_it_missed(
    server: RedisServer, tmp_path: Path, fault: str
) -> None:
    break_it, mend_it, reason = NO_WRITES[fault]

    async def scenario() -> None:
        client = raw(server.url)
        async with machine(server.url, tmp_path / "a.db") as memory:
            await memory.set_task_state(TaskState("the goal", step="plan"))
            await memory.append_scratchpad("before")
            for key in ("kept", "changed", "deleted"):
                await memory.set(key, "before")
            await break_it(client)
            await memory.set("changed", "after")
            await memory.set("new", "after")
            await memory.delete("deleted")
            await memory.append_scratchpad("after")
            await memory.update_task_progress(percent=50)
            assert await memory.get_all() == {"changed": "after", "new": "after"}
            stats = await memory.get_stats()
            assert (stats["store"], stats["degraded"], stats["healthy"]) == ("sqlite", True, True)
            assert reason in stats["reason"]
            await mend_it(client)
            await until_back(memory)
            assert await memory.get_all() == {"kept": "before", "changed": "after", "new": "after"}
            assert await memory.get_scratchpad() == ["before", "after"]
            state = await memory.get_task_state() or TaskState()
            assert (state.description, state.step, state.percent, state.revision) == ("the goal", "plan", 50.0, 1)
        await client.aclose()

    asyncio.run(scenario())


async def with_password(client: Any) -> None:
    await config(client, requirepass="secret")


async def with_a_foreign_index(client: Any) -> None:
    await client.set("memoria:{session:s}:u", "not a sorted set")


async def with_a_foreign_value(client: Any) -> None:
    await client.lpush("memoria:{session:s}:v:k", "not a string")


async def with_foreign_text(client: Any) -> None:
    await client.set("memoria:{session:s}:v:k", "no version")


async def without_any_right(client: Any) -> None:
    await client.execute_command("ACL", "SETUSER", "default", "-@all", "+acl")


async def with_nothing(_: Any) -> None:
    pass


UNUSABLE: dict[str, tuple[Callable[[Any], Awaitable[None]], str]] = {
    "wrong database number": (with_nothing, "redis://127.0.0.1:{port}/99"),
    "WRONGPASS": (with_password, "redis://default:wrong@127.0.0.1:{port}/0"),
    "NOAUTH": (with_password, "redis://127.0.0.1:{port}/0"),
    "NOPERM for everything": (without_any_right, "redis://127.0.0.1:{port}/0"),
    "WRONGTYPE of the list of keys": (with_a_foreign_index, "redis://127.0.0.1:{port}/0"),
    "WRONGTYPE of a value": (with_a_foreign_value, "redis://127.0.0.1:{port}/0"),
    "a value of another program": (with_foreign_text, "redis://127.0.0.1:{port}/0"),
}


@pytest.mark.parametrize("fault", UNUSABLE)
def test_a_server_that_refuses_hands_over_to_the_embedded_store(
    server: RedisServer, tmp_path: Path, fault: str
) -> None:
    break_it, url = UNUSABLE[fault]

    async def scenario() -> None:
        client = raw(server.url)
        await break_it(client)
        async with machine(url.format(port=server.port), tmp_path / "a.db") as memory:
            await memory.get("k")
            await memory.set("k", "here")
            await memory.set_task_state(TaskState("the goal"))
            await memory.append_scratchpad("a note")
            assert await memory.get("k") == "here"
            assert await memory.get_all() == {"k": "here"}
            assert (await memory.get_task_state() or TaskState()).description == "the goal"
            assert await memory.get_scratchpad() == ["a note"]
            stats = await memory.get_stats()
            assert stats["healthy"]
            assert stats["degraded"] or fault == "a value of another program"  # which a write replaces
            assert "secret" not in stats["reason"]
        await client.aclose()

    asyncio.run(scenario())


def test_one_scope_that_is_refused_does_not_hold_up_the_others(server: RedisServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        client = raw(server.url)
        await with_a_foreign_index(client)
        async with machine(server.url, tmp_path / "a.db") as refused, machine(server.url, tmp_path / "a.db", "t") as t:
            await refused.set("k", "waits")
            await t.set("k", "arrives")
            assert "arrives" in await client.get("memoria:{session:t}:v:k")
            assert await refused.get("k") == "waits"
            assert (await refused.get_stats())["degraded"]
            assert not (await t.get_stats())["degraded"]
        await client.delete("memoria:{session:s}:u")
        async with machine(server.url, tmp_path / "a.db"):
            assert "waits" in await client.get("memoria:{session:s}:v:k")
        await client.aclose()

    asyncio.run(scenario())


def test_a_server_that_is_still_loading_counts_as_away(tmp_path: Path) -> None:
    require_redis()

    async def loading(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(4096):
            writer.write(b"-LOADING Redis is loading the dataset in memory\r\n")
        writer.close()

    async def scenario() -> None:
        listening = await asyncio.start_server(loading, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        async with machine(f"redis://127.0.0.1:{port}/0", tmp_path / "a.db") as memory:
            await memory.set("k", 1)
            assert await memory.get("k") == 1
            assert (await memory.get_stats())["degraded"]
        listening.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("policy", ["volatile-lru", "volatile-ttl", "volatile-random"])
def test_a_full_server_keeps_task_state_notes_and_checkpoints(server: RedisServer, tmp_path: Path, policy: str) -> None:
    async def scenario() -> None:
        client = raw(server.url)
        async with machine(server.url, tmp_path / "a.db") as memory:
            await memory.set_task_state(TaskState("the goal"))
            await memory.update_task_progress(percent=5)
            await memory.append_scratchpad("a note")
            checkpoint = await memory.create_checkpoint()
            await memory.restore_checkpoint(checkpoint)
            internal = await client.zrange("memoria:{session:s}:i", 0, -1)
            assert {"_task", "_scratchpad", "_checkpoints", f"_checkpoint:{checkpoint}"} <= set(internal)
            assert {await client.pttl("memoria:{session:s}:v:" + key) for key in internal} == {-1}
            await config(client, maxmemory_policy=policy, maxmemory="4mb")
            for number in range(150):
                await memory.set(f"k{number:03}", "x" * 60_000)
            assert (await memory.get_task_state() or TaskState()).percent == 5
            assert await memory.get_scratchpad() == ["a note"]
            assert [each.id for each in await memory.list_checkpoints()] == [checkpoint]
            assert await memory.get("k149") == "x" * 60_000
            assert (await client.info("stats"))["evicted_keys"] > 0
        await client.aclose()

    asyncio.run(scenario())


def test_a_server_that_may_evict_everything_says_so(server: RedisServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        client = raw(server.url)
        async with machine(server.url, tmp_path / "a.db") as memory:
            await config(client, maxmemory_policy="allkeys-lru", maxmemory="100mb")
            stats = await memory.get_stats()
            assert "task state" in stats["reason"]
            assert stats["degraded"] is False
        await client.aclose()

    asyncio.run(scenario())


def test_an_internal_key_goes_when_its_session_has_ended(server: RedisServer) -> None:
    async def scenario() -> None:
        store: Any = shared(server.url)
        client = raw(server.url)
        await store.register("session:old", 0.05)
        await store.put("session:old", "_observed", Put("1", 0.05))

        async def swept() -> bool:
            await store.register("project:p", None)  # looks after the sessions that are over by their own account
            return not list(await client.keys("memoria:{session:old}*"))

        assert await client.pttl("memoria:{session:old}:v:_observed") == -1
        await until(swept)
        assert await store.get("session:old", "_observed") is None
        assert [seen.name for seen in await store.scopes()] == ["project:p"]
        await store.close()
        await client.aclose()

    asyncio.run(scenario())


def test_a_hung_server_holds_no_call_for_long(server: RedisServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with machine(server.url, tmp_path / "a.db") as memory:
            await memory.set("k", 1)
            assert server.process is not None
            server.process.send_signal(signal.SIGSTOP)
            for call in (memory.set("k", 2), memory.append_scratchpad("n"), memory.get("k"), memory.get_all()):
                start = time.monotonic()
                await call
                assert time.monotonic() - start < LIMIT_S
            start = time.monotonic()
        assert time.monotonic() - start < LIMIT_S  # closing
        server.process.send_signal(signal.SIGCONT)

    asyncio.run(scenario())


def test_a_session_opened_during_an_outage_is_known_to_the_server_afterwards(
    server: RedisServer, tmp_path: Path
) -> None:
    async def scenario() -> None:
        server.kill()
        async with machine(server.url, tmp_path / "a.db", "offline") as memory:
            await memory.set("k", 1)
            server.start()
            await until_back(memory)
        store = shared(server.url)
        assert [seen.name for seen in await store.scopes()] == ["session:offline"]
        await store.close()

    asyncio.run(scenario())


def test_a_project_keeps_what_has_no_end(server: RedisServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        store = FailoverStore(lambda: shared(server.url), SqliteStore(tmp_path / "a.db", standing_in=True))
        async with await WorkingMemory.create(Scope("project", "p"), store=store) as memory:
            await memory.append_scratchpad("a note")
            await memory.set("k", 1)
        async with machine(server.url, tmp_path / "a.db", "other"):  # opening sweeps
            pass
        async with await WorkingMemory.create(Scope("project", "p"), store=shared(server.url)) as memory:
            assert await memory.get_scratchpad() == ["a note"]
            assert await memory.get("k") == 1

    asyncio.run(scenario())


def test_what_was_written_in_an_outage_of_an_earlier_version_reaches_the_server(
    server: RedisServer, tmp_path: Path
) -> None:
    """Its file had a journal of the writes that the server had missed."""
    file = tmp_path / "a.db"
    now = time.time_ns() // 1000
    with sqlite3.connect(file) as db:
        for script in MIGRATIONS[:2]:
            db.executescript(script)
        db.execute("PRAGMA user_version = 2")
        for key, value in (("k", "1"), ("_scratchpad", json.dumps([{"id": "1", "time": "2026", "content": "x"}]))):
            row = ("session:s", key, key.startswith("_"), value, now, None, now)
            db.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for operation in (
            {"scope": "session:s", "version": now, "op": "put", "key": "k", "value": "1", "expires": None},
            {"scope": "session:s", "version": now + 1, "op": "delete", "key": "gone"},
        ):
            db.execute("INSERT INTO journal (operation) VALUES (?)", (json.dumps(operation),))
    db.close()

    async def scenario() -> None:
        store = shared(server.url)
        await store.take_over("session:s", {}, {"gone": Record("1", now), "later": Record("1", now)})
        await store.close()
        async with machine(server.url, file) as memory:
            assert await memory.get_all() == {"k": 1, "later": 1}
            assert await memory.get_scratchpad() == ["x"]

    asyncio.run(scenario())


def test_much_that_waits_is_written_back_without_holding_up_a_call(server: RedisServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        file = tmp_path / "a.db"
        async with await WorkingMemory.for_session("s", store=SqliteStore(file), limits=Limits(keys=5_000)) as memory:
            for number in range(5_000):
                await memory.set(f"k{number}", "x" * 2_000)
        async with machine(server.url, file, "t") as memory:
            longest, calls = 0.0, 0
            while (await memory.get_stats())["degraded"]:
                start = time.monotonic()
                await memory.set(f"during{calls}", calls)
                longest, calls = max(longest, time.monotonic() - start), calls + 1
            assert calls > 1
            assert longest < LIMIT_S
            assert await memory.get_all() == {f"during{number}": number for number in range(calls)}
        async with machine(server.url, file) as memory:
            assert len(await memory.list_keys()) == 5_000

    asyncio.run(scenario())
