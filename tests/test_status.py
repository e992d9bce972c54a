"""Status says how things stand, to a person and to a program, and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoria import status
from memoria.cli import main
from memoria.home import Home
from memoria.ledger import Booked, Call, Ledger
from memoria.spool import Spool


@pytest.fixture
def home() -> Home:
    return Home.open()


def spooled(home: Home, session: str) -> str:
    header: dict[str, object] = {"event": "Stop", "session": session, "start": 0, "end": 1}
    return Spool(home.paths.spool).add(header, b"{}\n")


def test_a_fresh_home_says_that_no_hook_ever_fired(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 0
    assert "last hook     never: is it installed?" in capsys.readouterr().out


def test_what_waits_and_what_failed_is_named_with_the_reason(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    spool = Spool(home.paths.spool)
    spooled(home, "waiting-one")
    poison = spooled(home, "poison-one")
    job = next(job for job in spool.jobs() if job.name == poison)
    spool.claim(job)
    spool.fail(job, "the model answered junk")
    assert main(["status"]) == 0
    said = capsys.readouterr().out
    assert "Stop of waiting-one" in said
    assert "the model answered junk" in said
    assert "--retry-failed" in said


def test_the_json_holds_every_fact(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = Ledger(Path(home.paths.ledger))
    ledger.record(Booked("e1", "2026-11-18", "s", "p-1", "A title", ("k1", "k2")))
    ledger.book(Call("flush", "claude:haiku", "p-1", "ok", 1000, 200, 0.002, 1.5))
    ledger.book(Call("flush", "claude:haiku", "p-1", "BadAnswerError", 1000, 200, 0.002, 1.5))
    ledger.note("missing", "s", "bytes 0 to 10 of t.jsonl")
    ledger.close()
    assert main(["status", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["entries"], facts["uncompiled"], facts["turns"]) == (1, 1, 2)
    day = facts["calls"][0]
    assert (day["calls"], day["failed"], day["cost_usd"]) == (2, 1, 0.004)
    assert facts["notes"][0]["text"] == "bytes 0 to 10 of t.jsonl"
    assert facts["last_hook"] is None


def test_the_last_hook_is_the_last_line_of_its_log(home: Home) -> None:
    Path(home.paths.log, "hook.log").write_text("2026-11-18T08:00:00Z Stop a\n2026-11-18T09:00:00Z SessionEnd b\n")
    assert status.gather(home)["last_hook"] == {"time": "2026-11-18T09:00:00Z", "what": "SessionEnd b"}


def test_times_are_the_users_own(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MEMORIA_TZ", "Asia/Tokyo")
    home = Home.open()
    Path(home.paths.log, "hook.log").write_text("2026-11-18T22:00:00Z SessionEnd b\n")
    assert main(["status"]) == 0
    assert "last hook     2026-11-19 07:00  SessionEnd b\n" in capsys.readouterr().out


def test_a_setting_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORIA_COMPILE_INTERVAL_MIN", "often")
    assert main(["status"]) == 0
    assert "compile_interval_min must be a whole number, not 'often'" in capsys.readouterr().out


def test_a_state_of_a_newer_memoria_is_refused_in_one_line(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    Path(home.paths.version).write_text("999\n")
    assert main(["status"]) == 1
    error = capsys.readouterr().err
    assert "newer memoria" in error
    assert error.count("\n") == 1
