"""Working memory on a real redis-server: killed, restarted, hung, full; expiry and eviction as the server does them."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from memoria.audit.checks import BROKEN, OK
from memoria.base.settings import Settings
from memoria.commands import doctor
from memoria.ground.home import Home
from memoria.working import Limits, TaskState, WorkingMemory, shared_store
from memoria.working.shared_store import SharedStore, open_store
from memoria.working.store import MIGRATIONS
from redis_server import RedisServer
from shared_memory import machine, raw, until_back

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.usefixtures("impatient")]


async def test_what_waits_is_written_back_by_whoever_comes_next(server: RedisServer, tmp_path: Path) -> None:
    server.kill()
    async with machine(server.url, tmp_path / "a.db") as memory:
        await memory.set("k", "offline")
    server.start()
    async with machine(server.url, tmp_path / "a.db", "another session") as memory:
        stats = await memory.get_stats()
        assert (stats["store"], stats["degraded"]) == ("redis", False)
    async with machine(server.url, tmp_path / "b.db") as memory:
        assert await memory.get("k") == "offline"


async def test_what_another_machine_wrote_later_wins(server: RedisServer, client: Any, tmp_path: Path) -> None:
    async with machine(server.url, tmp_path / "a.db") as here:
        ends = await client.zscore("memoria:ends", "session:s")
        await here.set_task_state(TaskState("goal"))
        await here.set("gone", "old")
        server.kill()
        for key in ("contested", "gone"):
            await here.set(key, "written during the outage")
        await here.update_task_progress(step="old step", percent=10)
        await here.append_scratchpad("here")
        server.start()
        async with machine(server.url, tmp_path / "b.db") as there:
            await there.set("contested", "written later")
            await there.delete("gone")
            await there.update_task_progress(step="new step")
            await there.append_scratchpad("there")
        await until_back(here)
        assert await here.get_all() == {"contested": "written later"}
        state = await here.get_task_state() or TaskState()
        assert (state.step, state.percent, state.revision) == ("new step", 10.0, 2)
        assert await here.get_scratchpad() == ["here", "there"]
    async with raw(server.url) as again:  # what was open ended with the server
        assert ends <= await again.zscore("memoria:ends", "session:s") < ends + 3_600, "the session still ends"
    third = SharedStore(server.url, tmp_path / "c.db")
    assert "session:s" in await third.scopes(), "so that what is forgotten there is forgotten of all machines"
    await third.close()


async def test_what_a_server_has_lost_it_is_given_again_and_what_was_deleted_long_ago_it_is_not(
    server: RedisServer, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "memoria:{session:s}"
    async with machine(server.url, tmp_path / "a.db") as here, machine(server.url, tmp_path / "b.db") as there:
        await here.set("k", 1)
        await here.append_scratchpad("note")
        server.flush()
        assert await here.get("k") == 1
        assert (await there.get_all(), await there.get_scratchpad()) == ({"k": 1}, ["note"])
        await there.delete("k")
        assert str(await client.hget(name, "k")).endswith(":")
        await client.hdel(name, "k")  # as after a day, when nobody has told this machine
        await client.hset(name, "", "another word")
        assert await here.get("k") == 1, "so young that the server must have lost it"
        await client.hdel(name, "k")
        await client.hset(name, "", "yet another word")
        monkeypatch.setattr(shared_store, "TOMBSTONE_S", 0.0)
        assert await here.get("k") is None


async def test_keys_that_are_evicted_come_back_on_no_machine(server: RedisServer, tmp_path: Path) -> None:
    limits = Limits(keys=2)
    stores = [SharedStore(server.url, tmp_path / f"{name}.db") for name in "ab"]
    here, there = [await WorkingMemory.for_session("s", store=store, limits=limits) for store in stores]
    for number in range(4):
        await (here, there)[number % 2].set(f"k{number}", number)
    assert await here.list_keys() == await there.list_keys() == ["k2", "k3"]
    for store in stores:
        await store.close()


async def test_what_was_written_in_an_outage_of_an_earlier_version_reaches_the_server(
    server: RedisServer, client: Any, tmp_path: Path
) -> None:
    """Its file had a journal of the writes that the server had missed."""
    file, now = tmp_path / "a.db", time.time_ns() // 1000
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
    await client.hset("memoria:{session:s}", mapping={"": "word", "gone": f"{now}:0:1", "later": f"{now}:0:1"})
    async with machine(server.url, file) as memory:
        assert await memory.get_all() == {"k": 1, "later": 1}
        assert await memory.get_scratchpad() == ["x"]


async def test_what_a_server_holds_of_an_earlier_version_is_taken_over(
    server: RedisServer, client: Any, tmp_path: Path
) -> None:
    """It kept a key for each value, and lists of the keys."""
    now, name = time.time_ns() // 1000, "memoria:{session:s}"
    note = json.dumps([{"id": "1", "time": "2026", "content": "x"}])
    for key, value in (("k", "1"), ("gone", ""), ("_scratchpad", note)):
        await client.set(f"{name}:v:{key}", f"{now}:0:{value}")
        await client.zadd(f"{name}:{'i' if key.startswith('_') else 'u'}", {key: now})
    await client.zadd("memoria:scopes", {"session:s": now / 1e6})
    async with machine(server.url, tmp_path / "a.db") as memory:
        assert (await memory.get_all(), await memory.get_scratchpad()) == ({"k": 1}, ["x"])
        await memory.set("k", 2)
    assert {key async for key in client.scan_iter()} == {name, "memoria:ends"}


async def test_clearing_and_restoring_during_an_outage_reach_the_server(server: RedisServer, tmp_path: Path) -> None:
    async with machine(server.url, tmp_path / "a.db") as memory:
        await memory.set("before", 1)
        server.kill()
        await memory.clear()
        await memory.set("kept", 1)
        checkpoint = await memory.create_checkpoint()
        await memory.set("dropped", 1)
        await memory.restore_checkpoint(checkpoint)
        server.start()
        await until_back(memory)
        assert await memory.get_all() == {"kept": 1}
        await memory.set("kept", 2)
        await memory.restore_checkpoint(checkpoint)
        assert await memory.get_all() == {"kept": 1}


async def test_a_hung_server_is_left_and_taken_up_again(
    server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_store, "CALL_S", 0.2)
    async with machine(server.url, tmp_path / "a.db") as memory:
        await memory.set("k", 1)
        assert server.process is not None
        server.process.send_signal(signal.SIGSTOP)
        await memory.set("k", 2)
        assert (await memory.get_stats())["degraded"]
        server.process.send_signal(signal.SIGCONT)
        await until_back(memory)
        assert await memory.get("k") == 2


async def test_a_healthy_server_is_not_away_while_its_package_is_imported(
    server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_store, "CALL_S", 0)

    def imported_under_load(url: str) -> Any:
        monkeypatch.setattr(shared_store, "CALL_S", 60)  # the limit of what begins from now on
        return shared_store.make_client(url)

    store = SharedStore(server.url, tmp_path / "a.db", imported_under_load)
    async with await WorkingMemory.for_session("s", store=store) as memory:
        await memory.set("k", 1)
        stats = await memory.get_stats()
        assert (stats["store"], stats["degraded"]) == ("redis", False)


async def test_versions_grow_even_past_a_machine_whose_clock_is_ahead(
    server: RedisServer, client: Any, tmp_path: Path
) -> None:
    store = SharedStore(server.url, tmp_path / "a.db")
    ahead = (int(time.time()) + 3600) * 1_000_000
    await client.hset("memoria:{session:s}", mapping={"": "word", "k": f"{ahead}:0:1", "old": f"{ahead}:1:1"})
    await store.put("session:s", "k", "2", 60)
    record = await store.get("session:s", "k")
    assert record is not None
    assert (record.value, record.version) == ("2", ahead + 1)
    version, expires, value = (await client.hget("memoria:{session:s}", "k")).split(":")
    assert (int(version), value, 50 < int(expires) / 1e6 - time.time() <= 60) == (ahead + 1, "2", True)
    assert not await client.hexists("memoria:{session:s}", "old"), "what has expired goes"
    await store.close()


async def test_one_hash_a_scope_and_nothing_is_searched_for(server: RedisServer, client: Any, tmp_path: Path) -> None:
    async with machine(server.url, tmp_path / "a.db") as memory:
        for number in range(30):
            await memory.set(f"k{number}", number)
        await memory.list_keys("k1*")
        await memory.get_all()
        await memory.restore_checkpoint(await memory.create_checkpoint())
        await memory.clear()
        await memory.get_stats()
    commands = await client.info("commandstats")
    assert not {"cmdstat_keys", "cmdstat_scan", "cmdstat_randomkey"} & set(commands)
    assert {name async for name in client.scan_iter()} == {"memoria:{session:s}", "memoria:ends"}


async def test_a_missing_redis_package_is_said_and_not_fatal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "redis.asyncio", None)
    monkeypatch.setenv("MEMORIA_REDIS_URL", "redis://127.0.0.1:1/0")
    async with await WorkingMemory.for_session("s", store=open_store(Settings.load())) as memory:
        await memory.set("k", 1)
        assert "memoria[redis]" in (await memory.get_stats())["reason"]


def test_the_doctor_looks_at_the_server(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIA_REDIS_URL", server.url)
    assert [(found.level, found.about) for found in doctor.check_redis(Home.open())] == [(OK, "redis")]
    server.stop()
    (found,) = doctor.check_redis(Home.open())
    assert (found.level, "cannot be used now" in found.text) == (BROKEN, True)
    monkeypatch.setenv("MEMORIA_REDIS_URL", "nonsense")
    (found,) = doctor.check_redis(Home.open())
    assert "not a valid Redis URL" in found.text


async def test_a_password_in_the_address_is_never_shown(tmp_path: Path) -> None:
    pytest.importorskip("redis", reason="the extra memoria[redis] is not installed")
    store = SharedStore("redis://user:secret@127.0.0.1:1/0", tmp_path / "a.db")
    stats = await store.stats()
    assert stats.degraded
    assert "secret" not in str(stats)
    await store.close()
