"""The wheel, as uv installs it: the command, its hooks in the real client, and nothing of a clone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import memoria
from client_session import Session, wait_until
from memoria.base import interpreter
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env, client_plugins, run_claude

pytestmark = pytest.mark.slow

UV = interpreter.find_program("uv")
RULE = "Never use tabs in YAML files of this project."


def uv(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([UV, *words], env={**os.environ, **env}, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not UV:
        pytest.skip("uv is not installed")
    folder = tmp_path_factory.mktemp("dist")
    built = uv("build", "-q", "-o", str(folder), str(ROOT))
    assert built.returncode == 0, built.stderr
    (found,) = folder.glob("claude_memoria-*.whl")
    return found


@dataclass(frozen=True)
class Tool:
    """The folder of an installed tool's command, and the cache that it came from."""

    folder: Path
    cache: str


@pytest.fixture(scope="module")
def tool(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Tool:
    """memoria as ``uv tool install`` puts it somewhere; from uv's cache if that holds all packages."""
    base = tmp_path_factory.mktemp("tool")
    cache = uv("cache", "dir").stdout.strip()
    places = {"UV_TOOL_DIR": str(base / "tools"), "UV_TOOL_BIN_DIR": str(base / "bin"), "UV_CACHE_DIR": cache}
    words = ("tool", "install", "--python", sys.executable, str(wheel))
    if uv(*words, "--offline", **places).returncode:
        done = uv(*words, **places)
        if done.returncode:
            pytest.skip(f"no package index can be reached, and uv's cache lacks a package: {done.stderr[-300:]}")
    return Tool(base / "bin", cache)


class Person:
    """A person with the tool on the PATH, and no clone."""

    def __init__(self, base: Path, tool: Tool, api: MessagesApi) -> None:
        self.api = api
        self.home = base / "user"
        self.project = base / "shop"
        self.project.mkdir()
        self.env = clean_env(self.home, api.url, MEMORIA_MODEL="offline", MEMORIA_TZ="UTC")
        self.env["PATH"] = f"{tool.folder}:/usr/bin:/bin"
        self.program = tool.folder / "memoria"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["memoria", *words], executable=self.program, env=self.env, cwd=self.project, capture_output=True,
            text=True, check=False,
        )  # fmt: skip

    @property
    def settings(self) -> Path:
        return self.home / ".claude" / "settings.json"


@pytest.fixture
def person(tmp_path: Path, tool: Tool) -> Iterator[Person]:
    with MessagesApi(lambda _: "Understood.") as api:
        yield Person(tmp_path, tool, api)


def test_the_wheel_holds_the_hooks_and_nothing_of_the_clone_around_them(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        shipped = {name: archive.read(name) for name in names if name.startswith("memoria/hooks/") and "." in name}
    assert shipped == {f"memoria/hooks/{path.name}": path.read_bytes() for path in (ROOT / "hooks").glob("*.*")}
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"memoria", "claude_memoria"}


def test_the_command_is_on_the_path_and_a_session_with_its_hooks_is_remembered(person: Person) -> None:
    assert person.run("--version").stdout == f"memoria {memoria.__version__}\n"
    assert "usage: memoria" in person.run("--help").stdout
    assert person.run("install").returncode == 0
    with Session(person.env, person.project) as session:
        session.ask(RULE)
        session.settle()
        assert session.end() == 0
    assert session.failed_hooks == []
    daily = person.home / "memoria" / "daily"
    wait_until(lambda: any(RULE in path.read_text("utf-8") for path in daily.glob("*.md")), "the rule is kept", 60)
    wait_until(lambda: "YAML files of this project" in person.run("search", "tabs").stdout, "the rule is found", 60)
    asked = len(person.api.messages)
    findings = person.run("doctor").stdout
    assert "0 broken" in findings
    with Session(person.env, person.project) as session:
        session.ask("hello again")
        session.settle()
        session.end()
    assert session.failed_hooks == []
    assert any(RULE in request.conversation for request in person.api.messages[asked:]), "the next session knows it"


def test_its_plugin_is_renewed_and_removed_like_that_of_a_clone(person: Person) -> None:
    person.settings.write_text('{"model": "haiku"}\n')
    assert person.run("install").returncode == 0
    assert json.loads(person.settings.read_text("utf-8"))["enabledPlugins"] == {"memoria@memoria": True}
    assert "already installed" in person.run("install").stdout
    (listed,) = client_plugins(person.env, person.project)
    plugin = Path(listed["readFromFolder"])
    assert plugin.is_relative_to(person.home), "nothing of a clone"
    assert {path.name for path in (plugin / "skills").iterdir()} == {
        path.name for path in (ROOT / "plugin" / "skills").iterdir()
    }
    done = run_claude(["plugin", "validate", str(plugin)], person.env, person.project)
    assert done.returncode == 0, done.stdout
    assert person.run("uninstall").returncode == 0
    assert json.loads(person.settings.read_text("utf-8"))["enabledPlugins"] == {}
