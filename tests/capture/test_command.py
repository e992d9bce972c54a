"""``memoria`` at hand without a clone: the plugin's ``bin/`` is on the PATH of the client's shells."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memoria
from client_screen import READY, SHELL_MODE, Screen
from client_session import Session, wait_until
from messages_api import MessagesApi
from plugin_person import WAYS, Person, said

pytestmark = pytest.mark.slow


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    with MessagesApi(lambda _: "scripted answer") as api:
        yield Person(tmp_path, api)


def shell(session: Session, person: Person, command: str) -> str:
    """What the client's shell prints when the model runs a command."""
    waiting: list[Any] = [
        {"type": "tool_use", "id": f"toolu_{len(command)}", "name": "Bash", "input": {"command": command}}
    ]
    person.api.answer = lambda body: "a title" if not body.get("tools") else [waiting.pop()] if waiting else said(body)
    return session.ask("run it")


@pytest.mark.parametrize("install", WAYS, ids=["path", "git", "plugin-dir"])
def test_claude_can_run_the_command_of_a_plugin(person: Person, install: Any) -> None:
    options = install(person)
    person.has_packages()
    person.env["PATH"] = "/usr/local/bin:/usr/bin:/bin"  # without the environment that runs the tests
    with Session(person.env, person.project, *options, "--allowedTools", "Bash") as session:
        assert shell(session, person, "memoria --version") == f"memoria {memoria.__version__}"
        assert "did you mean" in shell(session, person, "memoria serach x; true")
        session.end()


def by_hand(person: Person, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(person.clone / "bin" / "memoria"), *words]
    return subprocess.run(command, env=person.env, cwd=person.project, capture_output=True, text=True, check=False)


def test_it_says_why_it_cannot_run_and_tries_again(person: Person) -> None:
    first = by_hand(person, "status")
    assert first.returncode == 1
    assert "packages cannot be installed" in first.stderr
    assert "packages cannot be installed" in by_hand(person, "status").stderr, (
        "one that has just failed is not repeated"
    )
    person.has_packages()
    assert by_hand(person, "--version").stdout == f"memoria {memoria.__version__}\n"


def test_through_a_link_on_the_path_it_is_the_same_command(person: Person, tmp_path: Path) -> None:
    person.has_packages()
    link = tmp_path / "memoria-link"
    link.symlink_to(person.clone / "bin" / "memoria")
    done = subprocess.run([link, "--version"], env=person.env, capture_output=True, text=True, check=False)
    assert done.stdout == f"memoria {memoria.__version__}\n"


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
def test_a_person_can_run_it_in_a_session_behind_an_exclamation_mark(person: Person, tmp_path: Path) -> None:
    options = person.from_path()
    person.has_packages()
    person.env["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    with (
        tempfile.TemporaryDirectory(prefix="tmux-") as folder,  # a socket's path is short
        Screen(person.env, person.project, Path(folder, "s"), *options) as screen,
    ):
        screen.see(READY)
        screen.press(SHELL_MODE)
        wait_until(lambda: READY not in screen.text, "the client is in shell mode")
        screen.ask("memoria --version", f"memoria {memoria.__version__}", ready=SHELL_MODE)
        screen.see(READY)  # shell mode is for one command
        screen.leave()
