"""Ledger file: the ledger's tables, the steps from one form of them to the next, and the connection to them.

It knows what went wrong with the file, but not what the rows mean.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memoria.ground import database
from memoria.ground.errors import LedgerDamagedError, LedgerError

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
)


def opened(path: Path) -> sqlite3.Connection:
    """Open or create the ledger at ``path``; a file that cannot be read as one is set aside."""
    with _translated():
        return database.open_or_replace(path, lambda: _open(path))


def _open(path: Path) -> sqlite3.Connection:
    return database.open_(path, MIGRATIONS, newer=LedgerError, factory=_Connection)


class _Connection(sqlite3.Connection):
    """A connection whose errors tell a damaged file from one that cannot be used right now."""

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        with _translated():
            return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        with _translated():
            return super().executemany(*arguments)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if database.is_damaged(error):
            raise LedgerDamagedError(f"The ledger is damaged ({error}).") from error
        if not database.is_refused(error):
            raise
        raise LedgerError(f"The ledger cannot be used now ({error}); nothing is lost, memoria tries again.") from error
