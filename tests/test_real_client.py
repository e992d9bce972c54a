"""The real client: what it tells hooks, what of a hook's children it lets live, and our hooks inside it.

The measured table that capture stands on: when one of these fails after the SDK's pin has moved, the client has
changed, and docs/decisions/ and the hooks must be looked at again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client_screen import Screen
from client_session import Probe, Session, probe_plugin, wait_until
from memoria.base import user_environment
from messages_api import MessagesApi
from places import PAYLOADS, ROOT
from real_client import clean_env

pytestmark = pytest.mark.slow

FACTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "PostCompact", "SubagentStop", "SessionEnd")
RECORDING = bool(os.environ.get("MEMORIA_RECORD_PAYLOADS"))  # read before conftest clears the environment
# what memoria reads; the client may say more, and more from version to version
FIELDS = {"session_id", "transcript_path", "cwd", "hook_event_name", "source", "prompt", "trigger", "reason"}
FIELDS |= {"compact_summary", "last_assistant_message", "agent_transcript_path"}
FIELDS |= {"tool_name", "tool_input", "tool_use_id", "error", "is_interrupt", "agent_id", "agent_type"}
RECORD = """
name = os.path.join(folder, str(time.time_ns()))
with open(name + '.part', 'wb') as out:
    out.write(payload)
os.rename(name + '.part', name + '.json')
"""


class World:
    """A person's machine: a home, a project folder, a scripted model, and a folder for what probes leave."""

    def __init__(self, base: Path, api: MessagesApi) -> None:
        self.api = api
        self.env = clean_env(base / "user", api.url)
        self.work = base / "my prôject"
        self.found = base / "found"
        self.plugin = base / "plugin"
        self.work.mkdir()
        self.found.mkdir()

    def session(self, *options: str) -> Session:
        return Session(self.env, self.work, *options)

    def probing(self, probes: dict[str, Probe]) -> Session:
        return self.session("--plugin-dir", str(probe_plugin(self.plugin, self.found, probes)))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with MessagesApi(lambda _: "scripted answer") as api:
        yield World(tmp_path, api)


def recorded(world: World) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in sorted(world.found.glob("*.json"))]


def scrubbed(payload: dict[str, Any], world: World) -> dict[str, Any]:
    """The payload without this machine's paths and this run's ids."""
    text = json.dumps(payload, ensure_ascii=False)
    text = re.sub(r"/projects/[^/]*/", "/projects/-home-ada-my-pr-ject/", text)
    text = text.replace(world.env["HOME"], "/home/ada").replace(str(world.work), "/home/ada/my prôject")
    text = text.replace(payload["session_id"], "5e551014-0000-4000-8000-000000000001")
    plain: dict[str, Any] = json.loads(text)
    if "prompt_id" in plain:
        plain["prompt_id"] = "b0a7b1d0-0000-4000-8000-000000000002"
    if "agent_id" in plain:
        plain = json.loads(json.dumps(plain, ensure_ascii=False).replace(plain["agent_id"], "a0000000000000001"))
    return plain


def read_of(payloads: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {key: payload[key] for key in FIELDS if key in payload} for name, payload in payloads.items()}


PRINTED = {*FACTS[1:], "SessionStart-startup", "SessionStart-compact", "SessionStart-resume"}
USED = {"PreToolUse", "PostToolUseFailure", "SubagentStart", "UserPromptExpansion"}
TYPED = {"SessionStart-clear", "SessionEnd-clear", "SessionEnd-prompt_input_exit"}


def name_of(payload: dict[str, Any]) -> str:
    kind = payload.get("source") or payload.get("reason", "other")
    return str(payload["hook_event_name"]) + ("" if kind == "other" else f"-{kind}")


def assert_known(world: World, names: set[str]) -> None:
    """What the client said under these names is what is recorded; with MEMORIA_RECORD_PAYLOADS=1 it is written anew."""
    said: dict[str, dict[str, Any]] = {}
    for payload in recorded(world):
        if name_of(payload) in names:
            said.setdefault(name_of(payload), scrubbed(payload, world))
    if RECORDING:
        PAYLOADS.mkdir(exist_ok=True)
        for name, payload in said.items():
            (PAYLOADS / f"{name}.json").write_text(json.dumps(payload, indent=2, ensure_ascii=False) + "\n", "utf-8")
    known = {name: json.loads((PAYLOADS / f"{name}.json").read_text("utf-8")) for name in names}
    assert read_of(said) == read_of(known)


def test_the_recorded_payloads_are_what_the_client_says_today(world: World) -> None:
    everything = {event: Probe(RECORD, {}) for event in FACTS}
    with world.probing(everything) as session:
        assert [session.ask("fix the flush race"), session.ask("and now the tests")] == ["scripted answer"] * 2
        session.compact()
        session.ask("where were we?")
        assert session.end() == 0
    with world.session("--plugin-dir", str(world.plugin), "--continue") as resumed:
        resumed.ask("once more")
        assert resumed.end() == 0
    assert_known(world, PRINTED)


def test_what_the_client_says_of_tools_subagents_and_commands_is_what_is_recorded(world: World) -> None:
    command = world.work / ".claude" / "commands" / "ship.md"
    command.parent.mkdir(parents=True)
    command.write_text("Ship it.\n")
    agent = {
        "description": "look", "prompt": "Count the stripes", "subagent_type": "Explore", "run_in_background": False,
    }  # fmt: skip
    steps: list[dict[str, Any]] = [
        {"type": "tool_use", "id": "toolu_2", "name": "Agent", "input": agent},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo no zebra >&2; exit 3"}},
    ]
    world.api.answer = lambda body: [steps.pop()] if steps and body.get("tools") else "scripted answer"
    plugin = probe_plugin(world.plugin, world.found, {event: Probe(RECORD, {}) for event in sorted(USED)})
    with world.session("--plugin-dir", str(plugin), "--allowedTools", "Bash,Agent") as session:
        session.ask("count the stripes")
        session.ask("/ship staging")
        session.settle()
        assert session.end() == 0
    assert_known(world, USED)


def test_every_recorded_payload_is_held_against_the_client() -> None:
    assert {path.stem for path in PAYLOADS.glob("*.json")} == PRINTED | TYPED | USED


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_the_full_screen_client_says_the_same_and_how_it_ended(world: World) -> None:
    plugin = probe_plugin(world.plugin, world.found, {event: Probe(RECORD, {}) for event in FACTS})
    with (
        tempfile.TemporaryDirectory() as short,
        Screen(world.env, world.work, Path(short, "tmux"), "--plugin-dir", str(plugin)) as screen,
    ):
        screen.ask("fix the flush race", "scripted answer")
        screen.ask("/clear", "/clear")
        wait_until(lambda: "SessionStart-clear" in map(name_of, recorded(world)), "the session after /clear has begun")
        screen.ask("and on", "scripted answer")
        screen.leave()
    assert_known(world, TYPED)
    sessions = {name_of(payload): payload["session_id"] for payload in recorded(world)}
    assert sessions["SessionEnd-clear"] == sessions["SessionStart-startup"]
    assert sessions["SessionEnd-prompt_input_exit"] == sessions["SessionStart-clear"] != sessions["SessionEnd-clear"]


# A child waits for the gate, which the test opens only after the client has gone, and then says that it lives.
CHILD = """
import os, signal, sys, time
signal.alarm(120)  # also when the test fails before it opens the gate
folder = sys.argv[1]
with open(os.path.join(folder, "pid.part"), "w") as out:
    out.write(str(os.getpid()))
os.rename(os.path.join(folder, "pid.part"), os.path.join(folder, "pid"))
while not os.path.exists(os.path.join(folder, "gate")):
    time.sleep(0.01)
open(os.path.join(folder, "lives"), "w").close()
"""
STARTS = {
    "fork": "own_session = False", "setsid": "own_session = True",
    "double fork": "own_session = None; is_ending = False", "spawn": "own_session = None; is_ending = True",
}  # fmt: skip
START = """
with open(os.path.join(folder, "hook"), "w") as own:
    own.write(str(os.getpid()))
child = os.path.join(folder, "child.py")
command = [sys.executable, "-S", "-I", child, folder]
if own_session is None:
    sys.path.insert(0, {scripts!r})
    from memoria.base import state
    from memoria.capture import detach
    from memoria.base.paths import Paths
    paths = Paths(os.path.join(folder, "home"))
    state.open_state(paths)
    detach.start(command, paths, is_ending=is_ending)
elif os.fork() == 0:
    if own_session:
        os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.execv(sys.executable, command)
"""
WAIT = "time.sleep(60)"  # until the client cancels the hook


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits to be reaped does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


def child_of_a_hook(world: World, event: str, start: str, *, hook_waits: bool) -> int:
    """Run a session whose ``event`` hook starts a child; returns the child's pid after the client has gone."""
    (world.found / "child.py").write_text(CHILD)
    source = STARTS[start] + "\n" + START.format(scripts=str(ROOT / "scripts")) + (WAIT if hook_waits else "")
    with world.probing({event: Probe(source, {"async": True} if event == "Stop" else {})}) as session:
        session.ask("hello")
        if event == "Stop":
            wait_until((world.found / "pid").exists, "the hook started its child")
            if not hook_waits:  # a spawned child is found with the hook until that is gone
                wait_until(lambda: not is_alive(int((world.found / "hook").read_text())), "the hook has ended")
        assert session.end() == 0
    wait_until((world.found / "pid").exists, "the hook started its child")
    return int((world.found / "pid").read_text())


@pytest.fixture
def gate(world: World) -> Iterator[Path]:
    """The file that lets a waiting child go on; opened at the end at the latest, so that none is left behind."""
    yield world.found / "gate"
    (world.found / "gate").touch()


@pytest.mark.parametrize(
    ("event", "start", "hook_waits"),
    [("Stop", "double fork", False), ("SessionEnd", "double fork", True), ("SessionEnd", "spawn", False)],
    ids=["hook returns at once", "hook is cancelled", "hook spawns it and ends"],
)
def test_a_worker_started_by_detach_lives_on_when_the_client_is_done(
    world: World, gate: Path, event: str, start: str, hook_waits: bool
) -> None:
    child_of_a_hook(world, event, start, hook_waits=hook_waits)
    gate.touch()
    wait_until((world.found / "lives").exists, "the child lives after the client has gone")


def test_our_hooks_end_well_and_say_nothing_but_at_the_start(world: World, tmp_path: Path) -> None:
    """Older clients take any output of Stop and PreCompact for an error, each time."""
    nobody = shutil.which("true") or "true"  # a worker that does nothing: this is about the hooks alone
    world.env |= {"MEMORIA_HOME": str(tmp_path / "mémoria"), "MEMORIA_PYTHON": nobody}
    with world.session("--plugin-dir", str(ROOT)) as session:
        session.ask("hello")
        session.compact()
        session.ask("and on")
        session.settle()
        session.end()
    assert session.failed_hooks == []
    assert {run.event for run in session.hooks} >= {"SessionStart", "Stop"}
    assert {run.stdout + run.stderr for run in session.hooks if run.event != "SessionStart"} == {""}
    assert {run.stderr for run in session.hooks} == {""}
    (report,) = session.compactions
    assert re.findall(r"^(\w+) \[.*\] completed successfully$", report, re.MULTILINE) == ["PreCompact", "PostCompact"]
    assert len(report.splitlines()) == 2
    launched = 'set {} "${{CLAUDE_PLUGIN_ROOT}}/hooks/run" ; [ -r "$2" ] || exit 127; . "$2"'
    shown = [launched.format(name) for name in ("pre-compact", "post-compact")]
    assert re.findall(r"Compact \[(.*)\] completed", report) == shown, "the user reads it, and so does the model"


def test_the_worker_inherits_nothing_that_the_client_says_about_its_session(world: World) -> None:
    """A client that finds these takes itself for a child of the session, or writes into its notes."""
    source = """
import json
with open(os.path.join(folder, "env.part"), "w") as out:
    json.dump(dict(os.environ), out)
os.rename(os.path.join(folder, "env.part"), os.path.join(folder, "env"))
"""
    with world.probing({"SessionEnd": Probe(source, {})}) as session:
        session.ask("hello")
        session.end()
    told = set(json.loads((world.found / "env").read_text())) - set(world.env)
    assert "CLAUDE_CODE_SESSION_ID" in told
    of_client = {name for name in told if "CLAUDE" in name or "AGENT" in name}
    assert of_client - set(user_environment.SESSION_VARIABLES) == set()
