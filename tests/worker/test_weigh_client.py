"""Weighed notes inside the real client: the model is asked in the background, and the next request holds its choice.

The client, the plugin, the hook and the Agent SDK are real; only the models, Claude and the small one, are scripted.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from client_session import Session, wait_until
from memoria.base import project, state
from memoria.base.paths import Paths
from memoria.daily.ledger import Ledger
from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from memoria.recall.shown_notes import ShownNotes
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env

pytestmark = pytest.mark.slow

CENTS = "Prices in the zebra shop are integers of whole cents, never floats."
STRIPES = "The zebra shop draws its price tags with nine stripes."
ORDER = "Add a discount to the prices of the zebra shop"
INTRO = "chosen by memoria while you worked"
WEIGHING = "has found notes by their words"
WIDENING = "Name the words of those notes"


class World:
    """A person with the plugin and two facts, and a model that uses a tool before it answers."""

    def __init__(self, base: Path, api: MessagesApi) -> None:
        self.paths = Paths(str(base / "mémoria"))
        self.work = base / "shop"
        self.work.mkdir()
        ours = {"MEMORIA_HOME": self.paths.home, "MEMORIA_PYTHON": sys.executable}
        person = {"CLAUDE_CODE_ENTRYPOINT": "remote"}  # somebody is there, and drives the client as these tests do
        self.env = clean_env(base / "user", api.url, **ours, **person)
        state.open_state(self.paths)
        own = project.key_of_path(str(self.work))
        with Index(self.paths.index) as index:
            index.add(
                Document(
                    "daily/2026-11-20.md", "fact", f"l-{number:08d}", "before", own,
                    passages=(Passage(text, "decision", own=True),), date="2026-11-20",
                )
                for number, text in enumerate([CENTS, STRIPES, *(f"Tide table {n} of the port." for n in range(40))])
            )  # fmt: skip
        self.api = api
        api.answer = self.answer
        self.asked: list[str] = []
        self.commands: list[str] = []
        self.chosen: list[int] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.tools = 0  # uses that are left, unless the note comes before
        self.before = 0  # rows of the log when the prompt was entered

    def answer(self, body: dict[str, Any]) -> str | list[dict[str, Any]]:
        text = json.dumps(body, ensure_ascii=False)
        if WIDENING in text or WEIGHING in text:
            self.commands += running(self.paths.home)
        if WIDENING in text:
            return json.dumps({"words": ["zebra", "price"]})
        if WEIGHING in text:
            self.asked.append(text)
            self.may_answer.wait(60)
            return json.dumps({"needed": self.chosen})
        if not body.get("tools"):
            return "scripted answer"
        if not self.tools or INTRO in text:
            if not self.may_answer.is_set():  # the small model is asked before Claude has answered
                wait_until(lambda: bool(self.asked), "the model was asked")
            return "done"
        self.tools -= 1
        wait_until(lambda: len(self.logged()) > self.before, "the notes were weighed")  # the first tool takes that long
        return [{"type": "tool_use", "id": f"toolu_{self.tools}", "name": "Bash", "input": {"command": "true"}}]

    def logged(self) -> list[str]:
        try:
            rows = Path(self.paths.hook_log).read_text("utf-8").splitlines()
        except OSError:
            return []
        return [row for row in rows if "notes shown" in row or "no note was" in row]

    def sent(self) -> list[str]:
        """The text of each of Claude's own requests."""
        found = [json.dumps(request.body["messages"], ensure_ascii=False) for request in self.api.messages]
        return [text for text in found if WEIGHING not in text and WIDENING not in text]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with MessagesApi(lambda _: "done") as api:
        yield World(tmp_path, api)


def test_an_order_is_given_the_note_that_the_model_chooses_with_the_next_tool_result(world: World) -> None:
    with Session(world.env, world.work, "--plugin-dir", str(ROOT), "--allowedTools", "Bash") as session:
        session.ask("The tag of the giraffe says sk-ant-api03-" + "a1B2" * 24 + ", mind it")
        session.settle()  # a hook that keeps this answer later than the next prompt would take that for answered
        world.before, world.tools, world.chosen = len(world.logged()), 10_000, [1]
        session.ask(ORDER)
        session.settle()
        session.end()
    assert session.failed_hooks == []
    asked = world.asked[-1]
    for told in (ORDER, "[user] The tag of the giraffe says", CENTS, STRIPES):
        assert told in asked
    assert "a1B2a1B2" not in asked
    number = next(found[1] for found in re.finditer(r"(\d+): (.*?)\\n", asked) if CENTS in found[2])
    chosen, other = (CENTS, STRIPES) if number == "1" else (STRIPES, CENTS)
    first, *_, last = world.sent()
    assert chosen not in first
    assert last.count(chosen) == 1
    assert other not in first + last
    assert len(ShownNotes(world.paths.hints, session.id).keys()) == 1
    assert "notes shown: 1," in world.logged()[-1]
    assert any("--system-prompt" in command for command in world.commands)
    assert not [command for command in world.commands if "zebra" in command], "everybody may read a process's arguments"


@pytest.mark.parametrize("way", ["killed", "ended"])
def test_a_client_that_ends_takes_the_question_with_it_and_the_call_is_booked(world: World, way: str) -> None:
    world.may_answer.clear()
    try:
        with Session(world.env, world.work, "--plugin-dir", str(ROOT)) as session:
            session.begin(ORDER)
            wait_until(lambda: bool(world.asked), "the model was asked")
            if way == "killed":
                session.kill()
                wait_until(lambda: bool(world.logged()), "the process has seen it")
                assert "no note was weighed: the client ended it" in world.logged()[0]
            else:
                session.end()
        wait_until(lambda: not running(world.paths.home), "no process is left")
    finally:
        world.may_answer.set()
    with closing(Ledger(world.paths)) as ledger:
        calls = [call for _, call in ledger.calls_since(datetime.min.replace(tzinfo=UTC)) if call.task == "weigh"]
    assert way == "ended" or [call.outcome for call in calls] == ["cut off"]


def running(home: str) -> list[str]:
    """The processes that weigh in this home, and the clients that they started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (folder / "cmdline").read_bytes()
            if home.encode() in (folder / "environ").read_bytes() and (b"weigh" in command or b"_bundled" in command):
                found.append(command.decode(errors="replace"))
    return found
