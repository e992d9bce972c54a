"""Processes at work on one session: no update is lost, in the embedded store and in Redis."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memoria.working import Limits, TaskState, WorkingMemory
from memoria.working.shared_store import SharedStore
from memoria.working.store import SqliteStore
from redis_server import RedisServer, require_redis

PROCESSES = 6
TIMES = 10
LIMITS = Limits(scratchpad_entries=PROCESSES * TIMES)

WORKER = """
import asyncio, sys
from pathlib import Path
from memoria.working import Limits, WorkingMemory
name, file, url, times, entries = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
from memoria.working.store import SqliteStore
from memoria.working.shared_store import SharedStore
store = SharedStore(url, file) if url else SqliteStore(file)
async def main():
    async with await WorkingMemory.for_session("s", store=store, limits=Limits(scratchpad_entries=entries)) as memory:
        for turn in range(times):
            await memory.append_scratchpad(f"{name} {turn}")
            await memory.update_task_progress(percent=turn)
            await memory.set(f"{name}:{turn}", turn)
asyncio.run(main())
"""


@pytest.fixture(params=["sqlite", "redis"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Callable[[], SqliteStore], list[str]]]:
    file = tmp_path / "working.db"
    if request.param == "sqlite":
        yield lambda: SqliteStore(file), [str(file), ""]
        return
    require_redis()
    server = RedisServer(tmp_path, "--appendfsync", "no").start()
    yield lambda: SharedStore(server.url, file), [str(file), server.url]
    server.stop()


@pytest.mark.slow
def test_processes_on_one_session_lose_no_update(shared: tuple[Callable[[], SqliteStore], list[str]]) -> None:
    opener, (file, url) = shared

    async def before() -> None:
        async with await WorkingMemory.for_session("s", store=opener(), limits=LIMITS) as memory:
            await memory.set_task_state(TaskState("shared work"))

    asyncio.run(before())
    command = [sys.executable, "-c", WORKER]
    numbers = [str(TIMES), str(LIMITS.scratchpad_entries)]
    workers = [subprocess.Popen([*command, f"w{number}", file, url, *numbers]) for number in range(PROCESSES)]
    assert [worker.wait(120) for worker in workers] == [0] * PROCESSES

    async def after() -> None:
        if url:
            await replayed(Path(file), url)
        async with await WorkingMemory.for_session("s", store=opener(), limits=LIMITS) as memory:
            expected = {f"w{number} {turn}" for number in range(PROCESSES) for turn in range(TIMES)}
            notes = await memory.get_scratchpad()
            assert len(notes) == len(expected)
            assert set(notes) == expected
            state = await memory.get_task_state() or TaskState()
            assert (state.description, state.revision >= PROCESSES * TIMES) == ("shared work", True)
            assert len(await memory.list_keys()) == PROCESSES * TIMES

    asyncio.run(after())


async def replayed(file: Path, url: str) -> None:
    """Return when the server has what went elsewhere because it answered too late; a busy machine's may."""
    store = SharedStore(url, file)
    while (await store.stats()).degraded:
        await asyncio.sleep(0.01)
    await store.close()


STEADY_WORKER = """
import asyncio, os, sys
from pathlib import Path
from memoria.working import Limits, WorkingMemory
from memoria.working.shared_store import SharedStore
from memoria.working.store import SqliteStore
name, file, url, stop, entries = sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]), int(sys.argv[5])
async def main():
    turn = 0
    store = SharedStore(url, file)
    own = await WorkingMemory.for_session(name, store=store, limits=Limits(scratchpad_entries=entries))
    async with await WorkingMemory.for_session("s", store=store) as memory:
        while not stop.exists():
            await own.append_scratchpad(str(turn))
            await memory.update_task_progress(percent=turn % 100)
            await memory.set(name, turn)
            turn += 1
            with open(file.parent / f"{name}.turn", "w") as shown:
                shown.write(str(turn))
                shown.flush()
                os.fsync(shown.fileno())
            await asyncio.sleep(0.02)
        while (await store.stats()).degraded:
            await asyncio.sleep(0.05)
    print(turn)
asyncio.run(main())
"""


@pytest.mark.slow
def test_writers_whose_server_is_killed_and_restarted_lose_nothing(tmp_path: Path) -> None:
    require_redis()
    server = RedisServer(tmp_path).start()
    stop = tmp_path / "stop"
    workers = []
    for number in range(PROCESSES):
        folder = tmp_path / f"machine {number % 2}"
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-c", STEADY_WORKER, f"w{number}", str(folder / "working.db"), server.url, str(stop)]
        workers.append(subprocess.Popen([*command, "100000"], stdout=subprocess.PIPE, text=True))

    def until_turns(more: int) -> None:
        """Return when every writer has gone ``more`` turns further."""
        goals = {name: turn + more for name, turn in turns().items()}
        deadline = time.monotonic() + 120
        while any(turns()[name] < goal for name, goal in goals.items()):
            assert time.monotonic() < deadline
            assert all(worker.poll() is None for worker in workers)
            time.sleep(0.02)

    def turns() -> dict[str, int]:
        found = {path.stem: int(path.read_text() or 0) for path in tmp_path.glob("machine */*.turn")}
        return {f"w{number}": found.get(f"w{number}", 0) for number in range(PROCESSES)}

    try:
        until_turns(2)
        server.kill()
        until_turns(3)
        server.start()
        until_turns(3)
        server.kill()
        server.start()
        until_turns(3)
        stop.touch()
        said = [worker.communicate(timeout=120)[0] for worker in workers]
        assert [worker.returncode for worker in workers] == [0] * PROCESSES
    finally:
        for worker in workers:
            worker.kill()
            worker.wait(60)

    async def after() -> None:
        store = SharedStore(server.url, tmp_path / "machine 0" / "working.db")
        async with await WorkingMemory.for_session("s", store=store) as memory:
            made = {f"w{number}": int(turns) for number, turns in enumerate(said)}
            for name, count in made.items():
                own = await WorkingMemory.for_session(name, store=store)
                assert await own.get_scratchpad() == [str(turn) for turn in range(count)]
            assert (await memory.get_task_state() or TaskState()).revision >= sum(made.values())
            assert await memory.get_all() == {name: count - 1 for name, count in made.items()}

    asyncio.run(after())
    server.stop()
