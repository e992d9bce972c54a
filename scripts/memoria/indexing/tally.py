"""Tally: which notes helped. Counted here and nowhere else, without a model; nothing of it leaves the machine.

One row a session and note: was it shown beside a prompt, found by a search, opened, and did an answer after that say
one of the names that betray it (``shown.Note.marks``)? A small SQLite file of its own, because it cannot be made again
from the markdown as the index can; a damaged one is set aside and counting begins anew. Counting never disturbs what
is counted: when the file cannot be had, a line in the log says so and nothing is counted.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from memoria.base.paths import Paths
from memoria.ground import files
from memoria.recall.shown_notes import Note, ShownNotes
from memoria.transcripts.turn import Exchange

log = logging.getLogger(__name__)

T = TypeVar("T")

IDLE = 3  # sessions that were shown a note and did nothing with it weigh as much as one that it helped
KEPT_S = 30 * 24 * 3600  # files of what sessions were shown go after that
_SCHEMA = """
CREATE TABLE IF NOT EXISTS notes (
    session TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, shown INTEGER NOT NULL DEFAULT 0,
    telling INTEGER NOT NULL DEFAULT 0, found INTEGER NOT NULL DEFAULT 0, opened INTEGER NOT NULL DEFAULT 0,
    used INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (session, key)) WITHOUT ROWID
"""
_WAYS = ("shown", "telling", "found", "opened", "used")  # telling: shown with names by which its use can be told


@dataclass(frozen=True, slots=True)
class Count:
    """In how many sessions a note was shown, shown so that its use can be told, found, opened, used."""

    key: str
    shown: int
    telling: int
    found: int
    opened: int
    used: int
    helped: int

    @property
    def uses(self) -> int:
        """What the ranking adds to it: sessions that it helped, less those that let it lie."""
        return self.helped - max(0, self.telling - self.helped) // IDLE


class Tally:
    """The counts of one home."""

    def __init__(self, path: str) -> None:
        """``path`` of the file; made when something is first counted."""
        self.path = Path(path)

    @classmethod
    def of(cls, paths: Paths) -> Tally:
        """The counts of these paths."""
        return cls(paths.recall)

    def judge(self, session: str, given: Sequence[Note], said: Sequence[tuple[float, str]]) -> None:
        """What a session was shown, and what of it its answers used; the same again changes nothing.

        ``said``: the assistant's words with their times in seconds since the epoch (0: unknown, taken for later).
        """
        rows = []
        for note in given:
            later = [text for at, text in said if not at or at >= note.at]
            used = any(mark in text for mark in note.marks for text in later)
            rows.append((session, note.key, int(note.at), 1, int(bool(note.marks)), 0, 0, int(used)))
        self._write(rows)

    def found(self, session: str, keys: Iterable[str]) -> None:
        """A search showed these to the model."""
        self._write([(session, key, int(time.time()), 0, 0, 1, 0, 0) for key in keys])

    def opened(self, session: str, keys: Iterable[str]) -> None:
        """The model read these."""
        self._write([(session, key, int(time.time()), 0, 0, 0, 1, 0) for key in keys])

    def retain(self, keys: set[str]) -> None:
        """Forget every note but these, also what is left of it in the file's free space."""
        if not self.path.exists():
            return

        def strike(db: sqlite3.Connection) -> None:
            counted = {key for (key,) in db.execute("SELECT DISTINCT key FROM notes")}
            db.executemany("DELETE FROM notes WHERE key = ?", [(key,) for key in counted - keys])
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

        self._done(strike, None)

    def counts(self) -> list[Count]:
        """Every counted note, what helped most first; nothing when there is no file or it cannot be read."""
        if not self.path.exists():
            return []
        sums = ", ".join(f"sum({way})" for way in _WAYS)
        query = f"SELECT key, {sums}, sum(used OR opened) FROM notes GROUP BY key"  # noqa: S608 (constants)
        none: list[Count] = []
        found = self._done(lambda db: [Count(*row) for row in db.execute(query)], none)
        return sorted(found, key=lambda count: (-count.uses, -count.helped, -count.shown, count.key))

    def _write(self, rows: Sequence[tuple[str, str, int, int, int, int, int, int]]) -> None:
        if not rows:
            return
        once = ", ".join(f"{way} = max({way}, excluded.{way})" for way in _WAYS)
        insert = f"INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET {once}"  # noqa: S608

        def write(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            db.executemany(insert, rows)
            db.execute("COMMIT")

        self._done(write, None)

    def _done(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Do one piece of work with the file; its troubles are logged, and then the work is not done."""
        try:
            with closing(sqlite3.connect(self.path, timeout=2, isolation_level=None)) as db:
                self.path.chmod(0o600)
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                db.execute(_SCHEMA)
                return work(db)
        except sqlite3.OperationalError as error:  # locked, no access, disk full
            log.warning("recall is not counted now: %s", error)
        except sqlite3.DatabaseError as error:
            log.warning("recall: %s", error)
            files.set_aside(self.path)
        return otherwise


def count(paths: Paths, session: str, exchanges: Iterable[Exchange]) -> None:
    """Count what a session was shown beside its prompts and which of it these exchanges used."""
    try:
        given = ShownNotes(paths.hints, session).notes()
        if given:
            turns = [turn for part in exchanges for turn in part.turns if turn.role == "assistant"]
            said = [(turn.time.timestamp() if turn.time else 0.0, _said(turn.text, turn.tools)) for turn in turns]
            Tally.of(paths).judge(session, given, said)
            _sweep(paths.hints)
    except OSError as error:
        log.warning("recall is not counted now: %s", error)


def _said(text: str, tools: Iterable[str]) -> str:
    return "\n".join((text, *tools))


def _sweep(folder: str) -> None:
    """Remove what sessions long over were shown; it is counted."""
    with os.scandir(folder) as found:
        for each in found:
            if time.time() - each.stat().st_mtime > KEPT_S:
                Path(each.path).unlink(missing_ok=True)
