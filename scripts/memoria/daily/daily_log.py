"""Daily log: one markdown file for each day, to which entries with a marker are appended under a lock.

The file is authoritative: the ledger's list of turns and entries is read from the markers. Knows files and locks;
``day_text`` knows the content of a file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

from memoria.base import failpoints, project
from memoria.base.paths import Paths
from memoria.daily.day_text import DayText
from memoria.daily.entry import EVERYWHERE, HAND, Entry, fingerprint, marker_line, render
from memoria.daily.ledger import Booked, Item, Ledger
from memoria.ground import files, home_files, locks
from memoria.ground.errors import FileBusyError, SavedMeanwhileError
from memoria.ground.swap import Swap

TRIES = 25  # to write a file that a person keeps saving: five seconds in all


class DailyLog:
    """The folder of daily files."""

    def __init__(self, paths: Paths) -> None:
        self.folder = Path(paths.daily)
        self.lock = Path(paths.daily_lock)  # that every writer of daily logs holds
        self.swap = Swap(paths)
        self.projects = paths.projects

    def path(self, day: date) -> Path:
        """Return the file of a day."""
        return self.folder / f"{day.isoformat()}.md"

    def days(self) -> list[date]:
        """Return the days that have a file, oldest first."""
        return sorted(date.fromisoformat(day) for day, _ in home_files.days(self.folder))

    def entries(self, day: date) -> list[Entry]:
        """Return the entries of a day; ``[]`` when it has no file."""
        return list(self.read(day).entries(day))

    def entry(self, ident: str) -> Entry | None:
        """Return the entry with an id, None when no day has it; the latest days are read first."""
        entries = (entry for day in reversed(self.days()) for entry in self.entries(day))
        return next((entry for entry in entries if entry.id == ident), None)

    def read(self, day: date) -> DayText:
        """Return a day's text with the present keys of its projects."""
        return DayText(self.text(day), self.aliases())

    def aliases(self) -> Mapping[str, str]:
        """Return the former project keys that the files may hold, with the present ones."""
        return project.aliases(self.projects)

    def text(self, day: date) -> str:
        """Return a day's text with its own line endings, ``""`` when it has no file."""
        try:
            return home_files.text(self.path(day), self.folder)
        except FileNotFoundError:
            return ""

    def stamp(self, day: date) -> str:
        """Return a text that changes whenever ``entries`` may, ``""`` when there is no file.

        That is when the file is written, and when one of the projects has another key.
        """
        try:
            status = self.path(day).stat()
        except FileNotFoundError:
            return ""
        return _stamp(status, self.aliases())

    def stamps(self) -> dict[str, str]:
        """Return the stamp of each day's file, by ISO day, oldest first."""
        aliases = self.aliases()
        return {day: _stamp(status, aliases) for day, status in home_files.days(self.folder)}

    def append(self, entry: Entry) -> bool:
        """Append the entry to its day in one step, synced to disk; return False when the day already has its id.

        Raises OSError (disk full, read-only) and leaves the file as it was.
        """

        def append(text: str) -> str:
            day = DayText(text)
            if entry.id in day.ids():  # written already, or forgotten since
                return text
            day.append(render(entry))
            return day.text

        written = self.rewrite(entry.day, append)
        if written:
            failpoints.reach("daily.appended")
        return written

    def rewrite(self, day: date, change: Callable[[str], str]) -> bool:
        """Apply ``change`` to a day's text under the lock; return False when that changes nothing.

        A day without a file starts as its heading. ``change`` is called again when a person saves the file meanwhile.
        Raise FileBusyError, and write nothing, when that happens again and again.
        """
        path = self.path(day)
        with locks.wait(self.lock):
            for _ in range(TRIES):
                # as bytes, because reading text would convert the line endings of a person's editor
                home_files.check_place(path, self.folder)
                before = self.swap.read(path)
                header = f"# Daily Log: {day.isoformat()}\n"
                text = header if before is None else before.decode("utf-8", "surrogateescape")
                changed = change(text)
                if changed == text:
                    return False
                try:
                    self.swap.replace(path, changed.encode("utf-8", "surrogateescape"), before)
                except SavedMeanwhileError:
                    time.sleep(0.2)
                else:
                    return True
        raise FileBusyError(path)

    def sweep(self) -> None:
        """Remove the temporary files of writers that were killed, and complete or revert what they had begun."""
        with locks.wait(self.lock):
            self.swap.recover(self.folder)
            files.sweep(self.folder)
        self.take_in_copies()

    def copies(self) -> list[tuple[Path, date]]:
        """Return the copies of days that a sync program made, each with its day."""
        found = home_files.other_files(self.folder, is_daily=True)
        return [(self.folder / each.name, date.fromisoformat(each.original[:-3])) for each in found
                if each.original and "/" not in each.name]  # fmt: skip

    def take_in_copies(self) -> None:
        """Take over into its day what only a copy holds; a copy of which every row stands there then is removed."""
        for path, day in self.copies():
            with suppress(OSError, SavedMeanwhileError):  # it is tried again, and the doctor names the copy
                self._take_in(path, day)

    def _take_in(self, path: Path, day: date) -> None:
        data = home_files.read(path, self.folder)
        copy = DayText(data.decode("utf-8", "surrogateescape"))
        is_whole = False

        def unite(parts: DayText) -> None:
            nonlocal is_whole
            is_whole = parts.take_in(copy, day)

        self.edit(day, unite)
        if is_whole:
            with locks.wait(self.lock):
                self.swap.replace(path, None, data)

    def refresh(self, ledger: Ledger) -> None:
        """Read every file that anyone has changed since the last time into the ledger."""
        stamps = self.stamps()
        stale, gone = ledger.changed_logs(stamps)
        for name in stale:
            self._record(name, stamps[name], ledger)
        for name in gone:
            ledger.forget_log(name)

    def _record(self, name: str, stamp: str, ledger: Ledger) -> None:
        day = date.fromisoformat(name)
        text = self.read(day)
        entries = [replace(entry.booking, text=fingerprint(entry)) for entry in text.entries(day)]
        items = [Item(name, item.row, item.entry, item.text, item.is_open) for item in text.items()]
        ledger.reread(name, stamp, entries, text.tombstones(), len(text.rest()), items)

    def mark_all(self, ledger: Ledger) -> None:
        """Make entries of all parts that a person wrote, and give ids to the statements of entries that wait.

        An entry gets a block id and a marker below it, a statement a block id at the end of its line.
        """
        keys = {project.name_of(known.project): known.project for known in ledger.entries()}
        lost = {}
        for gone in ledger.removed_entries():
            key, model = (gone.project or EVERYWHERE, HAND) if gone.session == "-" else (gone.project, "-")
            lost[gone.id] = marker_line(gone.id, gone.session, gone.turns, key, model)
        for name in ledger.unmarked_logs():
            day = date.fromisoformat(name)
            self.edit(day, partial(DayText.mark, day=day, lost=lost, keys=keys))
        self.refresh(ledger)
        for name, idents in _group_by_day(ledger.entries(waiting=True)).items():
            self.edit(date.fromisoformat(name), partial(DayText.name, entries=idents))
        self.refresh(ledger)

    def edit(self, day: date, edit: Callable[[DayText], object]) -> bool:
        """Apply ``edit`` to a day as ``rewrite`` does."""

        def change(text: str) -> str:
            parts = DayText(text)
            edit(parts)
            return parts.text

        return self.rewrite(day, change)

    def find(self, booked: Iterable[Booked]) -> list[Entry]:
        """Return the entries that the ledger names as they are now, oldest first, without those that are gone."""
        wanted = sorted(_group_by_day(booked).items())
        return [each for day, own in wanted for each in self.entries(date.fromisoformat(day)) if each.id in own]


def _stamp(status: os.stat_result, aliases: Mapping[str, str]) -> str:
    return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}-{project.digest_of(aliases)}"


def _group_by_day(booked: Iterable[Booked]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entry in booked:
        found.setdefault(entry.day, set()).add(entry.id)
    return found
