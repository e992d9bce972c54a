"""Status reports the state to a person and to a program, and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from facts import a_fact
from memoria.base import state
from memoria.capture.spool import Spool
from memoria.cli import main
from memoria.daily.ledger import Booked, Call, Ledger
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.recall.shown_notes import ShownNotes
from memoria.search.reader import Finder
from memoria.statements.keeper import Keeper


@pytest.fixture
def home() -> Home:
    return Home.open()


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


def test_the_json_holds_every_fact(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = Ledger.of(home.paths)
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


def test_costs_are_told_by_call_by_day_and_by_project(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = Ledger.of(home.paths)
    ledger.book(Call("flush", "claude:haiku", "loom-1", "ok", 1000, 200, 0.002, 1.5))
    ledger.book(Call("flush", "claude:haiku", "loom-1", "ok", 500, 100, 0.001, 1.5))
    ledger.book(Call("compile", "claude:haiku", "tide-2", "BadAnswerError", 700, 0, 0.004, 1.5))
    ledger.close()
    assert main(["status", "--costs"]) == 0
    said = capsys.readouterr().out
    assert "today         $0.0070 of $1.00" in said
    assert "loom-1 · claude:haiku: 1,500 tokens in, 300 out, $0.0030" in said
    assert "compile · tide-2 · claude:haiku: 700 tokens in, 0 out, $0.0040, 1.5 s, BadAnswerError" in said
    assert main(["status", "--costs", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [(row["project"], row["cost_usd"]) for row in facts["sums"]] == [("loom-1", 0.003), ("tide-2", 0.004)]
    assert len(facts["calls"]) == 3


def test_a_state_of_a_newer_memoria_is_refused_in_one_line(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    Path(home.paths.version).write_text("999\n")
    assert main(["status"]) == 1
    error = capsys.readouterr().err
    assert "newer memoria" in error
    assert error.count("\n") == 1


def test_a_sessions_notes_and_facts_are_listed_until_they_are_forgotten(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    state.open_state(home.paths)
    earlier, own = a_fact("Releases are built with uv."), a_fact("Tests run without a network.", session="s-2")
    with Keeper.at(home) as keeper, Index(home.paths.index) as index:
        keeper.take([earlier, own])
        sources.refresh(index, home.paths)
    with Finder(home.paths.index) as finder:
        (hit,) = finder.named(earlier.id)
    for session in ("s-2", "s-2.agent-1"):  # a sub-agent was shown it too
        ShownNotes(home.paths.hints, session).add([hit.key, f"{hit.path}#^e-000000 0badc0de"])
    ShownNotes(home.paths.hints, "s-20").add([f"{hit.path}#^{own.id}"])  # another session's
    facts = asked(capsys)
    assert [(note["id"], note["text"]) for note in facts["recalled"]] == [(earlier.id, earlier.content)]
    assert [(fact["id"], fact["is_global"]) for fact in facts["learned"]] == [(own.id, False)]
    stamps = [Path(path).stat().st_mtime_ns if Path(path).exists() else 0 for path in facts["watch"]]
    assert asked(capsys) == facts
    assert stamps == [Path(path).stat().st_mtime_ns if Path(path).exists() else 0 for path in facts["watch"]]
    assert main(["learned", "delete", earlier.id, "--json"]) == 0
    capsys.readouterr()
    assert asked(capsys)["recalled"] == []
    assert main(["status", "--session", "s-2"]) == 0
    assert capsys.readouterr().out.startswith("0 notes recalled, 1 learned, $0.00 today\n")


def asked(capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["status", "--session", "s-2", "--json"]) == 0
    return json.loads(capsys.readouterr().out)
