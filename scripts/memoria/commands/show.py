"""Show: print the archived conversation behind an entry, redacted, even when its transcript is gone."""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.ground import printable
from memoria.ground.clock import Zone
from memoria.ground.errors import TurnsGoneError, UnknownEntryError
from memoria.ground.home import Home
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn

_WHO = {"user": "You", "assistant": "Claude", "error": "Error", "note": "Note"}
_REFERENCE = re.compile(r"(?:\[\[)?(?:[^\]#]*#)?\^?(?:e-)?([A-Za-z0-9_-]+)(?:\|[^\]]*)?(?:\]\])?")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("entry", help="an entry's id as in a daily log (^e-…) or in an article's source link")
    parser.add_argument("--json", action="store_true", help="print the entry and its turns as one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the turns of one entry; raise ExpectedError when it is unknown, or its turns are gone or unreadable."""
    entry_id = identifier(args.entry)
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


def identifier(reference: str) -> str:
    """Return the id in ``e-01k9x2``, ``^e-01k9x2``, ``daily/2026-11-21#^e-01k9x2`` or a wikilink to it.

    Raise UnknownEntryError when there is none.
    """
    match = _REFERENCE.fullmatch(reference.strip())
    if not match:
        raise UnknownEntryError(f"{reference!r} is not an entry id. Ids are in the daily logs as ^e-….")
    return match[1]


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
    for turn in turns:
        when = f" · {zone.local(turn.time):%Y-%m-%d %H:%M}" if turn.time else ""
        rows += ["", f"── {_WHO[turn.role]}{when}"]
        rows += [printable.lines(turn.text)] if turn.text else []
        rows += [f"  · {printable.line(line)}" for line in turn.tools]
    return rows
