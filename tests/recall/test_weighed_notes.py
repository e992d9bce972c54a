"""What the hook of a prompt hands over to be weighed, when it does, and when it answers at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hooks import PLUGIN, client_settings
from memoria.base import state
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture import detach, hook
from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from memoria.recall import prompt_notes, shown_notes
from places import ROOT

CENTS = "Prices of the shop are integers of whole cents."
TAGS = "The shop prints its price tags with nine stripes."
ORDER = "Add a discount to the prices of the shop"


def fact(number: int, text: str, kind: str = "decision", **more: Any) -> Document:
    return Document(
        "daily/2026-11-20.md", "fact", f"l-{number:08d}", "before", passages=(Passage(text, kind, own=True),),
        date="2026-11-20", **more,
    )  # fmt: skip


Handed = list[tuple[list[str], dict[str, Any]]]


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch, paths: Paths) -> Handed:
    """The commands that the hook became, with their requests; the client is Claude Code."""
    state.open_state(paths)
    found: Handed = []
    monkeypatch.setattr(detach, "go_on_as", lambda command, _, given: found.append((command, json.loads(given))))
    monkeypatch.setenv(hook.ENTRYPOINT, "cli")
    with Index(paths.index) as index:
        index.add([fact(1, CENTS), fact(2, TAGS), *(fact(number, f"Tide table {number}.") for number in range(10, 50))])
    return found


def ask(
    paths: Paths, prompt: str = ORDER, session: str = "s1", client: str = "new", **env: str
) -> dict[str, Any] | None:
    """Run the hook to its end and return what it printed; an ``old`` client cannot go on meanwhile."""
    fields = {"hook_event_name": "UserPromptSubmit", "prompt": prompt, "session_id": session, "cwd": "/nowhere/shop"}
    mode = {} if client == "old" else {"permission_mode": "default"}
    event = hook.Event({**fields, **mode, "transcript_path": "/nowhere/s1.jsonl"})
    given = {"MEMORIA_PYTHON": sys.executable, "MEMORIA_MODEL": "claude:haiku", **env}
    output = prompt_notes.user_prompt_submit(event, Settings.load(given), paths)
    if event.after:
        event.after()
    return output


def test_an_order_goes_on_in_the_background_as_it_was_typed(paths: Paths, handed: Handed) -> None:
    assert ask(paths) == {"async": True, "asyncTimeout": prompt_notes.TIMEOUT_MS}
    ((command, request),) = handed
    assert command[0] == sys.executable
    assert command[-1] == "weigh"
    assert request["prompt"] == ORDER
    assert not any("shop" in word for word in command), "nothing of it is an argument"
    assert request["transcript"] == "/nowhere/s1.jsonl"
    assert shown_notes.ShownNotes(paths.hints, "s1").keys() == set(), "nothing is shown yet"
    client_settings(PLUGIN)
    assert ask(paths) == {"async": True, "asyncTimeout": prompt_notes.TIMEOUT_MS}
    assert len(handed) == 1, "of two installations only one weighs"


def test_a_question_that_is_answered_for_certain_is_answered_at_once(paths: Paths, handed: Handed) -> None:
    output = ask(paths, "Are the prices of the shop floats or integers of whole cents?") or {}
    assert CENTS in output["hookSpecificOutput"]["additionalContext"]
    assert handed == []


@pytest.mark.parametrize(
    "env",
    [{"MEMORIA_WEIGH_NOTES": "false"}, {"MEMORIA_MODEL": "offline"}, {"MEMORIA_MODEL": "offline,claude:haiku"},
     {"client": "old"}],
)  # fmt: skip
def test_without_a_model_words_decide_at_once(paths: Paths, handed: Handed, env: dict[str, Any]) -> None:
    ask(paths, **env)
    output = ask(paths, "Are the prices of the shop integers of whole cents?", session="s2", **env)
    assert CENTS in str(output)
    assert handed == []


def test_a_long_prompt_is_handed_over_by_its_ends(paths: Paths, handed: Handed) -> None:
    ask(paths, f"{ORDER}.\n```\n{'價' * 60_000}\n```\nMind the prices of the shop.")
    ((_, request),) = handed
    assert request["prompt"].startswith(ORDER)
    assert request["prompt"].endswith("Mind the prices of the shop.")
    assert len(request["prompt"]) < 4_100


@pytest.mark.usefixtures("handed")
def test_the_hook_becomes_the_process_that_weighs(paths: Paths, tmp_path: Path) -> None:
    chooser = tmp_path / "python"
    chooser.write_text('#!/bin/sh\necho "$2 $CLAUDE_INVOKED_BY $MEMORIA_DETACHED"\nhead -c 300\necho oops >&2\n')
    chooser.chmod(0o755)
    payload = {"hook_event_name": "UserPromptSubmit", "prompt": ORDER, "session_id": "s1", "cwd": "/nowhere/shop"}
    payload["permission_mode"] = "default"
    env = {"PATH": os.environ["PATH"], "HOME": paths.home, "MEMORIA_HOME": paths.home, hook.ENTRYPOINT: "cli"}
    command = [sys.executable, "-S", "-I", str(ROOT / "hooks/user-prompt-submit.py")]
    env["MEMORIA_PYTHON"] = str(chooser)
    run = subprocess.run(command, env=env, input=json.dumps(payload).encode(), capture_output=True, check=False)
    first, second, request = run.stdout.decode().split("\n", 2)
    assert json.loads(first)["async"] is True
    assert second.split() == ["weigh", "memoria"], "it reads no hook of ours, and its output is read"
    assert request.startswith('{"session": "s1"')
    assert run.stderr == b"", "what it complains of is for the worker's log"
    assert "oops" in Path(paths.worker_output).read_text("utf-8")
