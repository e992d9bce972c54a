"""Sessions of Codex are recorded as Claude Code's are: all of them, once, and saying whose they are."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import agents
from memoria.ground.home import Home
from memoria.transcripts import client_files, clients
from shelves import entries, printed

pytestmark = pytest.mark.slow


def receipt(*options: str) -> dict[str, object]:
    answer: dict[str, object] = json.loads(printed("verify", "--json", *options)[1])
    return answer


def test_every_turn_that_a_plain_count_finds_is_in_the_receipt(home: Home) -> None:
    agents.install()
    before = receipt()
    assert before["turns"] == agents.count()
    assert before["not_ingested"] == before["turns"]
    assert before["missing"] == 0
    status, said = printed("ingest", "--agent", "codex", "--yes")
    assert status == 0, said
    assert "3 of 3 sessions ingested" in said
    after = receipt("--all")
    skipped = after["skipped"]
    assert isinstance(skipped, dict)
    assert after["captured"] + sum(skipped.values()) == agents.count()  # type: ignore[operator]
    assert after["not_ingested"] == 0
    assert {entry.agent for entry in entries(home)} == {"codex"}


def test_lines_that_cannot_be_read_or_are_of_an_unknown_kind_are_counted_in_the_receipt(home: Home) -> None:
    agents.install()
    forms = {one["form"]: one["lines"] for one in receipt()["not_understood"]}  # type: ignore[attr-defined]
    assert forms == {"no JSON object": 1, "type 'world_state'": 1}


def test_a_session_is_taken_from_any_place_by_its_name(home: Home, tmp_path: Path) -> None:
    place = agents.install()
    moved = tmp_path / "backup"
    place.rename(moved)
    found = client_files.sort(clients.CLIENTS["codex"].transcripts(moved))[0].path
    assert printed("ingest", "--yes", str(found))[0] == 0
    (entry,) = entries(home)
    assert entry.agent == "codex"
    assert f"· {entry.time}, codex · " in printed("why", f"e-{entry.id}")[1]


def held_by(home: Home, words: str) -> list[Path]:
    files = [path for path in Path(home.paths.home).rglob("*") if path.is_file()]
    return [path for path in files if words in path.read_bytes().decode("utf-8", "replace")]


def test_what_was_said_in_an_excluded_folder_is_in_no_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    agents.install()
    monkeypatch.setenv("MEMORIA_EXCLUDE", "/home/mira/**")
    status, said = printed("ingest", "--yes")
    assert status == 0, said
    assert held_by(home, "first timeout") == []


def test_a_key_in_a_session_is_masked(home: Home) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for path in agents.install().rglob("*.json*"):
        text = path.read_text("utf-8")
        if "It uses port 4821." in text:
            path.write_text(text.replace("It uses port 4821.", f"It uses port 4821. The token is {key}."), "utf-8")
            os.utime(path, (0, path.stat().st_mtime - agents.AGE_S))
    assert printed("ingest", "--yes")[0] == 0
    assert entries(home)
    assert held_by(home, key) == []


def test_what_was_forgotten_does_not_come_back_from_another_agents_session(home: Home) -> None:
    words = "gives up after the first timeout"
    agents.install()
    assert printed("ingest", "--yes")[0] == 0
    status, said = printed("forget", words, "--as", "text", "--yes")
    assert status == 0, said
    assert "coding agents or of a team contain it" in said
    assert held_by(home, words) == []
    assert printed("ingest", "--yes")[0] == 0
    assert printed("verify", "--repair", "--all")[0] == 0
    assert held_by(home, words) == []
