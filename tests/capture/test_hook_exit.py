"""No hook ever exits with anything but 0, whatever it runs on and whatever it finds: the client takes 2 as "block"."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hooks import DECLARED, Client, arguments, exchange
from installed import compiled
from interpreters import every
from memoria.audit.client_settings import plugin_hooks
from memoria.base.settings import config_path
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env, run_claude


def moved(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))


def no_scripts(root: Path) -> None:
    for path in (root / "hooks").glob("*.py"):
        path.unlink()


def torn_package(root: Path) -> None:
    (root / "scripts" / "memoria" / "capture" / "hook.py").write_text("def run(handler:\n")


def leaving_package(root: Path) -> None:
    (root / "scripts" / "memoria" / "capture" / "hook.py").write_text("raise SystemExit(2)\n")


BREAKAGES = (no_scripts, torn_package, leaving_package)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of this memoria, as far as its hooks need it."""
    root = tmp_path / "my clöne"
    shutil.copytree(ROOT / "hooks", root / "hooks")
    shutil.copytree(ROOT / "scripts", root / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    compiled(root / "scripts")
    return root


def command(event: str, root: Path, python: str = "") -> str:
    """What an installation of the memoria at ``root`` has the client run."""
    (group,) = plugin_hooks(root, python)[event]
    handlers: Any = group["hooks"]
    return str(handlers[0]["command"])


def run(event: str, line: str, env: dict[str, str], timeout: float = 120) -> subprocess.CompletedProcess[bytes]:
    payload = {"hook_event_name": event, "session_id": "s", "cwd": env["HOME"], "source": "startup",
               "transcript_path": str(Path(env["HOME"], "t.jsonl")),
               "prompt": "Why does the worker lose its lock?", "tool_name": "Bash",
               "tool_input": {"command": "npm install"}, "error": "npm ERR! no such package"}  # fmt: skip
    words, given = ["/bin/sh", "-c", line], json.dumps(payload).encode()
    return subprocess.run(words, input=given, env=env, capture_output=True, check=False, timeout=timeout)


def fire(event: str, root: Path, python: str, env: dict[str, str]) -> str:
    done = run(event, command(event, root, python), env)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


@pytest.mark.parametrize("breaks", BREAKAGES)
def test_a_clone_that_is_broken_stops_no_hook_and_the_session_start_says_why(
    clone: Path, tmp_path: Path, breaks: Callable[[Path], None]
) -> None:
    env = Client(tmp_path).env
    breaks(clone)
    said = {event: fire(event, clone, sys.executable, env) for event in DECLARED}
    start = said.pop("SessionStart")
    assert set(said.values()) == {""}
    if breaks is not leaving_package:
        assert "memoria keeps nothing now" in json.loads(start)["systemMessage"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_in_the_place_of_any_file_that_a_hook_reads_holds_none_up(tmp_path: Path) -> None:
    client = Client(tmp_path)
    (tmp_path / "t.jsonl").write_bytes(exchange(1))
    for event in DECLARED:  # what they leave behind
        fire(event, ROOT, sys.executable, client.env)
    paths = client.paths
    names = (paths.notice, paths.hidden, paths.named, paths.projects, paths.folders, paths.index, paths.exchanged)
    kept = {*map(Path, names), Path(paths.page_of("global")), Path(paths.cursors, "s"), Path(paths.since)}
    kept |= {path for path in Path(paths.state).rglob("*") if path.is_file()}
    first = {Path(paths.version), Path(config_path(client.env))}  # without these a hook reads nothing else
    for pipes in (kept - first, first):
        for path in pipes:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        with (tmp_path / "t.jsonl").open("ab") as file:
            file.write(exchange(len(pipes)))
        for event in DECLARED:
            assert run(event, command(event, ROOT, sys.executable), client.env, timeout=30).returncode == 0, event


def test_a_clone_that_is_gone_blocks_nothing(clone: Path, tmp_path: Path) -> None:
    words = {event: command(event, clone) for event in DECLARED}
    moved(clone)
    for event in DECLARED:
        status = run(event, words[event], Client(tmp_path).env).returncode
        assert status == 127, "the client tells it, and blocks nothing"


def test_without_any_interpreter_no_hook_fails_and_the_session_start_says_so(tmp_path: Path) -> None:
    env = {**Client(tmp_path).env, "PATH": str(tmp_path / "empty")}
    said = {event: fire(event, ROOT, "", env) for event in DECLARED}
    assert "there is no python3 on PATH" in json.loads(said.pop("SessionStart"))["systemMessage"]
    assert set(said.values()) == {""}


def test_the_interpreter_of_the_first_session_is_started_and_a_version_managers_shim_no_more(tmp_path: Path) -> None:
    shims, told = tmp_path / "shims", tmp_path / "told"
    shims.mkdir()
    (shims / "python3").write_text(f'#!/bin/sh\necho used >>{told}\nexec {shlex.quote(sys.executable)} "$@"\n')
    (shims / "python3").chmod(0o755)
    env = {**Client(tmp_path).env, "PATH": f"{shims}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    for event in ("SessionStart", "Stop", "UserPromptSubmit", "SessionStart"):
        fire(event, ROOT, "", env)
    assert told.read_text() == "used\n", "only before it was known"
    link = tmp_path / ".cache" / "memoria" / "python3"
    assert link.readlink() == Path(sys.executable).resolve()
    link.unlink()
    link.symlink_to("/gone/python3")  # an update of Python
    fire("SessionStart", ROOT, "", env)
    assert link.readlink() == Path(sys.executable).resolve()
    assert told.read_text() == "used\n" * 2


def test_an_installation_of_0_2_goes_on(clone: Path, tmp_path: Path) -> None:
    """It started ``hooks/<name>.py`` through lines of its own, or, for Codex, by itself."""
    client = Client(tmp_path)
    client.write(exchange(1))
    script = str(clone / "hooks" / "stop.py")
    through = "import sys;p=__file__=sys.argv[1];exec(open(p,'rb').read())"
    for words in (["-c", through, script], [script]):
        given = json.dumps(client.payload("Stop")).encode()
        done = subprocess.run([sys.executable, "-S", "-I", *words], input=given, env=client.env, check=False)
        assert done.returncode == 0
        assert client.jobs()
        client.write(exchange(2))


@every(6, 8)
def test_an_interpreter_that_is_too_old_stops_no_hook_and_the_session_start_says_so(
    python: str, tmp_path: Path
) -> None:
    env = Client(tmp_path).env
    said = {event: fire(event, ROOT, python, env) for event in DECLARED}
    message = json.loads(said.pop("SessionStart"))["systemMessage"]
    assert "need Python 3.9 or newer" in message
    assert set(said.values()) == {""}


@pytest.mark.slow
def test_the_real_client_lets_a_prompt_through_whatever_became_of_the_clone(clone: Path, tmp_path: Path) -> None:
    hooks = {event: [{"hooks": [{"type": "command", "command": command(event, clone)}]}] for event in DECLARED}
    with MessagesApi(lambda _: "scripted hello") as api:
        env = clean_env(tmp_path / "user", api.url, MEMORIA_HOME=str(tmp_path / "memoria"), MEMORIA_PYTHON="/bin/true")
        Path(env["CLAUDE_CONFIG_DIR"], "settings.json").write_text(json.dumps({"hooks": hooks}))
        moved(clone)
        done = run_claude(["-p", "hi"], env, tmp_path)
    assert done.stdout.strip() == "scripted hello"


@pytest.mark.slow
def test_a_config_file_that_cannot_be_read_fails_no_hook_keeps_nothing_and_loses_nothing(tmp_path: Path) -> None:
    """It may name a home, or folders to leave alone: until it can be read, neither is known."""
    configs = {
        "an open brace": b"{", "a trailing comma": b'{"hints": true,}', "a missing comma": b'{"hints": true "tz": ""}',
        "a bad escape": b'{"home": "C:\\memoria"}', "a text cut short": b'{"tz": "Euro', "a list": b"[]",
        "nothing": b"", "nested too deep": b"[" * 100_000, "not text": b"\xff\xfe\x00",
    }  # fmt: skip
    client = Client(tmp_path)
    config = Path(config_path(client.env))
    config.parent.mkdir(parents=True)
    client.fire("SessionStart", source="startup")
    said, fired, events = b"", 0, list(DECLARED)
    for number, (name, raw) in enumerate(configs.items()):
        config.write_bytes(raw)
        said += exchange(number)
        client.write(exchange(number))
        for event in dict.fromkeys(("SessionStart", events[number % len(events)])):
            heard = client.fire(event, source="startup", prompt="hello there")
            fired += 1
            if event == "SessionStart":
                assert str(config) in json.loads(heard)["systemMessage"], name
            else:
                assert heard == "", name
        assert len([row for row in client.log().splitlines() if "ERROR" in row]) == fired
        assert client.jobs() == []
    config.unlink()
    client.fire("SessionEnd")
    assert client.captured() == said


@pytest.mark.slow
@every(9)
def test_a_broken_state_fails_no_hook_on_any_python(python: str, tmp_path: Path) -> None:
    for number, (name, text) in enumerate((("version", "{"), ("version", ""), ("spool", ""), ("cursors", ""))):
        (base := tmp_path / str(number)).mkdir()
        client = Client(base, python=python)
        client.fire("SessionStart", source="startup")
        client.write(exchange(1))
        broken = Path(client.paths.state, name)
        if broken.is_dir():
            shutil.rmtree(broken)
            broken.touch()
        elif text:
            broken.write_text(text)
        else:
            broken.unlink()
            broken.mkdir()
        for event in DECLARED if name == "spool" else ("SessionStart", "Stop"):
            heard = client.fire(event, source="startup", prompt="hello there")
            assert event == "SessionStart" or heard == ""


def test_a_reader_that_has_gone_fails_no_hook(tmp_path: Path) -> None:
    client = Client(tmp_path)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as out:
        done = subprocess.run(
            [client.python, *arguments("SessionStart")],
            input=json.dumps(client.payload("SessionStart", source="startup")).encode(),
            env=client.env, stdout=out, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
