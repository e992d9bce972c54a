"""Database: the SQLite files that memoria writes, opened, migrated, checked and set aside in one way.

A file is its owner's alone and uses write-ahead logging, so that readers go on while one process writes. Its version is
``user_version``, the number of migrations it has had. One of a newer memoria is left as it is; a damaged one is set
aside, and what it held is made anew by whoever owns it. Knows no table.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from memoria.base import atomic
from memoria.base.sqlite import WRITE_WAIT_S
from memoria.ground import files, locks
from memoria.ground.errors import ExpectedError

T = TypeVar("T")

IN_MEMORY = ":memory:"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_REFUSED = (
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL,
)  # fmt: skip
_TABLES = re.compile(r"CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)")


class DamagedError(sqlite3.DatabaseError):
    """A database can be read and does not hold what it should."""


def open_(
    path: Path,
    migrations: Sequence[str],
    *,
    newer: type[ExpectedError],
    wait_s: float = WRITE_WAIT_S,
    factory: type[sqlite3.Connection] = sqlite3.Connection,
) -> sqlite3.Connection:
    """Open or make a database and bring it up to date.

    Migration n brings it from version n to n + 1. Raises ``newer`` when a newer memoria wrote it, DamagedError when a
    table is missing, sqlite3.Error or OSError when the file cannot be used.
    """

    def allowed(db: sqlite3.Connection) -> None:
        if version(db) > len(migrations):
            raise newer(f"{path} was written by a newer memoria; update memoria, or move the file away")

    db = connect(path, wait_s=wait_s, factory=factory, allowed=allowed)
    try:
        if version(db) < len(migrations):
            _migrate(db, migrations)
        there = {name for (name,) in _execute(db, "SELECT name FROM sqlite_master WHERE type = 'table'")}
        if missing := set(_TABLES.findall("".join(migrations))) - there:
            raise DamagedError(f"the database lacks {', '.join(sorted(missing))}")
    except BaseException:
        db.close()
        raise
    return db


def connect(
    path: Path,
    *,
    wait_s: float = WRITE_WAIT_S,
    factory: type[sqlite3.Connection] = sqlite3.Connection,
    allowed: Callable[[sqlite3.Connection], None] = lambda _: None,
) -> sqlite3.Connection:
    """Open or make a file for writing, whatever is in it; ``allowed`` may refuse it by raising, before it is changed.

    A killed process loses no commit; a power cut may take the last moments'.
    """
    if str(path) != IN_MEMORY:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_private(path)
    db = sqlite3.connect(path, timeout=wait_s, isolation_level=None, factory=factory)
    try:
        allowed(db)
        _write_ahead(db)
        _execute(db, "PRAGMA synchronous = NORMAL")
    except BaseException:
        db.close()
        raise
    return db


def or_anew(path: Path, opening: Callable[[], T]) -> T:
    """Return what ``opening`` the file gives, with a new one when it is damaged.

    The damaged file is set aside; of several processes that find it at once, one does so.
    """
    try:
        return opening()
    except sqlite3.DatabaseError as error:
        if not is_damaged(error):
            raise
    with locks.waiting(path.with_name(path.name + ".lock")):
        try:
            return opening()  # another process was faster
        except sqlite3.DatabaseError as error:
            if not is_damaged(error):
                raise
        set_aside(path)
        return opening()


def set_aside(path: Path) -> None:
    """Move a damaged database out of the way, if it is there, with what SQLite keeps beside it."""
    if path.exists():
        files.set_aside(path)
    for companion in ("-wal", "-shm"):
        path.with_name(path.name + companion).unlink(missing_ok=True)


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # some errors (disk full) have rolled back already
            db.execute("ROLLBACK")
        raise


def check(db: sqlite3.Connection) -> None:
    """Read the whole file; DamagedError when something is wrong with it."""
    found = _execute(db, "PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise DamagedError(found)


def shred(db: sqlite3.Connection) -> None:
    """Overwrite on disk whatever was deleted."""
    db.execute("PRAGMA secure_delete = ON")
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def version(db: sqlite3.Connection) -> int:
    """How many migrations the file has had."""
    return int(_execute(db, "PRAGMA user_version").fetchone()[0])


def is_damaged(error: sqlite3.Error) -> bool:
    """Whether the file itself is to blame, and would be for ever."""
    return isinstance(error, DamagedError) or _code(error) in _DAMAGED or "malformed" in str(error)


def is_busy(error: Exception) -> bool:
    """Whether another connection is to blame."""
    return _code(error) in _BUSY


def is_refused(error: Exception) -> bool:
    """Whether the system, not the statement, is to blame: no room, no rights, somebody else's lock."""
    return is_busy(error) or _code(error) in _REFUSED


def _code(error: Exception) -> int:
    code: int = getattr(error, "sqlite_errorcode", 0)  # errors that Python itself raises have none
    return code & 0xFF


def _make_private(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, atomic.PRIVATE))
    except OSError:
        return  # SQLite meets the same trouble, and says so in an error of its own


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; two that open a new file at once collide here, and one switch is enough."""
    try:
        _execute(db, "PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise


def _migrate(db: sqlite3.Connection, migrations: Sequence[str]) -> None:
    with transaction(db):
        for number in range(version(db), len(migrations)):  # asked again: another process may have been faster
            for statement in statements(migrations[number]):
                _execute(db, statement)
            _execute(db, f"PRAGMA user_version = {number + 1}")


def statements(script: str) -> Iterator[str]:
    """The statements of a script, triggers among them (``executescript`` would commit our transaction)."""
    statement = ""
    for part in re.split(r"(?<=;)", script):
        statement += part
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


def _execute(db: sqlite3.Connection, statement: str) -> sqlite3.Cursor:
    """Run a statement past what a subclass makes of errors: here they say whether the file is damaged."""
    return sqlite3.Connection.execute(db, statement)
