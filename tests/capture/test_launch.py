"""The plugin's MCP server in the real client, as each kind of install starts it, also before its packages are there."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memoria
from client_session import Session, wait_until
from installed import IDENTITY, environment_of, fake_uv, fingerprint, packages, uv_calls
from messages_api import MessagesApi
from plugin_person import HOSTILE, PREFIX, Person, call, said
from real_client import run_claude

pytestmark = pytest.mark.slow

SERVER = "plugin:memoria:memoria"


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    with MessagesApi(lambda _: "scripted answer") as api:
        yield Person(tmp_path, api)


def servers(session: Session) -> dict[str, str]:
    starts = [event for event in session.events if event.get("subtype") == "init"]
    return {server["name"]: server["status"] for server in starts[-1]["mcp_servers"]}


def shell(session: Session, person: Person, command: str) -> str:
    """What the client's shell prints when the model runs a command."""
    waiting: list[Any] = [{"type": "tool_use", "id": "toolu_shell", "name": "Bash", "input": {"command": command}}]
    person.api.answer = lambda body: "a title" if not body.get("tools") else [waiting.pop()] if waiting else said(body)
    return session.ask("run it")


@pytest.mark.parametrize("install", [Person.from_git, Person.from_folder], ids=["git", "plugin-dir"])
def test_the_plugins_server_connects_its_command_runs_and_the_project_stays_as_it_was(
    person: Person, install: Any
) -> None:
    options = install(person)
    person.has_packages()
    person.env |= HOSTILE
    if not options:
        assert f"{SERVER}: " in (listed := person.claude("mcp", "list"))
        assert "Connected" in listed.partition(SERVER)[2].splitlines()[0]
    person.env["PATH"] = "/usr/local/bin:/usr/bin:/bin"  # without the environment that runs the tests
    with Session(person.env, person.project, *options, "--allowedTools", f"{PREFIX}search,Bash") as session:
        answer = call(session, person, "search")
        assert shell(session, person, "memoria --version") == f"memoria {memoria.__version__}"
        assert servers(session)[SERVER] == "connected"
        session.settle()
        assert session.end() == 0
    assert "Nothing found" in answer
    assert session.failed_hooks == []
    assert fingerprint(person.project) == person.before
    assert not person.clone.exists() or not (person.clone / ".venv").exists()
    assert (person.home / "memoria" / ".memoria" / "version").exists()
    assert not (person.clone / ".memoria").exists()


def test_an_option_of_the_plugin_holds_for_hooks_worker_server_and_command(person: Person) -> None:
    notes = person.base / "the notes, mine"
    del person.env["MEMORIA_MODEL"]
    person.has_packages()
    person.claude("plugin", "marketplace", "add", str(person.clone))
    chosen = ("--config", f"home={notes}", "--config", "model=offline", "--config", "exclude=**/hidden")
    person.claude("plugin", "install", "memoria@memoria", *chosen)
    calls = ("Keep the harbour open.", PREFIX + "remember_now")
    person.api.answer = lambda body: (
        [{"type": "tool_use", "id": "toolu_1", "name": PREFIX + "remember_now", "input": {"key": "k", "value": 1}}]
        if body.get("tools") and not said(body) else "scripted answer"
    )  # fmt: skip
    with Session(person.env, person.project, "--allowedTools", calls[1]) as session:
        session.ask(calls[0])
        session.settle()
        assert session.end() == 0
    days = notes / "daily"
    wait_until(lambda: any("harbour" in day.read_text() for day in days.glob("*.md")), "the worker writes the day")
    assert (notes / ".memoria" / "working.db").exists(), "the server's"
    assert not (person.home / "memoria").exists()
    hidden = person.base / "hidden"
    hidden.mkdir()
    before = len(list(days.glob("*")))
    assert run_claude(["-p", "Hide the ferry."], person.env, hidden).returncode == 0
    assert "excluded" in (notes / ".memoria" / "log" / "hook.log").read_text()
    assert len(list(days.glob("*"))) == before
    python = str(person.environment / "bin" / "python")
    listed = subprocess.run(
        [python, str(person.clone / "scripts" / "memoria" / "__main__.py"), "config", "list", "--json"],
        env={"HOME": str(person.home), "PATH": os.environ["PATH"], "PYTHONPATH": str(person.clone / "scripts")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    given = {row["name"]: row["origin"] for row in json.loads(listed.stdout) if row["origin"] != "default"}
    assert given == dict.fromkeys(("home", "model", "exclude"), "plugin option")


RULE = "Never use tabs in YAML files of this project."
NOTE_STARTS = "import sys; open({!r}, 'a').write(' '.join(sys.orig_argv[-2:]) + chr(10))\n"


def test_hooks_wait_for_no_build_and_server_and_worker_share_the_one_that_is_made(person: Person) -> None:
    """The build takes as long as the test wants."""
    folder, made, starts = person.base / "bin", person.base / "made", person.base / "starts"
    folder.mkdir()
    packages(made)
    (site,) = made.glob("lib/python*/site-packages")
    (site / "starts.pth").write_text(NOTE_STARTS.format(str(starts)))
    fake_uv(folder, made)
    (folder / "wait").touch()
    person.from_git()
    person.env["PATH"] = str(folder) + os.pathsep + person.env["PATH"]
    with Session(person.env, person.project, "--allowedTools", f"{PREFIX}search") as session:
        session.ask(RULE)
        session.settle()
        assert not person.environment.exists()
        (folder / "wait").unlink()
        wait_until(person.environment.exists, "the environment is built")
        assert "Nothing found" in call(session, person, "search")
        session.settle()
        session.end()
    assert session.failed_hooks == []
    daily = person.home / "memoria" / "daily"
    wait_until(lambda: any(RULE in path.read_text("utf-8") for path in daily.glob("*.md")), "the rule is kept", 60)
    assert [len(uv_calls(folder, word)) for word in ("venv", "install")] == [1, 1]
    started = {line.split()[-1] for line in starts.read_text().splitlines() if "__main__.py" in line}
    assert started >= {"mcp", "flush"}
    assert [path.parent for path in person.home.rglob("pyvenv.cfg")] == [person.environment]
    assert fingerprint(person.project) == person.before


def test_the_plugins_command_says_why_it_cannot_run_and_tries_again(person: Person) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(person.clone / "bin" / "memoria"), *words]
        return subprocess.run(command, env=person.env, cwd=person.project, capture_output=True, text=True, check=False)

    first = run("status")
    assert first.returncode == 1
    assert "packages cannot be installed" in first.stderr
    assert "packages cannot be installed" in run("status").stderr, "one that has just failed is not repeated"
    person.has_packages()
    assert run("--version").stdout == f"memoria {memoria.__version__}\n"


RULES = (
    "Always write dates as 2026-11-22.",
    "Never push to main without a review.",
    "From now on deploy on Tuesdays only.",
)


def release(person: Person, version: str) -> None:
    """Publish a version with other packages in the repository that the marketplace was added from."""
    folder = person.base / "release"
    subprocess.run(["git", "clone", "-q", str(person.base / "memoria.git"), str(folder)], check=True)
    for name in (".claude-plugin/plugin.json", "plugin/.claude-plugin/plugin.json"):
        manifest = json.loads((folder / name).read_text("utf-8"))
        (folder / name).write_text(json.dumps(manifest | {"version": version}))
    with (folder / "requirements.lock").open("a", encoding="utf-8") as lock:
        lock.write("# another environment\n")
    for words in (["commit", "-q", "-am", version], ["push", "-q"]):
        subprocess.run(["git", *IDENTITY, *words], cwd=folder, check=True)


def test_a_plugin_that_is_updated_in_the_middle_of_a_session_loses_nothing(person: Person) -> None:
    person.has_packages()
    person.from_git()
    cache = Path(person.env["CLAUDE_CONFIG_DIR"]) / "plugins" / "cache" / "memoria" / "memoria"
    (before,) = cache.iterdir()
    with Session(person.env, person.project) as session:
        session.ask(RULES[0])
        session.settle()
        release(person, "9.9.9")
        person.claude("plugin", "marketplace", "update", "memoria")
        person.claude("plugin", "update", "memoria@memoria")
        assert {path.name for path in cache.iterdir()} == {before.name, "9.9.9"}
        packages(environment_of(person.home, cache / "9.9.9"))
        session.ask(RULES[1])
        session.settle()
        assert session.end() == 0
    assert session.failed_hooks == []
    with Session(person.env, person.project) as after:
        after.ask(RULES[2])
        after.settle()
        assert after.end() == 0
    assert after.failed_hooks == []
    daily = person.home / "memoria" / "daily"

    def kept() -> bool:
        text = "".join(path.read_text("utf-8") for path in daily.glob("*.md"))
        return all(text.count(f"] {rule} ^l-") == 1 for rule in RULES)

    wait_until(kept, f"all three are in the daily log, below {daily}", timeout=90)
