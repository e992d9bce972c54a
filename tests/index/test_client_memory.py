"""The client's own memory: read and never written, found beside ours, and only where it may be."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from facts import a_fact
from home_of import run
from memoria.base import project
from memoria.commands import forget, search
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.client_memory import ClientMemory, folder_name
from memoria.index.index import Index
from memoria.statements.keeper import Keeper

TOPIC = """---
name: deploy-order
description: Staging goes first, always
type: feedback
---

Deploy staging before production; the wombat gate blocks it otherwise.
"""


class Client:
    """A client's folder with one project's memory."""

    def __init__(self, base: Path) -> None:
        self.work = base / "my shop"
        self.work.mkdir()
        self.folder = Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", folder_name(str(self.work)))
        self.folder.mkdir(parents=True)
        self.transcript = self.folder / "s1.jsonl"
        self.transcript.write_text(json.dumps({"type": "user", "sessionId": "s1", "cwd": str(self.work)}) + "\n")

    def remember(self, name: str, text: str) -> Path:
        path = self.folder / "memory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


@pytest.fixture
def home() -> Home:
    return Home.open()


def found(home: Home, query: str) -> list[str]:
    with Index(home.paths.index) as index:
        sources.refresh(index, home.paths)
        return [hit.path for hit in index.search(query, kinds=("memory",))]


def test_the_clients_memory_is_found_with_its_path_and_project(
    client: Client, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    client.remember("MEMORY.md", "# Memory\n\n- Tests run with pytest -n 4.\n- [Deploys](deploy.md)\n")
    path = client.remember("topics/deploy.md", TOPIC)
    assert run(search, home, "wombat", "gate", "--json") == 0
    (hit,) = json.loads(capsys.readouterr().out)["results"]
    assert (hit["kind"], hit["path"], hit["title"]) == ("memory", str(path), "deploy-order")
    assert hit["project"] == project.key_of_path(str(client.work))
    assert len(found(home, "pytest tests")) == 1


def test_it_follows_the_file_and_goes_with_it_and_is_never_written(client: Client, home: Home) -> None:
    path = client.remember("MEMORY.md", "- The wombat gate is open.\n")
    before = (path.stat().st_mtime_ns, path.read_bytes())
    assert found(home, "wombat") == [str(path)]
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before
    path.write_text("- The quokka gate is open.\n")
    assert (found(home, "wombat"), found(home, "quokka")) == ([], [str(path)])
    path.unlink()
    assert found(home, "quokka") == []


@pytest.mark.parametrize("way", ["setting", "marker"])
def test_an_excluded_project_is_not_read_and_leaves_the_index(
    client: Client, home: Home, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    client.remember("MEMORY.md", "- The wombat gate is open.\n")
    assert found(home, "wombat")
    if way == "setting":
        monkeypatch.setenv("MEMORIA_EXCLUDE", str(client.work))
    else:
        (client.work / ".memoria-off").touch()
    assert found(home, "wombat") == []


@pytest.mark.parametrize(
    ("variable", "setting", "where", "is_read"),
    [
        ("", None, "user", True),
        ("1", None, "user", False),
        ("", False, "user", False),
        ("", False, "project", False),
        ("0", False, "user", True),
        ("", True, "user", True),
    ],
)
def test_it_is_not_read_while_the_client_has_it_switched_off(
    client: Client, home: Home, monkeypatch: pytest.MonkeyPatch, variable: str, setting: bool | None, where: str,
    is_read: bool,
) -> None:  # fmt: skip
    client.remember("MEMORY.md", TOPIC)
    if variable:
        monkeypatch.setenv("CLAUDE_CODE_DISABLE_AUTO_MEMORY", variable)
    if setting is not None:
        folder = Path(os.environ["CLAUDE_CONFIG_DIR"]) if where == "user" else client.work / ".claude"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps({"autoMemoryEnabled": setting}))
    assert bool(found(home, "wombat gate")) is is_read


def chosen(folder: Path, where: object) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"autoMemoryDirectory": where}))


@pytest.mark.parametrize("form", ["absolute", "of the home folder"])
def test_a_folder_that_the_users_settings_name_is_read_instead_for_all_projects(
    client: Client, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    client.remember("MEMORY.md", "- The quokka gate is open.\n")
    assert found(home, "quokka")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text(TOPIC)
    chosen(
        Path(os.environ["CLAUDE_CONFIG_DIR"]), "~/notes" if form == "of the home folder" else str(tmp_path / "notes")
    )
    assert found(home, "wombat gate") == [(tmp_path / "notes" / "MEMORY.md").as_posix()]
    assert found(home, "quokka") == [], "the client does not read it any more"
    [memory] = ClientMemory.of(home.paths).listed()
    assert ClientMemory.of(home.paths).project(memory) == ""


def test_secrets_in_it_do_not_reach_the_index(client: Client, home: Home) -> None:
    key = "AKIA" + "IOSFODNN7" + "EXAMPLQ"
    client.remember("MEMORY.md", f"- The wombat bucket takes {key}.\n<private>quokka</private>\n")
    assert found(home, "wombat")
    assert found(home, "quokka") == []
    for path in Path(home.paths.state).glob("index.db*"):
        assert key.encode() not in path.read_bytes()


def test_forgetting_names_the_clients_file_that_still_holds_it(
    client: Client, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    path = client.remember("MEMORY.md", "- The pangolin merger closes in May.\n")
    with Keeper.at(home) as keeper:
        keeper.take([a_fact("The pangolin merger closes in May.", "fact")])
    before = path.read_bytes()
    assert run(forget, home, "pangolin merger", "--yes") == 0, "what the client keeps is named, not touched"
    assert str(path) in capsys.readouterr().out
    assert path.read_bytes() == before
    assert not any("pangolin" in page.read_text() for page in Path(home.paths.daily).glob("*.md"))


def test_a_folder_without_transcripts_is_told_by_its_name_and_a_strangers_is_left_out(
    client: Client, home: Home
) -> None:
    client.transcript.unlink()
    client.remember("MEMORY.md", "- The wombat gate is open.\n")
    stranger = client.folder.parent / "-nowhere-at-all" / "memory" / "MEMORY.md"
    stranger.parent.mkdir(parents=True)
    stranger.write_text("- The wombat gate is shut.\n")
    assert found(home, "wombat gate") == [str(client.folder / "memory" / "MEMORY.md")]
