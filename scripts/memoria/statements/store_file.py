"""Store file: the tables of ``learned.db``, the steps from one form of them to the next, and the connection to them.

It knows nothing of the facts in the rows, so that a worker can ask at little cost whether it needs them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from memoria.base.paths import Paths
from memoria.ground import database
from memoria.ground.errors import MemoryStoreError

# Step n brings a database from user_version n to n + 1. Never change one that has shipped; add another.
MIGRATIONS: Final = (
    """
    CREATE TABLE facts (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, day TEXT NOT NULL, kind TEXT NOT NULL, time TEXT NOT NULL,
        ended TEXT NOT NULL, successor TEXT NOT NULL, body TEXT NOT NULL
    );
    CREATE TABLE holds (project TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (project, id)) WITHOUT ROWID;
    CREATE VIRTUAL TABLE words USING fts5(
        content, keywords, tags, stems, tokenize = 'porter unicode61 remove_diacritics 2'
    );
    CREATE TABLE logs (day TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE judged (session TEXT NOT NULL, turn TEXT NOT NULL, PRIMARY KEY (session, turn)) WITHOUT ROWID;
    """,
    """
    CREATE TABLE links (id TEXT PRIMARY KEY, server INTEGER NOT NULL UNIQUE, digest TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    """,
    """
    DROP TABLE links;
    CREATE TABLE links (
        home TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, named TEXT NOT NULL, digest TEXT NOT NULL,
        created TEXT NOT NULL, updated TEXT NOT NULL, adopted INTEGER NOT NULL, pushed INTEGER NOT NULL,
        PRIMARY KEY (home, number)
    ) WITHOUT ROWID;
    CREATE INDEX links_of ON links (home, id);
    CREATE TABLE gone (id TEXT PRIMARY KEY) WITHOUT ROWID;
    """,
    """
    CREATE TABLE past (n INTEGER PRIMARY KEY, body TEXT NOT NULL);  -- what the wiki may still tell as current
    """,
    """
    CREATE TABLE taken_back (name TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;  -- by a person, and in no log
    """,
    """
    DROP TABLE past;
    DROP TABLE taken_back;
    CREATE TABLE articles (slug TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID;  -- as they were last read
    CREATE TABLE places (  -- the lines of statements in them; words: what the line says
        slug TEXT NOT NULL, id TEXT NOT NULL, day TEXT NOT NULL, is_current INTEGER NOT NULL, words TEXT NOT NULL,
        PRIMARY KEY (slug, id)
    ) WITHOUT ROWID;
    CREATE INDEX places_of ON places (id);
    ALTER TABLE facts ADD COLUMN entry TEXT NOT NULL DEFAULT '';  -- the id of the entry that holds it
    ALTER TABLE gone ADD COLUMN body TEXT NOT NULL DEFAULT '';  -- what it said, so that no record shows it
    DELETE FROM logs;  -- so that they are read again, for that
    """,
    "CREATE INDEX facts_of_day ON facts (day)",
    "DROP TABLE judged",  # exchanges from which a call of its own had learned while their session was open
)


def opened(path: Path) -> sqlite3.Connection:
    """Open or create the file, and read all of it; one that cannot be read is set aside."""
    return database.open_or_replace(
        path, lambda: database.open_(path, MIGRATIONS, newer=MemoryStoreError, reads_all=True)
    )


def has_news(paths: Paths, stamps: Mapping[str, str]) -> bool:
    """Return whether a worker must read the facts, given the ``stamps`` of the daily logs by day.

    That is when the store was never filled, when a log changed since it was read, when facts wait in the outbox, and
    when the prepared pages do not show the latest.
    """
    path = Path(paths.facts)
    if not path.exists() or any(Path(paths.facts_outbox).glob("*.json")):
        return True
    with closing(opened(path)) as db:
        meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
        return any(changed_logs(db, stamps)) or "read" not in meta or bool(meta.get("unshown"))


def changed_logs(db: sqlite3.Connection, stamps: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the days whose log has another stamp than when it was read, and those whose log is gone."""
    known = dict(db.execute("SELECT day, mark FROM logs"))
    stale = [day for day, stamp in stamps.items() if known.get(day) != stamp]
    return stale, [day for day in known if day not in stamps]
