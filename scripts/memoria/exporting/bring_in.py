"""Bring in: make a home from a record, or add a record to one. What is there is never overwritten.

Days are merged entry by entry. An article that is there with another text is a conflict, and then nothing is written at
all. What was forgotten here does not come back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any

from memoria.base.atomic import PRIVATE
from memoria.briefing.refresh import renew
from memoria.daily.daily_log import DailyLog, parsed
from memoria.daily.ledger import Ledger
from memoria.exporting.record import FORMAT, VERSION, text
from memoria.facts.keeper import Keeper
from memoria.facts.past import Past
from memoria.ground import clock, files, home_files, locks, printable, project_folders
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.projects import Projects
from memoria.transcripts import archive, tombstones
from memoria.transcripts.archive import Archive
from memoria.transcripts.tombstones import Tombstones
from memoria.wiki import index_page
from memoria.wiki.folder import INDEX, LOG
from memoria.wiki.transaction import Transactions, digest

JsonObject = dict[str, Any]

SHOWN = 5  # conflicts that a message names
_PARTS = {"daily": dict, "knowledge": dict, "archive": dict, "projects": dict, "folders": dict, "forgotten": dict,
          "deleted_facts": list, "taken_back": dict}  # fmt: skip


@dataclass(slots=True)
class Brought:
    """What was written: days, articles and archived conversations; what was left out because it was forgotten here."""

    days: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)


def checked(data: bytes) -> JsonObject:
    """Return the record in a file; raise ExpectedError when it is damaged, of another version, or something else."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ExpectedError(f"This is not an export of memoria ({error}).") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ExpectedError("This is not an export of memoria.")
    version = found.get("version")
    if version != VERSION:
        raise ExpectedError(
            f"The export has version {version!r} of the format, and this memoria reads version {VERSION}; "
            "update memoria and try again. Nothing was changed."
        )
    for name, kind in _PARTS.items():
        if not isinstance(found.setdefault(name, kind()), kind):
            raise ExpectedError(f"The export is damaged: {name!r} is not as docs/export.md says. Nothing was changed.")
    _check_parts(found)
    return found


def _check_parts(found: JsonObject) -> None:
    """Raise ExpectedError when a name would lead out of its folder, or when a value could not be written."""
    for name, content in found["knowledge"].items():
        path = PurePosixPath(name)
        is_bad = path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or ":" in name
        if is_bad or path.suffix != ".md" or not isinstance(content, str):
            raise ExpectedError(f"The export is damaged: {printable.line(name)!r} is no page. Nothing was changed.")
    for name, content in found["daily"].items():
        if not clock.is_day(name) or not isinstance(content, str):
            raise ExpectedError(f"The export is damaged: {printable.line(name)!r} is no day. Nothing was changed.")
    try:
        for part in (*found["knowledge"], *found["knowledge"].values(), *found["daily"].values()):
            part.encode("utf-8", "surrogateescape")
        for ident, conversation in found["archive"].items():
            if not archive.is_entry_id(ident):
                raise ValueError(f"{printable.line(ident)!r} is not an entry id")
            date.fromisoformat(conversation["day"])
            [archive.turn_of(row) for row in conversation["turns"]]
        if found["forgotten"]:
            tombstones.parsed(found["forgotten"])
        [Past.from_json(json.dumps(past)) for past in found["taken_back"].values()]
    except (KeyError, TypeError, ValueError) as error:
        raise ExpectedError(f"The export is damaged ({error}). Nothing was changed.") from error


def bring_in(home: Home, found: JsonObject) -> Brought:
    """Add a record to a home; raise ExpectedError, and write nothing, when an article is there with another text."""
    with locks.held(Path(home.paths.compile_lock)) as mine:
        if not mine:
            raise ExpectedError("A compile is running; try again when it is done.")
        Transactions.of(home.paths).recover()
        pages = dict(_pages(home, found["knowledge"]))
        brought = Brought()
        _days(home, found["daily"], brought)
        _knowledge(home, pages, brought)
        _archive(home, found["archive"], brought)
        _about(home, found)
    with closing(Ledger.of(home.paths)) as ledger:
        DailyLog.of(home.paths).refresh(ledger)
        log = Path(home.paths.knowledge, LOG)
        ledger.mark_compiled(index_page.fingerprints((home_files.read_if_there(log) or b"").decode("utf-8", "replace")))
    with Keeper.at(home) as keeper:
        renew(home, keeper)
    return brought


def _pages(home: Home, pages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the pages that are not there; raise ExpectedError when some are there with another text."""
    differing = []
    for name, content in pages.items():
        path = Path(home.paths.knowledge, name)
        if not path.exists():
            yield name, content
        elif text(path) != content and name not in (INDEX, LOG) and not name.startswith("lists/"):
            differing.append(name)
        elif name == LOG:
            yield name, _merged_log(text(path), content)
    if differing:
        more = f" and {len(differing) - SHOWN} more" if len(differing) > SHOWN else ""
        named = ", ".join(map(printable.line, differing[:SHOWN]))
        raise ExpectedError(
            f"{printable.counted(len(differing), 'page')} here has another text: {named}{more}. Nothing was changed; "
            "import into an empty home, or move these pages away."
        )


def _merged_log(mine: str, theirs: str) -> str:
    """Return the wiki's log with the blocks of the other one that it lacks."""
    known = set(mine.split("\n## ")[1:])
    return mine + "".join(f"\n## {block}" for block in theirs.split("\n## ")[1:] if block not in known)


def _days(home: Home, days: Mapping[str, str], brought: Brought) -> None:
    daily, forgotten = DailyLog.of(home.paths), Tombstones.of(home.paths)
    for name, content in days.items():
        day = date.fromisoformat(name)
        is_new = not daily.path(day).exists()
        left: list[str] = []

        def merged(
            mine: str, day: date = day, content: str = content, is_new: bool = is_new, left: list[str] = left
        ) -> str:
            if is_new and not forgotten:
                return content
            left.clear()
            return _merged_day(mine, content, day, forgotten, left)

        if daily.rewrite(day, merged):
            brought.days.append(name)
        brought.forgotten += left


def _merged_day(mine: str, theirs: str, day: date, forgotten: Tombstones, left: list[str]) -> str:
    """Return a day's text with the parts of another one that it lacks; name what was forgotten in ``left``."""
    known = parsed(mine)
    buried = {ident for ident, _ in known.tombstones()}
    texts = {part.raw.strip() for part in known.parts(day)}
    for part in list(parsed(theirs).parts(day)):
        ident = part.entry.id if part.entry else ""
        if part.raw.strip() in texts or (ident and ident in known.ids()) or part.raw.startswith("# Daily Log"):
            continue
        if ident in buried or forgotten.holds(part.raw):
            left.append(f"{day.isoformat()} {part.anchor}".strip())
            continue
        if part.raw.strip():
            known.append(part.raw)
    return known.text


def _knowledge(home: Home, pages: Mapping[str, str], brought: Brought) -> None:
    forgotten = Tombstones.of(home.paths)
    changes: dict[str, bytes | None] = {}
    read: dict[str, str] = {}
    transactions = Transactions.of(home.paths)
    for name, content in pages.items():
        if forgotten.holds(content):
            brought.forgotten.append(name)
            continue
        data = content.encode("utf-8", "surrogateescape")
        path = Path(home.paths.knowledge, name)
        read[name] = digest(home_files.read_if_there(path))
        if digest(data) != read[name]:
            changes[name] = data
    brought.files += sorted(changes)
    transactions.commit(changes, read, f"import of {printable.counted(len(changes), 'file')}")


def _archive(home: Home, conversations: Mapping[str, JsonObject], brought: Brought) -> None:
    kept = Archive.of(home.paths, home.settings.archive_mb)
    here = {each.entry for each in kept.listed()}
    daily, forgotten = DailyLog.of(home.paths), Tombstones.of(home.paths)
    buried = {ident for day in daily.days() for ident, _ in daily.forgotten(day)}
    for ident, about in conversations.items():
        if ident not in here and ident not in buried:
            turns = [turn for row in about["turns"] if not forgotten.holds((turn := archive.turn_of(row)).text)]
            kept.keep(ident, date.fromisoformat(about["day"]), turns)
            brought.archived.append(ident)


def _about(home: Home, found: JsonObject) -> None:
    """Add what is known of projects and folders, and what was forgotten, deleted or corrected."""
    Projects.read(home.paths.projects).merge(found["projects"])
    for key, folders in found["folders"].items():
        for folder in folders if isinstance(folders, list) else ():
            project_folders.see(home.paths, str(key), str(folder))
    stones = Path(home.paths.forgotten)
    if found["forgotten"] and not stones.exists():  # others have another salt and cannot be joined
        files.replace(stones, json.dumps(found["forgotten"]), mode=PRIVATE)
    with Keeper.at(home) as keeper:
        known = keeper.store.taken_back()
        for name, past in found["taken_back"].items():
            if name not in known:
                keeper.store.take_back(name, Past.from_json(json.dumps(past)))
        for ident in found["deleted_facts"]:
            if keeper.store.get(str(ident)) is None:
                keeper.store.mark_deleted(str(ident))
