from __future__ import annotations

import multiprocessing
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from memoria.base.paths import Paths
from memoria.daily import ledger_file
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.ledger import Booked, Call, Ledger
from memoria.ground.errors import LedgerError

BOOKED = Booked("one", "2026-11-20", "s", "shop-000000", "Title", ("k1", "k2"))


def test_turns_of_an_entry_are_known(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.record(BOOKED)
    ledger.record_nothing(["k3", "k1"], "s", "trivial")
    assert [ledger.entry_of(key) for key in ("k1", "k3", "k4")] == ["one", "", None]
    assert (tmp_path / "ledger.db").stat().st_mode & 0o777 == 0o600
    ledger.close()


def test_an_older_ledger_is_migrated_and_keeps_what_it_knew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    ledger.record(BOOKED)
    ledger.close()
    monkeypatch.setattr(
        ledger_file,
        "MIGRATIONS",
        (*ledger_file.MIGRATIONS, "CREATE TABLE later (x TEXT); CREATE INDEX l ON later (x);"),
    )
    for _ in range(2):
        ledger = Ledger(path)
        assert ledger.entry_of("k1") == "one"
        ledger.db.execute("SELECT x FROM later")
        ledger.close()


def test_a_migration_that_fails_leaves_the_ledger_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    Ledger(path).close()
    with monkeypatch.context() as patch:
        patch.setattr(ledger_file, "MIGRATIONS", (*ledger_file.MIGRATIONS, "CREATE TABLE later (x TEXT); NONSENSE;"))
        with pytest.raises(sqlite3.OperationalError):
            Ledger(path)
    Ledger(path).close()
    assert list(tmp_path.glob("*.bak-*")) == []


@pytest.mark.parametrize("damage", ["junk", "truncated", "overwritten", "no table"])
def test_a_damaged_ledger_is_set_aside_and_filled_from_the_daily_logs(paths: Paths, damage: str) -> None:
    path = Path(paths.ledger)
    daily = DailyLog.of(paths)
    daily.append(
        Entry("one", date(2026, 11, 20), "10:00", "s", "shop", "shop-000000", "Title", turns=("k1",), model="m")
    )
    ledger = Ledger(path)
    for number in range(500):
        ledger.record(Booked(f"e{number}", "2026-11-19", "s", "p", "t" * 200, (f"key{number}",)))
    ledger.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if damage == "no table":
        ledger.db.execute("DROP TABLE turns")
    ledger.close()
    whole = path.read_bytes()
    if damage == "junk":
        path.write_bytes(b"this is no database, whatever its name says" * 10)
    elif damage == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "overwritten":
        path.write_bytes(whole[:100] + b"\xff" * 8000 + whole[8100:])
    ledger = Ledger(path)
    daily.refresh(ledger)
    assert ledger.entry_of("k1") == "one"
    ledger.close()
    assert list(path.parent.glob("ledger.db.bak-*"))


def test_a_disk_that_is_full_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    ledger.record(BOOKED)
    pages = ledger.db.execute("PRAGMA page_count").fetchone()[0]
    ledger.db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerError, match="full"):
        ledger.record(Booked("e", "2026-11-20", "s", "p", "t" * 1_000_000))
    assert ledger.entry_of("k1") == "one"
    ledger.db.execute(f"PRAGMA max_page_count = {pages * 1000}")
    ledger.note("kind", "subject", "it goes on")
    ledger.close()
    assert list(tmp_path.glob("*.bak-*")) == []


def test_a_ledger_that_is_locked_is_not_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ledger.db.execute("PRAGMA busy_timeout = 10")
    with pytest.raises(LedgerError, match="locked"):
        ledger.record(BOOKED)
    other.execute("ROLLBACK")
    other.close()
    ledger.record(BOOKED)
    ledger.close()
    assert list(tmp_path.glob("*.bak-*")) == []


def _open(path: str, barrier: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    ledger = Ledger(Path(path))
    ledger.book(Call("flush", "m", "p", "ok"))
    ledger.close()


@pytest.mark.slow
def test_processes_that_open_a_new_ledger_at_once_share_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(6)
    path = tmp_path / "ledger.db"
    openers = [context.Process(target=_open, args=(str(path), barrier)) for _ in range(6)]
    for opener in openers:
        opener.start()
    for opener in openers:
        opener.join()
        assert opener.exitcode == 0
    assert list(tmp_path.glob("*.bak-*")) == []
    ledger = Ledger(path)
    assert ledger.db.execute("SELECT count(*) FROM calls").fetchone()[0] == 6
    ledger.close()


def test_a_person_who_asks_need_not_wait_for_the_next_try(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.failed(["a.job"], counted=True, not_before=9e9, reason="the budget is spent")
    ledger.lift_waits()
    assert ledger.tries("a.job") == (1, 0.0, "the budget is spent")
    ledger.close()


@pytest.mark.parametrize("value", ["ü" * 5_000, {"day": ["x" * 3_000, None, 1.5]}, "", None, False])
def test_a_value_of_any_length_is_kept_and_replaced(value: object, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.put("one", "before")
    ledger.put("one", value)
    ledger.put("two", 2)
    assert ledger.get("one") == value
    assert ledger.get("two") == 2
    assert ledger.get("three") is None
    assert ledger.notes() == []
    ledger.close()


def test_the_values_of_an_older_ledger_are_carried_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with closing(sqlite3.connect(path)) as old:
        old.executescript("".join(ledger_file.MIGRATIONS[:2]) + "PRAGMA user_version = 2")
        note = "INSERT INTO notes VALUES ('2026-11-20T10:00:00+00:00', ?, '', ?)"
        kept = [("value:last_flush", '"then"'), ("value:last_flush", '"now"'), ("value:pages_due", "true")]
        old.executemany(note, [*kept, ("value:cut", '"' + "x" * 1_999), ("missing", "a range")])
        old.commit()
    ledger = Ledger(path)
    assert (ledger.get("last_flush"), ledger.get("pages_due"), ledger.get("cut")) == ("now", True, None)
    assert [row[1:] for row in ledger.notes()] == [("missing", "", "a range")]
    ledger.close()


def test_a_value_that_holds_a_forgotten_text_goes(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.put("said", {"text": "Über die Fusion"})
    ledger.put("other", "nothing of it")
    ledger.strike_notes(lambda text: "ber die fusion" in text.lower())
    assert ledger.get("said") is None
    assert ledger.get("other") == "nothing of it"
    ledger.close()
