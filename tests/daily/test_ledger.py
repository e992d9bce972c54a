from __future__ import annotations

import multiprocessing
import sqlite3
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from memoria.base.paths import Paths
from memoria.daily.daily_log import DailyLog
from memoria.daily.day_text import DayText
from memoria.daily.entry import Entry, Learned, fingerprint
from memoria.daily.ledger import Booked, Call, Ledger
from memoria.ground.errors import LedgerError
from memoria.statements.fact import GLOBAL
from memoria.statements.lines import read_facts

BOOKED = Booked("one", "2026-11-20", "s", "shop-000000", "Title", ("k1", "k2"))


def test_turns_of_an_entry_are_known(ledger: Ledger) -> None:
    ledger.record(BOOKED)
    ledger.record_nothing(["k3", "k1"], "s", "trivial")
    assert [ledger.entry_of(key) for key in ("k1", "k3", "k4")] == ["one", "", None]
    assert [ledger.session_of(key) for key in ("k1", "k3")] == ["s", ""]
    assert ledger.path.stat().st_mode & 0o777 == 0o600


def test_an_entry_that_a_person_removed_from_its_log_is_known_and_waits_for_nothing(ledger: Ledger) -> None:
    other = replace(BOOKED, id="two", turns=("k3",))
    ledger.reread(BOOKED.day, "1", [BOOKED, other], [], 0, [])
    ledger.reread("2026-11-21", "1", [replace(BOOKED, id="three", day="2026-11-21", turns=())], [], 0, [])
    ledger.reread(BOOKED.day, "2", [other], [], 0, [])
    assert [entry.id for entry in ledger.entries(waiting=True)] == ["two", "three"]
    assert ledger.entry_of("k1") == "one"
    ledger.reread(BOOKED.day, "3", [], [("two", ["k3"])], 0, [])
    assert "two" not in [entry.id for entry in ledger.entries()], "it is forgotten"
    ledger.forget_log("2026-11-21")
    assert (ledger.entries(waiting=True), ledger.changed_logs({})) == ([], ([], [BOOKED.day]))


@pytest.mark.parametrize("damage", ["junk", "truncated", "overwritten", "no table"])
def test_a_damaged_ledger_is_set_aside_and_filled_from_the_daily_logs(paths: Paths, damage: str) -> None:
    path = Path(paths.ledger)
    daily = DailyLog(paths)
    daily.append(Entry("one", date(2026, 11, 20), "10:00", "s", "shop", "shop-000000", "T", turns=("k1",), model="m"))
    ledger = Ledger(paths)
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
    ledger = Ledger(paths)
    daily.refresh(ledger)
    assert ledger.entry_of("k1") == "one"
    ledger.close()
    assert list(path.parent.glob("ledger.db.bak-*"))


def test_what_a_person_wrote_is_marked_named_and_recorded_at_once(paths: Paths, ledger: Ledger) -> None:
    daily = DailyLog(paths)
    path = daily.path(date(2026, 11, 20))
    path.parent.mkdir()
    properties = "---\ntags: [work]\n---\n"
    path.write_text(f"{properties}# Mine\n\nThe lamp is green.\n")
    daily.refresh(ledger)
    daily.mark_all(ledger)
    assert path.read_text().startswith(f"{properties}# Mine\n\nThe lamp is green. ^l-")
    assert path.read_text().count(" entry=") == 1
    assert DayText(properties).rest() == DayText(properties.strip()).rest() == []
    written = [fingerprint(found) for found in daily.entries(date(2026, 11, 20))]
    assert [known.text for known in ledger.entries(waiting=True)] == written != []


@pytest.mark.parametrize(("kept", "ident"), [("^e-one\n", "one"), ("- [fact] We use zork. ^l-1a\n", "")])
def test_an_entry_of_a_damaged_file_stays_its_project_s(paths: Paths, ledger: Ledger, kept: str, ident: str) -> None:
    daily, day = DailyLog(paths), date(2026, 11, 20)
    learned = (Learned("fact", "We use zork.", "l-1a"),)
    daily.append(Entry("one", day, "10:00", "s", "shop", "shop-0000aa", "T", learned=learned, turns=("k",), model="m"))
    daily.refresh(ledger)
    text = daily.path(day).read_text()
    daily.path(day).write_text(text[: text.index(kept) + len(kept)])
    assert [fact.project for fact in read_facts(daily.read(day), day)] == ["shop"], "no project's, but for its name"
    daily.refresh(ledger)
    daily.mark_all(ledger)
    (found,) = daily.entries(day)
    assert (found.project_key, found.id if ident else "") == ("shop-0000aa", ident)
    assert (found.session, found.turns) == (("s", ("k",)) if ident else ("-", ()))
    assert [(fact.project, fact.origin) for fact in read_facts(daily.read(day), day)] == [("shop-0000aa", "assistant")]


def test_what_a_person_wrote_stays_theirs_when_its_marker_is_lost(paths: Paths, ledger: Ledger) -> None:
    daily, day = DailyLog(paths), date(2026, 11, 20)
    daily.append(Entry("one", day, "10:00", "s", "shop", "shop-0000aa", "T", turns=("k",), model="m"))
    path = daily.path(day)
    path.write_text(f"{path.read_text()}\nThe roses are red.\n")
    for _ in range(2):
        daily.refresh(ledger)
        daily.mark_all(ledger)
        before = path.read_text()
        assert [(fact.project, fact.origin) for fact in read_facts(daily.read(day), day)] == [(GLOBAL, "user")]
        path.write_text(before[: before.rindex("<!--")])
    daily.refresh(ledger)
    daily.mark_all(ledger)
    assert path.read_text().split() == before.split()


def test_a_disk_that_is_full_is_no_damage(ledger: Ledger) -> None:
    ledger.record(BOOKED)
    pages = ledger.db.execute("PRAGMA page_count").fetchone()[0]
    ledger.db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerError, match="full"):
        ledger.record(Booked("e", "2026-11-20", "s", "p", "t" * 1_000_000))
    assert ledger.entry_of("k1") == "one"
    ledger.db.execute(f"PRAGMA max_page_count = {pages * 1000}")
    ledger.note("kind", "subject", "it goes on")
    assert list(ledger.path.parent.glob("*.bak-*")) == []


def test_a_ledger_that_is_locked_is_not_set_aside(ledger: Ledger) -> None:
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ledger.db.execute("PRAGMA busy_timeout = 10")
    with pytest.raises(LedgerError, match="locked"):
        ledger.record(BOOKED)
    other.execute("ROLLBACK")
    other.close()
    ledger.record(BOOKED)
    assert list(ledger.path.parent.glob("*.bak-*")) == []


def _open(home: str, barrier: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    ledger = Ledger(Paths(home))
    ledger.book(Call("flush", "m", "p", "ok", 0, 0, 0.0, 0.0))
    ledger.close()


@pytest.mark.slow
def test_processes_that_open_a_new_ledger_at_once_share_it(paths: Paths) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(6)
    openers = [context.Process(target=_open, args=(paths.home, barrier)) for _ in range(6)]
    for opener in openers:
        opener.start()
    for opener in openers:
        opener.join()
        assert opener.exitcode == 0
    assert list(Path(paths.state).glob("*.bak-*")) == []
    ledger = Ledger(paths)
    assert ledger.db.execute("SELECT count(*) FROM calls").fetchone()[0] == 6
    ledger.close()
