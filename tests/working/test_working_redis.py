"""Working memory on a real redis-server: killed, restarted, hung, full; expiry and eviction as the server does them."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from memoria.audit.finding import BROKEN, OK
from memoria.base.settings import Settings
from memoria.commands import doctor
from memoria.ground.errors import StoreUnreachableError
from memoria.ground.home import Home
from memoria.working import TaskState, WorkingMemory, failover_store
from memoria.working.failover_store import FailoverStore, SharedStore, open_store
from memoria.working.sqlite_store import MIGRATIONS, SqliteStore
from memoria.working.store import Put, Record
from redis_server import RedisServer, require_redis
from shared_memory import machine, shared, until_back

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("impatient")]


async def test_nothing_written_before_during_or_after_an_outage_is_lost(server: RedisServer, tmp_path: Path) -> None:
    async with machine(server.url, tmp_path / "a.db") as memory:
        await memory.set_task_state(TaskState("the goal"))
        await memory.append_scratchpad("before")
        await memory.set("before", 1)
        await memory.set("deleted", 1)
        await memory.set("changed", "old")
        server.kill()
        await memory.set("during", 2, ttl_seconds=3600)
        await memory.set("changed", "new")
        await memory.append_scratchpad("during")
        await memory.update_task_progress(percent=50)
        await memory.delete("deleted")
        stats = await memory.get_stats()
        assert (stats["store"], stats["degraded"], stats["healthy"]) == ("sqlite", True, True)
        assert "redis at redis://127.0.0.1" in stats["reason"]
        assert await memory.get("during") == 2
        server.start()
        await until_back(memory)
        await memory.append_scratchpad("after")
        assert await memory.get_all() == {"before": 1, "during": 2, "changed": "new"}
        assert 3000 < (await memory.get_ttl("during") or 0) <= 3600
        assert await memory.get_scratchpad() == ["before", "during", "after"]
        state = await memory.get_task_state()
        assert state is not None
        assert (state.description, state.percent) == ("the goal", 50.0)


async def test_what_another_machine_wrote_later_wins_and_what_was_written_back_stays_here_no_more(
    server: RedisServer, tmp_path: Path
) -> None:
    store: Any = shared(server.url)
    async with machine(server.url, tmp_path / "a.db") as here:
        ends = await store._client.zscore("memoria:ends", "session:s")
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
        embedded = SqliteStore(tmp_path / "a.db")
        assert await embedded.held() == []
        await embedded.close()
    assert ends <= await store._client.zscore("memoria:ends", "session:s") < ends + 3_600, "the session still ends"
    await store.close()


async def test_what_was_written_in_an_outage_of_an_earlier_version_reaches_the_server(
    server: RedisServer, tmp_path: Path
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
    store = shared(server.url)
    await store.take_over("session:s", {}, {"gone": Record("1", now), "later": Record("1", now)})
    await store.close()
    async with machine(server.url, file) as memory:
        assert await memory.get_all() == {"k": 1, "later": 1}
        assert await memory.get_scratchpad() == ["x"]


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
    monkeypatch.setattr(failover_store, "CALL_S", 0.2)
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
    monkeypatch.setattr(failover_store, "CALL_S", 0.5)

    def imported_under_load() -> SharedStore:
        time.sleep(1)
        return shared(server.url)

    store = FailoverStore(imported_under_load, SqliteStore(tmp_path / "a.db", standing_in=True))
    async with await WorkingMemory.for_session("s", store=store) as memory:
        await memory.set("k", 1)
        stats = await memory.get_stats()
        assert (stats["store"], stats["degraded"]) == ("redis", False)


async def test_versions_grow_even_past_a_machine_whose_clock_is_ahead(server: RedisServer) -> None:
    store: Any = shared(server.url)
    ahead = (int(time.time()) + 3600) * 1_000_000
    await store.take_over("session:s", {}, {"k": Record("1", ahead)})
    await store.put("session:s", "k", Put("2", 60))
    record = await store.get("session:s", "k")
    assert (record.value, record.version) == ("2", ahead + 1)
    assert 50 < await store._client.ttl("memoria:{session:s}:v:k") <= 60
    await store.close()


async def test_a_full_server_that_evicts_nothing_hands_over_to_the_embedded_store(
    server: RedisServer, tmp_path: Path
) -> None:
    async with machine(server.url, tmp_path / "a.db") as memory:
        client = (store := shared(server.url))._client  # type: ignore[attr-defined]
        await client.config_set("maxmemory-policy", "noeviction")
        await client.config_set("maxmemory", "1")
        await memory.set("k", "kept here")
        stats = await memory.get_stats()
        assert stats["degraded"]
        assert "maxmemory" in stats["reason"]
        await client.config_set("maxmemory", "0")
        await until_back(memory)
        assert await memory.get("k") == "kept here"
        await store.close()


async def test_one_prefix_a_scope_and_nothing_is_searched_for(server: RedisServer, tmp_path: Path) -> None:
    async with machine(server.url, tmp_path / "a.db") as memory:
        for number in range(30):
            await memory.set(f"k{number}", number)
        await memory.list_keys("k1*")
        await memory.get_all()
        await memory.restore_checkpoint(await memory.create_checkpoint())
        await memory.clear()
        await memory.get_stats()
    store: Any = shared(server.url)
    commands = await store._client.info("commandstats")
    assert not {"cmdstat_keys", "cmdstat_scan", "cmdstat_randomkey"} & set(commands)
    names = [name async for name in store._client.scan_iter()]
    assert {name.rpartition("}:")[0] or name for name in names} == {
        "memoria:{session:s",
        "memoria:scopes",
        "memoria:ends",
    }
    await store.close()


async def test_a_missing_redis_package_is_said_and_not_fatal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "memoria.working.redis_store", None)
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


async def test_a_password_in_the_address_is_never_shown() -> None:
    require_redis()
    from memoria.working.redis_store import RedisStore  # noqa: PLC0415 (an extra)

    store = RedisStore("redis://user:secret@127.0.0.1:1/0")
    with pytest.raises(StoreUnreachableError) as caught:
        await store.get("session:s", "k")
    assert "secret" not in str(caught.value)
    assert "secret" not in str(await store.stats())
    await store.close()
