"""Database: open, migrate, check and set aside the SQLite files that memoria writes.

Files are private to the user. Write-ahead logging lets readers continue while a process writes. ``user_version`` is the
number of migrations that were applied. A file of a newer memoria is not touched. A damaged one is set aside, and the
caller fills a new one. Knows no tables.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from memoria.base.paths import opener
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
_DROPPED = re.compile(r"DROP TABLE (\w+)")


class DamagedError(sqlite3.DatabaseError):
    """A database can be read but does not hold what it should."""


def open_(
    path: Path,
    migrations: Sequence[str],
    *,
    newer: type[ExpectedError],
    wait_s: float = WRITE_WAIT_S,
    factory: type[sqlite3.Connection] = sqlite3.Connection,
    reads_all: bool = False,
) -> sqlite3.Connection:
    """Open or create a database and apply the migrations that it lacks; ``reads_all``: look for damage everywhere.

    Migration n leads from version n to n + 1. Raises ``newer`` when a newer memoria wrote the file, DamagedError when a
    table is missing, and sqlite3.Error or OSError when the file cannot be used.
    """

    def check_version(db: sqlite3.Connection) -> None:
        if version(db) > len(migrations):
            raise newer(f"{path} was written by a newer memoria; update memoria, or move the file away")

    db = connect(path, wait_s=wait_s, factory=factory, check=check_version)
    try:
        if version(db) < len(migrations):
            _migrate(db, migrations)
        there = {name for (name,) in _execute(db, "SELECT name FROM sqlite_master WHERE type = 'table'")}
        script = "\n".join(migrations)
        if missing := set(_TABLES.findall(script)) - set(_DROPPED.findall(script)) - there:
            raise DamagedError(f"the database lacks {', '.join(sorted(missing))}")
        if reads_all and (found := _execute(db, "PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise DamagedError(found)
    except BaseException:
        db.close()
        raise
    return db


def connect(
    path: Path,
    *,
    wait_s: float = WRITE_WAIT_S,
    factory: type[sqlite3.Connection] = sqlite3.Connection,
    check: Callable[[sqlite3.Connection], None] = lambda _: None,
) -> sqlite3.Connection:
    """Open or create a database for writing, without a look at its tables.

    ``check`` may raise to refuse the file before it is changed. A killed process loses no commit; a power cut may
    lose the latest ones.
    """
    if str(path) != IN_MEMORY:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_private(path)
    db = sqlite3.connect(path, timeout=wait_s, isolation_level=None, factory=factory)
    try:
        check(db)
        _write_ahead(db)
        _execute(db, "PRAGMA synchronous = NORMAL")
    except BaseException:
        db.close()
        raise
    return db


def open_or_replace(path: Path, opening: Callable[[], T]) -> T:
    """Return the result of ``opening``; when the file is damaged, set it aside and open a new one.

    Of several processes that find the damage at once, one sets the file aside.
    """
    try:
        return opening()
    except sqlite3.DatabaseError as error:
        if not is_damaged(error):
            raise
    with locks.wait(path.with_name(path.name + ".lock")):
        try:
            return opening()  # another process was faster
        except sqlite3.DatabaseError as error:
            if not is_damaged(error):
                raise
        set_aside(path)
        return opening()


def set_aside(path: Path) -> None:
    """Move a damaged database out of the way, if it exists, and remove SQLite's files beside it."""
    if path.exists():
        files.set_aside(path)
    for companion in ("-wal", "-shm"):
        path.with_name(path.name + companion).unlink(missing_ok=True)


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Commit everything that the block does, or roll everything back when it raises."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # some errors (disk full) have already rolled back
            db.execute("ROLLBACK")
        raise


def shred(db: sqlite3.Connection) -> None:
    """Overwrite deleted content on disk."""
    db.execute("PRAGMA secure_delete = ON")
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def version(db: sqlite3.Connection) -> int:
    """Return the number of migrations that were applied."""
    return int(_execute(db, "PRAGMA user_version").fetchone()[0])


def is_damaged(error: sqlite3.Error) -> bool:
    """Return whether the file itself is the cause, so that trying again cannot help."""
    return isinstance(error, DamagedError) or _code(error) in _DAMAGED or "malformed" in str(error)


def is_busy(error: Exception) -> bool:
    """Return whether another connection is the cause."""
    return _code(error) in _BUSY


def is_refused(error: Exception) -> bool:
    """Return whether the environment is the cause: no space, no permission, another process's lock."""
    return is_busy(error) or _code(error) in _REFUSED


def _code(error: Exception) -> int:
    code: int = getattr(error, "sqlite_errorcode", 0)  # errors that Python itself raises have none
    return code & 0xFF


def _make_private(path: Path) -> None:
    """Create a file that is not there; one that is must not be opened: closing it drops this process's locks on it.

    https://www.sqlite.org/howtocorrupt.html#posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
    """
    try:
        os.close(opener(str(path), os.O_RDWR | os.O_CREAT | os.O_EXCL))
    except OSError:
        return  # it is there, or SQLite will fail in the same way, with an error of its own


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; of two processes that create a file at once, one may find it locked."""
    try:
        _execute(db, "PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise


def _migrate(db: sqlite3.Connection, migrations: Sequence[str]) -> None:
    with transaction(db):
        for number in range(version(db), len(migrations)):  # read again: another process may have been faster
            for statement in statements(migrations[number]):
                _execute(db, statement)
            _execute(db, f"PRAGMA user_version = {number + 1}")


def statements(script: str) -> Iterator[str]:
    """Yield the statements of a script, including triggers (``executescript`` would commit our transaction)."""
    statement = ""
    for part in re.split(r"(?<=;)", script):
        statement += part
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


def _execute(db: sqlite3.Connection, statement: str) -> sqlite3.Cursor:
    """Run a statement with SQLite's own errors, which a subclass of the connection would translate."""
    return sqlite3.Connection.execute(db, statement)
