"""Ingest: nothing without consent, nothing twice, interrupted and resumed at any point."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from client_session import wait_until
from home_of import scripted
from memoria import cli
from memoria.capture.spool import Spool
from memoria.ground.home import Home
from shelves import DAY, Shelf, entries, printed

pytestmark = pytest.mark.slow


def ingest(*options: str) -> tuple[int, str]:
    return printed("ingest", *options)


def test_history_from_before_is_brought_in_on_the_days_it_happened(client: Shelf, home: Home) -> None:
    for age in (20, 3):
        client.session(2, age_s=age * DAY)
    status, said = ingest("--yes")
    assert status == 0, said
    assert "2 of 2 sessions ingested" in said
    days = sorted(entry.day for entry in entries(home))
    assert days == [(datetime.now(UTC) - timedelta(days=age, minutes=2)).date() for age in (20, 3)]
    assert "There is nothing to ingest now." in ingest("--yes")[1]
    assert len(entries(home)) == 2


def test_a_dry_run_says_what_it_would_cost_and_touches_nothing(client: Shelf, home: Home) -> None:
    client.session(5, age_s=20 * DAY)
    status, said = ingest("--dry-run")
    assert status == 0
    assert "1 session, about 10 turns" in said
    assert "tokens in" in said
    assert "2 model calls" in said
    assert entries(home) == []
    assert Spool(home.paths.spool).jobs() == []


def test_nothing_is_done_when_nobody_is_there_to_agree(
    client: Shelf, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client.session(1, age_s=20 * DAY)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert cli.main(["ingest"]) == 1
    assert "--yes" in capsys.readouterr().err
    assert Spool(home.paths.spool).jobs() == []


def test_any_folder_or_file_of_transcripts_can_be_brought_in(client: Shelf, home: Home, tmp_path: Path) -> None:
    path = client.session(2, age_s=5)  # just copied: elsewhere that says nothing about whether it goes on
    away = tmp_path / "backup" / "one.jsonl"
    away.parent.mkdir()
    path.rename(away)
    assert ingest("--yes", str(away))[0] == 0
    assert [entry.session for entry in entries(home)] == ["one"]  # a session is called as its file is
    assert "already recorded" in ingest("--yes", str(away.parent))[1]
    assert ingest(str(tmp_path / "nowhere"))[0] == 1


def test_excluded_own_and_open_sessions_are_passed_over(
    client: Shelf, home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEMORIA_EXCLUDE", "secret")
    client.session(1, age_s=9 * DAY, cwd=tmp_path / "secret")
    client.session(1, age_s=9 * DAY, cwd=Path(home.paths.state, "model"))
    client.session(1, age_s=5)
    said = ingest("--yes")[1]
    assert "There is nothing to ingest now." in said
    assert "1 excluded by secret" in said
    assert "1 memoria's own" in said
    assert "1 in progress, or ended less than 10 minutes ago: run this again when they are over" in said


ANSWER = {"worth_saving": True, "title": "The gauge", "context": "It drifts by 3 cm."}


def test_a_killed_run_is_taken_up_without_repeating(
    client: Shelf, home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for age in range(12, 2, -1):
        client.session(1, age_s=age * DAY)
    gate = tmp_path / "gate"
    scripted(tmp_path, monkeypatch, flush=[ANSWER, ANSWER, {"wait_for": str(gate), "answer": ANSWER}])
    run = subprocess.Popen([sys.executable, "-m", "memoria", "ingest", "--yes"], env=dict(os.environ), text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    wait_until(lambda: len(entries(home)) == 2, "two of them are written")
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "finished work is kept" in told
    gate.touch()
    status, said = ingest("--yes")
    assert status == 0, said
    subprocess.run([sys.executable, "-m", "memoria", "flush"], check=True)  # what the first run had spooled
    found = entries(home)
    assert len({entry.session for entry in found}) == len(found) == 10
    keys = [key for entry in found for key in entry.turns]
    assert len(keys) == len(set(keys)) == 20


def test_no_file_of_the_folder_one_stands_in_is_run(
    client: Shelf, home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    client.session(1, age_s=3 * DAY)
    mark = tmp_path / "was-run"
    for name in ("memoria/__init__.py", "json.py", "sitecustomize.py"):
        trap = tmp_path / "repository" / name
        trap.parent.mkdir(parents=True, exist_ok=True)
        trap.write_text(f"open({str(mark)!r}, 'w')")
    monkeypatch.chdir(tmp_path / "repository")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "repository"))
    status, said = ingest("--yes")
    assert status == 0, said
    assert len(entries(home)) == 1
    assert not mark.exists()
