"""``--json``: every command that shows what is there has it, with the keys that docs/json.md names, no more."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memoria import cli
from memoria.base.paths import own_command
from memoria.ground import locks
from places import ROOT

PAGE = (ROOT / "docs" / "json.md").read_text("utf-8")
ROWS = dict(re.findall(r"^- `([^`]+)`: (.*?)(?=\n- |\n\n)", PAGE, re.MULTILINE | re.DOTALL))
WITHOUT_DATA = set(re.findall(r"`(\w+)`", PAGE[PAGE.index("\n`compile`") :]))
# Need a history, a client or a second machine: their own tests look at their JSON.
ELSEWHERE = {"doctor", "sync --status"}
KEYS = re.compile(r"`(\w+)`")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with daily logs and articles."""
    folder = tmp_path_factory.mktemp("played")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "user")}
    command = [*own_command(sys.executable, "demo"), "--home", str(folder / "home")]
    subprocess.run(command, env=env, check=True, capture_output=True)
    for name in ("worker.lock", "compile.lock"):  # the demo's hooks leave a worker behind
        with locks.waiting(folder / "home" / ".memoria" / name):
            pass
    return folder / "home"


def test_every_verb_is_on_the_page() -> None:
    assert {words.partition(" ")[0] for words in ROWS} | WITHOUT_DATA == set(cli.VERBS)


@pytest.mark.slow
def test_every_command_that_shows_something_prints_it_as_json_and_nothing_else(
    played: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORIA_HOME", str(played))
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
