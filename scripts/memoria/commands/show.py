"""Show: print the archived conversation behind an entry, redacted, even when its transcript is gone.

With ``--working`` it prints what a session holds in mind instead, which is its working memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from dataclasses import asdict
from typing import Any

from memoria.base import invocation
from memoria.base.fence import visible
from memoria.daily import reference
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.ground import clock, printable
from memoria.ground.clock import Zone
from memoria.ground.errors import ExpectedError, TurnsGoneError, UnknownEntryError, UsageError
from memoria.ground.home import Home
from memoria.statements.keeper import Keeper
from memoria.transcripts import clients
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn
from memoria.working import Scope, WorkingMemory, session_of
from memoria.working.failover_store import open_store
from memoria.working.store import Store

_WHO = {"user": "You", "error": "Error", "note": "Note"}
_SHOWN = 100  # characters of a value of working memory on its line
_SESSIONS = 10
_ID = re.compile(r"[A-Za-z0-9_-]+")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "entry", nargs="?", default="", help="the id of an entry (e-…) or of a fact (l-…), or an article's source link"
    )
    parser.add_argument(
        "--working", action="store_true", help="show what a session, named by the beginning of its id, holds in mind"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the turns of one entry; raise ExpectedError when it is unknown, or its turns are gone or unreadable."""
    if args.working:
        held = asyncio.run(_held(home, args.entry))
        rows = "\n".join(visible(line) for line in _held_lines(held, home.zone))
        print(json.dumps(held, indent=2, ensure_ascii=False) if args.json else rows)
        return 0
    if not args.entry:
        raise UsageError("Name an entry (e-…) or a fact (l-…); its id stands in the daily logs and in search results.")
    entry_id = identifier(args.entry, home)
    archive = Archive.of(home.paths, home.settings.archive_mb)
    turns = archive.turns(entry_id)
    entry = _entry(home, entry_id)
    if turns is None:
        raise _absent(entry_id, entry, home.settings.archive_mb)
    if args.json:
        print(json.dumps(_facts(entry_id, entry, turns), indent=2, ensure_ascii=False))
    else:
        print("\n".join(_lines(entry_id, entry, turns, home.zone)))
    return 0


def identifier(text: str, home: Home) -> str:
    """Return the id of the entry that is meant, of a fact's entry for a fact; raise UnknownEntryError if none is."""
    named = reference.parse(text)
    if named is None or named.kind == reference.ENTRY:
        ident = named.id if named else text.strip().removeprefix("^").removeprefix("e-")
        if not _ID.fullmatch(ident):
            raise UnknownEntryError(f"{text!r} is not an entry id. Ids are in the daily logs as ^e-….")
        return ident
    with Keeper.at(home) as keeper:
        fact = keeper.known(named.anchor)
        entry = keeper.entry_of(fact)
    if entry is None:
        raise UnknownEntryError(
            f"{fact.id} is in no entry yet; {invocation.shown(f'why {fact.id}')} shows the words it came from."
        )
    return entry.id


def _entry(home: Home, entry_id: str) -> Entry | None:
    daily = DailyLog.of(home.paths)
    for day in reversed(daily.days()):
        for entry in daily.entries(day):
            if entry.id == entry_id:
                return entry
    return None


def _absent(entry_id: str, entry: Entry | None, archive_mb: int) -> UnknownEntryError | TurnsGoneError:
    if entry is None:
        return UnknownEntryError(f"There is no entry {entry_id}. Ids are in the daily logs as ^e-….")
    why = "archive_mb is 0" if not archive_mb else "they were deleted to stay within archive_mb, or never archived"
    return TurnsGoneError(
        f"The turns of entry {entry_id} are not in the archive ({why}); its summary is {entry.source}."
    )


def _facts(entry_id: str, entry: Entry | None, turns: list[Turn]) -> dict[str, Any]:
    return {
        "entry": entry_id,
        "source": entry.source if entry else None,
        "project": entry.project if entry else None,
        "title": entry.title if entry else None,
        "turns": [
            {
                "key": turn.key,
                "role": turn.role,
                "time": turn.time.isoformat() if turn.time else None,
                "text": turn.text,
                "tools": list(turn.tools),
            }
            for turn in turns
        ],
    }


def _lines(entry_id: str, entry: Entry | None, turns: list[Turn], zone: Zone) -> list[str]:
    rows = [f"{entry.title} · {entry.project} · {entry.day}" if entry else f"entry {entry_id} (in no daily log)"]
    speaker = clients.speaker(entry.agent if entry else "")
    for turn in turns:
        when = f" · {zone.local(turn.time):%Y-%m-%d %H:%M}" if turn.time else ""
        rows += ["", f"── {_WHO.get(turn.role, speaker)}{when}"]
        rows += [printable.lines(turn.text)] if turn.text else []
        rows += [f"  · {printable.line(line)}" for line in turn.tools]
    return rows


# -- working memory


async def _held(home: Home, wanted: str = "") -> dict[str, Any]:
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


def _held_lines(facts: dict[str, Any], zone: clock.Zone) -> list[str]:
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
