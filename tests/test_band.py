"""The band, memoria's second plugin: its own tests, the store's check, and what the real client shows of it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client_screen import Screen
from facts import a_fact
from memoria.base import state
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.statements.fact import GLOBAL
from memoria.statements.keeper import Keeper
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env, run_claude

BAND = ROOT / "band"
SESSION = "5e551014-0000-4000-8000-0000000000ba"
RULE = "The release is built with uv, never with pip."
MINE = "Tests run without a network."


@pytest.fixture
def band(tmp_path: Path) -> Path:
    """A copy, because the client writes the types of its API into a mod's folder."""
    ignored = shutil.ignore_patterns("types", "tsconfig.json")
    return shutil.copytree(BAND, tmp_path / "the bänd", ignore=ignored)


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi(lambda _: "scripted answer") as api:
        yield api


def claude(tmp_path: Path, api: MessagesApi, *words: str) -> Any:
    return run_claude(words, clean_env(tmp_path / "user", api.url), tmp_path, timeout=120)


@pytest.mark.slow
def test_the_bands_own_tests_pass_in_the_client(band: Path, tmp_path: Path, api: MessagesApi) -> None:
    done = claude(tmp_path, api, "plugin", "test", str(band))
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 fail" in done.stdout
    assert done.stdout.count("(pass)") >= 9


def test_the_store_finds_nothing_to_report_about_the_band(tmp_path: Path, api: MessagesApi) -> None:
    done = claude(tmp_path, api, "plugin", "validate", str(BAND), "--profile", "directory", "--strict", "--json")
    report = json.loads(done.stdout)
    manifest, directory = report["manifest"], report["directory"]
    assert (manifest["errors"], manifest["warnings"], directory["findings"], directory["undecided"]) == ([], [], [], [])
    assert [part for part in report["contents"] if part["errors"] or part["warnings"]] == []
    assert (report["success"], done.returncode) == (True, 0)


def remember(home: Home) -> None:
    """A rule of an earlier session, and a preference of this one."""
    state.open_state(home.paths)
    facts = [
        a_fact(RULE, "correction", project=GLOBAL, session="an-earlier-one"),
        a_fact(MINE, project=GLOBAL, session=SESSION),
    ]
    with Keeper.at(home) as keeper, Index(home.paths.index) as index:
        keeper.take(facts)
        sources.refresh(index, home.paths)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_the_client_shows_what_was_recalled_and_learned_and_forgets_what_is_pressed(
    band: Path, tmp_path: Path, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    more = {"MEMORIA_HOME": str(kept), "MEMORIA_PYTHON": "/bin/true"}  # no worker
    for name, value in more.items():
        monkeypatch.setenv(name, value)
    home = Home.open()
    remember(home)
    work = tmp_path / "shop"
    work.mkdir()
    options = ("--session-id", SESSION, "--plugin-dir", str(ROOT), "--plugin-dir", str(band))
    with (
        tempfile.TemporaryDirectory() as short,
        Screen(clean_env(tmp_path / "user", api.url, **more), work, Path(short, "tmux"), *options) as screen,
    ):
        screen.see("0 notes recalled · 1 learned · $0.00 today")
        screen.ask("Do we build the release with pip?", "scripted answer")
        screen.see("1 note recalled · 1 learned · $0.00 today")
        asked = len(api.requests)
        screen.ask("/memoria-band", "Recalled")
        screen.see(RULE)
        screen.see(MINE)
        screen.press("Tab")  # to the first button
        for label in ("forget it?", "Forgotten."):
            screen.press("Enter")
            screen.see(label)
        screen.see("0 notes recalled · 1 learned · $0.00 today")
        assert len(api.requests) == asked  # no turn of the model
    with Keeper.at(home) as keeper:
        assert [fact.content for fact in keeper.store.facts()] == [MINE]
