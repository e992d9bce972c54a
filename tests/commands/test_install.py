"""memoria install: the client's own plugin commands, and what an older install left in the settings files."""

from __future__ import annotations

import json
import os
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import home_of
from memoria.commands import install
from memoria.ground import client_program
from memoria.ground.errors import ClientSettingsError, ExpectedError
from memoria.ground.home import Home
from places import ROOT
from real_client import clean_env, client_plugins

ASKED = cache(install._fits)


@pytest.fixture(autouse=True)
def each_python_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter does not change its version between two tests."""
    monkeypatch.setattr(install, "_fits", ASKED)


@pytest.fixture
def file() -> Path:
    """The user's settings file; its folder is not there yet."""
    return Path(os.environ["CLAUDE_CONFIG_DIR"]) / "settings.json"


def run(*words: str) -> int:
    return home_of.run(install, Home.open(), *words)


def given_file(file: Path, text: str | bytes) -> bytes:
    file.parent.mkdir(parents=True, exist_ok=True)
    raw = text.encode() if isinstance(text, str) else text
    file.write_bytes(raw)
    return raw


def copies(file: Path) -> list[Path]:
    return sorted(file.parent.glob(f"{file.name}.bak-*"))


def handler(*words: str, **more: Any) -> dict[str, Any]:
    return {
        "hooks": [{"type": "command", "command": words[0], **({"args": list(words[1:])} if words[1:] else {}), **more}]
    }


OURS = handler("python3", "-S", "-I", "/gone/where it was/hooks/stop.py", timeout=3)
OLDER = (
    OURS,
    handler("/usr/bin/python3", "/gone/memoria/hooks/old-name.py"),
    handler("python3 '/gone/söme where/memoria/hooks/stop.py'"),
    handler("python3", "-S", "-I", "C:\\gone\\clone\\hooks\\stop.py"),
    handler(f"python3 {shlex.quote(str(ROOT))}/hooks/stop.py"),
    handler("""set stop '/gone/where it was/hooks/run' ; [ -r "$2" ] || exit 127; . "$2\""""),
)


def older_install(file: Path, **more: Any) -> bytes:
    return given_file(file, json.dumps({**more, "hooks": {"Stop": [OURS], "SubagentStop": [OLDER[2]]}}))


def client(*words: str) -> list[dict[str, Any]]:
    return client_plugins(clean_env(Path(os.environ["HOME"]), "http://127.0.0.1:9"), Path(), *words)


@pytest.mark.slow
def test_the_real_client_has_the_plugin_of_this_clone_and_loses_it_again(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older_install(file, theme="dark")
    with pytest.raises(ExpectedError, match="Add --yes"):
        run()
    assert client() == [], "nothing was changed"
    assert run("--yes") == 0
    (plugin,) = client()
    assert (plugin["id"], plugin["scope"], plugin["enabled"]) == ("memoria@memoria", "user", True)
    assert plugin["readFromFolder"] == str(ROOT / "plugin")
    value = json.loads(file.read_text())
    assert (value["theme"], "hooks" in value) == ("dark", False)
    said = capsys.readouterr().out
    assert all(word in said for word in ("installed plugin", "took memoria's 2 hooks out", "Restart", "memoria status"))
    assert run() == 0, "a second time changes nothing"
    assert "already installed" in capsys.readouterr().out
    assert run("--remove") == 0
    assert client() == client("marketplace", "list") == []
    assert run("--remove") == 0
    assert "not installed" in capsys.readouterr().out


def test_without_a_client_nothing_is_changed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_program, "find", lambda: "")
    before = older_install(file)
    with pytest.raises(ExpectedError, match="no Claude Code"):
        run("--yes")
    assert file.read_bytes() == before


@pytest.mark.parametrize("older", OLDER)
def test_hooks_of_an_older_install_are_taken_out_and_nothing_else(
    file: Path, older: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    older_install(tmp_path / ".claude" / "settings.local.json")  # of this project alone
    mine = {"type": "command", "command": "mine"}
    both = {"matcher": "", "hooks": [*older["hooks"], mine]}
    theirs = {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo hi"}]}
    settings = {"z": 1, "hooks": {"Stop": [theirs, older], "Start": [both], "SubagentStop": [older]}, "ä": ["ü", 1.5]}
    before = given_file(file, json.dumps(settings, indent=4))
    assert run("--remove") == 0
    value = json.loads(file.read_text("utf-8"))
    assert value["hooks"] == {"Stop": [theirs], "Start": [{"matcher": "", "hooks": [mine]}]}
    assert (list(value), '    "ä"' in file.read_text("utf-8")) == (["z", "hooks", "ä"], True)
    assert [copy.read_bytes() for copy in copies(file)] == [before]
    assert json.loads((tmp_path / ".claude" / "settings.local.json").read_text()) == {}


@pytest.mark.parametrize("theirs", [
    handler("uv run --directory /home/x/claude-memory-compiler python hooks/session-end.py"),
    handler("python3", "/home/x/claude-memory-compiler/hooks/stop.py"),
    handler("python3 '/home/x/unbalanced/hooks/stop.py"), handler("python3", "/home/x/memoria/other/stop.py"),
    handler("/home/x/tool/hooks/run everything"),
    {"hooks": [{"type": "prompt", "prompt": "/gone/memoria/hooks/stop.py"}]}, {"hooks": []},
    {"hooks": "of no known form"}, "nor this",
])  # fmt: skip
def test_another_tools_hooks_are_never_taken_for_ours(file: Path, theirs: Any) -> None:
    before = given_file(file, json.dumps({"hooks": {"SessionEnd": [theirs]}}))
    assert run("--remove") == 0
    assert file.read_bytes() == before
    given_file(file, json.dumps({"hooks": {"SessionEnd": [theirs, OURS]}}))
    assert run("--remove") == 0
    assert json.loads(file.read_text()) == json.loads(before)


UNREADABLE: tuple[str | bytes, ...] = (
    "{", '{"a": 1} x', "[]", "null", '{"hooks": []}', '{"hooks": null}', '{"hooks": {"Stop": {}}}', '{"a": 1, "a": 2}',
    '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}', '// a comment\n{"a": 1}', b'{"a": "\xff"}', "[" * 100_000,
)  # fmt: skip


@pytest.mark.parametrize("words", [["--yes"], ["--remove"]], ids=["install", "remove"])
def test_a_file_that_cannot_be_understood_is_not_touched(file: Path, words: list[str]) -> None:
    for text in UNREADABLE:
        before = given_file(file, text)
        with pytest.raises(ClientSettingsError, match="othing was changed"):
            run(*words)
        assert file.read_bytes() == before
        assert [path.name for path in file.parent.iterdir()] == [file.name]
