"""Every database is opened in one way: private, migrated in whole steps, and set aside only when it is damaged."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memoria.base import sqlite
from memoria.ground import database
from memoria.ground.errors import ExpectedError

ONE = "CREATE TABLE one (x TEXT); CREATE TRIGGER t AFTER INSERT ON one BEGIN DELETE FROM one WHERE x = ''; END;"
TWO = "CREATE TABLE two (y TEXT); INSERT INTO two SELECT x FROM one;"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "x.db"


def opened(path: Path, *migrations: str) -> sqlite3.Connection:
    return database.open_(path, migrations, newer=ExpectedError)


def aside(path: Path) -> list[Path]:
    return list(path.parent.glob("*.bak-*"))


def test_a_database_is_its_owners_alone_and_readers_go_on_while_one_writes(path: Path) -> None:
    with closing(opened(path, ONE)) as db, database.transaction(db):
        db.execute("INSERT INTO one VALUES ('a')")
        assert path.stat().st_mode & 0o777 == 0o600
        with closing(sqlite.read_only(str(path))) as reader:
            assert reader.execute("SELECT count(*) FROM one").fetchone() == (0,)
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                reader.execute("DELETE FROM one")


def test_what_is_shredded_is_in_no_file_though_somebody_reads(path: Path) -> None:
    with closing(opened(path, ONE)) as db, closing(sqlite.read_only(str(path))):
        db.execute("PRAGMA secure_delete = OFF")  # which some systems have on
        db.execute("INSERT INTO one VALUES ('quaggasoft')")
        db.execute("DELETE FROM one")
        database.shred(db)
        assert [each.name for each in path.parent.iterdir() if b"quaggasoft" in each.read_bytes()] == []


def test_migrations_run_once_each_and_one_that_fails_changes_nothing(path: Path) -> None:
    with closing(opened(path, ONE)) as db:
        db.execute("INSERT INTO one VALUES ('kept')")
    with pytest.raises(sqlite3.OperationalError, match="NONSENSE"):
        database.open_or_replace(path, lambda: opened(path, ONE, TWO + "NONSENSE;"))
    for _ in range(2):
        with closing(opened(path, ONE, TWO)) as db:
            assert db.execute("SELECT y FROM two").fetchall() == [("kept",)]
            assert database.version(db) == 2


def test_a_database_of_a_newer_memoria_is_refused_and_left_as_it_is(path: Path) -> None:
    opened(path, ONE, TWO).close()
    before = path.read_bytes()
    with pytest.raises(ExpectedError, match="update memoria"):
        database.open_or_replace(path, lambda: opened(path, ONE))
    assert path.read_bytes() == before
    assert aside(path) == []


@pytest.mark.parametrize("damage", ["junk", "no table"])
def test_a_damaged_database_is_set_aside_and_made_anew(path: Path, damage: str) -> None:
    with closing(opened(path, ONE)) as db:
        db.execute("DROP TABLE one")
    if damage == "junk":
        path.write_bytes(b"no database at all, however long one looks at it" * 100)
    with closing(database.open_or_replace(path, lambda: opened(path, ONE))) as db:
        assert db.execute("SELECT count(*) FROM one").fetchone() == (0,)
    assert len(aside(path)) == 1


def test_a_database_that_another_process_has_made_anew_meanwhile_is_not_set_aside_again(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database at all, however long one looks at it" * 100)
    times: list[int] = []

    def opening() -> sqlite3.Connection:
        times.append(1)
        if len(times) == 2:  # between the first look and the lock
            database.set_aside(path)
            opened(path, ONE).close()
        return opened(path, ONE)

    database.open_or_replace(path, opening).close()
    assert len(times) == 2
    assert len(aside(path)) == 1


def test_a_new_file_that_another_process_is_making_is_opened_all_the_same(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        database.connect(path, wait_s=0).close()


@pytest.mark.skipif(os.name == "nt", reason="locks as POSIX knows them")
def test_a_second_connection_of_a_process_leaves_it_the_locks_of_the_first(path: Path) -> None:
    leave = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('PRAGMA journal_mode = DELETE')"
    with closing(database.connect(path)) as first:
        first.execute("CREATE TABLE t (x)")
        database.connect(path).close()
        other = subprocess.run([sys.executable, "-c", leave, path], capture_output=True, text=True, check=False)
        assert "database is locked" in other.stderr
