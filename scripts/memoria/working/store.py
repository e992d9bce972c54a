"""Store: working memory in one file of the state folder, shared by hooks, server and verbs.

It holds records (JSON text, a version, an expiry time) under a scope's name and a key. Internal keys begin with ``_``;
they are never listed with the others, never evicted, and kept by ``clear``. A change is a pure function of the parsed
value.

Calls run inline, not in a thread: a get takes less time than the hop to a thread and back (figures and the price in
docs/decisions/0030-working-memory.md). What could last, waiting for another process's write, is not done inside SQLite:
after ``STEP_WAIT_S`` the call gives the event loop back and tries again.

Reads write nothing. Which keys were read is kept in the process and written with its next write, or after
``TOUCHES`` reads, so that least-recently-used eviction sees them. Evicting is one step down an index.

With ``is_shared=True``, for a file that is exchanged with a server, what is deleted leaves its key and time behind
until the server has them.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from memoria.base.sqlite import STEP_WAIT_S
from memoria.ground import database
from memoria.ground.errors import WorkingStoreError

T = TypeVar("T")

INTERNAL = "_"  # first character of internal keys
TASK, SCRATCHPAD, CHECKPOINTS = "_task", "_scratchpad", "_checkpoints"
MERGED = (TASK, SCRATCHPAD, CHECKPOINTS)  # what two stores hold of them is merged; of other keys the newer value stays

Change = Callable[[Any], Any]  # from the parsed value (None: there is none) to the new one

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
    """
    ALTER TABLE journal ADD COLUMN scope TEXT GENERATED ALWAYS AS (json_extract(operation, '$.scope')) VIRTUAL;
    ALTER TABLE journal ADD COLUMN key TEXT GENERATED ALWAYS AS (json_extract(operation, '$.key')) VIRTUAL;
    ALTER TABLE journal ADD COLUMN run TEXT;
    ALTER TABLE journal ADD COLUMN taken REAL;
    """,
    # the key is empty when all keys but the internal ones were deleted
    """
    CREATE TABLE deleted (
        scope TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (scope, key)
    ) WITHOUT ROWID;
    INSERT OR REPLACE INTO deleted SELECT scope, coalesce(key, ''), max(json_extract(operation, '$.version'))
    FROM journal WHERE run IS NULL AND json_extract(operation, '$.op') IN ('delete', 'clear', 'restore')
    GROUP BY scope, key;
    DROP TABLE journal;
    DROP TABLE notes;
    """,
    """
    DELETE FROM deleted WHERE key = '';
    ALTER TABLE records ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;  -- whether the server has this version
    CREATE INDEX records_unsent ON records (scope) WHERE sent = 0;
    """,
)  # the n-th brings a file from user_version n to n + 1

_UPSERT = """
INSERT INTO records (scope, key, internal, value, version, expires, used, sent) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value, version = excluded.version, expires = excluded.expires,
used = excluded.used, sent = excluded.sent
"""
_LIVE = "(expires IS NULL OR expires > ?)"


@dataclass(frozen=True, slots=True)
class Record:
    """One stored value.

    ``value`` is JSON text. ``version`` grows with every write of the key and is at least the time of the write in
    microseconds since 1970, so that versions of different stores can be compared. ``expires`` is in seconds since
    1970, None for never.
    """

    value: str
    version: int
    expires: float | None = None

    @property
    def is_expired(self) -> bool:
        """Whether its time is over."""
        return self.expires is not None and self.expires <= time.time()

    @property
    def left_s(self) -> float | None:
        """The seconds until it expires, at least one microsecond; None for ever."""
        return None if self.expires is None else max(1e-6, self.expires - time.time())


@dataclass(frozen=True, slots=True)
class StoreStats:
    """A store's condition.

    ``healthy``: whether it answers; ``degraded``: whether a server that it is exchanged with cannot be used;
    ``reason``: why. ``where``: the server, or the file.
    """

    store: str
    healthy: bool
    degraded: bool = False
    reason: str = ""
    where: str = ""


class SqliteStore:
    """A store in one SQLite file (WAL); any number of processes may share it.

    All methods may raise ``WorkingStoreError``; one that cannot be used now raises ``StoreUnreachableError``.
    """

    def __init__(self, path: Path, *, is_shared: bool = False) -> None:
        """The file and its folder are made by the first call that needs them."""
        self.path = path
        self.is_shared = is_shared
        self._connection: sqlite3.Connection | None = None
        self._opened: os.stat_result
        self._touched: dict[tuple[str, str], int] = {}

    async def get(self, scope: str, key: str) -> Record | None:
        """Return the live record and make it the most recently used one; return None when there is none."""
        record = await self._read(scope, lambda db: _select(db, scope, key))
        if record is not None and not is_internal(key):
            self._touched[scope, key] = time.time_ns()
            if len(self._touched) >= TOUCHES:
                await self._write(_do_nothing)
        return record

    async def records(self, scope: str, *, internal: bool = False) -> dict[str, Record]:
        """Return all live records of the scope, either internal or not, sorted by key."""
        where = f"scope = ? AND internal = ? AND {_LIVE}"
        query = f"SELECT key, value, version, expires FROM records WHERE {where}"  # noqa: S608
        rows = await self._read(scope, lambda db: db.execute(query, (scope, internal, time.time())).fetchall())
        return {key: Record(*rest) for key, *rest in sorted(rows)}

    async def put(
        self, scope: str, key: str, value: str, ttl: float | None = None, *, limit: int | None = None
    ) -> None:
        """Write a JSON text that lives for ``ttl`` seconds (None: for ever).

        At most ``limit`` keys that are not internal stay; the least recently used ones go.
        """

        def work(db: sqlite3.Connection) -> None:
            _upsert(db, scope, key, value, ttl)
            self._evict(db, scope, limit)

        await self._change(scope, work)

    async def change(self, scope: str, key: str, change: Change, *, ttl: float | None) -> str:
        """Apply a change atomically and return the new JSON text."""

        def work(db: sqlite3.Connection) -> str:
            old = _select(db, scope, key)
            value = apply(change, old.value if old else None)
            _upsert(db, scope, key, value, ttl)
            return value

        return await self._change(scope, work)

    async def delete(self, scope: str, key: str) -> bool:
        """Delete the record; return whether there was a live one."""
        return await self._change(scope, lambda db: self._drop(db, scope, key)) > 0

    async def clear(self, scope: str) -> int:
        """Delete all keys that are not internal; return how many live ones there were."""
        return await self._change(scope, lambda db: self._drop(db, scope))

    async def restore(self, scope: str, puts: Mapping[str, Sequence[Any]], internal: tuple[str, ...]) -> None:
        """Replace all keys that are not internal, and the named internal ones, in one step.

        ``puts`` holds a JSON text and the seconds that it lives by key.
        """

        def work(db: sqlite3.Connection) -> None:
            for key in ("", *internal):
                self._drop(db, scope, key)
            for key, (value, ttl) in puts.items():
                _upsert(db, scope, key, value, ttl)

        await self._change(scope, work)

    async def register(self, scope: str, ttl: float | None) -> None:
        """Record for ``scopes`` that the scope was opened; the record expires after ``ttl`` seconds."""
        now = time.time()

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM scopes WHERE expires <= ?", (now,))
            db.execute("INSERT OR REPLACE INTO scopes VALUES (?, ?, ?)", (scope, now, deadline(ttl, now)))

        await self._write(work)

    async def scopes(self) -> list[str]:
        """Return the names of the registered scopes, sorted."""
        query = f"SELECT name FROM scopes WHERE {_LIVE} ORDER BY name"  # noqa: S608 (a constant)
        rows = await self._run(lambda db: db.execute(query, (time.time(),)).fetchall())
        return [name for (name,) in rows]

    async def stats(self) -> StoreStats:
        """Return the store's condition; never raise ``StoreUnreachableError``."""
        try:
            await self._run(lambda db: db.execute("SELECT 1 FROM scopes").fetchone())
        except WorkingStoreError as error:
            return StoreStats("sqlite", healthy=False, reason=str(error), where=str(self.path))
        return StoreStats("sqlite", healthy=True, where=str(self.path))

    async def close(self) -> None:
        """Close files and connections; closing twice is allowed."""
        if self._connection is not None:
            if self._touched:
                await self._write(_do_nothing)
            self._drop_connection()

    # -- the exchange with a server

    async def scope_expiry(self, scope: str) -> tuple[float | None] | None:
        """Return when a scope that was opened is forgotten (None in it: never), None for one that was not."""
        query = f"SELECT expires FROM scopes WHERE name = ? AND {_LIVE}"  # noqa: S608 (a constant)
        return await self._run(lambda db: db.execute(query, (scope, time.time())).fetchone())

    async def unsent_scopes(self) -> list[str]:
        """Return the scopes that hold what the server lacks."""
        query = "SELECT scope FROM records WHERE sent = 0 UNION SELECT scope FROM deleted"
        return [name for (name,) in await self._run(lambda db: db.execute(query).fetchall())]

    async def unite(self, scope: str, theirs: Mapping[str, Record] | None, kept_s: float) -> dict[str, Record]:
        """Take over what is newer on the server, and return what is newer here; a deleted key has an empty value.

        ``theirs``: all that the server holds of the scope, deletions for ``kept_s``; None when that is known.
        """

        def work(db: sqlite3.Connection) -> dict[str, Record]:
            query = "SELECT key, sent, value, version, expires FROM records WHERE scope = ?"
            ours = {key: (bool(sent), Record(*rest)) for key, sent, *rest in db.execute(query, (scope,))}
            deleted = db.execute("SELECT key, version FROM deleted WHERE scope = ?", (scope,))
            gone = {key: Record("", version, time.time() + kept_s) for key, version in deleted}
            outgoing = gone | {key: record for key, (sent, record) in ours.items() if not sent}
            if theirs is None:
                return outgoing
            for key, their in theirs.items():
                sent, own = ours.get(key, (True, None))
                here = own or gone.get(key)
                value = "" if their.is_expired else their.value
                outgoing.pop(key, None)
                if own and own.version == their.version:
                    db.execute("UPDATE records SET sent = 1 WHERE scope = ? AND key = ?", (scope, key))
                elif own and value and key in MERGED and not sent:
                    version = next_version(max(own.version, their.version))
                    outgoing[key] = Record(apply(merge_change(value), own.value), version, own.expires)
                    _store(db, scope, key, outgoing[key], is_sent=False)
                elif here and here.version > their.version:
                    outgoing[key] = here
                else:
                    self._take(db, scope, key, their if value else None)
            for key, (sent, own) in ours.items():
                if key not in theirs and sent:
                    if theirs and own.version / 1e6 < time.time() - kept_s:  # deleted elsewhere, longer ago
                        self._take(db, scope, key, None)
                    else:  # the server has lost it
                        outgoing[key] = own
            return outgoing

        return await self._write(work)

    @staticmethod
    def _take(db: sqlite3.Connection, scope: str, key: str, record: Record | None) -> None:
        """Let a key be as it is on the server."""
        if record:
            _store(db, scope, key, record, is_sent=True)
            return
        for table in ("records", "deleted"):
            db.execute(f"DELETE FROM {table} WHERE scope = ? AND key = ?", (scope, key))  # noqa: S608 (constants)

    async def mark_sent(self, scope: str, versions: Mapping[str, int]) -> None:
        """Record that the server has these versions; what has changed since is still to be sent."""
        rows = [(scope, key, version) for key, version in versions.items()]

        def work(db: sqlite3.Connection) -> None:
            db.executemany("UPDATE records SET sent = 1 WHERE scope = ? AND key = ? AND version = ?", rows)
            db.executemany("DELETE FROM deleted WHERE scope = ? AND key = ? AND version = ?", rows)

        await self._write(work)

    def _drop(self, db: sqlite3.Connection, scope: str, key: str = "") -> int:
        """Delete a record, or all that are not internal; return how many there were."""
        which, values = ("key = ?", [scope, key]) if key else ("internal = 0", [scope])
        return self._delete(db, f"scope = ? AND {which}", values)

    def _evict(self, db: sqlite3.Connection, scope: str, limit: int | None) -> None:
        """Drop the least recently used until ``limit`` stay: each is the first entry of an index, none is sought."""
        if limit is None:
            return
        row = db.execute("SELECT others FROM counts WHERE scope = ?", (scope,)).fetchone()
        over = (row[0] if row else 0) - limit
        if over > 0:
            oldest = "SELECT rowid FROM records WHERE scope = ? AND internal = 0 ORDER BY used LIMIT ?"
            self._delete(db, f"rowid IN ({oldest})", [scope, over])

    def _delete(self, db: sqlite3.Connection, which: str, values: list[Any]) -> int:
        """Delete records; of a file that is shared, keep what the server must be told."""
        if self.is_shared:
            gone = f"SELECT scope, key, max(version + 1, ?) FROM records WHERE {which}"  # noqa: S608 (constants)
            db.execute(f"INSERT OR REPLACE INTO deleted {gone}", [next_version(0), *values])
        return db.execute(f"DELETE FROM records WHERE {which}", values).rowcount  # noqa: S608 (constants)

    async def _meet(self, scope: str) -> None:
        """Exchange a scope with the server, of a store that has one."""

    async def _read(self, scope: str, work: Callable[[sqlite3.Connection], T]) -> T:
        await self._meet(scope)
        return await self._run(work)

    async def _change(self, scope: str, work: Callable[[sqlite3.Connection], T]) -> T:
        await self._meet(scope)
        result = await self._write(work)
        await self._meet(scope)
        return result

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
                return work(self._get_connection())
            except sqlite3.Error as error:
                if database.is_damaged(error) and not mended:
                    self._drop_connection()
                    database.open_or_replace(self.path, lambda: _open(self.path, reads_all=True)).close()
                    mended = True
                    continue
                if not database.is_busy(error):
                    raise WorkingStoreError(f"working memory: {self.path}: {error}") from error
                if time.monotonic() > give_up:
                    raise WorkingStoreError(f"working memory: {self.path} was locked for {PATIENCE_S:g} s") from error
            except OSError as error:
                raise WorkingStoreError(f"working memory: {self.path}: {error}") from error
            await asyncio.sleep(random.uniform(0.001, 0.010))  # noqa: S311 (jitter, not a secret)

    def _get_connection(self) -> sqlite3.Connection:
        """The connection; opened anew when the file was deleted or moved under it."""
        if self._connection is not None:
            with suppress(FileNotFoundError):
                if os.path.samestat(self.path.stat(), self._opened):
                    return self._connection
            self._drop_connection()
        self._connection = _open(self.path)
        self._opened = self.path.stat()
        return self._connection

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _do_nothing(_: sqlite3.Connection) -> None:
    """For the sake of what each transaction does beside its work."""


def _open(path: Path, *, reads_all: bool = False) -> sqlite3.Connection:
    return database.open_(path, MIGRATIONS, newer=WorkingStoreError, wait_s=STEP_WAIT_S, reads_all=reads_all)


def _select(db: sqlite3.Connection, scope: str, key: str) -> Record | None:
    query = f"SELECT value, version, expires FROM records WHERE scope = ? AND key = ? AND {_LIVE}"  # noqa: S608
    row = db.execute(query, (scope, key, time.time())).fetchone()
    return None if row is None else Record(*row)


def _upsert(db: sqlite3.Connection, scope: str, key: str, value: str, ttl: float | None) -> None:
    query = "SELECT version FROM records WHERE scope = ?1 AND key = ?2 UNION ALL"
    query += " SELECT version FROM deleted WHERE scope = ?1 AND key = ?2"
    row = db.execute(query, (scope, key)).fetchone()
    version = next_version(row[0] if row else 0)
    _store(db, scope, key, Record(value, version, deadline(ttl, time.time())), is_sent=False)


def _store(db: sqlite3.Connection, scope: str, key: str, record: Record, *, is_sent: bool) -> None:
    row = (scope, key, is_internal(key), record.value, record.version, record.expires, time.time_ns(), is_sent)
    db.execute(_UPSERT, row)
    db.execute("DELETE FROM deleted WHERE scope = ? AND key = ?", (scope, key))


def is_internal(key: str) -> bool:
    """Return whether the key is internal."""
    return key.startswith(INTERNAL)


def next_version(previous: int) -> int:
    """Return the version of a write now: the time in microseconds, but always more than ``previous``."""
    return max(previous + 1, time.time_ns() // 1000)


def deadline(ttl: float | None, now: float) -> float | None:
    """Return the expiry time of a value written at ``now`` with ``ttl`` seconds to live; None for ever."""
    return None if ttl is None else now + ttl


def apply(change: Change, old: str | None) -> str:
    """Return the JSON text of a value after a change, given the text before it (None: there is none)."""
    return json.dumps(change(None if old is None else json.loads(old)))


def append_change(entry: dict[str, Any], cap: int) -> Change:
    """Return the change that adds an entry (with ``id`` and ``time``); the oldest over ``cap`` go."""
    return lambda value: _join(value or [], [entry])[-cap:]


def remove_change(ident: str) -> Change:
    """Return the change that drops the entry with that id."""
    return lambda value: [entry for entry in value or [] if entry["id"] != ident]


def report_change(own: str, at: str, fields: Mapping[str, Any]) -> Change:
    """Return the change that sets the fields of a task that nobody has set later than ``at``.

    ``own`` is whose report it is: reports are counted by who made them, so that none counts twice.
    """

    def report(value: Any) -> Any:
        reports = _reports(value or {})
        when = {"set_at": dict.fromkeys(fields, at), "reports": {**reports, own: reports.get(own, 0) + 1}}
        return _join_task(value, {"started": at, "updated": at, **when, **fields})

    return report


def merge_change(text: str) -> Change:
    """Return the change that adds what another store holds under the same key, one of ``MERGED``."""
    theirs = json.loads(text)
    if isinstance(theirs, dict):
        return lambda value: _join_task(value, theirs)
    return lambda value: _join(value or [], theirs)


def _join(ours: list[Any], theirs: list[Any]) -> list[Any]:
    """Return the entries of both in the order of time, each once."""
    known = {entry["id"] for entry in ours}
    return sorted([*ours, *(entry for entry in theirs if entry["id"] not in known)], key=lambda entry: entry["time"])


def _join_task(ours: dict[str, Any] | None, theirs: dict[str, Any]) -> dict[str, Any]:
    """Return a task with each field as it was set last, by ``set_at``; ``reports`` counts by who made them."""
    ours = ours or {"started": theirs["started"]}
    later = [name for name in theirs.get("set_at", {}) if _set_at(theirs, name) >= _set_at(ours, name)]
    old, new = _set_at(ours, "description"), _set_at(theirs, "description")
    replaced = new > old
    mine, more = ({} if replaced else _reports(ours)), ({} if "" < new < old else _reports(theirs))
    reports = {name: max(mine.get(name, 0), more.get(name, 0)) for name in mine | more}
    return {
        **ours,
        **{name: theirs[name] for name in later},
        "set_at": {**ours.get("set_at", {}), **{name: theirs["set_at"][name] for name in later}},
        "started": (theirs if replaced else ours)["started"],
        "updated": max(ours.get("updated", ""), theirs["updated"]),
        "reports": reports,
        "revision": sum(reports.values()),
    }


def _reports(task: Mapping[str, Any]) -> dict[str, int]:
    """Return how often each has reported progress; until 0.2 only the sum was kept."""
    reports: dict[str, int] = task.get("reports") or {"": task.get("revision", 0)}
    return reports


def _set_at(task: Mapping[str, Any], name: str) -> str:
    """Return when a field was set, ``""`` for never."""
    return str(task.get("set_at", {}).get(name, task.get("started", ""))) if name in task else ""
