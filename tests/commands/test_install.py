"""memoria install: the client's own plugin commands, and what an older install left in the settings files."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as how
from hypothesis import strategies as st

from editors import EDITORS, Save
from memoria.audit.client_settings import ClientSettings, plugin_hooks
from memoria.base import failpoints
from memoria.commands import install
from memoria.ground import client_program, projects
from memoria.ground.errors import ClientSettingsError, ExpectedError, SavedMeanwhileError, UsageError
from memoria.ground.exchange import Exchange
from memoria.ground.home import Home
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env, run_claude

EVENTS = list(json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"])


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
    parser = argparse.ArgumentParser()
    install.arguments(parser)
    return install.command(parser.parse_args(words), Home.open())


def given_file(file: Path, text: str | bytes) -> bytes:
    file.parent.mkdir(parents=True, exist_ok=True)
    raw = text.encode() if isinstance(text, str) else text
    file.write_bytes(raw)
    return raw


def copies(file: Path) -> list[Path]:
    return sorted(file.parent.glob(f"{file.name}.bak-*"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
GROUP = st.fixed_dictionaries(
    {"hooks": st.lists(st.just({"type": "command", "command": "true"}), min_size=1, max_size=2)}
)
SETTINGS = st.dictionaries(st.text().filter(lambda key: key != "hooks"), JSON, max_size=4).flatmap(
    lambda value: (
        st.just(value)
        | st.builds(
            lambda hooks: {**value, "hooks": hooks},
            st.dictionaries(st.sampled_from(EVENTS), st.lists(GROUP, min_size=1), min_size=1),
        )
    )
)


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
    handler("""set stop '/gone/where it was/hooks/run' ; [ -r "$2" ] && . "$2\""""),
)


def older_install(file: Path, **more: Any) -> bytes:
    return given_file(file, json.dumps({**more, "hooks": {"Stop": [OURS], "SubagentStop": [OLDER[2]]}}))


def client(*words: str) -> list[dict[str, Any]]:
    done = run_claude(["plugin", *words, "--json"], clean_env(Path(os.environ["HOME"]), "http://127.0.0.1:9"), Path())
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_the_real_client_has_the_plugin_of_this_clone_and_loses_it_again(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older_install(file, theme="dark")
    with pytest.raises(UsageError, match="Add --yes"):
        run()
    assert client("list") == [], "nothing was changed"
    assert run("--yes") == 0
    (plugin,) = client("list")
    assert (plugin["id"], plugin["scope"], plugin["enabled"]) == ("memoria@memoria", "user", True)
    assert plugin["readFromFolder"] == str(ROOT / "plugin")
    value = json.loads(file.read_text())
    assert (value["theme"], "hooks" in value) == ("dark", False)
    said = capsys.readouterr().out
    assert all(word in said for word in ("installed plugin", "took memoria's 2 hooks out", "Restart", "memoria status"))
    assert run() == 0, "a second time changes nothing"
    assert "already installed" in capsys.readouterr().out
    assert run("--remove") == 0
    assert client("list") == client("marketplace", "list") == []
    assert run("--remove") == 0
    assert "not installed" in capsys.readouterr().out


@pytest.mark.slow
def test_one_project_has_the_plugin_and_the_others_have_not(file: Path, tmp_path: Path) -> None:
    folder, second = tmp_path / "work" / "shop", tmp_path / "laptop" / "shop"
    for each in (folder, second):
        each.mkdir(parents=True)
    paths = Home.open().paths
    projects.see_folder(paths, "shop-1a2b3c", str(folder))
    local = folder / ".claude" / "settings.local.json"
    with pytest.raises(
        UsageError, match=r"no folder .*shpo, and no project is called 'shpo'. Did you mean shop-1a2b3c"
    ):
        run("--project", "shpo")
    older_install(local)
    assert run("--project", "shop", "--yes") == 0
    assert json.loads(local.read_text()) == {"enabledPlugins": {"memoria@memoria": True}}
    assert "enabledPlugins" not in json.loads(file.read_text())
    projects.see_folder(paths, "shop-1a2b3c", str(second))
    with pytest.raises(UsageError, match="lies in 2 folders"):
        run("--remove", "--project", "shop")
    assert run("--remove", "--project", str(folder)) == 0
    assert client("list") == []


def test_without_a_client_nothing_is_changed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_program, "find", lambda: "")
    before = older_install(file)
    with pytest.raises(ExpectedError, match="no Claude Code"):
        run("--yes")
    assert file.read_bytes() == before


def test_what_the_client_says_when_it_fails_is_passed_on(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho 'a policy forbids it' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(client_program, "find", lambda: str(program))
    before = older_install(file)
    with pytest.raises(ExpectedError, match="a policy forbids it"):
        run("--yes")
    assert file.read_bytes() == before


@pytest.mark.parametrize("older", OLDER)
def test_hooks_of_an_older_install_are_taken_out_and_nothing_else(file: Path, older: dict[str, Any]) -> None:
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


@pytest.mark.slow
@given(value=SETTINGS, indent=st.sampled_from([None, 2, "\t"]))
@how(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_settings_are_the_same_after_ours_were_in_them(file: Path, value: Any, indent: Any) -> None:
    shutil.rmtree(file.parent, ignore_errors=True)
    given_file(file, json.dumps(value, indent=indent))
    given_file(file, ClientSettings.read(file).merged({"Stop": [OURS]}))
    assert list(ClientSettings.read(file).ours) == ["Stop"]
    assert run("--remove") == 0
    assert json.loads(file.read_bytes()) == value


@pytest.mark.parametrize(
    "theirs",
    [
        handler("uv run --directory /home/x/claude-memory-compiler python hooks/session-end.py"),
        handler("python3", "/home/x/claude-memory-compiler/hooks/stop.py"),
        handler("python3 '/home/x/unbalanced/hooks/stop.py"),
        handler("python3", "/home/x/memoria/other/stop.py"),
        handler("/home/x/tool/hooks/run everything"),
        {"hooks": [{"type": "prompt", "prompt": "/gone/memoria/hooks/stop.py"}]},
        {"hooks": []},
        {"hooks": "of no known form"},
        "nor this",
    ],
)
def test_another_tools_hooks_are_never_taken_for_ours(file: Path, theirs: Any) -> None:
    before = given_file(file, json.dumps({"hooks": {"SessionEnd": [theirs]}}))
    assert run("--remove") == 0
    assert file.read_bytes() == before
    given_file(file, json.dumps({"hooks": {"SessionEnd": [theirs, OURS]}}))
    assert run("--remove") == 0
    assert json.loads(file.read_text()) == json.loads(before)


def test_a_live_folder_that_is_no_memoria_is_not_ours_even_when_started_alike(file: Path, tmp_path: Path) -> None:
    (tmp_path / "memoria" / "hooks").mkdir(parents=True)
    before = given_file(
        file, json.dumps({"hooks": {"Stop": [handler("python3", "-S", "-I", f"{tmp_path}/memoria/hooks/stop.py")]}})
    )
    run("--remove")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a": 1} x',
        "[]",
        "null",
        '{"hooks": []}',
        '{"hooks": null}',
        '{"hooks": {"Stop": {}}}',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": "\\ud800"}',
        '// a comment\n{"a": 1}',
        b'{"a": "\xff"}',
        "[" * 100_000,
    ],
)
@pytest.mark.parametrize("words", [["--yes"], ["--remove"]], ids=["install", "remove"])
def test_a_file_that_cannot_be_understood_is_not_touched(file: Path, words: list[str], text: str | bytes) -> None:
    before = given_file(file, text)
    with pytest.raises(ClientSettingsError, match="othing was changed"):
        run(*words)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_symbolic_link_stays_one_and_the_mode_is_kept(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "claude.json"
    older_install(target, theme="dark")
    target.chmod(0o600)
    file.parent.mkdir(parents=True)
    file.symlink_to(target)
    run("--remove")
    assert (file.is_symlink(), json.loads(target.read_text())) == (True, {"theme": "dark"})
    assert list(target.parent.iterdir()) == [target]  # the copy stands beside the link
    assert {path.stat().st_mode & 0o777 for path in [file, *copies(file)]} == {0o600}


def test_a_file_that_cannot_be_written_is_said_and_left(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = older_install(file)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("memoria.ground.files.replace", full)
    with pytest.raises(ClientSettingsError, match="No space left"):
        run("--remove")
    assert file.read_bytes() == before


@pytest.mark.parametrize("save", EDITORS.values(), ids=EDITORS)
def test_settings_that_a_person_saves_at_the_moment_of_writing_stand(
    file: Path, monkeypatch: pytest.MonkeyPatch, save: Save
) -> None:
    older_install(file)

    def person(step: str) -> None:
        if step == "files.compared":
            monkeypatch.setattr(failpoints, "reached", lambda _: None)
            save(file, b'{"model": "haiku"}')

    monkeypatch.setattr(failpoints, "reached", person)
    with pytest.raises(SavedMeanwhileError):
        run("--remove")
    assert file.read_bytes() == b'{"model": "haiku"}'
    assert copies(file) == []


def fake_python(folder: Path, text: str) -> None:
    folder.mkdir()
    (folder / "python3").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "python3").chmod(0o755)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("exit 0", ""), ("exit 1", "absolute"), (None, "absolute")],
    ids=["fits", "too old", "none at all"],
)
def test_python3_is_named_absolutely_when_the_client_would_find_none_that_fits(
    tmp_path: Path, text: str | None, expected: str
) -> None:
    if text is not None:
        fake_python(tmp_path / "bin", text)
    search = os.pathsep.join([str(tmp_path / "bin"), str(Path(sys.prefix, "bin"))])  # our own .venv does not count
    named = install.interpreter({"PATH": search})
    assert named == expected if not expected else (Path(named).is_absolute() and Path(named).is_file())


@pytest.mark.slow
def test_the_real_client_runs_installed_hooks_from_a_path_with_spaces_letters_and_quotes(
    file: Path, tmp_path: Path
) -> None:
    root = tmp_path / 'it\'s a "clöne" $HOME'
    shutil.copytree(ROOT / "hooks", root / "hooks")
    (root / "hooks" / "start.py").write_text(
        "import sys\nwith open(__file__ + sys.argv[1], 'wb') as out:\n    out.write(sys.stdin.buffer.read())\n"
    )
    work = tmp_path / "wörk dir"
    work.mkdir()
    settings = ClientSettings.read(file)
    settings.write(settings.merged(plugin_hooks(root, sys.executable)), Exchange(tmp_path / "replaced"))
    with MessagesApi(lambda _: "scripted hello") as api:
        env = clean_env(Path(os.environ["HOME"]), api.url)
        assert env["CLAUDE_CONFIG_DIR"] == str(file.parent)
        done = run_claude(["-p", "hi"], env, work)
    assert done.stdout.strip() == "scripted hello"
    payload = json.loads((root / "hooks" / "start.pysession-end").read_text("utf-8"))
    assert (payload["hook_event_name"], payload["cwd"]) == ("SessionEnd", str(work))
