"""Memory tools: read and write a session's working memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from memoria.ground.home import Home
from memoria.mcp.answers import shorten, to_json
from memoria.working import TaskState, WorkingMemory
from memoria.working.shared_store import open_store

if TYPE_CHECKING:
    from memoria.mcp.calls import Session
    from memoria.mcp.tools import Json

T = TypeVar("T")

_PROGRESS = ("step", "status", "percent")
_STATS = ("store", "degraded", "reason", "total_keys", "has_task_state")


class Memory:
    """The working memory of one session, with a thread and an event loop of its own, in which calls take turns."""

    def __init__(self, home: Home, session: str, project: str) -> None:
        self._home = home
        self._scope = session, project
        self._memory: WorkingMemory | None = None
        self._runner = asyncio.Runner()
        self._thread = ThreadPoolExecutor(1)

    def run(self, work: Callable[[WorkingMemory], Awaitable[T]]) -> T:
        """Return what a coroutine does with the memory."""
        return self._thread.submit(self._runner.run, self._run_with(work)).result()

    async def _run_with(self, work: Callable[[WorkingMemory], Awaitable[T]]) -> T:
        if self._memory is None:
            store = open_store(self._home.settings, self._home.paths)
            self._memory = await WorkingMemory.for_session(*self._scope, store=store)
        return await work(self._memory)

    def close(self) -> None:
        """Close the store, if it was opened."""
        if self._memory is not None:
            self._thread.submit(self._runner.run, self._memory.close()).result()
        self._thread.submit(self._runner.close).result()
        self._thread.shutdown()


def read_working(session: Session, given: Json) -> str:
    """Return a key's value, or all of working memory."""
    first = given.get("first_character", 1)
    if "key" not in given:
        return to_json(session.memory.run(_overview), first)
    missing = object()
    key = session.redactor.redact(given["key"])  # as ``set`` stored it
    value = session.memory.run(lambda memory: memory.get(key, missing, outwards=given.get("outwards", False)))
    if value is missing:
        return f"There is no such key. The keys are:\n{to_json(session.memory.run(WorkingMemory.list_keys)[:50])}"
    return to_json({key: value}, first)


async def _overview(memory: WorkingMemory) -> Json:
    task, stats = await memory.get_task_state(), await memory.get_stats()
    return {
        "task": asdict(task) if task else None,
        "notes": [asdict(note) for note in (await memory.get_scratchpad_with_timestamps())[-20:]],
        "values": {key: shorten(value) for key, value in (await memory.get_all()).items()},
        "checkpoints": [asdict(checkpoint) for checkpoint in await memory.list_checkpoints()],
        "store": {key: stats[key] for key in _STATS if key in stats},
    }


def remember_now(session: Session, given: Json) -> str:
    """Keep what is given, and say so."""
    plain = session.redactor.redact_json({name: given[name] for name in (*_PROGRESS, "task", "note") if name in given})
    if "key" in given and given["value"] is not None:
        plain["value"] = session.redactor.redact_json(given["value"], given["key"])
        plain["key"] = session.redactor.redact(given["key"])
    return "\n".join(session.memory.run(lambda memory: _keep(memory, plain, given)))


async def _keep(memory: WorkingMemory, plain: Json, given: Json) -> list[str]:
    done = []
    progress: dict[str, Any] = {name: plain[name] for name in _PROGRESS if name in plain}
    if "task" in plain:
        done.append(to_json(asdict(await memory.set_task_state(TaskState(description=plain["task"], **progress)))))
    elif progress:
        done.append(to_json(asdict(await memory.update_task_progress(**progress))))
    if "note" in plain:
        await memory.append_scratchpad(plain["note"])
        done.append("Noted.")
    if "value" in plain:
        await memory.set(plain["key"], plain["value"])
        same = plain["value"] == given["value"]
        done.append("Stored." if same else "Stored, with a mark in place of what looks like a secret.")
    elif "key" in given:
        gone = await memory.delete(given["key"])
        done.append("Deleted." if gone else "There is no such key; nothing was deleted.")
    return done
