"""The embedded store's file: migrated, set aside when broken, refused when too new, found again when deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoria.working import Limits, WorkingMemory
from memoria.working.store import SqliteStore

pytestmark = pytest.mark.anyio


async def write(file: Path, *values: tuple[str, str]) -> None:
    async with await WorkingMemory.for_session("s", store=SqliteStore(file)) as memory:
        for key, value in values:
            await memory.set(key, value)
            assert await memory.get(key) == value


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
async def test_a_file_that_is_no_database_is_set_aside_and_working_goes_on(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "working.db"
    file.write_bytes(content)
    await write(file, ("k", "kept"))
    aside = list(tmp_path.glob("working.db.bak-*Z"))
    assert [path.read_bytes() for path in aside] == [content]
    assert "cannot be read" in caplog.text


async def test_a_file_broken_while_in_use_is_set_aside_and_working_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "working.db"
    await write(file, *((f"k{number}", "x" * 1000) for number in range(200)))
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xaa" * (len(content) - 4096)
    file.write_bytes(content)
    await write(file, ("k", "kept"))
    assert len(list(tmp_path.glob("working.db.bak-*Z"))) == 1


async def test_reading_counts_for_eviction_in_another_process_too(tmp_path: Path) -> None:
    file = tmp_path / "working.db"
    limits = Limits(keys=2)

    async def session() -> WorkingMemory:
        return await WorkingMemory.for_session("s", store=SqliteStore(file), limits=limits)

    async with await session() as memory:
        await memory.set("a", 1)
        await memory.set("b", 1)
    async with await session() as memory:
        await memory.get("a")
    async with await session() as memory:
        await memory.set("c", 1)
        assert await memory.list_keys() == ["a", "c"]


async def test_evicting_never_searches_the_table(tmp_path: Path) -> None:
    store, done = SqliteStore(tmp_path / "working.db"), list[str]()
    await store.put("session:s", "k", "1")
    db = store._get_connection()
    db.set_trace_callback(done.append)
    await store.put("session:s", "l", "1", limit=1)
    db.set_trace_callback(None)
    asked = [each for each in done if each.startswith(("SELECT", "DELETE"))]
    plans = [row[3] for each in asked for row in db.execute(f"EXPLAIN QUERY PLAN {each}")]
    assert any("INDEX records_used" in plan for plan in plans)
    assert not [plan for plan in plans if "SCAN" in plan or "TEMP" in plan]
    await store.close()
