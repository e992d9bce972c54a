"""A Redis server that refuses, fills up or forgets: nothing that was written is lost or hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memoria.working import TaskState
from memoria.working.shared_store import SharedStore
from redis_server import RedisServer
from shared_memory import machine, until, until_back

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.usefixtures("impatient")]


# command that breaks it, command that mends it, what is said
FAULTS = {
    "OOM": ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "maxmemory"),
    "READONLY": ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "read only replica"),
    "NOREPLICAS": ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS"),
    "NOPERM": ("ACL SETUSER default -@write -@scripting -@dangerous +acl", "ACL SETUSER default +@all", "permission"),
    "killed": ("", "", "redis at redis://127.0.0.1"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_server_that_is_killed_or_accepts_no_writes_is_left_and_given_what_it_missed(
    server: RedisServer, client: Any, tmp_path: Path, fault: str
) -> None:
    break_it, mend_it, reason = FAULTS[fault]
    async with machine(server.url, tmp_path / "a.db") as memory:
        await memory.set_task_state(TaskState("the goal", step="plan"))
        await memory.append_scratchpad("before")
        for key in ("kept", "changed", "deleted"):
            await memory.set(key, "before")
        if break_it:
            await client.execute_command(*break_it.split())
        else:
            server.kill()
        assert await memory.get_all() == {"kept": "before", "changed": "before", "deleted": "before"}
        await memory.set("changed", "after")
        await memory.set("new", "after", ttl_seconds=3600)
        await memory.delete("deleted")
        await memory.append_scratchpad("after")
        await memory.update_task_progress(percent=50)
        assert await memory.get_all() == {"kept": "before", "changed": "after", "new": "after"}
        stats = await memory.get_stats()
        assert (stats["store"], stats["degraded"], stats["healthy"]) == ("sqlite", True, True)
        assert reason in stats["reason"]
        if mend_it:
            await client.execute_command(*mend_it.split())
        else:
            server.start()
        await until_back(memory)
        await memory.append_scratchpad("at last")
        assert await memory.get_all() == {"kept": "before", "changed": "after", "new": "after"}
        assert 3000 < (await memory.get_ttl("new") or 0) <= 3600
        assert await memory.get_scratchpad() == ["before", "after", "at last"]
        state = await memory.get_task_state() or TaskState()
        assert (state.description, state.step, state.percent, state.revision) == ("the goal", "plan", 50.0, 1)


async def test_a_full_server_keeps_task_state_notes_and_checkpoints(
    server: RedisServer, client: Any, tmp_path: Path
) -> None:
    async with machine(server.url, tmp_path / "a.db") as memory:
        await memory.set_task_state(TaskState("the goal"))
        await memory.update_task_progress(percent=5)
        await memory.append_scratchpad("a note")
        checkpoint = await memory.create_checkpoint()
        await memory.restore_checkpoint(checkpoint)
        await client.config_set("maxmemory-policy", "volatile-lru")
        await client.config_set("maxmemory", "4mb")
        for number in range(150):
            await memory.set(f"k{number:03}", "x" * 60_000)
        assert (await memory.get_task_state() or TaskState()).percent == 5
        assert await memory.get_scratchpad() == ["a note"]
        assert [each.id for each in await memory.list_checkpoints()] == [checkpoint]
        assert await memory.get("k149") == "x" * 60_000
        assert len(await memory.list_keys()) == 150
        assert (await memory.get_stats())["degraded"]
    async with machine(server.url, tmp_path / "b.db") as other:
        assert await other.get_scratchpad() == ["a note"]


async def test_a_scope_goes_when_its_session_has_ended(server: RedisServer, client: Any, tmp_path: Path) -> None:
    store = SharedStore(server.url, tmp_path / "a.db")
    await store.register("session:old", 0.05)
    await store.put("session:old", "_observed", "1", 0.05)

    async def swept() -> bool:
        await store.register("project:p", None)
        await store.get("project:p", "k")  # looks after the sessions that are over by their own account
        return not list(await client.keys("memoria:{session:old}*"))

    async def gone() -> bool:
        return await store.get("session:old", "_observed") is None

    await until(gone)
    await until(swept)
    assert await store.scopes() == ["project:p"]
    await store.close()
