"""Status reports the state to a person and to a program, and changes nothing."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from memoria.capture.spool import Spool
from memoria.cli import main
from memoria.daily.ledger import Booked, Call, Ledger
from memoria.ground.home import Home


def spooled(home: Home, session: str) -> str:
    header: dict[str, object] = {"event": "Stop", "session": session, "start": 0, "end": 1}
    return Spool(home.paths.spool).add(header, b"{}\n")


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


def test_a_flush_that_leaves_jobs_says_why(home: Home, ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    job = spooled(home, "waiting-one")
    ledger.fail([job], counted=False, not_before=time.time() + 3600, reason="the day's money is spent")
    assert main(["flush"]) == 0
    said = capsys.readouterr().out
    assert "1 job waiting: the day's money is spent; " in said
    assert "flush --now" in said
    assert main(["status"]) == 0
    assert "failed 0 times" not in capsys.readouterr().out


@pytest.mark.usefixtures("home")
def test_the_json_holds_every_fact(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    ledger.record(Booked("e1", "2026-11-18", "s", "p-1", "A title", ("k1", "k2")))
    ledger.book(Call("flush", "claude:haiku", "p-1", "ok", 1000, 200, 0.002, 1.5))
    ledger.book(Call("flush", "claude:haiku", "p-1", "BadAnswerError", 1000, 200, 0.002, 1.5))
    ledger.note("missing", "s", "bytes 0 to 10 of t.jsonl")
    assert main(["status", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["entries"], facts["uncompiled"], facts["turns"]) == (1, 1, 2)
    day = facts["calls"][0]
    assert (day["calls"], day["failed"], day["cost_usd"]) == (2, 1, 0.004)
    assert facts["notes"][0]["text"] == "bytes 0 to 10 of t.jsonl"
    assert (facts["last_hook"], facts["other_memories"]) == (None, [])


def test_what_no_compile_can_take_in_waits_for_none(
    home: Home, ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger.record(Booked("e1", "2026-11-18", "s", "p-1", "A title", text="f"))
    (tmp_path / ".memoria-off").touch()
    Path(home.paths.folders).write_text(json.dumps({"p-1": [str(tmp_path)]}))
    assert main(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["uncompiled"] == 0


def test_a_wrong_setting_is_told_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MEMORIA_ARCHIVE_MB", "many")
    monkeypatch.setenv("MEMORIA_MODEL", "nobody")
    monkeypatch.setenv("MEMORIA_TZ", "Nowhere/City")
    assert main(["status"]) == 0
    said = "".join(capsys.readouterr())
    assert said.count("archive_mb must be") == 1
    assert "settings      model names 'nobody'" in said
    assert "settings      there is no time zone 'Nowhere/City'" in said


def test_a_state_of_a_newer_memoria_is_refused_in_one_line(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    Path(home.paths.version).write_text("999\n")
    assert main(["status"]) == 1
    error = capsys.readouterr().err
    assert "newer memoria" in error
    assert error.count("\n") == 1
    assert (main(["doctor"]), "broken state" in capsys.readouterr().out) == (1, True), "and nothing else is looked at"
