"""``memoria show --working``: a session's memory for a person and for a program."""

from __future__ import annotations

import argparse
import asyncio
import json

import pytest

from memoria.commands import show
from memoria.ground.home import Home
from memoria.working import TaskState, WorkingMemory


def fill(session: str) -> None:
    async def scenario() -> None:
        async with await WorkingMemory.for_session(session) as memory:
            await memory.set_task_state(TaskState("Fix the race", step="testing", percent=40))
            await memory.append_scratchpad("a note\x1b[2J")
            await memory.set("found", {"a": None})
            await memory.create_checkpoint("before")

    asyncio.run(scenario())


def run(*words: str) -> None:
    parser = argparse.ArgumentParser()
    show.arguments(parser)
    assert show.command(parser.parse_args(["--working", *words]), Home.open()) == 0


def test_the_latest_session_is_shown_and_another_by_the_start_of_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    fill("aaa-1")
    fill("bbb-2")
    run()
    shown = capsys.readouterr().out
    for words in ("session     bbb-2", "Fix the race", "40 %", "a note", 'found = {"a": null}', "before", "aaa-1"):
        assert words in shown
    assert "\x1b" not in shown
    run("aaa", "--json")
    facts = json.loads(capsys.readouterr().out)
    assert (facts["session"], facts["values"], facts["store"]["store"]) == ("aaa-1", {"found": {"a": None}}, "sqlite")
