"""Where you were: what the hooks mark and give back, and what the observer prepares."""

from __future__ import annotations

import json
import os
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from memoria.amending import forget_plan, removal
from memoria.base import state
from memoria.base.paths import Paths
from memoria.base.project import key_of_path
from memoria.base.settings import Settings
from memoria.capture.capture import capture
from memoria.capture.hook import Event
from memoria.capture.open_sessions import BLOCK, COMPACTING, KEPT_S, LIVE, MAX_CHARS, OpenSessions
from memoria.commands import observe
from memoria.ground.home import Home
from memoria.recall import session_start

Starts = Callable[[Event, Settings, Paths], dict[str, object] | None]
GONE = "999999999"  # no process has such an id


@pytest.fixture
def work(tmp_path: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder; hooks start nothing."""
    state.open_state(paths)
    monkeypatch.setenv("MEMORIA_PYTHON", "/bin/true")
    folder = tmp_path / "harbour"
    folder.mkdir()
    return folder


def stands(paths: Paths, session: str, text: str, age: float = 0) -> None:
    file = Path(paths.where, session + BLOCK)
    file.write_text(text, encoding="utf-8")
    os.utime(file, (time.time() - age, time.time() - age))


def start(work: Path, paths: Paths, session: str, source: str, by: Starts = session_start.session_start) -> str:
    """What a session that starts is given."""
    fields: dict[str, object] = {
        "hook_event_name": "SessionStart", "session_id": session, "cwd": str(work), "source": source,
    }  # fmt: skip
    given = by(Event(fields), Settings.load(), paths) or {}
    output = given.get("hookSpecificOutput", {})
    assert isinstance(output, dict)
    return str(output.get("additionalContext", ""))


def hooked(work: Path, paths: Paths, session: str, name: str, **more: str) -> None:
    fields: dict[str, object] = {"hook_event_name": name, "session_id": session, "cwd": str(work), **more}
    capture(Event(fields), Settings.load(), paths)


def said(work: Path, *texts: str) -> str:
    transcript = work / "t.jsonl"
    with transcript.open("a", encoding="utf-8") as file:
        for number, text in enumerate(texts):
            line = {"type": "user", "uuid": f"{text[:9]}{number}", "cwd": str(work), "sessionId": "s1"}
            file.write(json.dumps({**line, "message": {"role": "user", "content": text}}) + "\n")
    return str(transcript)


def test_a_cleared_session_is_told_to_the_client_that_cleared_it(
    work: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    stands(paths, "s1", "s1 was here")
    stands(paths, "s2", "s2 was here")
    monkeypatch.setenv("CLAUDE_PID", str(os.getppid()))
    start(work, paths, "s2", "startup")
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))
    start(work, paths, "s1", "startup")
    hooked(work, paths, "s1", "SessionEnd", reason="clear")
    assert start(work, paths, "s3", "clear") == "s1 was here"
    assert start(work, paths, "s4", "clear") == ""


def test_the_latest_session_that_broke_off_is_told_once_and_only_in_its_project(work: Path, paths: Paths) -> None:
    places, project = OpenSessions(paths.where), key_of_path(str(work))
    for session, age in (("old", 60), ("new", 5)):
        stands(paths, session, f"{session} was here", age)
        places.begin(session, project, GONE)
    stands(paths, "far", "elsewhere")
    places.begin("far", "another-project", GONE)
    stands(paths, "open", "still open")
    places.begin("open", project, str(os.getpid()))
    assert start(work, paths, "s1", "startup") == "new was here"
    places.end("s1")
    for session, by in (("", session_start.session_start), ("s2", session_start.codex)):
        assert start(work, paths, session, "startup", by) == ""
    assert {path.stem for path in Path(paths.where).glob("*" + LIVE)} == {"far", "open"}, "whose end is never told"
    Path(paths.where, f"s3{LIVE}").mkdir()
    start(work, paths, "s3", "startup")
    assert "SessionStart s3 cannot be recorded as open: " in Path(paths.hook_log).read_text("utf-8")


def test_a_session_that_ended_or_is_long_gone_is_not_told(work: Path, paths: Paths) -> None:
    project = key_of_path(str(work))
    stands(paths, "ended", "ended was here")
    start(work, paths, "ended", "startup")
    hooked(work, paths, "ended", "SessionEnd", reason="other")
    stands(paths, "ancient", "ancient was here", KEPT_S + 60)
    OpenSessions(paths.where).begin("ancient", project, GONE)
    assert start(work, paths, "s1", "startup") == ""


def test_page_and_block_stay_within_the_limit_by_taking_the_short_page(work: Path, paths: Paths) -> None:
    key, block = key_of_path(str(work)), "b" * MAX_CHARS
    Path(paths.page, "short").mkdir()
    room = Settings().page_chars - 1 - len(block)
    Path(paths.page, f"{key}.md").write_text("p" * (room + 1))
    Path(paths.page, "short", f"{key}.md").write_text("short")
    stands(paths, "s1", block)
    assert start(work, paths, "s1", "compact") == f"short\n{block}"
    Path(paths.page, f"{key}.md").write_text("p" * room)
    assert start(work, paths, "s1", "compact") == f"{'p' * room}\n{block}"


def test_the_observer_follows_a_transcript_and_forgets_what_is_old(
    work: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(work / "config"))
    config = work / "config" / "memoria"
    config.mkdir(parents=True)
    (config / "config.json").write_text(json.dumps({"redact_extra": ["HARBOUR-[0-9]+"]}))
    stands(paths, "ancient", "ancient was here", KEPT_S + 60)
    places = OpenSessions(paths.where)
    hooked(work, paths, "s1", "Stop", transcript_path=said(work, "calibrate gauge HARBOUR-77 before the tide"))
    sent = Path(paths.where, f"killed.{GONE}.sent")  # perhaps the only place that holds it
    sent.touch()
    os.utime(sent, (1, 1))
    Path(paths.cursors, "s2.uncopied").write_bytes(Path(paths.cursors, "s1").read_bytes())
    assert observe.command(Namespace(), Home.open()) == 0
    assert "calibrate gauge" in places.block("s1")
    assert "HARBOUR-77" not in places.block("s1")
    assert not Path(paths.where, "ancient" + BLOCK).exists()
    Path(work, "t.jsonl").unlink()  # what was read is known without it
    hooked(work, paths, "s1", "PreCompact", transcript_path=said(work, "keep going"))
    assert Path(places.path("s1", COMPACTING)).exists()
    assert observe.command(Namespace(), Home.open()) == 0
    assert "calibrate gauge" in places.block("s1")
    assert "keep going" in places.block("s1")
    left = sorted(path.name for path in Path(paths.where).iterdir())
    assert left == [sent.name, "s1.md"], "the request for a checkpoint is done"
    before = Path(paths.where, "s1.md").stat().st_ino
    assert observe.command(Namespace(), Home.open()) == 0
    assert Path(paths.where, "s1.md").stat().st_ino == before, "without news nothing is written"
    removal.carry_out(home := Home.open(), forget_plan.plan(home, "s1", "session"))
    hooked(work, paths, "s1", "Stop", transcript_path=said(work, "paint the boat"))
    assert observe.command(Namespace(), home) == 0
    assert "keep going" not in places.block("s1")
    assert "paint the boat" in places.block("s1")
    Path(places.path("s3", BLOCK)).mkdir()
    Path(paths.cursors, "s3").write_bytes(Path(paths.cursors, "s1").read_bytes())
    assert observe.command(Namespace(), home) == 0, "what cannot be written is left until the next hook"
