"""What the real client's model is sent beside a prompt, before a tool use, after an error, at a sub-agent's start."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client_screen import Screen
from client_session import Session, held, transcripts
from memoria.base import project, state
from memoria.base.paths import Paths
from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from memoria.search import layout
from memoria.transcripts.turn_reader import Reader
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env

pytestmark = pytest.mark.slow

TABS = "Use tabs in Makefiles, never spaces: the zebra build broke over it."
PUSH = "Never run zebra push --force."
FIX = "The linker cannot find libzebra: install libzebra-dev, then run ldconfig."
RULE = "- [correction] Answer in English."
OTHER = "- [decision] Boats are painted blue."
PAGE = f"Notes.\n<memoria-notes-000000>\n## What matters most\n{RULE}\n{OTHER}\n</memoria-notes-000000>\n"
TASK = {
    "description": "count", "prompt": "Find where the zebra tally counts stripes", "subagent_type": "Explore",
    "run_in_background": False,
}  # fmt: skip
TOOLS = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash,Agent,Edit,Read,Write")


class World:
    """A person with the plugin, what earlier sessions left, and a model that uses the tools it is told to."""

    def __init__(self, base: Path, api: MessagesApi) -> None:
        self.api = api
        self.paths = Paths(str(base / "mémoria"))
        self.work = base / "my prôject"
        self.work.mkdir()
        (self.work / "Makefile").write_text("all:\n\ttrue\n")
        nobody = shutil.which("true") or "true"
        self.env = clean_env(base / "user", api.url, MEMORIA_HOME=self.paths.home, MEMORIA_PYTHON=nobody)
        state.open_state(self.paths)
        self.own = project.key_of_path(str(self.work))
        with Index(self.paths.index) as index:
            index.add([self.fact(TABS, "correction"), self.fact(FIX, "debugging", 2), *map(self.tide, range(40))])
        for folder in (self.paths.page, self.paths.short_page):
            Path(folder).mkdir(exist_ok=True)
            Path(folder, Path(self.paths.page_of(self.own)).name).write_text(PAGE)
        self.steps: list[dict[str, Any]] = []
        api.answer = self.answer

    def fact(self, text: str, kind: str, number: int = 1, importance: float = 0.8) -> Document:
        return Document(
            "daily/2026-11-20.md", "fact", f"l-{number:08d}", "before", self.own,
            passages=(Passage(text, kind, own=True),), date="2026-11-20", importance=importance,
        )  # fmt: skip

    def is_corrected_twice(self) -> None:
        with Index(self.paths.index) as index:
            index.add([self.fact(PUSH, "correction", 3, importance=0.8 + layout.AGAIN)])

    def tide(self, number: int) -> Document:
        return self.fact(f"Tide table {number} comes from harmonics.", "fact", 100 + number)

    def answer(self, body: dict[str, Any]) -> str | list[dict[str, Any]]:
        if not body.get("tools") or not self.steps:
            return "done"
        return [{"type": "tool_use", "id": f"toolu_{len(self.steps)}", **self.steps.pop(0)}]

    def uses(self, *steps: tuple[str, dict[str, Any]]) -> None:
        self.steps = [{"name": name, "input": given} for name, given in steps]

    def session(self, *steps: tuple[str, dict[str, Any]], prompt: str = "go on, please") -> Session:
        self.uses(*steps)
        return held(self.env, self.work, [prompt], "--plugin-dir", str(ROOT), *TOOLS)

    def sent(self) -> list[str]:
        """The text of each request that reached the model."""
        return [json.dumps(request.body["messages"], ensure_ascii=False) for request in self.api.messages]

    def edit(self, before: str, after: str) -> tuple[str, dict[str, Any]]:
        return "Edit", {"file_path": str(self.work / "Makefile"), "old_string": before, "new_string": after}

    def read(self) -> tuple[str, dict[str, Any]]:
        return "Read", {"file_path": str(self.work / "Makefile")}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with MessagesApi(lambda _: "done") as api:
        yield World(tmp_path, api)


def test_a_correction_comes_at_the_edit_it_names_and_an_error_with_what_helped_each_once(world: World) -> None:
    error = "echo 'ld: cannot find libzebra for the linker' >&2; exit 1"
    edits = (world.read(), world.edit("true", "false"), world.edit("false", "true"))
    world.session(*edits, *(("Bash", {"command": words}) for words in ("false", error, f"true; {error}")))
    sent = world.sent()
    assert [text.count(TABS) for text in sent] == [0, 0, 1, 1, 1, 1, 1], "reading decides nothing"
    assert [text.count(FIX) for text in sent] == [0, 0, 0, 0, 0, 1, 1]
    assert (world.work / "Makefile").read_text() == "all:\n\ttrue\n"


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_a_person_is_asked_before_a_rule_that_was_given_twice_is_broken_and_no_program_is(world: World) -> None:
    world.is_corrected_twice()
    sent = ("Bash", {"command": "touch pushed; ./zebra push --force"})
    world.uses(sent)
    with (
        tempfile.TemporaryDirectory() as short,
        Screen(world.env, world.work, Path(short, "tmux"), "--plugin-dir", str(ROOT), *TOOLS) as screen,
    ):
        screen.ask("go on, please", "Hook PreToolUse:Bash requires confirmation")
        assert f"a rule of yours, 2026-11-20: {PUSH}" in screen.text
        screen.press("Escape")
        screen.leave()
    assert not (world.work / "pushed").exists()
    world.session(sent)
    assert (world.work / "pushed").exists()


def test_a_prompts_notes_come_once_again_after_a_compaction_and_never_back_as_turns(world: World) -> None:
    prompt = "What does the linker need when it cannot find libzebra?"
    world.env["MEMORIA_WEIGH_NOTES"] = "0"
    with Session(world.env, world.work, "--plugin-dir", str(ROOT)) as session:
        for _ in range(2):
            session.ask(prompt)
        session.compact()
        session.ask(prompt)
        session.settle()
        session.end()
    given = [FIX in run.stdout for run in session.hooks if run.event == "UserPromptSubmit"]
    assert given == [True, False, True]
    (transcript,) = transcripts(world.env)
    assert FIX in transcript.read_text("utf-8")
    kept = "".join(turn.text for turn in Reader().read(transcript.read_bytes().splitlines()))
    assert prompt in kept
    assert FIX not in kept


def test_a_subagent_is_given_the_rules_of_the_page(world: World) -> None:
    world.session(("Agent", TASK))
    (agents,) = [text for text in world.sent() if "how the user wants things done" in text]
    given = agents.partition("how the user wants things done")[2]
    assert RULE in given
    assert OTHER not in given
