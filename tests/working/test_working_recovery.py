"""A Redis server that refuses, fills up or forgets: nothing written is lost, nothing readable is hidden."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memoria.working import Scope, TaskState, WorkingMemory
from memoria.working.failover_store import FailoverStore
from memoria.working.sqlite_store import MIGRATIONS, SqliteStore
from memoria.working.store import Change, Put
from redis_server import RedisServer, require_redis
from shared_memory import machine, shared, until, until_back

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("impatient")]
LIMIT_S = 2.0  # the longest that any call may take, whatever the server does


@pytest.fixture
def forgetful(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that stores nothing on its disk."""
    require_redis()
    server = RedisServer(tmp_path, "--appendonly", "no").start()
    yield server
    server.stop()


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
def test_a_server_that_accepts_no_writes_hides_nothing_and_loses_nothing(
    server: RedisServer, tmp_path: Path, fault: str
) -> None:
    break_it, mend_it, reason = NO_WRITES[fault]

    async def scenario() -> None:
        client = raw(server.url)
        async with machine(server.url, tmp_path / "a.db") as memory, machine(server.url, tmp_path / "a.db") as reader:
            await memory.set_task_state(TaskState("the goal", step="plan"))
            await memory.append_scratchpad("before")
            for key in ("kept", "changed", "deleted"):
                await memory.set(key, "before")
            await break_it(client)
            assert await memory.get("kept") == "before"
            await memory.set("changed", "after")
            await memory.set("new", "after")
            assert await memory.delete("deleted") is True
            assert await memory.delete("deleted") is False
            await memory.append_scratchpad("after")
            state = await memory.update_task_progress(percent=50)
            assert (state.description, state.step, state.percent, state.revision) == ("the goal", "plan", 50.0, 1)
            expected = {"kept": "before", "changed": "after", "new": "after"}
            for here in (memory, reader):

                async def merged(here: WorkingMemory = here) -> bool:
                    return await here.get_all() == expected

                await until(merged)
                assert await here.get_scratchpad() == ["before", "after"]
                assert (await here.get_task_state() or TaskState()).description == "the goal"
            stats = await memory.get_stats()
            assert (stats["degraded"], stats["healthy"], stats["keys"]) == (True, True, 3)
            assert stats["waiting"] >= 4
            assert reason in stats["reason"]
            assert await memory.clear() == 3
            assert await memory.get_all() == {}
            await memory.set("last", 1)
            await mend_it(client)
            await until_back(memory)
            assert await memory.get_all() == {"last": 1}
            assert await memory.get_scratchpad() == ["before", "after"]
            assert (await memory.get_task_state() or TaskState()).revision == 1
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
            await client.delete("memoria:{session:s}:u")
            await until_back(refused)
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


def test_what_a_server_without_a_disk_forgets_is_given_to_it_again(forgetful: RedisServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with machine(forgetful.url, tmp_path / "a.db") as memory:
            forgetful.kill()
            await memory.set_task_state(TaskState("the goal"))
            for key in ("kept", "deleted", "cleared"):
                await memory.set(key, "during")
            for number in range(20):
                await memory.append_scratchpad(f"note {number}")
                await memory.update_task_progress(percent=number)
            for _ in range(3):
                forgetful.start()
                await until_back(memory)
                await memory.delete("deleted")
                forgetful.kill()
                assert await memory.get("kept") == "during"  # the copy here answers, too
            forgetful.start()

            async def there() -> bool:
                return await memory.get_all() == {"kept": "during", "cleared": "during"}

            await until_back(memory)
            await until(there)
            assert await memory.get_scratchpad() == [f"note {number}" for number in range(20)]
            assert (await memory.get_task_state() or TaskState()).revision == 20
            await memory.clear()
            forgetful.kill()
            forgetful.start()
            await until_back(memory)
            assert await memory.get_all() == {}
            assert "nothing on disk" in (await memory.get_stats())["reason"]

    asyncio.run(scenario())


@pytest.mark.parametrize("how", ["append-only file", "snapshot"])
def test_a_journal_entry_goes_when_the_server_has_it_on_disk(
    server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    async def scenario() -> None:
        client = raw(server.url)
        embedded = SqliteStore(tmp_path / "a.db", journal=True)
        memory = await WorkingMemory.for_session("s", store=FailoverStore(lambda: shared(server.url), embedded))
        if how == "snapshot":
            await config(client, appendonly="no")
        await without_space(client)
        await memory.set("k", "v")
        await with_space(client)
        await until_back(memory)
        assert await embedded.journaled() == {"session:s": False}

        async def settled() -> bool:
            if how == "snapshot" and not (await client.info("persistence"))["rdb_bgsave_in_progress"]:
                await client.bgsave()
            await memory.get("k")
            return not await embedded.journaled()

        await until(settled)
        assert await embedded.get("session:s", "k") is None
        assert await memory.get("k") == "v"
        await memory.close()
        await client.aclose()

    asyncio.run(scenario())


def test_what_was_deleted_is_not_kept_in_the_journal(forgetful: RedisServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        forgetful.kill()
        async with machine(forgetful.url, tmp_path / "a.db") as memory:
            await memory.set("secret", "a private word")
            await memory.restore_checkpoint(await memory.create_checkpoint())
            forgetful.start()
            await until_back(memory)
            await memory.delete("secret")
            for checkpoint in await memory.list_checkpoints():
                await memory.delete_checkpoint(checkpoint.id)
        embedded = SqliteStore(tmp_path / "a.db", journal=True)
        await embedded.waiting()
        assert embedded._connection is not None
        rows = embedded._connection.execute("SELECT operation FROM journal").fetchall()
        assert rows
        assert "a private word" not in str(rows)
        await embedded.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("policy", ["volatile-lru", "volatile-ttl", "volatile-random", "noeviction"])
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
            if policy == "noeviction":
                assert len(await memory.list_keys()) == 150
                assert (await memory.get_stats())["degraded"]
            else:
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


def test_internal_keys_go_when_their_session_has_ended_and_not_before(server: RedisServer) -> None:
    async def scenario() -> None:
        store: Any = shared(server.url)
        client = raw(server.url)
        for scope, life in (("session:old", 0.05), ("session:late", 3600)):
            await store.register(scope, 0.05)
            await store.change(scope, "_scratchpad", Change("append", {"entry": _entry("1"), "cap": 5}), ttl=life)

        async def swept() -> bool:
            await store.register("project:p", None)  # looks after the sessions that are over by their own account
            seen = {scope.name for scope in await store.scopes()}
            return not list(await client.keys("memoria:{session:old}*")) and "session:late" in seen

        await until(swept)
        record = await store.get("session:late", "_scratchpad")
        assert json.loads(record.value) == [_entry("1")]
        assert await store.get("session:old", "_scratchpad") is None
        assert {seen.name for seen in await store.scopes()} == {"session:late", "project:p"}
        await store.close()
        await client.aclose()

    asyncio.run(scenario())


def _entry(name: str) -> dict[str, str]:
    return {"id": name, "time": "2026-01-01T00:00:00.000000+00:00", "content": "x"}


def test_an_expired_internal_key_is_a_miss_and_can_be_written_again(server: RedisServer) -> None:
    async def scenario() -> None:
        store: Any = shared(server.url)
        first, second = (Change("append", {"entry": _entry(name), "cap": 5}) for name in "12")
        await store.change("session:s", "_scratchpad", first, ttl=0.05)

        async def expired() -> bool:
            return await store.get("session:s", "_scratchpad") is None

        await until(expired)
        assert await store.records("session:s", internal=True) == {}
        assert await store.delete("session:s", "_scratchpad") is False
        await store.change("session:s", "_scratchpad", first, ttl=0.05)
        await until(expired)
        assert json.loads(await store.change("session:s", "_scratchpad", second, ttl=60)) == [_entry("2")]
        await store.close()

    asyncio.run(scenario())


def test_a_change_whose_answer_was_lost_counts_once_however_busy_the_others_are(
    server: RedisServer, tmp_path: Path
) -> None:
    async def scenario() -> None:
        store = shared(server.url)
        embedded = SqliteStore(tmp_path / "a.db", journal=True)
        memory = await WorkingMemory.for_session("s", store=store)
        lost = Change("progress", {"id": "lost", "at": "2026-01-01", "fields": {}})
        await store.change("session:s", "_task", lost, ttl=None)  # applied, and the answer never came
        await embedded.change("session:s", "_task", lost, ttl=None)
        for number in range(40):
            await memory.update_task_progress(percent=number)
        await store.replay([operation for _, operation in await embedded.noted(0, 10)])
        assert (await memory.get_task_state() or TaskState()).revision == 41
        await embedded.close()
        await memory.close()

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


@pytest.mark.slow
def test_a_long_journal_is_replayed_without_holding_up_a_call(server: RedisServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        embedded = SqliteStore(tmp_path / "a.db", journal=True)
        await embedded.put("session:s", "k", Put("1"))
        assert embedded._connection is not None
        operation = json.dumps(
            {"scope": "session:s", "key": "_task", "version": 1, "op": "change", "change": "progress", "expires": None}
        )
        with embedded._connection as db:
            for number in range(20_000):
                argument = json.dumps({"id": f"p{number}", "at": f"2026-01-01T{number:06}", "fields": {"percent": 1.0}})
                whole = f'{operation[:-1]}, "id": "c{number}", "argument": {argument}}}'
                db.execute("INSERT INTO journal (operation) VALUES (?)", (whole,))
        await embedded.close()
        async with machine(server.url, tmp_path / "a.db") as memory:
            longest = 0.0
            deadline = time.monotonic() + 300
            while True:
                start = time.monotonic()
                await memory.set("other", 1)
                longest = max(longest, time.monotonic() - start)
                if await embedded.waiting() == 0:
                    break
                assert time.monotonic() < deadline
            assert longest < LIMIT_S
            assert (await memory.get_task_state() or TaskState()).revision == 20_000
        await embedded.close()

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


def test_a_journal_written_by_an_earlier_version_is_replayed(server: RedisServer, tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    now = time.time_ns() // 1000
    written = {"scope": "session:s", "version": now, "op": "put", "key": "k", "value": "1", "expires": None}
    change = {"scope": "session:s", "version": now, "op": "change", "key": "_scratchpad", "expires": None}
    with sqlite3.connect(file) as db:
        db.executescript(MIGRATIONS[0])
        for operation in (
            {**written, "limit": None},
            {**change, "change": "append", "argument": {"entry": _entry("1"), "cap": 5}},
        ):
            db.execute("INSERT INTO journal (operation) VALUES (?)", (json.dumps(operation),))
        db.execute("PRAGMA user_version = 1")
    db.close()

    async def scenario() -> None:
        async with machine(server.url, file) as memory:
            await until_back(memory)
            assert await memory.get_all() == {"k": 1}
            assert await memory.get_scratchpad() == ["x"]

    asyncio.run(scenario())


def test_a_project_keeps_what_has_no_end(server: RedisServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        store = FailoverStore(lambda: shared(server.url), SqliteStore(tmp_path / "a.db", journal=True))
        async with await WorkingMemory.create(Scope("project", "p"), store=store) as memory:
            await memory.append_scratchpad("a note")
            await memory.set("k", 1)
        async with machine(server.url, tmp_path / "a.db", "other"):  # opening sweeps
            pass
        async with await WorkingMemory.create(Scope("project", "p"), store=shared(server.url)) as memory:
            assert await memory.get_scratchpad() == ["a note"]
            assert await memory.get("k") == 1

    asyncio.run(scenario())
