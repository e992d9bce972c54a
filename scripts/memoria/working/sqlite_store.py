"""SQLite store: working memory in one file of the state folder, shared by hooks, server and verbs. The default.

Calls run inline, not in a thread: a get takes less time than the hop to a thread and back (figures and the price in
docs/decisions/0030-working-memory.md). What could last, waiting for another process's write, is not done inside SQLite:
after ``STEP_WAIT_S`` the call gives the event loop back and tries again.

Reads write nothing. Which keys were read is kept in the process and written with its next write, or after
``TOUCHES`` reads, so that least-recently-used eviction sees them. Evicting is one step down an index.

With ``journal=True`` each write is also noted in the same transaction, for a store that could not be reached.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from memoria.base.sqlite import STEP_WAIT_S
from memoria.ground import database, locks
from memoria.ground.errors import StoreBusyError, StoreTooNewError, WorkingStoreError
from memoria.working import changes
from memoria.working.store import Change, Put, Record, ScopeSeen, StoreStats, deadline, is_internal, next_version

T = TypeVar("T")

PATIENCE_S = 10.0  # then the call fails
TOUCHES = 64

MIGRATIONS = (
    """
    CREATE TABLE records (
        scope TEXT NOT NULL, key TEXT NOT NULL, internal INTEGER NOT NULL, value TEXT NOT NULL,
        version INTEGER NOT NULL, expires REAL, used INTEGER NOT NULL, PRIMARY KEY (scope, key)
    );
    CREATE INDEX records_used ON records (scope, used) WHERE internal = 0;
    CREATE INDEX records_expires ON records (expires) WHERE expires IS NOT NULL;
    CREATE TABLE counts (scope TEXT PRIMARY KEY, others INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TRIGGER records_more AFTER INSERT ON records WHEN new.internal = 0 BEGIN
        INSERT INTO counts VALUES (new.scope, 1) ON CONFLICT (scope) DO UPDATE SET others = others + 1;
    END;
    CREATE TRIGGER records_fewer AFTER DELETE ON records WHEN old.internal = 0 BEGIN
        UPDATE counts SET others = others - 1 WHERE scope = old.scope;
        DELETE FROM counts WHERE scope = old.scope AND others <= 0;
    END;
    CREATE TABLE scopes (name TEXT PRIMARY KEY, seen REAL NOT NULL, expires REAL) WITHOUT ROWID;
    CREATE TABLE journal (id INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT NOT NULL);
    CREATE TABLE notes (name TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
    """,
    # run, taken: the server process that accepted the entry, and when; NULL while the entry waits
    """
    ALTER TABLE journal ADD COLUMN scope TEXT GENERATED ALWAYS AS (json_extract(operation, '$.scope')) VIRTUAL;
    ALTER TABLE journal ADD COLUMN key TEXT GENERATED ALWAYS AS (json_extract(operation, '$.key')) VIRTUAL;
    ALTER TABLE journal ADD COLUMN run TEXT;
    ALTER TABLE journal ADD COLUMN taken REAL;
    CREATE INDEX journal_scope ON journal (scope, key);
    CREATE INDEX journal_waiting ON journal (id) WHERE run IS NULL;
    CREATE INDEX journal_accepted ON journal (run, taken) WHERE run IS NOT NULL;
    """,
)  # the n-th brings a file from user_version n to n + 1

_UPSERT = """
INSERT INTO records (scope, key, internal, value, version, expires, used) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (scope, key) DO UPDATE
SET value = excluded.value, version = excluded.version, expires = excluded.expires, used = excluded.used
"""
_SETTLE = """
DELETE FROM records WHERE scope = ? AND key = ? AND version <= ?
AND NOT EXISTS (SELECT 1 FROM journal WHERE scope = ? AND key = ?)
"""
_FORGET_REGISTER = (
    "DELETE FROM journal WHERE scope = ? AND key IS NULL AND json_extract(operation, '$.op') = 'register'"
)
_LIVE = "(expires IS NULL OR expires > ?)"


class SqliteStore:
    """A store in one SQLite file (WAL); any number of processes may share it."""

    def __init__(self, path: Path, *, journal: bool = False) -> None:
        """The file and its folder are made by the first call that needs them."""
        self.path = path
        self.journal = journal
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)
        self._touched: dict[tuple[str, str], int] = {}

    async def get(self, scope: str, key: str) -> Record | None:
        """See ``Store.get``."""
        record = await self._run(lambda db: _select(db, scope, key))
        if record is not None and not is_internal(key):
            self._touched[scope, key] = time.time_ns()
            if len(self._touched) >= TOUCHES:
                await self._write(_nothing)
        return record

    async def records(self, scope: str, *, internal: bool = False) -> dict[str, Record]:
        """See ``Store.records``."""
        query = f"SELECT key, value, version, expires FROM records WHERE scope = ? AND internal = ? AND {_LIVE}"  # noqa: S608 (a constant)
        rows = await self._run(lambda db: db.execute(query, (scope, internal, time.time())).fetchall())
        return {key: Record(*rest) for key, *rest in sorted(rows)}

    async def put(self, scope: str, key: str, put: Put, *, limit: int | None = None) -> int:
        """See ``Store.put``."""

        def work(db: sqlite3.Connection) -> int:
            record = _upsert(db, scope, key, put)
            _evict(db, scope, limit)
            noted = {"value": record.value, "expires": record.expires, "limit": limit}
            self._note(db, scope, record.version, op="put", key=key, **noted)
            return record.version

        return await self._write(work)

    async def change(self, scope: str, key: str, change: Change, *, ttl: float | None) -> str:
        """See ``Store.change``."""

        def work(db: sqlite3.Connection) -> str:
            old = _select(db, scope, key)
            record = _upsert(db, scope, key, Put(changes.apply(change, old.value if old else None), ttl))
            noted = {"change": change.name, "argument": change.argument, "id": change.id, "expires": record.expires}
            self._note(db, scope, record.version, op="change", key=key, **noted)
            return record.value

        return await self._write(work)

    async def delete(self, scope: str, key: str) -> bool:
        """See ``Store.delete``."""

        def work(db: sqlite3.Connection) -> bool:
            gone = db.execute("DELETE FROM records WHERE scope = ? AND key = ?", (scope, key)).rowcount
            self._note(db, scope, next_version(0), op="delete", key=key)
            return gone > 0

        return await self._write(work)

    async def clear(self, scope: str) -> int:
        """See ``Store.clear``."""

        def work(db: sqlite3.Connection) -> int:
            self._note(db, scope, next_version(0), op="clear")
            return db.execute("DELETE FROM records WHERE scope = ? AND internal = 0", (scope,)).rowcount

        return await self._write(work)

    async def restore(self, scope: str, puts: Mapping[str, Put], internal: tuple[str, ...]) -> None:
        """See ``Store.restore``."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM records WHERE scope = ? AND internal = 0", (scope,))
            db.executemany("DELETE FROM records WHERE scope = ? AND key = ?", [(scope, key) for key in internal])
            written = {key: _upsert(db, scope, key, put) for key, put in puts.items()}
            noted = {key: [record.value, record.expires] for key, record in written.items()}
            version = max((record.version for record in written.values()), default=next_version(0))
            self._note(db, scope, version, op="restore", puts=noted, internal=list(internal))

        await self._write(work)

    async def register(self, scope: str, ttl: float | None) -> None:
        """See ``Store.register``."""
        now = time.time()

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM scopes WHERE expires <= ?", (now,))
            db.execute("INSERT OR REPLACE INTO scopes VALUES (?, ?, ?)", (scope, now, deadline(ttl, now)))
            if self.journal:
                db.execute(_FORGET_REGISTER, (scope,))
                self._note(db, scope, next_version(0), op="register", seen=now, expires=deadline(ttl, now))

        await self._write(work)

    async def scopes(self) -> list[ScopeSeen]:
        """See ``Store.scopes``."""
        query = f"SELECT name, seen FROM scopes WHERE {_LIVE} ORDER BY seen DESC"  # noqa: S608 (a constant)
        rows = await self._run(lambda db: db.execute(query, (time.time(),)).fetchall())
        return [ScopeSeen(*row) for row in rows]

    async def stats(self) -> StoreStats:
        """See ``Store.stats``."""
        size = self.path.stat().st_size if self.path.exists() else 0
        try:
            waiting = await self.waiting()
        except WorkingStoreError as error:
            return StoreStats("sqlite", healthy=False, reason=str(error))
        return StoreStats("sqlite", healthy=True, waiting=waiting, extra={"bytes": size})

    async def close(self) -> None:
        """See ``Store.close``."""
        if self._connection is not None:
            if self._touched:
                await self._write(_nothing)
            self._drop_connection()

    async def waiting(self) -> int:
        """Return how many journalled writes the other store has not accepted."""
        row = await self._run(lambda db: db.execute("SELECT count(*) FROM journal WHERE run IS NULL").fetchone())
        return int(row[0])

    async def journaled(self) -> dict[str, bool]:
        """Return the scopes that have journal entries, and whether any of these waits."""
        query = "SELECT scope, max(run IS NULL) FROM journal GROUP BY scope"
        return {scope: bool(waits) for scope, waits in await self._run(lambda db: db.execute(query).fetchall())}

    async def noted(self, after: int, at_most: int) -> list[tuple[int, dict[str, Any]]]:
        """Return the next waiting entries after an id, oldest first."""
        query = "SELECT id, operation FROM journal WHERE run IS NULL AND id > ? ORDER BY id LIMIT ?"
        rows = await self._run(lambda db: db.execute(query, (after, at_most)).fetchall())
        return [(number, json.loads(operation)) for number, operation in rows]

    async def operations(self, scope: str) -> list[dict[str, Any]]:
        """Return the waiting entries of one scope, oldest first."""
        query = "SELECT operation FROM journal WHERE run IS NULL AND scope = ? ORDER BY id"
        return [json.loads(row[0]) for row in await self._run(lambda db: db.execute(query, (scope,)).fetchall())]

    async def take(self, entries: Sequence[tuple[int, Mapping[str, Any]]], run: str, now: float) -> None:
        """Note that the server process ``run`` has accepted these entries; they stay until ``settle``.

        An accepted put or delete replaces the accepted entries before it that concern the same key.
        """
        whole = [(op["scope"], op["key"], number) for number, op in entries if op["op"] in ("put", "delete")]

        def work(db: sqlite3.Connection) -> None:
            db.executemany("UPDATE journal SET run = ?, taken = ? WHERE id = ?", [(run, now, n) for n, _ in entries])
            db.executemany("DELETE FROM journal WHERE scope = ? AND key = ? AND id < ? AND run IS NOT NULL", whole)
            for number, op in entries:
                if op["op"] == "delete":
                    _drop_from_restores(db, op["scope"], op["key"], number)

        await self._write(work)

    async def settle(self, run: str, before: float) -> None:
        """Delete the entries that the server process ``run`` accepted before a moment; those of another wait again.

        The values they wrote go too unless another entry concerns them: the other store holds them safely, and a copy
        left here would be read as news at the next outage.
        """

        def work(db: sqlite3.Connection) -> None:
            db.execute("UPDATE journal SET run = NULL WHERE run != ?", (run,))
            rows = db.execute("DELETE FROM journal WHERE run = ? AND taken < ? RETURNING operation", (run, before))
            for row in rows.fetchall():
                operation = json.loads(row[0])
                scope, version = operation["scope"], operation["version"]
                keys = [operation["key"]] if operation["op"] in ("put", "change") else list(operation.get("puts", ()))
                db.executemany(_SETTLE, [(scope, key, version, scope, key) for key in keys])

        accepted = "SELECT 1 FROM journal WHERE run IS NOT NULL LIMIT 1"
        if await self._run(lambda db: db.execute(accepted).fetchone()):
            await self._write(work)

    async def remember(self, name: str, value: float) -> None:
        """Keep a number for the other processes."""
        await self._write(lambda db: db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value)))

    async def remembered(self, name: str) -> float:
        """A number that a process kept; 0 when none did."""
        row = await self._run(lambda db: db.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone())
        return float(row[0]) if row else 0.0

    def _note(self, db: sqlite3.Connection, scope: str, version: int, **operation: Any) -> None:
        if self.journal:
            whole = json.dumps({"scope": scope, "version": version, **operation})
            db.execute("INSERT INTO journal (operation) VALUES (?)", (whole,))

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in one transaction of its own, after what has expired is gone and what was read is noted."""

        def transaction(db: sqlite3.Connection) -> T:
            db.execute("BEGIN IMMEDIATE")
            with db:
                db.execute("DELETE FROM records WHERE expires <= ?", (time.time(),))
                touched = [(used, scope, key, used) for (scope, key), used in self._touched.items()]
                db.executemany("UPDATE records SET used = ? WHERE scope = ? AND key = ? AND used < ?", touched)
                result = work(db)
            self._touched.clear()
            return result

        return await self._run(transaction)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` on the connection; waits its turn without holding the event loop, mends a broken file once."""
        give_up = time.monotonic() + PATIENCE_S
        mended = False
        while True:
            try:
                return work(self._connected())
            except sqlite3.Error as error:
                if database.is_damaged(error) and not mended:
                    self._set_aside()
                    mended = True
                    continue
                if not database.is_busy(error):
                    raise WorkingStoreError(f"working memory: {self.path}: {error}") from error
                if time.monotonic() > give_up:
                    raise StoreBusyError(f"working memory: {self.path} stayed locked for {PATIENCE_S:g} s") from error
            except OSError as error:
                raise WorkingStoreError(f"working memory: {self.path}: {error}") from error
            await asyncio.sleep(random.uniform(0.001, 0.010))  # noqa: S311 (jitter, not a secret)

    def _connected(self) -> sqlite3.Connection:
        """The connection; opened anew when the file was deleted or moved under it."""
        if self._connection is not None:
            try:
                status = self.path.stat()
            except FileNotFoundError:
                self._drop_connection()
            else:
                if (status.st_dev, status.st_ino) != self._identity:
                    self._drop_connection()
        if self._connection is None:
            self._connection = _open(self.path)
            status = self.path.stat()
            self._identity = (status.st_dev, status.st_ino)
        return self._connection

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _set_aside(self) -> None:
        """Move a file that is no database out of the way; under a lock, lest a good new one be moved after it."""
        self._drop_connection()
        with locks.waiting(self.path.with_name(f"{self.path.name}.lock")):
            if not _is_sound(self.path):
                database.set_aside(self.path)


def _nothing(_: sqlite3.Connection) -> None:
    """For the sake of what each transaction does beside its work."""


def _open(path: Path) -> sqlite3.Connection:
    return database.open_(path, MIGRATIONS, newer=StoreTooNewError, wait_s=STEP_WAIT_S)


def _is_sound(path: Path) -> bool:
    """Whether SQLite reads the whole file; a file that is busy or gone is not to blame."""
    try:
        with closing(_open(path)) as db:
            database.check(db)
    except sqlite3.Error as error:
        return not database.is_damaged(error)
    return True


def _select(db: sqlite3.Connection, scope: str, key: str) -> Record | None:
    query = f"SELECT value, version, expires FROM records WHERE scope = ? AND key = ? AND {_LIVE}"  # noqa: S608 (a constant)
    row = db.execute(query, (scope, key, time.time())).fetchone()
    return None if row is None else Record(*row)


def _upsert(db: sqlite3.Connection, scope: str, key: str, put: Put) -> Record:
    row = db.execute("SELECT version FROM records WHERE scope = ? AND key = ?", (scope, key)).fetchone()
    record = Record(put.value, next_version(row[0] if row else 0), deadline(put.ttl, time.time()))
    used = time.time_ns()
    db.execute(_UPSERT, (scope, key, is_internal(key), record.value, record.version, record.expires, used))
    return record


def _drop_from_restores(db: sqlite3.Connection, scope: str, key: str, before: int) -> None:
    """Take a deleted key out of the accepted restores before an entry: what was deleted is not kept there either."""
    query = "SELECT id, operation FROM journal WHERE scope = ? AND key IS NULL AND id < ? AND run IS NOT NULL"
    for number, operation in db.execute(query, (scope, before)).fetchall():
        whole = json.loads(operation)
        if whole.get("puts", {}).pop(key, None) is not None:
            db.execute("UPDATE journal SET operation = ? WHERE id = ?", (json.dumps(whole), number))


def _evict(db: sqlite3.Connection, scope: str, limit: int | None) -> None:
    """Drop the least recently used until ``limit`` stay: each is the first entry of an index, none is searched for."""
    if limit is None:
        return
    row = db.execute("SELECT others FROM counts WHERE scope = ?", (scope,)).fetchone()
    over = (row[0] if row else 0) - limit
    if over > 0:
        oldest = "SELECT rowid FROM records WHERE scope = ? AND internal = 0 ORDER BY used LIMIT ?"
        db.execute(f"DELETE FROM records WHERE rowid IN ({oldest})", (scope, over))  # noqa: S608 (a constant)
