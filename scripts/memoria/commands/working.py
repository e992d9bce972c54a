"""Working: print a session's working memory (``memoria show --working [--session S] [--json]``)."""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import asdict
from typing import Any

from memoria.base.fence import visible
from memoria.ground import clock
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.working import Scope, WorkingMemory, session_of
from memoria.working.failover_store import open_store
from memoria.working.store import Store

_SHOWN = 100  # characters of a value on its line
_SESSIONS = 10


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--session", default="", help="a session's id or its beginning (default: the latest)")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print one session's memory and the names of the others."""
    facts = asyncio.run(gather(home, args.session))
    if args.json:
        print(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        print("\n".join(visible(line) for line in lines(facts, home.zone)))
    return 0


async def gather(home: Home, wanted: str = "") -> dict[str, Any]:
    """Return everything that a session holds, as JSON-able data; ``session`` is None when there is no session."""
    store = open_store(home.settings, home.paths)
    try:
        sessions = [name for seen in await store.scopes() if (name := session_of(seen.name))]
        session = _chosen(sessions, wanted)
        stats = asdict(await store.stats())
        if session is None:
            return {"session": None, "sessions": [], "store": stats}
        return {"session": session, "sessions": sessions, "store": stats, **await _content(store, session)}
    finally:
        await store.close()


def _chosen(sessions: list[str], wanted: str) -> str | None:
    if not wanted:
        return sessions[0] if sessions else None
    matching = [wanted] if wanted in sessions else [name for name in sessions if name.startswith(wanted)]
    if len(matching) == 1:
        return matching[0]
    known = ", ".join(sessions[:_SESSIONS]) or "none"
    what = "More than one session begins" if matching else "No session begins"
    raise ExpectedError(f"{what} with {wanted!r}; the latest sessions are {known}.")


async def _content(store: Store, session: str) -> dict[str, Any]:
    """Return the session's content without counting as an access."""
    memory = WorkingMemory(Scope("session", session), store)
    task = await memory.get_task_state()
    return {
        "task": asdict(task) if task else None,
        "observed": await memory.get_observed(),
        "notes": [asdict(note) for note in await memory.get_scratchpad_with_timestamps()],
        "values": await memory.get_all(),
        "checkpoints": [asdict(checkpoint) for checkpoint in await memory.list_checkpoints()],
    }


def lines(facts: dict[str, Any], zone: clock.Zone) -> list[str]:
    """Return the facts as lines for a person."""
    store = facts["store"]
    rows = [f"store       {store['store']}{', in place of the shared store' if store['degraded'] else ''}"]
    if store["reason"]:
        rows.append(f"            {store['reason']}")
    if facts["session"] is None:
        return [*rows, "session     none yet"]
    rows.append(f"session     {facts['session']}")
    if task := facts["task"]:
        rows.append(f"task        {_line(task['description'])}")
        rows.append(f"            {task['status']}, {task['percent']:g} %, {_line(task['step'])}".rstrip(", "))
    rows += [f"{label:<12}{_line(value)}" for label, value in facts["observed"].items() if value]
    rows += _listed("notes", [f"{_time(note['time'], zone)} {_line(note['content'])}" for note in facts["notes"][-10:]])
    rows += _listed("keys", [f"{key} = {_line(value)}" for key, value in facts["values"].items()])
    checkpoints = [
        f"{each['id']} {_time(each['created'], zone)} {_line(each['description'])}" for each in facts["checkpoints"]
    ]
    rows += _listed("checkpoints", checkpoints)
    return rows + _listed("others", [name for name in facts["sessions"] if name != facts["session"]][:_SESSIONS])


def _listed(label: str, items: list[str]) -> list[str]:
    return [f"{label if number == 0 else '':<12}{item}".rstrip() for number, item in enumerate(items)]


def _line(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 1] + "…"


def _time(text: str, zone: clock.Zone) -> str:
    moment = clock.parse(text)
    return f"{zone.local(moment):%Y-%m-%d %H:%M}" if moment else "?"
