"""Daily log: one markdown file a day, entries appended under a lock, each known by its marker.

The file is the truth: the ledger's list of turns and entries is read back from the markers. Knows files and locks;
what stands in a file is ``day_text``'s, and where an entry's content comes from nobody's here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path

from memoria.base import failpoints
from memoria.base.paths import Paths
from memoria.daily.day_text import DayText, render
from memoria.daily.entry import Entry
from memoria.daily.ledger import Booked, Ledger
from memoria.ground import files, locks

_NAME = re.compile(r"\d{4}-\d{2}-\d{2}\.md")


class DailyLog:
    """The folder of daily files."""

    def __init__(self, folder: Path, lock: Path) -> None:
        """``lock`` is the file whose lock every writer of daily logs holds."""
        self.folder = folder
        self.lock = lock

    @classmethod
    def of(cls, paths: Paths) -> DailyLog:
        """The daily logs of these paths."""
        return cls(Path(paths.daily), Path(paths.daily_lock))

    def path(self, day: date) -> Path:
        """The file of a day."""
        return self.folder / f"{day.isoformat()}.md"

    def days(self) -> list[date]:
        """The days that have a file, oldest first."""
        names = [path.name for path in self.folder.glob("*.md")] if self.folder.is_dir() else []
        return sorted(date.fromisoformat(name[:-3]) for name in names if _NAME.fullmatch(name) and _is_day(name[:-3]))

    def entries(self, day: date) -> list[Entry]:
        """Return the entries of a day; none when it has no file."""
        return list(DayText(self.text(day)).entries(day))

    def forgotten(self, day: date) -> list[tuple[str, tuple[str, ...]]]:
        """Return the tombstones of a day, as ``DayText.tombstones`` does."""
        return DayText(self.text(day)).tombstones()

    def text(self, day: date) -> str:
        """Return a day's text with the line endings it has, ``""`` when it has no file."""
        try:
            return self.path(day).read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def stamp(self, day: date) -> str:
        """Return a text that differs once the day's file was written; ``""`` when it has none."""
        try:
            status = self.path(day).stat()
        except FileNotFoundError:
            return ""
        return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"

    def append(self, entry: Entry, change: Callable[[str], str] = str) -> bool:
        """Write the entry at the end of its day, synced, in one step; False when its id stands there already.

        ``change`` is made to what stands there in the same step: it takes out what the entry brings along.
        OSError (disk full, read-only) leaves the file as it was.
        """

        def appended(text: str) -> str:
            if entry.id in DayText(text).ids():  # written, or written and forgotten
                return text
            day = DayText(change(text))
            day.append(render(entry))
            return day.text

        written = self.rewrite(entry.day, appended)
        if written:
            failpoints.reached("daily.appended")
        return written

    def rewrite(self, day: date, change: Callable[[str], str]) -> bool:
        """Replace a day's text by ``change`` of it, under the lock; False when that is what stands there.

        A day without a file is its heading alone. ``change`` is made again when a person saves at that moment.
        """
        path = self.path(day)
        with locks.waiting(self.lock):
            while True:
                before = self.stamp(day)
                # bytes, because reading as text would turn the line endings of a person's editor into ours
                text = path.read_bytes().decode("utf-8", "surrogateescape") if before else _header(day)
                changed = change(text)
                if changed == text:
                    return False
                if self.stamp(day) == before:
                    files.replace(path, changed.encode("utf-8", "surrogateescape"))
                    return True

    def sweep(self) -> None:
        """Remove half-written files of writers that were killed."""
        with locks.waiting(self.lock):
            files.sweep(self.folder)

    def refresh(self, ledger: Ledger) -> None:
        """Read into the ledger whatever changed on disk, by anyone, since it was last read."""
        stamps = {day.isoformat(): self.stamp(day) for day in self.days()}
        for name in ledger.stale_logs(stamps):
            day = date.fromisoformat(name)
            entries = [entry.booked for entry in self.entries(day)]
            ledger.reread(name, stamps[name], entries, self.forgotten(day))
        for name in ledger.gone_logs(stamps):
            ledger.forget_log(name)

    def find(self, booked: Iterable[Booked]) -> list[Entry]:
        """The entries that the ledger names, as they stand now, oldest first; one that is gone is left out."""
        wanted: dict[str, set[str]] = {}
        for entry in booked:
            wanted.setdefault(entry.day, set()).add(entry.id)
        return [
            entry
            for day in sorted(wanted)
            for entry in self.entries(date.fromisoformat(day))
            if entry.id in wanted[day]
        ]


def _header(day: date) -> str:
    return f"# Daily Log: {day.isoformat()}\n"


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
