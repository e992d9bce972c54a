"""One suite over all stores: what working memory promises, wherever it is kept."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from memoria.ground.errors import WorkingMemoryError
from memoria.working import Limits, Scope, TaskState, WorkingMemory
from memoria.working.shared_store import SharedStore
from memoria.working.store import SqliteStore
from redis_server import RedisServer, require_redis
from shared_memory import until

pytestmark = pytest.mark.anyio
KINDS = ("sqlite", "redis", "redis-away")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    require_redis()
    server = RedisServer(tmp_path_factory.mktemp("redis"), "--appendfsync", "no").start()
    yield server
    server.stop()


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqliteStore]:
    kind: str = request.param
    made: SqliteStore = SqliteStore(tmp_path / "working.db")
    if kind != "sqlite":
        url = "redis://127.0.0.1:1/0"
        if kind == "redis":
            server: RedisServer = request.getfixturevalue("server")
            server.flush()
            url = server.url
        made = SharedStore(url, tmp_path / "working.db")
    yield made
    await made.close()


async def test_a_value_comes_back_as_it_was_and_a_stored_null_is_not_a_miss(store: SqliteStore) -> None:
    memory = await WorkingMemory.for_session("s", store=store)
    values: tuple[object, ...] = (
        None, False, 0, 1.5, "", "ü€😀\n\x00", [], {}, [1, {"a": [None, True]}], {"": {"x": []}}, 10**20,
    )  # fmt: skip
    for value in values:
        await memory.set("k", value)
        assert await memory.get("k", "missing") == value
        assert await memory.exists("k")
    assert await memory.get("other", "missing") == "missing"
    assert await memory.get("other") is None
    assert not await memory.exists("other")


async def test_patterns_are_those_of_the_shell_and_nothing_else_is_special(store: SqliteStore) -> None:
    memory = await WorkingMemory.for_session("s", store=store)
    keys = ["a", "ab", "A", "a[b]", "a%b", "a\\b", "b:1", "b:2", "x^y", "{s}"]
    for key in keys:
        await memory.set(key, 1)
    expected = {
        "*": sorted(keys), "a?": ["ab"], "b:*": ["b:1", "b:2"], "b:[!1]": ["b:2"], "b:[^1]": ["b:1"],
        "a[[]b]": ["a[b]"], "a%*": ["a%b"], "a\\*": ["a\\b"], "{s}": ["{s}"], "none": [],
    }  # fmt: skip
    for pattern, found in expected.items():
        assert await memory.list_keys(pattern) == found, pattern
    assert await memory.list_keys() == sorted(keys)


async def test_each_key_has_its_time_to_live_and_the_default_holds_for_the_rest(store: SqliteStore) -> None:
    scope = Scope("project", "p")
    memory = await WorkingMemory.create(scope, default_ttl_seconds=100, store=store)
    await memory.set("default", 1)
    await memory.set("own", 1, ttl_seconds=50)
    await memory.set("never", 1, ttl_seconds=math.inf)
    assert 90 < (await memory.get_ttl("default") or 0) <= 100
    assert 40 < (await memory.get_ttl("own") or 0) <= 50
    assert await memory.get_ttl("never") is None
    await memory.set("own", 2, ttl_seconds=math.inf)
    assert await memory.get_ttl("own") is None
    await memory.set("short", 1, ttl_seconds=0.05)

    async def gone() -> bool:
        return not await memory.exists("short")

    await until(gone)
    assert "short" not in await memory.list_keys()
    assert "short" not in await memory.get_all()
    assert await memory.delete("short") is False
    assert await memory.clear() == 3


async def test_a_session_ends_by_itself_and_a_project_does_not(store: SqliteStore) -> None:
    limits = Limits(session_seconds=100)
    session = await WorkingMemory.for_session("s", "p", store=store, limits=limits)
    await session.set("k", 1)
    await session.set("long", 1, ttl_seconds=1e9)
    assert (await session.get_ttl("k") or 1e9) <= 100
    assert (await session.get_ttl("long") or 1e9) <= 100
    project = await WorkingMemory.create(Scope("project", "p"), store=store, limits=limits)
    await project.set("k", 1)
    assert await project.get_ttl("k") is None


async def test_lookups_go_outwards_only_when_asked_and_the_nearest_wins(store: SqliteStore) -> None:
    session = await WorkingMemory.for_session("s", "p", "a", store=store)
    project = await WorkingMemory.create(Scope("project", "p"), store=store)
    agent = await WorkingMemory.create(Scope("agent", "a"), store=store)
    await agent.set("k", "agent")
    assert await session.get("k") is None
    assert await session.get("k", outwards=True) == "agent"
    await project.set("k", None)
    assert await session.get("k", "missing", outwards=True) is None
    await session.set("k", "session")
    assert await session.get("k", outwards=True) == "session"
    assert await session.exists("k", outwards=True)
    assert await agent.get("k") == "agent"
    other = await WorkingMemory.for_session("t", "q", "a", store=store)
    assert await other.get("k", outwards=True) == "agent"


async def test_keys_and_values_that_cannot_be_kept_are_refused_clearly(store: SqliteStore) -> None:
    memory = await WorkingMemory.for_session("s", store=store)
    for key in ("", "_task", "_", "a\nb", "a\x00b", "\ud800", "k" * 257):
        with pytest.raises(WorkingMemoryError):
            await memory.set(key, 1)
        with pytest.raises(WorkingMemoryError):
            await memory.get(key)
    circle: list[object] = []
    circle.append(circle)
    for value in (math.nan, math.inf, {1: 2}, {1, 2}, b"x", object(), circle, "x" * 70_000):
        with pytest.raises(WorkingMemoryError):
            await memory.set("k", value)
    for ttl in (0, -1, math.nan, True, "5"):
        with pytest.raises(WorkingMemoryError):
            await memory.set("k", 1, ttl_seconds=ttl)  # type: ignore[arg-type]
    assert await memory.list_keys() == []


async def test_the_length_of_a_value_is_that_of_its_characters_and_not_of_their_escapes(store: SqliteStore) -> None:
    memory = await WorkingMemory.for_session("s", store=store)
    for value in ("ключ\n" * 12_000, "🐙" * 60_000, 'say "no"' * 8_000):
        await memory.set("k", value)
        assert await memory.get("k") == value
    for value in ("ключ\n" * 14_000, "🐙" * 70_000):
        with pytest.raises(WorkingMemoryError, match=f"not {len(value) + 2};"):
            await memory.set("k", value)


async def test_the_least_recently_used_key_goes_first_and_never_an_internal_one(store: SqliteStore) -> None:
    memory = await WorkingMemory.for_session("s", store=store, limits=Limits(keys=3))
    await memory.set_task_state(TaskState("the goal"))
    await memory.append_scratchpad("a note")
    checkpoint = await memory.create_checkpoint()
    for key in "abc":
        await memory.set(key, key)
    await memory.get("a")
    await memory.set("d", "d")
    assert await memory.list_keys() == ["a", "c", "d"]
    await memory.set("c", "again")
    await memory.set("e", "e")
    await memory.set("f", "f")
    assert await memory.list_keys() == ["c", "e", "f"]
    for number in range(20):
        await memory.set(f"n{number}", number)
    assert await memory.list_keys() == ["n17", "n18", "n19"]
    assert (await memory.get_task_state() or TaskState()).description == "the goal"
    assert await memory.get_scratchpad() == ["a note"]
    assert [each.id for each in await memory.list_checkpoints()] == [checkpoint]


async def test_task_state_is_kept_and_progress_changes_only_what_it_names(store: SqliteStore) -> None:
    memory = await WorkingMemory.for_session("s", store=store)
    assert await memory.get_task_state() is None
    first = await memory.set_task_state(TaskState("Ship it", step="plan", percent=-5, details={"files": ["a.py"]}))
    assert (first.percent, first.revision, first.status) == (0.0, 0, "in_progress")
    assert first.started == first.updated
    second = await memory.update_task_progress(step="build", percent=250)
    assert (second.description, second.step, second.percent) == ("Ship it", "build", 100.0)
    assert second.details == {"files": ["a.py"]}
    assert second.started == first.started
    assert second.updated > first.updated
    third = await memory.update_task_progress(status="blocked")
    assert (third.step, third.percent, third.status, third.revision) == ("build", 100.0, "blocked", 2)
    assert await memory.get_task_state() == third
    with pytest.raises(WorkingMemoryError):
        await memory.update_task_progress(status="tired")  # type: ignore[arg-type]
    with pytest.raises(WorkingMemoryError):
        await memory.update_task_progress(percent=math.nan)
    assert await memory.get_task_state() == third


async def test_the_scratchpad_keeps_order_and_drops_the_oldest(store: SqliteStore) -> None:
    memory = await WorkingMemory.for_session("s", store=store, limits=Limits(scratchpad_entries=3))
    for number in range(5):
        await memory.append_scratchpad(f"note {number}")
    assert await memory.get_scratchpad() == ["note 2", "note 3", "note 4"]
    times = [note.time for note in await memory.get_scratchpad_with_timestamps()]
    assert times == sorted(times)
    with pytest.raises(WorkingMemoryError):
        await memory.append_scratchpad("  ")
    assert await memory.clear_scratchpad() == 3
    assert await memory.get_scratchpad() == []
    await memory.append_scratchpad("anew")
    assert await memory.get_scratchpad() == ["anew"]


async def test_clear_keeps_task_state_scratchpad_checkpoints_and_metadata(store: SqliteStore) -> None:
    memory = await WorkingMemory.for_session("s", store=store)
    await memory.set_task_state(TaskState("goal"))
    await memory.append_scratchpad("note")
    await memory.set_observed({"goal": "seen"})
    await memory.set("a", 1)
    await memory.set("b", None)
    checkpoint = await memory.create_checkpoint()
    created = (await memory.get_stats())["created"]
    assert await memory.clear() == 2
    assert await memory.clear() == 0
    assert await memory.get_all() == {}
    assert (await memory.get_task_state() or TaskState()).description == "goal"
    assert await memory.get_scratchpad() == ["note"]
    assert await memory.get_observed() == {"goal": "seen"}
    assert [each.id for each in await memory.list_checkpoints()] == [checkpoint]
    assert (await memory.get_stats())["created"] == created is not None


async def test_a_checkpoint_brings_back_keys_task_and_scratchpad_as_they_were(store: SqliteStore) -> None:
    memory = await WorkingMemory.for_session("s", store=store)
    await memory.set("stays", None)
    await memory.set("changes", "old")
    await memory.set_task_state(TaskState("goal"))
    await memory.append_scratchpad("early")
    checkpoint = await memory.create_checkpoint("before the storm")
    await memory.set("changes", "new")
    await memory.set("later", 1)
    await memory.delete("stays")
    await memory.update_task_progress(percent=90)
    await memory.append_scratchpad("late")
    await memory.restore_checkpoint(checkpoint)
    assert await memory.get_all() == {"changes": "old", "stays": None}
    assert (await memory.get_task_state() or TaskState()).percent == 0
    assert await memory.get_scratchpad() == ["early"]
    await memory.clear_scratchpad()
    await memory.restore_checkpoint(checkpoint)
    assert await memory.get_scratchpad() == ["early"]


async def test_only_so_many_checkpoints_are_kept_and_a_missing_one_is_an_error_of_its_own(store: SqliteStore) -> None:
    memory = await WorkingMemory.for_session("s", store=store, limits=Limits(checkpoints=2))
    made = [await memory.create_checkpoint(str(number)) for number in range(4)]
    assert all(len(checkpoint) == 36 for checkpoint in made)
    assert [each.id for each in await memory.list_checkpoints()] == made[2:]
    assert await memory.delete_checkpoint(made[3]) is True
    assert await memory.delete_checkpoint(made[3]) is False
    for missing in (made[0], made[3], "", "_task", "no"):
        with pytest.raises(WorkingMemoryError, match="there is no checkpoint"):
            await memory.restore_checkpoint(missing)
    kept = await store.records(memory.scope.name, internal=True)
    assert [key for key in kept if key.startswith("_checkpoint:")] == [f"_checkpoint:{made[2]}"]


async def test_versions_grow_with_every_write_of_a_key(store: SqliteStore) -> None:
    versions = list[int]()
    for _ in range(50):
        await store.put("session:s", "k", "1")
        record = await store.get("session:s", "k")
        versions.append(record.version if record else 0)
    assert versions == sorted(set(versions))
    assert abs(versions[0] / 1e6 - time.time()) < 60
