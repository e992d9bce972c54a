"""Ledger: which turns belong to which entry, which entries are compiled, and the attempts and costs of jobs.

The list of turns and entries is a cache of the markers in the daily logs. It is refreshed before every flush, so that
it includes an entry whose writer died before recording it. Compiled entries can be read from the wiki's log; attempts
and costs are stored only here. A file that is not a database is set aside and replaced by a new one.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import astuple, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memoria.base import failpoints, invocation
from memoria.base.paths import Paths
from memoria.ground import clock, database
from memoria.ground.errors import LedgerDamagedError, LedgerError

SET_ASIDE = 3  # after this many failed compiles an entry waits until a person asks for it or edits it
_COMPILE = "compile "
_GONE = "-"  # in place of the fingerprint of an entry that a person removed from its daily log
_REMOVE = f"UPDATE entries SET text = '{_GONE}', title = '' WHERE day = ?"  # noqa: S608 (constant)
_STANDING = f"SELECT session, id, text = '{_GONE}' FROM entries WHERE day = ?"  # noqa: S608 (constant)
# New, or edited since a compile took it in, still in its daily log, and not set aside as it is.
_WAITS = f"""((compiled = '' OR (length(took) = length(text) AND took <> text)) AND text <> '{_GONE}' AND NOT EXISTS
    (SELECT 1 FROM tries WHERE job = '{_COMPILE}' || id || ' ' || text AND count >= {SET_ASIDE}))"""  # noqa: S608


# Step n brings a database from user_version n to n + 1. Never change one that has shipped; add another.
MIGRATIONS = (
    """
    CREATE TABLE turns (key TEXT PRIMARY KEY, entry TEXT NOT NULL) WITHOUT ROWID;  -- entry '' : no entry was worth it
    CREATE INDEX turns_by_entry ON turns (entry);
    CREATE TABLE entries (
        id TEXT PRIMARY KEY, day TEXT NOT NULL, session TEXT NOT NULL, project TEXT NOT NULL, title TEXT NOT NULL,
        compiled TEXT NOT NULL DEFAULT ''  -- UTC time of the compile that took it in, '' : not yet
    ) WITHOUT ROWID;
    CREATE INDEX entries_by_day ON entries (day);
    CREATE TABLE logs (name TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;  -- mtime and size when last read
    CREATE TABLE tries (job TEXT PRIMARY KEY, count INTEGER NOT NULL, not_before REAL NOT NULL, reason TEXT NOT NULL);
    CREATE TABLE calls (
        time TEXT NOT NULL, task TEXT NOT NULL, model TEXT NOT NULL, project TEXT NOT NULL, outcome TEXT NOT NULL,
        input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost_usd REAL NOT NULL, seconds REAL NOT NULL
    );
    CREATE INDEX calls_by_time ON calls (time);
    CREATE TABLE notes (time TEXT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, text TEXT NOT NULL);
    """,
    """
    ALTER TABLE turns ADD COLUMN reason TEXT NOT NULL DEFAULT '';  -- why no entry was worth it
    CREATE TABLE checked (  -- what a transcript was found to hold when it was last compared (JSON)
        path TEXT PRIMARY KEY, stamp TEXT NOT NULL, counts TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE named (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;  -- JSON, of any length
    INSERT OR REPLACE INTO named SELECT substr(kind, 7), text FROM notes  -- a value that was cut there is lost
        WHERE kind LIKE 'value:%' AND json_valid(text) ORDER BY notes.rowid;
    DELETE FROM notes WHERE kind LIKE 'value:%'
    """,
    """
    ALTER TABLE entries ADD COLUMN text TEXT NOT NULL DEFAULT '';  -- fingerprint when its daily log was last read
    ALTER TABLE entries ADD COLUMN took TEXT NOT NULL DEFAULT '';  -- fingerprint when a compile took it in
    ALTER TABLE logs ADD COLUMN unmarked INTEGER NOT NULL DEFAULT 0;  -- parts by hand that are no entries yet
    UPDATE logs SET stamp = ''  -- so that every log is read again
    """,
    """
    CREATE TABLE items (  -- the action items of the daily logs, each with the row of its day's file
        day TEXT NOT NULL, row INTEGER NOT NULL, entry TEXT NOT NULL, text TEXT NOT NULL, is_open INTEGER NOT NULL,
        ticked INTEGER NOT NULL DEFAULT 0,  -- whether a person closed it since its other copies were last looked at
        PRIMARY KEY (day, row)
    ) WITHOUT ROWID;
    UPDATE logs SET stamp = ''
    """,
    # Edited since a compile took it in, by fingerprints of another form, which are not compared with those of today.
    "UPDATE entries SET took = '------------' WHERE length(took) = length(text) AND took <> text",
    "UPDATE entries SET title = '' WHERE text = '-'",
    "ALTER TABLE entries ADD COLUMN time TEXT NOT NULL DEFAULT ''; UPDATE logs SET stamp = ''",  # in the log, HH:MM
)


@dataclass(frozen=True, slots=True)
class Booked:
    """An entry as the ledger knows it; ``day`` is ISO, ``project`` a key, ``text`` a fingerprint, ``time`` HH:MM."""

    id: str
    day: str
    session: str
    project: str
    title: str
    turns: tuple[str, ...] = ()
    text: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """An action item in a daily log: the entry's project, the ``row`` of the day's file, ``ticked`` by a person."""

    day: str
    row: int
    entry: str
    text: str
    is_open: bool
    ticked: bool = False
    project: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: tokens as the service counted them, dollars as it priced them."""

    task: str
    model: str
    project: str
    outcome: str
    input_tokens: int
    output_tokens: int
    cost_usd: float
    seconds: float


def compile_job(entry: str, text: str) -> str:
    """Return the name under which failed compiles of an entry are recorded; ``text`` is its fingerprint."""
    return f"{_COMPILE}{entry} {text}"


class Ledger:
    """The database behind one state folder; one connection, short transactions."""

    def __init__(self, paths: Paths) -> None:
        """Open or create the file; one that cannot be read as a ledger is set aside."""
        self.path = Path(paths.ledger)
        with _translate_errors():
            self.db = database.open_or_replace(self.path, lambda: _open(self.path))

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context that commits everything the block does, or rolls it back when the block raises."""
        return database.transaction(self.db)

    def _first_value(self, query: str, *values: str) -> Any:
        """Return the first column of the first row, None when there is no row."""
        return next((row[0] for row in self.db.execute(query, values)), None)

    # turns and entries

    def entry_of(self, key: str) -> str | None:
        """Return the id of a turn's entry, ``""`` when it needed none, None when the turn is not recorded."""
        found: str | None = self._first_value("SELECT entry FROM turns WHERE key = ?", key)
        return found

    def turn_counts(self) -> Counter[str]:
        """Return the number of turns of each entry."""
        return Counter(dict(self.db.execute("SELECT entry, count(*) FROM turns WHERE entry <> '' GROUP BY entry")))

    def reason_of(self, key: str) -> str | None:
        """Return why a turn stands in no daily log, ``""`` when it does, None when the turn is not recorded."""
        query = "SELECT entry, reason, text FROM turns LEFT JOIN entries ON id = entry WHERE key = ?"
        row = self.db.execute(query, (key,)).fetchone()
        if row is None:
            return None
        entry, reason, text = row
        if entry:
            return "its entry is gone from the daily logs" if text == _GONE else ""
        return str(reason) or "nothing worth an entry"

    def session_of(self, key: str) -> str:
        """Return the session whose entry a turn stands in, ``""`` when it stands in none."""
        query = "SELECT entries.session FROM turns JOIN entries ON entries.id = turns.entry WHERE turns.key = ?"
        return self._first_value(query, key) or ""

    def record(self, entry: Booked) -> None:
        """Record an entry that is in its daily log, and its turns."""
        with self.transaction():
            self._record(entry)
        failpoints.reach("ledger.recorded")

    def record_nothing(self, keys: Iterable[str], session: str, reason: str) -> None:
        """Record that these turns were read and need no entry, and why."""
        with self.transaction():
            self.db.executemany("INSERT OR IGNORE INTO turns VALUES (?, '', ?)", [(key, reason) for key in keys])
            self._note("no-entry", session, reason)
        failpoints.reach("ledger.recorded")

    def changed_logs(self, stamps: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Return the names of the daily logs that changed since they were last read, by their stamps, and are gone."""
        known = dict(self.db.execute("SELECT name, stamp FROM logs").fetchall())
        return [name for name, stamp in stamps.items() if known.get(name) != stamp], sorted(known.keys() - stamps)

    def reread(
        self,
        name: str,
        stamp: str,
        entries: Iterable[Booked],
        forgotten: Iterable[tuple[str, Iterable[str]]],
        unmarked: int,
        items: Iterable[Item],
    ) -> None:
        """Record the entries that a daily log holds; entries that a person removed stay recorded and are not recreated.

        ``forgotten`` holds entry ids and the keys of their turns; of these, only the keys are kept. ``unmarked`` is the
        number of parts that a person wrote and that are no entries yet. ``items`` are the log's action items.
        """
        with self.transaction():
            before = set(self.db.execute(_STANDING, (name,)))
            self._record_items(name, items)
            self.db.execute(_REMOVE, (name,))
            for entry in entries:
                self._record(entry)
            changed: set[str] = set()  # sessions, of whose transcripts what was counted is true no more
            for ident, keys in forgotten:
                changed.update(map(self.session_of, keys))
                self.db.execute("DELETE FROM entries WHERE id = ?", (ident,))
                rows = [(key,) for key in keys]
                self.db.executemany("INSERT OR REPLACE INTO turns VALUES (?, '', 'forgotten')", rows)
            self.db.execute("INSERT OR REPLACE INTO logs VALUES (?, ?, ?)", (name, stamp, unmarked))
            changed.update(session for session, *_ in before.difference(self.db.execute(_STANDING, (name,))))
            rows = [(session,) for session in changed if len(session) > 1]
            self.db.executemany("DELETE FROM checked WHERE instr(path, ?)", rows)

    def _record_items(self, day: str, items: Iterable[Item]) -> None:
        """Replace the items of a day; one that was open when the log was last read, and is closed now, is ticked."""
        query = "SELECT entry, text FROM items WHERE day = ? AND (is_open OR ticked)"
        open_before = set(self.db.execute(query, (day,)).fetchall())
        self.db.execute("DELETE FROM items WHERE day = ?", (day,))
        for item in items:
            is_ticked = not item.is_open and (item.entry, item.text) in open_before
            row = (day, item.row, item.entry, item.text, item.is_open, is_ticked)
            self.db.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)", row)

    def items(self) -> list[Item]:
        """Return the action items in the order in which they were written."""
        query = (
            "SELECT items.day, row, entry, items.text, is_open, ticked, project FROM items "
            "JOIN entries ON entries.id = items.entry ORDER BY items.day, row"
        )
        return [
            Item(day, row, entry, text, bool(is_open), bool(ticked), project)
            for day, row, entry, text, is_open, ticked, project in self.db.execute(query)
        ]

    def close_items(self, items: Iterable[Item]) -> None:
        """Record that these items were closed in their daily logs, and that nothing else follows from it."""
        with self.transaction():
            self.db.executemany(
                "UPDATE items SET is_open = 0, ticked = 0 WHERE day = ? AND entry = ? AND text = ?",
                [(item.day, item.entry, item.text) for item in items],
            )

    def unmarked_logs(self) -> list[str]:
        """Return the names of daily logs with parts that a person wrote and that are no entries yet."""
        return [name for (name,) in self.db.execute("SELECT name FROM logs WHERE unmarked ORDER BY name")]

    def forget_log(self, name: str) -> None:
        """Record that a daily log no longer exists."""
        self.reread(name, "", (), (), 0, ())
        with self.transaction():
            self.db.execute("DELETE FROM logs WHERE name = ?", (name,))

    def _record(self, entry: Booked) -> None:
        self.db.execute(
            "INSERT INTO entries (id, day, session, project, title, text, time) VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET day = excluded.day, project = excluded.project, title = excluded.title, "
            "text = excluded.text, time = excluded.time",
            (entry.id, entry.day, entry.session, entry.project, entry.title, entry.text, entry.time),
        )
        self.db.executemany("INSERT OR REPLACE INTO turns VALUES (?, ?, '')", [(key, entry.id) for key in entry.turns])

    # transcripts that were compared

    def check_results(self) -> dict[str, tuple[str, dict[str, int]]]:
        """Return, by path, each transcript's stamp when it was compared and the counts that were found."""
        rows = self.db.execute("SELECT path, stamp, counts FROM checked")
        return {path: (stamp, json.loads(counts)) for path, stamp, counts in rows}

    def check(self, path: str, stamp: str, counts: dict[str, int]) -> None:
        """Record the counts found in a transcript whose stamp was ``stamp``."""
        with self.transaction():
            self.db.execute("INSERT OR REPLACE INTO checked VALUES (?, ?, ?)", (path, stamp, json.dumps(counts)))

    def forget_checked(self, paths: Iterable[str]) -> None:
        """Delete the counts of transcripts that must be compared again or are gone."""
        with self.transaction():
            self.db.executemany("DELETE FROM checked WHERE path = ?", [(path,) for path in paths])

    def rename_projects(self, aliases: Mapping[str, str]) -> bool:
        """Replace former project keys by the present ones; return whether there were any."""
        pairs = [(new, old) for old, new in aliases.items()]
        with self.transaction():
            for_calls = self.db.executemany("UPDATE calls SET project = ? WHERE project = ?", pairs)
            for_entries = self.db.executemany("UPDATE entries SET project = ? WHERE project = ?", pairs)
        return for_calls.rowcount + for_entries.rowcount > 0

    # compiled or not

    def entries(self, *, waiting: bool = False, day: str = "") -> list[Booked]:
        """Return entries without their turns, oldest first; optionally only those of a day, or that wait."""
        query = "SELECT id, day, session, project, title, text, time FROM entries WHERE (? = '' OR day = ?) "
        query += (f"AND {_WAITS} " if waiting else "") + "ORDER BY day, time, id"
        return [
            Booked(ident, its, session, project, title, text=text, time=time)
            for ident, its, session, project, title, text, time in self.db.execute(query, (day, day))
        ]

    def removed_entries(self) -> list[Booked]:
        """Return the entries that a person removed from the daily logs, whose turns may still be archived."""
        query = "SELECT entries.id, day, session, project, group_concat(key, '.') FROM entries "
        query += f"LEFT JOIN turns ON entry = entries.id WHERE text = '{_GONE}' GROUP BY entries.id"
        return [
            Booked(ident, day, session, project, "", tuple(turns.split(".") if turns else ()))
            for ident, day, session, project, turns in self.db.execute(query)
        ]

    def mark_compiled(self, took: Mapping[str, str]) -> None:
        """Record that a compile included these entries, given with their fingerprints then (``""`` if unknown)."""
        rows = [(_stamp(None), text, entry, text, text) for entry, text in took.items()]
        with self.transaction():
            self.db.executemany(
                "UPDATE entries SET compiled = CASE compiled WHEN '' THEN ? ELSE compiled END, took = ? "
                "WHERE id = ? AND (compiled = '' OR (? <> '' AND took <> ?))",
                rows,
            )

    def mark_waiting(self, ids: Iterable[str]) -> None:
        """Record that the compile of these entries was undone, so that the next one includes them."""
        with self.transaction():
            self.db.executemany("UPDATE entries SET compiled = '' WHERE id = ?", [(entry,) for entry in ids])

    def counts(self) -> dict[str, int]:
        """Return the number of entries, of turns, and of what waits for a compile: ``uncompiled``.

        That is the new entries, those that were edited since a compile took them in, and parts written by hand.
        """
        query = f"SELECT count(*), coalesce(sum({_WAITS}), 0), (SELECT count(*) FROM turns) FROM entries"  # noqa: S608
        entries, waiting, turns = self.db.execute(query).fetchone()
        return {"entries": entries, "uncompiled": waiting + self.count_by_hand(), "turns": turns}

    def count_compiled(self) -> int:
        """Return the number of entries that a compile has taken in."""
        return int(self._first_value("SELECT count(*) FROM entries WHERE compiled <> ''"))

    def count_by_hand(self) -> int:
        """Return the number of parts that a person wrote and that are no entries yet."""
        return int(self._first_value("SELECT coalesce(sum(unmarked), 0) FROM logs"))

    # attempts

    def tries(self, job: str) -> tuple[int, float, str]:
        """Return how often a job failed, when it may run again (seconds since the epoch), and why it failed last."""
        row = self.db.execute("SELECT count, not_before, reason FROM tries WHERE job = ?", (job,)).fetchone()
        return row or (0, 0.0, "")

    def fail(self, jobs: Iterable[str], *, counted: bool, not_before: float, reason: str) -> None:
        """Record that these jobs failed; ``counted`` says whether the jobs themselves may be the cause."""
        with self.transaction():
            self.db.executemany(
                "INSERT INTO tries VALUES (?, ?, ?, ?) ON CONFLICT (job) DO UPDATE SET "
                "count = count + excluded.count, not_before = excluded.not_before, reason = excluded.reason",
                [(job, int(counted), not_before, reason) for job in jobs],
            )

    def failed_compiles(self) -> list[tuple[str, str]]:
        """Return the ids of the entries whose compile failed too often, each with the last reason."""
        query = (
            "SELECT id, reason FROM entries JOIN tries ON job = ? || id || ' ' || text "
            "WHERE count >= ? ORDER BY day, id"
        )
        return self.db.execute(query, (_COMPILE, SET_ASIDE)).fetchall()

    def lift_waits(self) -> None:
        """Let all jobs run again at once, because a person asks; the counts of failures stay."""
        with self.transaction():
            self.db.execute("UPDATE tries SET not_before = 0")

    def forget_tries(self, jobs: Iterable[str]) -> None:
        """Delete the failures of jobs that are finished."""
        with self.transaction():
            self.db.executemany("DELETE FROM tries WHERE job = ?", [(job,) for job in jobs])

    # calls and notes

    def book(self, call: Call, when: datetime | None = None) -> None:
        """Record a model call, whatever its outcome."""
        with self.transaction():
            row = (_stamp(when), *astuple(call))
            self.db.execute("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def calls_since(self, when: datetime) -> list[tuple[datetime, Call]]:
        """Return the calls since ``when``, oldest first."""
        rows = self.db.execute("SELECT * FROM calls WHERE time >= ? ORDER BY time", (_stamp(when),))
        return [(datetime.fromisoformat(time), Call(*call)) for time, *call in rows]

    def note(self, kind: str, subject: str, text: str) -> None:
        """Record one line that may be needed later (a missing range, a claim that was not written)."""
        with self.transaction():
            self._note(kind, subject, text)

    def notes(self, kind: str = "") -> list[tuple[str, str, str, str]]:
        """Return the notes as (time, kind, subject, text), newest first."""
        return self.db.execute("SELECT * FROM notes WHERE kind = ?1 OR ?1 = '' ORDER BY rowid DESC", (kind,)).fetchall()

    def _note(self, kind: str, subject: str, text: str) -> None:
        self.db.execute("INSERT INTO notes VALUES (?, ?, ?, ?)", (_stamp(None), kind, subject, text))

    def strike_notes(self, held: Callable[[str], bool]) -> None:
        """Delete the notes, values and reasons of failures for which ``held`` is true; values are JSON."""
        with self.transaction():
            notes = self.db.execute("SELECT rowid, subject, text FROM notes").fetchall()
            gone = [(row,) for row, subject, text in notes if held(f"{subject}\n{text}")]
            self.db.executemany("DELETE FROM notes WHERE rowid = ?", gone)
            named = self.db.execute("SELECT name, value FROM named").fetchall()
            self.db.executemany("DELETE FROM named WHERE name = ?", [(name,) for name, value in named if held(value)])
            tries = self.db.execute("SELECT job, reason FROM tries").fetchall()
            failed = [(job,) for job, reason in tries if held(reason)]
            self.db.executemany("UPDATE tries SET reason = '' WHERE job = ?", failed)

    def shred(self) -> None:
        """Overwrite deleted content on disk."""
        database.shred(self.db)

    # small facts

    def get(self, name: str) -> Any:
        """Return the value stored under this name, None when there is none."""
        return json.loads(self._first_value("SELECT value FROM named WHERE name = ?", name) or "null")

    def put(self, name: str, value: Any) -> None:
        """Store a JSON value of any length under a name."""
        with self.transaction():
            self.db.execute("INSERT OR REPLACE INTO named VALUES (?, ?)", (name, json.dumps(value)))


def _stamp(when: datetime | None) -> str:
    return (when or clock.now()).isoformat(timespec="seconds")


def _open(path: Path) -> sqlite3.Connection:
    return database.open_(path, MIGRATIONS, newer=LedgerError, factory=_Connection)


class _Connection(sqlite3.Connection):
    """A connection whose errors tell a damaged file from one that cannot be used right now."""

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        with _translate_errors():
            return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        with _translate_errors():
            return super().executemany(*arguments)


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if database.is_damaged(error):
            mended = f"{invocation.command('flush')} sets it aside and makes a new one from the daily logs"
            raise LedgerDamagedError(f"The ledger is damaged ({error}); {mended}.") from error
        if not database.is_refused(error):
            raise
        where = f"The ledger cannot be used now ({error}): check free space and permissions."
        raise LedgerError(f"{where} Nothing is lost, memoria tries again.") from error
