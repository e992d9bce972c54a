"""memoria install and uninstall: the client's settings files, and nothing else in them."""

from __future__ import annotations

import argparse
import json
import os
import re
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
from memoria.commands import install, uninstall
from memoria.ground import projects
from memoria.ground.errors import ClientSettingsError, ExpectedError, SavedMeanwhileError, UsageError
from memoria.ground.exchange import Exchange
from memoria.ground.home import Home
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env, run_claude

FACTS = list(json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"])


ASKED = cache(install._fits)


@pytest.fixture(autouse=True)
def each_python_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter does not change its version between two tests."""
    monkeypatch.setattr(install, "_fits", ASKED)


@pytest.fixture
def file() -> Path:
    """The user's settings file; its folder is not there yet."""
    return Path(os.environ["CLAUDE_CONFIG_DIR"]) / "settings.json"


def run(verb: Any, *words: str) -> int:
    parser = argparse.ArgumentParser()
    verb.arguments(parser)
    status: int = verb.command(parser.parse_args(words), Home.open())
    return status


def given_file(file: Path, text: str | bytes) -> bytes:
    file.parent.mkdir(parents=True, exist_ok=True)
    raw = text.encode() if isinstance(text, str) else text
    file.write_bytes(raw)
    return raw


def copies(file: Path) -> list[Path]:
    return sorted(file.parent.glob(f"{file.name}.bak-*"))


def scripts(file: Path) -> list[str]:
    hooks = json.loads(file.read_text("utf-8-sig"))["hooks"]
    return [handler["command"] for groups in hooks.values() for group in groups for handler in group["hooks"]]


def test_every_hook_of_the_plugin_is_installed_with_the_clones_path(file: Path) -> None:
    assert run(install) == 0
    hooks = json.loads(file.read_text())["hooks"]
    assert list(hooks) == FACTS
    assert scripts(file) == [launched(event) for event in FACTS]
    assert hooks["Stop"][0]["hooks"][0]["async"] is True
    assert hooks["SessionEnd"][0]["hooks"][0]["timeout"] >= 5  # the client gives 1.5 s for all when none is named
    assert copies(file) == []  # there was nothing to keep a copy of


def test_a_second_run_changes_no_byte_and_keeps_no_copy(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given_file(file, '{"theme": "dark"}')
    run(install)
    once, kept = file.read_bytes(), copies(file)
    stamp = file.stat().st_mtime_ns
    capsys.readouterr()
    run(install)
    assert (file.read_bytes(), copies(file), file.stat().st_mtime_ns) == (once, kept, stamp)
    assert "nothing was changed" in capsys.readouterr().out


def test_what_stands_in_the_file_stays_in_its_order_and_a_copy_is_kept(file: Path) -> None:
    theirs = {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo hi"}]}
    before = given_file(file, json.dumps({"z": 1, "hooks": {"Stop": [theirs], "Pré": []}, "ä": ["ü", 1.5]}, indent=4))
    run(install)
    value = json.loads(file.read_text("utf-8"))
    assert list(value) == ["z", "hooks", "ä"]
    assert value["hooks"]["Stop"][0] == theirs
    assert value["hooks"]["Pré"] == []
    assert '    "ä"' in file.read_text("utf-8")
    assert [copy.read_bytes() for copy in copies(file)] == [before]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"a": {"b": [1, 2,\n 3]}}  ',
        '\ufeff{\r\n\t"theme": "dark",\r\n\t"e": 1e5\r\n}\r\n',
        '{"hooks": {}}',
        '{"hooks": {"Stop": []}}',
        '{"hooks": {"Stop": [{"hooks": []}], "PreToolUse": [{"matcher": "x", "hooks": [{"type": "command"}]}]}}',
        '{"name": "\\u00e9\\ud83d\\ude00"}',
    ],
)
def test_uninstall_gives_back_the_very_bytes(file: Path, text: str) -> None:
    before = given_file(file, text)
    run(install)
    assert file.read_bytes() != before
    run(uninstall)
    assert file.read_bytes() == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
GROUP = st.fixed_dictionaries({"hooks": st.lists(st.just({"type": "command", "command": "true"}), max_size=2)})
SETTINGS = st.dictionaries(st.text().filter(lambda key: key != "hooks"), JSON, max_size=4).flatmap(
    lambda value: (
        st.just(value)
        | st.builds(lambda hooks: {**value, "hooks": hooks}, st.dictionaries(st.sampled_from(FACTS), st.lists(GROUP)))
    )
)


@pytest.mark.slow
@given(value=SETTINGS, indent=st.sampled_from([None, 2, "\t"]))
@how(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_settings_come_back_byte_for_byte(file: Path, value: Any, indent: Any) -> None:
    shutil.rmtree(file.parent, ignore_errors=True)
    before = given_file(file, json.dumps(value, indent=indent))
    run(install)
    assert {key: item for key, item in json.loads(file.read_bytes()).items() if key != "hooks"} == {
        key: item for key, item in value.items() if key != "hooks"
    }
    run(uninstall)
    assert file.read_bytes() == before


def test_uninstall_leaves_no_file_where_there_was_none(file: Path) -> None:
    run(install)
    run(uninstall)
    assert not file.exists()


def test_uninstall_keeps_what_was_changed_since(file: Path) -> None:
    given_file(file, '{"theme": "dark"}')
    run(install)
    value = json.loads(file.read_text())
    value["theme"] = "light"
    value["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine"})
    given_file(file, json.dumps(value, indent=2))
    run(uninstall)
    assert json.loads(file.read_text()) == {
        "theme": "light",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]},
    }


def test_uninstall_without_hooks_of_ours_changes_nothing(file: Path) -> None:
    before = given_file(file, '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}')
    assert run(uninstall) == 0
    assert file.read_bytes() == before
    assert copies(file) == []


def handler(*words: str, **more: Any) -> dict[str, Any]:
    return {
        "hooks": [{"type": "command", "command": words[0], **({"args": list(words[1:])} if words[1:] else {}), **more}]
    }


@pytest.mark.parametrize(
    "older",
    [
        handler("python3", "-S", "-I", "/gone/where it was/hooks/stop.py", timeout=3),
        handler("/usr/bin/python3", "/gone/memoria/hooks/old-name.py"),
        handler("python3 '/gone/söme where/memoria/hooks/stop.py'"),
        handler("python3", "-S", "-I", "C:\\gone\\clone\\hooks\\stop.py"),
        handler(f"python3 {shlex.quote(str(ROOT))}/hooks/stop.py"),
        handler("exec '/gone/where it was/hooks/run' stop"),
    ],
)
def test_an_older_memorias_hooks_are_replaced_not_doubled(file: Path, older: dict[str, Any]) -> None:
    given_file(file, json.dumps({"hooks": {"Stop": [older], "SubagentStop": [older]}}))
    run(install)
    assert scripts(file) == [launched(event) for event in FACTS]


def launched(event: str) -> str:
    name = "".join("-" + letter.lower() if letter.isupper() else letter for letter in event)[1:]
    return "exec " + shlex.join([str(ROOT / "hooks" / "run"), name])


@pytest.mark.parametrize(
    "theirs",
    [
        handler("uv run --directory /home/x/claude-memory-compiler python hooks/session-end.py"),
        handler("python3", "/home/x/claude-memory-compiler/hooks/stop.py"),
        handler("python3 '/home/x/unbalanced/hooks/stop.py"),
        handler("python3", "/home/x/memoria/other/stop.py"),
        handler("/home/x/tool/hooks/run everything"),
        {"hooks": [{"type": "prompt", "prompt": "/gone/memoria/hooks/stop.py"}]},
        {"hooks": "of no known form"},
        "nor this",
    ],
)
def test_another_tools_hooks_are_never_taken_for_ours(file: Path, theirs: Any) -> None:
    before = given_file(file, json.dumps({"hooks": {"SessionEnd": [theirs]}}))
    run(install)
    assert json.loads(file.read_text())["hooks"]["SessionEnd"][0] == theirs
    run(uninstall)
    assert file.read_bytes() == before


def test_a_live_folder_that_is_no_memoria_is_not_ours_even_when_started_alike(file: Path, tmp_path: Path) -> None:
    (tmp_path / "memoria" / "hooks").mkdir(parents=True)
    before = given_file(
        file, json.dumps({"hooks": {"Stop": [handler("python3", "-S", "-I", f"{tmp_path}/memoria/hooks/stop.py")]}})
    )
    run(uninstall)
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
@pytest.mark.parametrize("verb", [install, uninstall])
def test_a_file_that_cannot_be_understood_is_not_touched(file: Path, verb: Any, text: str | bytes) -> None:
    before = given_file(file, text)
    with pytest.raises(ClientSettingsError, match="othing was changed"):
        run(verb)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_symbolic_link_stays_one_and_its_target_gets_the_hooks(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "claude.json"
    before = given_file(target, '{"theme": "dark"}')
    file.parent.mkdir(parents=True)
    file.symlink_to(target)
    run(install)
    assert file.is_symlink()
    assert scripts(target)
    assert list(target.parent.iterdir()) == [target]  # the copy stands beside the link
    run(uninstall)
    assert (file.is_symlink(), target.read_bytes()) == (True, before)


def test_the_files_mode_is_kept_also_by_the_copy(file: Path) -> None:
    given_file(file, "{}")
    file.chmod(0o600)
    run(install)
    assert {path.stat().st_mode & 0o777 for path in [file, *copies(file)]} == {0o600}


def test_a_project_is_written_to_the_file_that_is_not_shared(file: Path, tmp_path: Path) -> None:
    (tmp_path / "some prôject").mkdir()
    run(install, "--project", str(tmp_path / "some prôject"))
    local = tmp_path / "some prôject" / ".claude" / "settings.local.json"
    assert scripts(local)
    assert not file.exists()
    run(uninstall, "--project", str(tmp_path / "some prôject"))
    assert not local.exists()


def test_a_project_can_be_named_and_an_unknown_name_makes_no_folder(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = Home.open().paths
    folder, second = tmp_path / "work" / "shop", tmp_path / "laptop" / "shop"
    for each in (folder, second):
        each.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    projects.see_folder(paths, "shop-1a2b3c", str(folder))
    local = folder / ".claude" / "settings.local.json"
    assert run(install, "--project", "shop") == 0
    assert scripts(local)
    with pytest.raises(
        UsageError, match=r"no folder .*shpo, and no project is called 'shpo'. Did you mean shop-1a2b3c"
    ):
        run(install, "--project", "shpo")
    assert not Path("shpo").exists()
    projects.see_folder(paths, "shop-1a2b3c", str(second))
    with pytest.raises(UsageError, match="lies in 2 folders") as error:
        run(uninstall, "--project", "shop")
    assert str(second) in str(error.value)
    second.rmdir()
    assert run(uninstall, "--project", "SHOP") == 0
    assert not local.exists()
    shutil.rmtree(folder)
    with pytest.raises(UsageError, match="no folder of shop-1a2b3c is there any more"):
        run(install, "--project", "shop")


def test_a_dry_run_shows_the_change_and_makes_none(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = given_file(file, '{"theme": "dark"}')
    run(install, "--dry-run")
    assert re.search(r"hooks/run'? stop", capsys.readouterr().out)
    assert (file.read_bytes(), copies(file)) == (before, [])
    run(install)
    stands = file.read_bytes()
    capsys.readouterr()
    run(uninstall, "--dry-run")
    assert re.search(r"hooks/run'? stop", capsys.readouterr().out)
    assert file.read_bytes() == stands


def test_both_say_what_they_did_and_what_to_do_next(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = given_file(file, '{"enabledPlugins": {"memoria@memoria": true}, "disableAllHooks": true}')
    with pytest.raises(ExpectedError, match="plugin memoria@memoria is switched on"):
        run(install)
    assert file.read_bytes() == given, "it is said before anything is changed"
    run(install, "--beside-plugin")
    said = capsys.readouterr().out
    assert all(word in said for word in (str(file), "memoria status", "Restart", copies(file)[0].name))
    assert "disableAllHooks" in said
    run(uninstall)
    said = capsys.readouterr().out
    assert all(word in said for word in (str(file), "Restart", os.environ["MEMORIA_HOME"]))


def test_a_file_that_cannot_be_written_is_said_and_left(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = given_file(file, "{}")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("memoria.ground.files.replace", full)
    with pytest.raises(ClientSettingsError, match="No space left"):
        run(install)
    assert file.read_bytes() == before


@pytest.mark.parametrize("save", EDITORS.values(), ids=EDITORS)
@pytest.mark.parametrize("verb", [install, uninstall])
def test_settings_that_a_person_saves_at_the_moment_of_writing_stand(
    file: Path, monkeypatch: pytest.MonkeyPatch, save: Save, verb: Any
) -> None:
    given_file(file, '{"model": "opus"}')
    if verb is uninstall:
        run(install)
    before = copies(file)

    def person(step: str) -> None:
        if step == "files.compared":
            monkeypatch.setattr(failpoints, "reached", lambda _: None)
            save(file, b'{"model": "haiku"}')

    monkeypatch.setattr(failpoints, "reached", person)
    with pytest.raises(SavedMeanwhileError):
        run(verb)
    assert file.read_bytes() == b'{"model": "haiku"}'
    assert copies(file) == before


def test_a_new_settings_file_is_for_its_owner_alone(file: Path) -> None:
    file.parent.mkdir(parents=True, mode=0o755)
    run(install)
    assert file.stat().st_mode & 0o777 == 0o600


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
