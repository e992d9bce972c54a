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
    file = tmp_path / "working.db"
    store = SqliteStore(file)
    await store.put("session:s", "k", "1")
    assert store._connection is not None
    query = "SELECT rowid FROM records WHERE scope = ? AND internal = 0 ORDER BY used LIMIT ?"
    plan = [row[3] for row in store._connection.execute(f"EXPLAIN QUERY PLAN {query}", ("session:s", 1))]
    assert plan == ["SEARCH records USING INDEX records_used (scope=?)"]  # and no temporary tree to sort by use
    counted = store._connection.execute("SELECT scope, others FROM counts").fetchall()
    assert counted == [("session:s", 1)]
    await store.close()
