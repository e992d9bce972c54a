"""memoria's own environment: built once, whole or not at all, away from every project, gone only when unused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from client_session import wait_until
from installed import clone, empty_packages, environment_of, fake_uv, uv_calls
from memoria.base import interpreter

pytestmark = pytest.mark.slow

HOSTILE = {
    "UV_PROJECT_ENVIRONMENT": ".venv", "UV_FROZEN": "1", "UV_CONFIG_FILE": "uv.toml", "PIP_CONFIG_FILE": "pip.conf",
    "PIP_TARGET": "here", "PYTHONPATH": "src", "PYTHONSTARTUP": "start.py", "PYTHONHOME": "nowhere",
    "VIRTUAL_ENV": ".venv", "CONDA_PREFIX": "conda",
}  # fmt: skip


class Machine:
    """A person's machine with a memoria in a plugin's folder and a uv that needs no network.

    ``made_by`` makes the environment that this uv brings.
    """

    def __init__(self, base: Path, made_by: Callable[[Path], Path] = empty_packages) -> None:
        self.base = base
        self.home = base / "user"
        self.root = clone(self.home / ".claude" / "plugins" / "cache" / "memoria" / "memoria" / "0.1.0")
        self.environment = environment_of(self.home, self.root)
        self.data = self.environment.parent
        made = base / "made"
        made_by(made)
        self.bin = base / "bin"
        self.bin.mkdir()
        fake_uv(self.bin, made)
        (self.bin / "python3.13").write_text(
            '#!/bin/sh\n[ "$3" = venv ] && echo "no module venv" >&2 && exit 1\nexit 0\n'
        )
        (self.bin / "python3.13").chmod(0o755)  # nor does pip get to the network
        self.project = base / "project"
        self.project.mkdir()
        self.env = {"HOME": str(self.home), "PATH": f"{self.bin}:/usr/bin:/bin", "MEMORIA_MODEL": "offline"}

    def start(self, **more: str) -> subprocess.Popen[bytes]:
        script = self.root / "scripts" / "build_environment.py"
        return subprocess.Popen(
            [sys.executable, "-S", "-I", str(script)], env={**self.env, **more}, cwd=self.project,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def build(self, **more: str) -> tuple[int, str]:
        process = self.start(**more)
        _, said = process.communicate(timeout=60)
        return process.returncode, said.decode()

    def calls(self, word: str = "") -> list[Any]:
        return uv_calls(self.bin, word)

    def left(self) -> list[str]:
        return sorted(path.name for path in self.data.iterdir() if path.is_dir())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_it_is_built_from_the_lock_with_hashes_and_a_second_run_does_nothing(machine: Machine) -> None:
    assert machine.build() == (0, "")
    assert machine.left() == [machine.environment.name]
    assert machine.data.stat().st_mode & 0o777 == 0o700
    assert (machine.environment / "bin" / "python").exists()
    ((install, _, _),) = machine.calls("install")
    assert "--require-hashes" in install
    assert install[install.index("--no-binary") + 1] == "claude-agent-sdk"  # else 365 MB of a client come along
    assert str(machine.root / "requirements.lock") in install
    before = len(machine.calls())
    assert machine.build() == (0, "")
    assert len(machine.calls()) == before


def test_neither_the_project_nor_its_variables_reach_the_build(machine: Machine) -> None:
    index = {"UV_INDEX_URL": "http://127.0.0.1:9/simple", "HTTPS_PROXY": "http://127.0.0.1:9"}
    assert machine.build(**HOSTILE, **index) == (0, "")
    for _, folder, environment in machine.calls():
        assert folder == str(machine.data)
        assert not HOSTILE.keys() & environment.keys()
        assert index.items() <= environment.items()
    assert list(machine.project.iterdir()) == []


def test_two_builds_at_once_are_one(machine: Machine) -> None:
    (machine.bin / "wait").touch()
    first = machine.start()
    wait_until(lambda: machine.calls("venv"), "the first build began")
    assert machine.build() == (0, "")
    (machine.bin / "wait").unlink()
    first.communicate(timeout=60)
    assert first.returncode == 0
    assert len(machine.calls("venv")) == 1


def test_a_build_that_was_killed_leaves_nothing_that_counts_and_is_cleared_away(machine: Machine) -> None:
    (machine.bin / "wait").touch()
    first = machine.start()
    wait_until(lambda: machine.data.is_dir() and machine.left(), "the first build began")
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert not machine.environment.exists()
    (machine.bin / "wait").unlink()
    assert machine.build() == (0, "")
    assert machine.left() == [machine.environment.name]


def test_a_build_that_fails_says_why_and_the_next_may_succeed(machine: Machine) -> None:
    (machine.bin / "fail").touch()
    status, said = machine.build()
    assert status == 1
    assert "no route to the index" in said
    assert "no module venv" in said
    assert "no route to the index" in machine.environment.with_name(machine.environment.name + ".failed").read_text()
    (machine.bin / "fail").unlink()
    assert machine.build() == (0, "")
    assert [path.name for path in machine.data.iterdir() if path.suffix == ".failed"] == []


def old(folder: Path, days: float) -> None:
    moment = time.time() - days * 86_400
    for path in (folder, folder / "in-use"):
        if path.exists():
            os.utime(path, (moment, moment))


def test_an_update_makes_a_new_one_and_the_old_goes_when_nothing_has_begun_in_it_for_a_month(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.build()
    first = machine.environment
    monkeypatch.setattr(interpreter, "data_folder", lambda: str(first.parent))
    another = first.with_name("plugin")  # what `memoria install` makes beside it
    another.mkdir()
    old(another, 400)
    for number, lives in enumerate((True, True, False)):
        if number:
            old(first, 31)
        if number == 1:  # something begins again
            interpreter.mark_use(interpreter.python_of(str(first)))
        with (machine.root / "requirements.lock").open("a") as lock:
            lock.write(f"# update {number}\n")
        newest = environment_of(machine.home, machine.root)
        assert machine.build() == (0, "")
        assert newest.is_dir()
        assert (first.is_dir(), another.is_dir()) == (lives, True)


def fire(machine: Machine, event: str) -> None:
    hooks = json.loads((machine.root / "hooks" / "hooks.json").read_text())["hooks"]
    name = hooks[event][0]["hooks"][0]["command"].split()[1]
    words = ["-S", "-I", str(machine.root / "hooks" / "start.py"), name]
    transcript = machine.project / "s.jsonl"
    line = {
        "type": "user", "uuid": "u1", "sessionId": "s", "cwd": "/", "timestamp": "2026-11-20T10:00:00Z",
        "message": {"role": "user", "content": "Remember: the harbour gauge is off by 3 cm."},
    }  # fmt: skip
    transcript.write_text(json.dumps(line) + "\n")
    payload = {
        "hook_event_name": event, "session_id": "s", "transcript_path": str(transcript), "cwd": str(machine.project),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, *words], input=json.dumps(payload).encode(), env={**machine.env, **HOSTILE},
        cwd=machine.project, check=False,
    )  # fmt: skip
    assert done.returncode == 0


def test_a_build_that_has_just_failed_is_not_tried_at_every_hook(machine: Machine) -> None:
    (machine.bin / "fail").touch()
    machine.build()
    before = len(machine.calls())
    fire(machine, "SessionEnd")
    log = (machine.home / "memoria" / ".memoria" / "log" / "hook.log").read_text()
    assert "its packages cannot be installed: " in log
    assert "no route to the index" in log
    assert len(machine.calls()) == before
