"""What was kept apart by path is one project once its folders are learned, and no daily log is rewritten for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoria import cli
from memoria.base import project
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Call, Ledger
from memoria.ground.home import Home
from memoria.ground.projects import Projects
from memoria.index import sources
from memoria.index.index import Index
from memoria.statements.keeper import Keeper
from wiki_home import entry

REMOTE = "https://git.example.com/mara/tidemark"


@pytest.fixture
def clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two clones with a remote, and what was written in them under the keys of their paths."""
    monkeypatch.setenv("MEMORIA_PYTHON", "/bin/true")  # no worker beside the tests
    monkeypatch.setenv("MEMORIA_MODEL", "offline")
    one, two = tmp_path / "src" / "tidemark", tmp_path / "work" / "tides"
    one.mkdir(parents=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=m", "-c", "user.email=m@example.com"]
    for words in (
        ["init", "-q"],
        [*who, "commit", "-q", "--allow-empty", "-m", "x"],
        ["remote", "add", "origin", REMOTE],
    ):
        subprocess.run(["git", *words], cwd=one, env=env, check=True, capture_output=True)
    shutil.copytree(one, two)
    home = Home.open()
    with closing(Ledger(home.paths)) as ledger:
        for number, folder in enumerate((one, two), 1):
            key = project.key_of_path(str(folder))
            made = entry(f"a{number}", title=f"Heron {number}", project=folder.name, project_key=key,
                         learned=[("preference", f"Count herons twice in house {number}")])  # fmt: skip
            DailyLog(home.paths).append(made)
            ledger.record(made.booking)
            ledger.book(Call("flush", "offline", key, "ok", 0, 0, 0.0, 0.0))
    return one, two


def work_in(clones: tuple[Path, Path]) -> None:
    """Let sessions have run in both clones, and a worker."""
    Projects(Home.open().paths.projects).learn([f"{clone}/docs" for clone in clones])
    assert cli.main(["flush", "--now"]) == 0


def test_two_clones_become_one_project_for_every_reader(
    clones: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home.open()
    log = DailyLog(home.paths).path(entry("a1").day)
    before = log.read_bytes()
    with Keeper.at(home) as keeper:
        assert len(keeper.store.projects()) == 2
    work_in(clones)
    assert cli.main(["flush", "--now"]) == 0, "the second run changes nothing"
    key = project.key_of_remote("git.example.com/mara/tidemark")
    assert log.read_bytes() == before
    assert {project.key_of(str(folder), home.settings, home.paths) for folder in clones} == {key}
    assert {one.project_key for one in DailyLog(home.paths).entries(entry("a1").day)} == {key}
    with closing(Ledger(home.paths)) as ledger:
        assert {one.project for one in ledger.entries()} == {key}
        assert {call.project for _, call in ledger.calls_since(datetime(2020, 1, 1, tzinfo=UTC))} == {key}
    with Keeper.at(home) as keeper:
        assert keeper.store.projects() == [key]
    with Index(home.paths.index) as index:
        sources.refresh(index, home.paths)
        assert index.projects() == {key}
    page = Path(home.paths.page_of(key)).read_text()
    assert "house 1" in page
    assert "house 2" in page
    assert [path.stem for path in Path(home.paths.page).glob("tid*.md")] == [key]
    for name in ("tidemark", "tides", "mara/tidemark", str(clones[1]), project.key_of_path(str(clones[0]))):
        for words in (("learned", "list"), ("search", "heron")):
            capsys.readouterr()
            assert cli.main([*words, "--project", name]) == 0
            told = capsys.readouterr().out
            assert [f"house {number}" in told for number in (1, 2)] == [True, True]
    assert cli.main(["search", "heron", "--project", "tidemrak"]) != 0
    assert f"Did you mean {key}?" in capsys.readouterr().err


def test_the_folder_one_stands_in_is_meant_by_default(
    clones: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work_in(clones)
    monkeypatch.chdir(clones[1])
    assert cli.main(["search", "heron", "--project"]) == 0
    assert "house 1" in capsys.readouterr().out
