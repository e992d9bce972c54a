"""Verify: every turn of the client's transcripts is accounted for, and missing ones are captured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memoria import cli
from memoria.capture.capture import capture
from memoria.capture.hook import Event
from memoria.ground.home import Home
from memoria.worker import worker
from places import ROOT, SHARED
from shelves import DAY, HOUR, Shelf, entries, since


@pytest.fixture
def home(home: Home) -> Home:
    """A home that was made two days ago."""
    since(home, 2 * DAY)
    return home


def fire(home: Home, transcript: Path, name: str = "SessionEnd") -> None:
    fields = {"hook_event_name": name, "session_id": transcript.stem, "transcript_path": str(transcript)}
    capture(Event({**fields, "cwd": str(transcript.parent)}), home.settings, home.paths)


def verify(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    status = cli.main(["verify", "--json", *options])
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    fates = ("captured", "waiting", "set_aside", "still_open", "before_memoria", "missing")
    assert facts["turns"] == sum(facts[fate] for fate in fates) + sum(facts["skipped"].values())
    return status, facts


def test_what_no_hook_captured_is_missing_and_repair_brings_it_in(
    client: Shelf, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    path = client.session(3)
    fire(home, path, "Stop")
    path.write_bytes(path.read_bytes() + b"[]\n")  # JSON, and no object
    client.say(path, 2)  # the terminal is killed before the next Stop
    status, facts = verify(capsys)
    assert (status, facts["missing"], facts["waiting"]) == (1, 4, 6)
    assert facts["missing_in"][0]["transcript"] == str(path)
    status, facts = verify(capsys, "--repair")
    assert (status, len(facts["repaired"])) == (0, 1)
    worker.work(home)
    assert verify(capsys)[1]["captured"] == 10
    assert cli.main(["verify"]) == 0
    assert f"never read: 1 line of job {facts['repaired'][0]}: no JSON object" in capsys.readouterr().out
    keys = [key for entry in entries(home) for key in entry.turns]
    assert len(keys) == len(set(keys)) == 10


def test_the_worker_picks_up_a_session_whose_hooks_never_fired(
    client: Shelf, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    path = client.session(2)
    worker.work(home)
    assert [entry.session for entry in entries(home)] == [path.stem]
    worker.work(home)
    assert len(entries(home)) == 1
    assert verify(capsys)[0] == 0


@pytest.mark.parametrize(("age_s", "fate"), [(5, "still_open"), (5 * DAY, "before_memoria")])
def test_what_is_going_on_or_was_said_before_is_not_missing(
    client: Shelf, home: Home, capsys: pytest.CaptureFixture[str], age_s: float, fate: str
) -> None:
    client.session(2, age_s=age_s)
    status, facts = verify(capsys)
    assert (status, facts[fate], facts["missing"]) == (0, 4, 0)
    worker.work(home)
    assert entries(home) == []
    assert cli.main(["verify"]) == 0
    assert ("memoria ingest" in capsys.readouterr().out) == (fate == "before_memoria")


def test_an_excluded_folder_is_skipped_with_the_reason(
    client: Shelf, home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEMORIA_EXCLUDE", "secret")
    client.session(2, cwd=tmp_path / "secret")
    client.session(1, cwd=Path(home.paths.state, "model"))  # a call of memoria's own
    status, facts = verify(capsys)
    assert (status, facts["missing"]) == (0, 0)
    assert facts["skipped"] == {"excluded by secret": 4, "memoria's own": 2}
    monkeypatch.delenv("MEMORIA_EXCLUDE")
    assert verify(capsys)[1]["missing"] == 4, "the setting is gone, and with it what was remembered of it"


def test_a_session_with_memoria_switched_off_is_never_taken_up(
    client: Shelf, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    path = client.session(2)
    hook = Path(ROOT, "hooks", "session-end.py")
    payload = {"hook_event_name": "SessionEnd", "session_id": path.stem, "transcript_path": str(path), "cwd": "/"}
    run = subprocess.run(  # noqa: PLW1510 (its status is what is looked at)
        [sys.executable, "-S", "-I", str(hook)],
        input=json.dumps(payload).encode(), env={**os.environ, "MEMORIA_DISABLED": "1"}, capture_output=True,
    )  # fmt: skip
    assert (run.returncode, run.stdout) == (0, b"")
    worker.work(home)
    assert entries(home) == []
    status, facts = verify(capsys)
    assert (status, facts["skipped"]) == (0, {"memoria was switched off": 4})


def test_a_deleted_daily_log_is_named(client: Shelf, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    fire(home, client.session(2))
    worker.work(home)
    (path,) = Path(home.paths.daily).glob("*.md")
    path.write_text("# A day\n")
    status, facts = verify(capsys)
    assert (status, facts["removed_entries"]) == (0, 1)
    path.unlink()
    status, facts = verify(capsys)
    assert facts["removed_entries"] == 0
    assert (status, facts["deleted_days"]) == (1, [{"day": path.stem, "entries": 1, "moved_to": ""}])
    assert (facts["captured"], facts["skipped"]) == (0, {"its entry is gone from the daily logs": 4})
    assert cli.main(["verify"]) == 1
    assert f"daily/{path.name} is gone with 1 entry: put it back from a backup\n" in capsys.readouterr().out
    (path.parent / "old").mkdir()
    (path.parent / "old" / path.name).write_text("# A day\n")
    assert cli.main(["verify"]) == 1
    assert f"1 entry: move it back from daily/old/{path.name}\n" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "transcripts").is_dir(), reason="no real transcripts here")
@pytest.mark.parametrize("pieces", [1, 3])
def test_nothing_of_real_transcripts_is_missing_after_the_worker(
    client: Shelf, home: Home, capsys: pytest.CaptureFixture[str], pieces: int
) -> None:
    """Also when hooks saw them grow: what a reader of pieces keeps is what a reader of the whole keeps."""
    since(home, 10_000 * DAY)
    for source in sorted((SHARED / "transcripts").glob("*.jsonl")):
        data = source.read_bytes()
        path = client.root / "-real" / source.name
        path.parent.mkdir(parents=True, exist_ok=True)
        for number in range(1, pieces + 1):
            path.write_bytes(
                data[: data.rfind(b"\n", 0, len(data) * number // pieces) + 1] if number < pieces else data
            )
            fire(home, path, "SessionEnd" if number == pieces else "Stop")
        client.age(path, HOUR)
    worker.work(home)
    status, facts = verify(capsys)
    assert facts["turns"] > 1000
    assert (status, facts["missing"], facts["waiting"]) == (0, 0, 0), facts["missing_in"]


def test_what_was_forgotten_is_skipped_with_the_reason_and_stays_forgotten(
    client: Shelf, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also after a repair and an ingest of the very transcript, and with a ledger that is made anew."""
    path = client.session(3)
    fire(home, path)
    worker.work(home)
    assert verify(capsys)[1]["captured"] == 6
    assert cli.main(["forget", path.stem, "--as", "session", "--yes"]) == 0
    capsys.readouterr()
    for _ in range(2):
        status, facts = verify(capsys, "--repair")
        assert (status, facts["missing"], facts["captured"]) == (0, 0, 0)
        assert cli.main(["ingest", str(path), "--yes"]) == 0
        worker.work(home)
        capsys.readouterr()
        assert entries(home) == []
        for file in Path(home.paths.state).glob("ledger.db*"):
            file.unlink()


def test_a_turn_that_a_resumed_session_repeats_is_captured_once(
    client: Shelf, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    first = client.session(3)
    second = first.with_name("resumed.jsonl")  # its first lines name the session before
    second.write_bytes(first.read_bytes())
    client.say(second, 1)
    fire(home, first)
    worker.work(home)
    fire(home, second)
    worker.work(home)
    facts = verify(capsys)[1]
    assert (facts["sessions"], facts["turns"], facts["captured"], facts["repeated"]) == (2, 8, 8, 6)
    first.unlink()
    facts = verify(capsys, "--all")[1]
    assert (facts["sessions"], facts["captured"], facts["repeated"]) == (1, 8, 0)
