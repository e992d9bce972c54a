"""The plugin's MCP server in the real client, as each kind of install starts it, also before its packages are there."""

from __future__ import annotations

import contextlib
import json
import os
import signal
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
REAL = {"search", "read", "remember"}


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
    python = environment_python(person)
    listed = subprocess.run(
        [python, str(person.clone / "scripts" / "memoria" / "__main__.py"), "config", "list", "--changed", "--json"],
        env={"HOME": str(person.home), "PATH": os.environ["PATH"], "PYTHONPATH": str(person.clone / "scripts")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {row["name"]: row["origin"] for row in json.loads(listed.stdout)} == dict.fromkeys(
        ("home", "model", "exclude"), "plugin option"
    )


def environment_python(person: Person) -> str:
    return str(person.environment / "bin" / "python")


RULE = "Never use tabs in YAML files of this project."
NOTE_STARTS = "import sys; open({!r}, 'a').write(' '.join(sys.orig_argv[-2:]) + chr(10))\n"


def test_a_first_session_waits_for_no_build_and_server_and_worker_share_the_one_that_is_made(person: Person) -> None:
    """The build takes as long as the test wants: longer than all that a client waits for."""
    folder, made, starts = person.base / "bin", person.base / "made", person.base / "starts"
    folder.mkdir()
    packages(made)
    (site,) = made.glob("lib/python*/site-packages")
    (site / "starts.pth").write_text(NOTE_STARTS.format(str(starts)))
    fake_uv(folder, made)
    (folder / "wait").touch()
    person.from_git()
    person.env["PATH"] = str(folder) + os.pathsep + person.env["PATH"]
    with Session(person.env, person.project, "--allowedTools", f"{PREFIX}status,{PREFIX}search") as session:
        assert "set up" in call(session, person, "status")
        session.ask(RULE)
        assert servers(session)[SERVER] == "connected"
        session.settle()
        assert not person.environment.exists()
        (folder / "wait").unlink()
        assert "set up" not in call(session, person, "search")
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


DEAF = ("/bin/sh", "-c", "trap '' INT TERM; exec \"$@\"", "sh")


class Wire:
    """A client by hand: lines to and from what the plugin declares as its server."""

    def __init__(self, person: Person, *, deaf: bool = False) -> None:
        """``deaf``: whoever starts the server ignores Ctrl-C and SIGTERM, as a shell does for its background jobs."""
        declared = json.loads((person.clone / ".claude-plugin" / "plugin.json").read_text())["mcpServers"]["memoria"]
        words = [word.replace("${CLAUDE_PLUGIN_ROOT}", str(person.clone)) for word in declared["args"]]
        self.process = subprocess.Popen(
            [*(DEAF if deaf else ()), declared["command"], *words],
            env={**person.env, "CLAUDE_PLUGIN_ROOT": str(person.clone)},
            cwd=person.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        )  # fmt: skip

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, number: int, method: str, **params: Any) -> Any:
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())
        return self.hear()

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self._ended()

    def end_by(self, number: signal.Signals) -> int:
        """Send a signal; return the exit status once every process has ended that was started here."""
        self.process.send_signal(number)
        return self._ended()

    def _ended(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        status = self.process.wait(20)
        self.process.stdout.close()
        errors = self.process.stderr
        assert errors is not None
        os.set_blocking(errors.fileno(), False)  # the server behind holds it too: b"" is read when it has ended
        wait_until(lambda: errors.read() == b"", "the server behind ends too")
        errors.close()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        return status


GREETING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def test_who_stands_in_answers_every_request_and_hands_over_when_the_packages_are_there(person: Person) -> None:
    wire = Wire(person)
    greeted = wire.ask(0, "initialize", **GREETING)["result"]
    assert greeted["protocolVersion"] == "2025-06-18"
    assert greeted["capabilities"]["tools"]["listChanged"] is True
    for junk in (
        b"",
        b"{",
        b"[]",
        b"7",
        b'{"method": "x"}',
        b'{"id": 1}',
        b'{"jsonrpc":"2.0","method":"notifications/x"}',
    ):
        wire.send(junk)
    assert wire.ask(1, "server/discover")["error"]["code"] == -32601
    assert wire.ask(2, "ping")["result"] == {}
    assert [tool["name"] for tool in wire.ask(3, "tools/list")["result"]["tools"]] == ["status"]
    assert "set up" in wire.ask(4, "tools/call", name="status")["result"]["content"][0]["text"]
    person.has_packages()
    assert wire.hear()["method"] == "notifications/tools/list_changed"
    assert {tool["name"] for tool in wire.ask(5, "tools/list")["result"]["tools"]} >= REAL
    assert wire.end() == 0


def test_a_signal_ends_the_server_too_that_was_started_behind_it(person: Person) -> None:
    wire = Wire(person, deaf=True)
    wire.ask(0, "initialize", **GREETING)
    person.has_packages()
    assert wire.hear()["method"] == "notifications/tools/list_changed"
    wire.ask(1, "tools/list")
    assert wire.end_by(signal.SIGINT) == -signal.SIGINT


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
