"""Where you were, on real parts: a session loses its context in each of the client's ways and is told where it stood.

The client, our plugin and the observer are real; only the model is scripted.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client_screen import Screen
from client_session import Session, wait_until
from memoria.base.paths import Paths
from memoria.capture.open_sessions import OpenSessions
from memoria.transcripts.archive import Archive
from memoria.working import Checkpoint, WorkingMemory
from memoria.working.store import SqliteStore
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env

pytestmark = pytest.mark.slow

GOAL = "calibrate the harbour gauge before the spring tide"
TASK = "Compare the gauge with the pole at Mole 3"
UNANSWERED = "draw the tide table of Mole 3"
FAILING = "echo 'no such datum: LAT' >&2; exit 3"


class World:
    """A person with our plugin, and a model that fails a command and plans a task at the first request."""

    def __init__(self, base: Path) -> None:
        self.paths = Paths(str(base / "memoria"))
        self.places = OpenSessions(self.paths.where)
        self.work = base / "harbour"
        self.work.mkdir()
        self.base = base
        self.env: dict[str, str] = {}
        self.steps: list[str] = []
        self.killed = threading.Event()

    def answer(self, request: dict[str, Any]) -> str | list[dict[str, Any]]:
        if UNANSWERED in json.dumps(request["messages"][-1:]):
            self.killed.wait(60)
        tools = {tool.get("name") for tool in request.get("tools", [])}
        if "Bash" not in tools or not self.steps:
            return "scripted answer"
        step = self.steps.pop(0)
        if step == "fail":
            return [self._use("Bash", {"command": FAILING, "description": "Read the datum"})]
        if "TaskCreate" in tools:
            return [self._use("TaskCreate", {"subject": TASK, "description": TASK, "activeForm": "Comparing"})]
        todo = {"content": TASK, "status": "in_progress", "activeForm": "Comparing"}
        return [self._use("TodoWrite", {"todos": [todo]})]

    def _use(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"toolu_{name}_{len(self.steps)}", "name": name, "input": given}

    def session(self, *options: str) -> Session:
        allowed = ("--allowedTools", "Bash,TaskCreate,TodoWrite")
        return Session(self.env, self.work, "--plugin-dir", str(ROOT), *allowed, *options)

    def screen(self) -> Screen:
        return Screen(self.env, self.work, self.base / "tmux", "--plugin-dir", str(ROOT))

    def hook_log(self) -> str:
        return Path(self.paths.hook_log).read_text(encoding="utf-8")

    def begun(self, session: Session) -> str:
        """Have the session do its work, and wait until it is known where it stands; returns the block."""
        self.steps = ["fail", "plan"]
        session.ask(GOAL)
        assert self.steps == []
        wait_until(lambda: TASK in self.places.block(session.id), "the observer has noted it", 60)
        return self.places.block(session.id)

    def checkpoints(self, session: str) -> list[Checkpoint]:
        async def look() -> list[Checkpoint]:
            store = SqliteStore(Path(self.paths.working))
            async with await WorkingMemory.for_session(session, store=store) as memory:
                return await memory.list_checkpoints()

        return asyncio.run(look())


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[World, MessagesApi]]:
    world = World(tmp_path)
    with MessagesApi(world.answer) as api:
        home = tmp_path / "user"
        world.env = clean_env(home, api.url, MEMORIA_HOME=world.paths.home, MEMORIA_PYTHON=sys.executable)
        world.env["MEMORIA_MODEL"] = "offline"
        yield world, api


def told(api: MessagesApi, since: int) -> str:
    """What the model was sent since then."""
    return "\n".join(json.dumps(request.body, ensure_ascii=False) for request in api.requests[since:])


def as_sent(block: str) -> str:
    return json.dumps(block, ensure_ascii=False)[1:-1]


def test_a_session_that_is_compacted_is_told_where_it_was(world: tuple[World, MessagesApi]) -> None:
    person, api = world
    with person.session() as session:
        block = person.begun(session)
        for part in (GOAL, TASK, "exit 3", "no such datum: LAT"):
            assert part in block
        session.compact()
        before = len(api.requests)
        session.ask("go on")
        sent = told(api, before)
        for line in block.splitlines():
            if GOAL in line or TASK in line or "exit 3" in line:
                assert as_sent(line) in sent
        for request in api.requests[before:]:
            whole = json.dumps(request.body)
            assert whole.count("<where-you-were-") <= 1
            assert whole.count("hooks/run") <= 2, "the client's own line about each of our two hooks, and no more"
            assert "import " not in whole.split("Compacted")[-1].split("local-command-stdout")[0]
        session.end()
    wait_until(lambda: len(person.checkpoints(session.id)) == 1, "the compaction left a checkpoint", 60)


def test_a_session_that_is_killed_tells_the_next_one_where_it_was_once(world: tuple[World, MessagesApi]) -> None:
    person, api = world
    with person.session() as session:
        block = person.begun(session)
        before = len(api.requests)
        with person.session() as beside:
            beside.ask("hello from another window")
            beside.end()
        assert TASK not in told(api, before), "a session that still runs was not cut short"
        session.kill()
    before = len(api.requests)
    with person.session() as following:
        following.ask("hello")
        following.end()
    assert as_sent(block.strip()) in told(api, before)
    before = len(api.requests)
    with person.session() as later:
        later.ask("hello again")
        later.end()
    assert "where-you-were" not in told(api, before)


def test_a_prompt_that_the_client_was_killed_over_stands_in_a_daily_log_once(world: tuple[World, MessagesApi]) -> None:
    person, api = world
    first, later = f"{UNANSWERED}: deploys go out on Thursdays.", f"{UNANSWERED}: wombat owns the invoices."
    with person.session() as session:
        session.ask(GOAL)
        session.settle()
        session.begin(later)
        wait_until(lambda: later in told(api, 0), "the model is asked", 60)
        session.kill()
    seen = {path.name for path in Path(person.paths.where).glob("*.prompt")}
    with person.session() as session:
        session.begin(first)
        wait_until(lambda: {path.name for path in Path(person.paths.where).glob("*.prompt")} - seen, "the hook ran", 60)
        session.kill()
    person.killed.set()
    words = [sys.executable, str(ROOT / "scripts" / "flush.py"), "--now"]
    for _ in range(2):
        subprocess.run(words, env=person.env, check=True, timeout=120, capture_output=True)
    text = "".join(path.read_text(encoding="utf-8") for path in Path(person.paths.daily).glob("*.md"))
    archive = Archive.of(Paths(person.paths.home))
    kept = [each for each in archive.list_kept() if f"^e-{each.entry}\n" in text]
    said = [turn.text for each in kept for turn in archive.read(each) if turn.role == "user"]
    assert sorted(said) == sorted([first, GOAL, later])
