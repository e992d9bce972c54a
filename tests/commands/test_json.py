"""The demo, and ``--json`` on what it left: every command that shows something has it, with the page's keys."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memoria import cli
from memoria.audit.receipt import CAPTURED
from memoria.base.paths import Paths, own_command
from memoria.daily.ledger import Ledger
from memoria.ground import locks
from places import ROOT

PAGE = (ROOT / "docs" / "json.md").read_text("utf-8")
ROWS = dict(re.findall(r"^- `([^`]+)`: (.*?)(?=\n- |\n\n)", PAGE, re.MULTILINE | re.DOTALL))
WITHOUT_DATA = set(re.findall(r"`(\w+)`", PAGE[PAGE.index("\n`compile`") :]))
# Need a history, a client or a second machine: their own tests look at their JSON.
ELSEWHERE = {"doctor", "sync --status"}
KEYS = re.compile(r"`(\w+)`")


@dataclass(frozen=True)
class Played:
    """What the demo left, as a process of its own in a folder with blanks and other letters, and what it said."""

    folder: Path
    home: Path
    said: str


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("played")
    home = folder / "my dëmo"
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "user"), "MEMORY_API_URL": "http://127.0.0.1:9",
           "MEMORIA_HOME": str(folder / "memoria")}  # fmt: skip
    command = [*own_command(sys.executable, "demo"), "--home", str(home)]
    run = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    for name in ("worker.lock", "compile.lock"):  # the demo's hooks leave a worker behind
        with locks.wait(home / ".memoria" / name):
            pass
    return Played(folder, home, run.stdout)


@pytest.mark.slow
def test_the_demo_writes_an_entry_and_an_article_and_nothing_elsewhere(played: Played) -> None:
    home = played.home
    assert list(played.folder.iterdir()) == [home], "no other home"
    assert not any(Path(Paths(str(home)).server_outbox).glob("*")), "nothing is on its way to a server"
    assert any("### Session (" in path.read_text("utf-8") for path in (home / "daily").glob("*.md"))
    assert any("[[daily/" in path.read_text("utf-8") for path in (home / "knowledge" / "concepts").glob("*.md"))
    assert str(home / "knowledge" / "index.md") in played.said
    _, page, note = re.split(r"is given:|this page:", played.said)
    assert "## What matters most" in page
    assert "Use uv in this project, never pip" in note
    with closing(Ledger(Paths(str(home)))) as ledger:
        fates = [fates for _, fates in ledger.check_results().values()]
    assert sum(fate.get(CAPTURED, 0) for fate in fates) > len(fates) >= 3, "the reader's receipt counts its turns"


def test_the_demo_plays_into_no_folder_that_holds_something(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "daily").mkdir()  # the conversations that wait there would be given the recorded answers
    assert cli.main(["demo", "--home", str(tmp_path)]) == 1
    assert "is not empty" in capsys.readouterr().err


def test_every_verb_is_on_the_page() -> None:
    assert {words.partition(" ")[0] for words in ROWS} | WITHOUT_DATA == set(cli.VERBS)


@pytest.mark.slow
def test_every_command_that_shows_something_prints_it_as_json_and_nothing_else(
    played: Played, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORIA_HOME", str(played.home))
    monkeypatch.setenv("MEMORIA_MODEL", "offline")
    facts = printed(["learned"], capsys)
    for words in sorted(ROWS.keys() - ELSEWHERE):
        check(words, printed(words.replace("ID", facts[0]["id"]).split(), capsys))


def printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert cli.main([*words, "--json"]) == 0, words
    return json.loads(capsys.readouterr().out)


def check(words: str, value: Any) -> None:
    """Compare what was printed with the keys that the page lists before a semicolon."""
    row = ROWS[words]
    listed = set(KEYS.findall(row.partition(";")[0]))
    if row.startswith("a list"):
        assert value, words
        assert all(listed <= one.keys() for one in value), words
    elif listed:
        assert set(value) == listed, words
    if words.startswith("search"):
        assert set(value["results"][0]) == set(KEYS.findall(row.partition(";")[2]))
