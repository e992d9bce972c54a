"""Sessions of other coding agents are recorded as Claude Code's are: all of them, once, and saying whose they are."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path

import pytest

import agents
from memoria import cli
from memoria.capture.spool import Spool
from memoria.ground.home import Home
from memoria.mcp.origin import Tracer
from memoria.transcripts.clients import table
from shelves import DAY, Shelf, client, entries, since

pytestmark = pytest.mark.slow

__all__ = ["client"]

OTHERS = ("codex", "gemini", "opencode")
SESSIONS = {"codex": 3, "gemini": 2, "opencode": 2}


@pytest.fixture
def home(client: Shelf, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home that was made just now."""
    monkeypatch.setenv("MEMORIA_FLUSH_TURNS_END", "1")
    home = Home.open()
    since(home, 0)
    return home


def run(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = cli.main(list(words))
    return status, out.getvalue()


def receipt(*options: str) -> dict[str, object]:
    answer: dict[str, object] = json.loads(run("verify", "--json", *options)[1])
    return answer


@pytest.mark.parametrize("agent", OTHERS)
def test_every_turn_that_a_plain_count_finds_is_in_the_receipt(agent: str, home: Home) -> None:
    agents.install(agent)
    before = receipt()
    assert before["turns"] == agents.count(agent)
    assert before["not_ingested"] == before["turns"]
    assert before["missing"] == 0
    status, said = run("ingest", "--agent", agent, "--yes")
    assert status == 0, said
    assert f"{SESSIONS[agent]} of {SESSIONS[agent]} sessions ingested" in said
    after = receipt("--all")
    skipped = after["skipped"]
    assert isinstance(skipped, dict)
    assert after["captured"] + sum(skipped.values()) == agents.count(agent)  # type: ignore[operator]
    assert after["not_ingested"] == 0
    assert {entry.agent for entry in entries(home)} == {agent}


@pytest.mark.parametrize("agent", OTHERS)
def test_lines_that_cannot_be_read_or_are_of_an_unknown_kind_are_counted_in_the_receipt(agent: str, home: Home) -> None:
    agents.install(agent)
    forms = {one["form"]: one["lines"] for one in receipt()["not_understood"]}  # type: ignore[attr-defined]
    unknown = {"codex": "type 'world_state'", "gemini": "type 'hologram'", "opencode": "type 'semaphore'"}[agent]
    assert forms == {"no JSON that can be read": 2 if agent == "opencode" else 1, unknown: 1}


def test_a_second_ingest_finds_nothing_to_do(home: Home) -> None:
    for agent in OTHERS:
        agents.install(agent)
    assert run("ingest", "--yes")[0] == 0
    first = [entry.id for entry in entries(home)]
    assert {entry.agent for entry in entries(home)} == set(OTHERS)
    assert "There is nothing to ingest." in run("ingest", "--yes")[1]
    assert [entry.id for entry in entries(home)] == first


def test_a_dry_run_says_how_much_is_whose_and_records_nothing(client: Shelf, home: Home) -> None:
    client.session(2, age_s=20 * DAY)
    agents.install("codex")
    status, said = run("ingest", "--dry-run")
    assert status == 0
    assert "4 sessions" in said
    assert "Claude Code: 1 session, about 4 turns" in said
    assert "Codex: 3 sessions, about" in said
    assert "2 sessions" not in run("ingest", "--dry-run", "--agent", "claude")[1]
    assert entries(home) == []
    assert Spool(home.paths.spool).jobs() == []


def test_only_the_named_agents_sessions_are_brought_in(client: Shelf, home: Home) -> None:
    client.session(2, age_s=20 * DAY)
    agents.install("gemini")
    assert run("ingest", "--yes", "--agent", "gemini")[0] == 0
    assert {entry.agent for entry in entries(home)} == {"gemini"}
    assert run("ingest", "--yes")[0] == 0
    assert {entry.agent for entry in entries(home)} == {"gemini", ""}


@pytest.mark.parametrize("agent", OTHERS)
def test_a_session_is_taken_from_any_place_by_its_name(agent: str, home: Home, tmp_path: Path) -> None:
    place = agents.install(agent)
    moved = tmp_path / "backup"
    place.rename(moved)
    found = table.CLIENTS[agent].transcripts(moved)[0].path
    assert run("ingest", "--yes", str(found))[0] == 0
    assert [entry.agent for entry in entries(home)] == [agent]


def test_an_entry_says_in_its_heading_which_agents_session_it_was(home: Home) -> None:
    agents.install("gemini")
    assert run("ingest", "--yes")[0] == 0
    day = Path(home.paths.daily, "2025-11-05.md").read_text("utf-8")
    assert "### Session (07:30, gemini) · lock · " in day


@pytest.mark.parametrize(("agent", "title"), [("codex", "Codex"), ("gemini", "Gemini CLI"), ("opencode", "opencode")])
def test_the_conversation_behind_an_entry_is_shown_under_the_agents_name(agent: str, title: str, home: Home) -> None:
    agents.install(agent)
    assert run("ingest", "--yes")[0] == 0
    shown = run("show", f"e-{entries(home)[0].id}")[1]
    assert f"── {title} · " in shown
    assert "── Claude" not in shown


def test_an_entry_is_traced_to_the_lines_of_another_agents_session(home: Home) -> None:
    agents.install("codex")
    assert run("ingest", "--yes")[0] == 0
    tracer = Tracer(home)
    for entry in entries(home):
        origins = tracer.trace(entry.source, entry.title).origins
        assert origins
        assert all(origin.transcript and origin.line for origin in origins)


def test_json_says_how_much_is_whose(home: Home) -> None:
    places = {agent: str(agents.install(agent)) for agent in ("codex", "gemini")}
    plan = json.loads(run("ingest", "--dry-run", "--json")[1])
    assert places.items() <= {source["agent"]: source["path"] for source in plan["sources"]}.items()
    assert sum(share["sessions"] for share in plan["agents"]) == plan["sessions"]
    assert sum(share["turns"] for share in plan["agents"]) == plan["turns"]
    assert {share["agent"] for share in plan["agents"]} == places.keys()


@pytest.mark.parametrize("agent", OTHERS)
def test_what_was_said_in_an_excluded_folder_is_in_no_file(
    agent: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.install(agent)
    monkeypatch.setenv("MEMORIA_EXCLUDE", "/home/mira/**")
    before = run("ingest", "--yes")
    assert before[0] == 0, before[1]
    kept = [entry for entry in entries(home) if entry.project != Path.cwd().name]
    words = {"codex": "gauge", "gemini": "chamber", "opencode": "piers"}[agent]
    for path in Path(home.paths.home).rglob("*"):
        assert not path.is_file() or words not in path.read_bytes().decode("utf-8", "replace"), path
    assert all(words not in entry.title for entry in kept)


@pytest.mark.parametrize("agent", OTHERS)
def test_a_key_in_a_session_is_masked(agent: str, home: Home) -> None:
    place = agents.install(agent)
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    words = {"codex": "It uses port 4821.", "gemini": "It is 38.5 m long.", "opencode": "The offset is added twice."}
    for path in place.rglob("*.json*"):
        text = path.read_text("utf-8")
        if words[agent] in text:
            path.write_text(text.replace(words[agent], f"{words[agent]} The token is {key}."), "utf-8")
            os.utime(path, (0, path.stat().st_mtime - agents.AGE_S))
    assert run("ingest", "--yes")[0] == 0
    assert entries(home)
    for path in Path(home.paths.home).rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("agent", OTHERS)
def test_what_was_forgotten_does_not_come_back_from_another_agents_session(agent: str, home: Home) -> None:
    words = {"codex": "mock the clock instead", "gemini": "Always export types by name", "opencode": "never hard-code"}
    agents.install(agent)
    assert run("ingest", "--yes")[0] == 0
    status, said = run("forget", words[agent], "--as", "text", "--yes")
    assert status == 0, said
    assert "another agent contain it" in said
    for path in Path(home.paths.home).rglob("*"):
        assert not path.is_file() or words[agent] not in path.read_bytes().decode("utf-8", "replace"), path
    assert run("ingest", "--yes")[0] == 0
    assert run("verify", "--repair", "--all")[0] == 0
    assert words[agent] not in "".join(path.read_text("utf-8") for path in Path(home.paths.daily).glob("*.md"))


@pytest.mark.parametrize("agent", OTHERS)
def test_a_sub_agents_session_is_left_out_unless_asked_for(
    agent: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.install(agent)
    assert receipt()["turns"] == agents.count(agent)
    monkeypatch.setenv("MEMORIA_KEEP_SIDECHAINS", "1")
    assert receipt("--all")["turns"] == agents.count(agent, sides=True) > agents.count(agent)


def test_a_session_that_may_be_going_on_is_not_ingested(home: Home) -> None:
    agents.install("codex", age_s=1)
    assert "3 in progress, or ended just now" in run("ingest", "--dry-run")[1]
