"""Show: print the archived conversation behind an entry, redacted, even when its transcript is gone."""

from __future__ import annotations

import argparse

from memoria.base import invocation
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import ENTRY, Entry, Reference
from memoria.exchange.records import heard_on
from memoria.ground import printable
from memoria.ground.clock import Zone
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.mcp.origin import sources_of
from memoria.statements.keeper import Keeper
from memoria.transcripts import clients
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn

_WHO = {"user": "You", "error": "Error", "note": "Note"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("entry", help="the id of an entry (e-…) or of a fact (l-…), or an article's source link")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the turns of one entry; raise ExpectedError when it is unknown, or its turns are gone or unreadable."""
    entry_id = identifier(args.entry, home)
    archive = Archive.of(home.paths)
    turns = archive.turns(entry_id)
    entry = DailyLog(home.paths).entry(entry_id)
    if turns is None:
        raise _absence(entry_id, entry, home)
    print("\n".join(_lines(entry_id, entry, turns, home.zone)))
    return 0


def identifier(text: str, home: Home) -> str:
    """Return the id of the entry that is meant, of a fact's entry for a fact; raise ExpectedError if none is."""
    named = Reference.of(text)
    if named is None or named.kind == ENTRY:
        return named.id if named else text.strip().removeprefix("^").removeprefix("e-")
    with Keeper.at(home) as keeper:
        fact = keeper.get(named.anchor)
        sources = sources_of(home, keeper, fact)
    if not sources:
        raise ExpectedError(f"{fact.id} is in no entry yet; {invocation.command(f'why {fact.id}')} says its origin.")
    return sources[0].rpartition("#^e-")[2]


def _absence(entry_id: str, entry: Entry | None, home: Home) -> ExpectedError:
    if entry is None:
        return ExpectedError(f"There is no entry {entry_id!r}. Ids are in the daily logs as ^e-….")
    machine = heard_on(home.paths, entry_id)
    why = f"they were heard on {machine}" if machine else "deleted to stay within archive_mb, or never archived"
    return ExpectedError(f"The turns of entry {entry_id} are not archived ({why}); its summary is {entry.source}.")


def _lines(entry_id: str, entry: Entry | None, turns: list[Turn], zone: Zone) -> list[str]:
    rows = [f"{entry.title} · {entry.project} · {entry.day}" if entry else f"entry {entry_id} (in no daily log)"]
    speaker = clients.speaker(entry.agent if entry else "")
    for turn in turns:
        when = f" · {zone.to_local(turn.time):%Y-%m-%d %H:%M}" if turn.time else ""
        rows += ["", f"── {_WHO.get(turn.role, speaker)}{when}"]
        rows += [printable.lines(turn.text)] if turn.text else []
        rows += [f"  · {printable.line(line)}" for line in turn.tools]
    return rows
