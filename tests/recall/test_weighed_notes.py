"""What the hook of a prompt hands over to be weighed, when it does, and when it answers at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoria.base import interpreter, state
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture import background, hook
from memoria.indexing.documents import Document, Passage
from memoria.indexing.index import Index
from memoria.models import chain
from memoria.recall import prompt_notes, shown_notes, weighed_notes
from places import ROOT

CENTS = "Prices of the shop are integers of whole cents."
TAGS = "The shop prints its price tags with nine stripes."
ORDER = "Add a discount to the prices of the shop"


def fact(number: int, text: str, kind: str = "decision", **more: Any) -> Document:
    return Document(
        "daily/2026-11-20.md", "fact", f"l-{number:08d}", "before", passages=(Passage(text, kind, own=True),),
        date="2026-11-20", **more,
    )  # fmt: skip


def asked_as(number: int, *phrases: str) -> Document:
    ident = f"l-{number:08d}"
    return Document(
        "daily/2026-11-20.md",
        "asked",
        f"asked-{ident}",
        passages=tuple(map(Passage, phrases)),
        superseded_by=f"^{ident}",
    )


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch, paths: Paths) -> list[tuple[list[str], dict[str, Any]]]:
    """The commands that the hook became, with their requests; the client is Claude Code."""
    state.open_state(paths)
    found: list[tuple[list[str], dict[str, Any]]] = []
    monkeypatch.setattr(background, "go_on_as", lambda command, _, given: found.append((command, json.loads(given))))
    monkeypatch.setenv(weighed_notes.CLIENT, "cli")
    with Index(paths.index) as index:
        index.add([fact(1, CENTS), fact(2, TAGS), *(fact(number, f"Tide table {number}.") for number in range(10, 50))])
    return found


def ask(
    paths: Paths,
    prompt: str = ORDER,
    session: str = "s1",
    client: str = "new",
    meanwhile: Callable[[], object] = lambda: None,
    **env: str,
) -> dict[str, Any] | None:
    """Run the hook to its end and return what it printed; an ``old`` client cannot go on meanwhile."""
    fields = {"hook_event_name": "UserPromptSubmit", "prompt": prompt, "session_id": session, "cwd": "/nowhere/shop"}
    mode = {} if client == "old" else {"permission_mode": "default"}
    event = hook.Event({**fields, **mode, "transcript_path": "/nowhere/s1.jsonl"})
    given = {"MEMORIA_PYTHON": sys.executable, "MEMORIA_MODEL": "claude:haiku", **env}
    output = prompt_notes.user_prompt_submit(event, Settings.load(given), paths)
    meanwhile()
    if event.after:
        event.after()
    return output


Handed = list[tuple[list[str], dict[str, Any]]]


def test_an_order_goes_on_in_the_background_with_the_notes_that_may_fit_it(paths: Paths, handed: Handed) -> None:
    assert ask(paths) == {"async": True, "asyncTimeout": weighed_notes.TIMEOUT_MS}
    ((command, request),) = handed
    assert command[0] == sys.executable
    assert command[-1] == "weigh"
    assert request["prompt"] == ORDER
    assert request["transcript"] == "/nowhere/s1.jsonl"
    lines = {line for *_, line in request["notes"]}
    assert lines == {
        f"- [fact, 2026-11-20, the user] {CENTS} (daily/2026-11-20.md#^l-00000001)",
        f"- [fact, 2026-11-20, the user] {TAGS} (daily/2026-11-20.md#^l-00000002)",
    }
    assert shown_notes.ShownNotes(paths.hints, "s1").keys() == set(), "nothing is shown yet"


def test_what_is_handed_over_is_of_one_state_of_the_index(paths: Paths, handed: Handed) -> None:
    ask(paths)
    ask(paths, session="s2", meanwhile=Path(paths.index).unlink)
    (_, first), (_, second) = handed
    assert second["notes"] == first["notes"]
    assert all(digest for _, _, digest, _ in second["notes"])


def test_rules_of_work_are_offered_beside_what_shares_words(paths: Paths, handed: Handed) -> None:
    rules = [fact(60 + n, f"Rule {n}: hold a pen.", "preference", importance=0.5 + n / 100) for n in range(20)] + [
        fact(90, "Sign every commit.", "correction", importance=0.9),
        fact(91, "The sea is deep.", importance=1.0),
    ]
    with Index(paths.index) as index:
        index.add([*rules, fact(92, "Ask before a release.", "correction", importance=1.0, project="other-1a2b3c")])
    ask(paths)
    lines = [line for *_, line in handed[0][1]["notes"]]
    assert len(lines) == weighed_notes.NOTES
    assert CENTS in lines[0] + lines[1], "what shares words comes first"
    assert "Sign every commit." in lines[2], "then the rules, the most important first"
    assert all("Rule" in line for line in lines[3:])
    assert ask(paths, "Translate the marketing brochure into Portuguese please", session="s2") is None
    shown_notes.ShownNotes(paths.hints, "s3").add([handed[0][1]["notes"][2][0]])
    ask(paths, session="s3")
    assert not any("Sign every commit." in line for *_, line in handed[1][1]["notes"])


def test_a_question_that_is_answered_for_certain_is_answered_at_once(paths: Paths, handed: Handed) -> None:
    output = ask(paths, "Are the prices of the shop floats or integers of whole cents?")
    assert output is not None
    assert CENTS in output["hookSpecificOutput"]["additionalContext"]
    assert handed == []


def test_an_uncertain_question_is_weighed(paths: Paths, handed: Handed) -> None:
    assert ask(paths, "Which discount do the prices of the shop allow to members of the club, by the way?")
    assert len(handed) == 1


def test_a_prompt_that_nothing_may_fit_starts_nothing(paths: Paths, handed: Handed) -> None:
    assert ask(paths, "Translate the marketing brochure into Portuguese please") is None
    assert handed == []


def test_phrases_may_lead_to_what_matters_less(paths: Paths, handed: Handed) -> None:
    with Index(paths.index) as index:
        index.add([fact(3, "Bills leave the house as PDF/A.", importance=0.5), asked_as(3, "send an invoice by mail")])
    ask(paths, "Let us send the invoice by mail from the worker")
    assert any("PDF/A" in line for _, request in handed for *_, line in request["notes"])


@pytest.mark.parametrize(
    "env", [{"MEMORIA_WEIGH_NOTES": "false"}, {"MEMORIA_MODEL": "offline"}, {"MEMORIA_MODEL": "offline,claude:haiku"}]
)
def test_without_a_model_words_decide_at_once(paths: Paths, handed: Handed, env: dict[str, Any]) -> None:
    ask(paths, **env)
    output = ask(paths, "Are the prices of the shop integers of whole cents?", session="s2", **env)
    assert output is not None
    assert CENTS in str(output)
    assert handed == []


def test_another_client_is_never_made_to_wait(paths: Paths, handed: Handed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(weighed_notes.CLIENT)
    output = ask(paths)
    assert output is None or "async" not in output
    assert handed == []


def test_a_client_that_is_too_old_to_go_on_is_answered_at_once(paths: Paths, handed: Handed) -> None:
    output = ask(paths, client="old")
    assert output is None or "async" not in output
    assert handed == []


def test_what_a_session_was_shown_is_not_weighed_again(paths: Paths, handed: Handed) -> None:
    ask(paths)
    shown_notes.ShownNotes(paths.hints, "s1").add([note[0] for note in handed[0][1]["notes"]])
    assert ask(paths) is None
    assert len(handed) == 1


def test_at_most_as_many_are_weighed_in_a_minute_as_the_setting_allows(paths: Paths, handed: Handed) -> None:
    for number in range(5):
        ask(paths, session=f"s{number}", MEMORIA_SPAWNS_PER_MIN="2")
    assert 2 <= len(handed) <= 4, "a minute of the clock may end meanwhile"
    assert len(handed) < 5


def test_of_two_installations_only_one_weighs(paths: Paths, handed: Handed, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(paths)
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", str(ROOT))
    ask(paths)
    assert len(handed) == 1


def test_nothing_is_weighed_in_an_excluded_folder(paths: Paths, handed: Handed) -> None:
    assert ask(paths, MEMORIA_EXCLUDE="/nowhere/shop") is None
    assert handed == []


def test_a_long_prompt_is_handed_over_by_its_ends_within_what_a_pipe_holds(paths: Paths, handed: Handed) -> None:
    with Index(paths.index) as index:
        index.add([fact(100 + n, f"Prices of the shop {n}: " + f"{n}價錢 " * 80) for n in range(2)])
    ask(paths, f"{ORDER}.\n```\n{'價' * 60_000}\n```\nMind the prices of the shop.")
    ((_, request),) = handed
    assert request["prompt"].startswith(ORDER)
    assert request["prompt"].endswith("Mind the prices of the shop.")
    assert len(request["prompt"]) < 4_100
    assert len(json.dumps(request)) <= weighed_notes.MAX_BYTES
    assert request["notes"]


def test_the_hook_prints_its_answer_as_a_whole_line_before_it_goes_on(
    paths: Paths, handed: Handed, monkeypatch: pytest.MonkeyPatch
) -> None:
    del handed
    order: list[str] = []
    monkeypatch.setattr(hook, "_stdin", lambda: json.dumps({"hook_event_name": "UserPromptSubmit"}).encode())
    monkeypatch.setattr(hook, "_stdout", lambda data: order.append(data.decode()))
    monkeypatch.setenv("MEMORIA_HOME", paths.home)

    def handler(event: hook.Event, *_: object) -> dict[str, object]:
        event.after = lambda: order.append("goes on")
        return {"async": True}

    hook._Call().answer(handler)
    assert order == ['{"async": true}', "\n", "goes on"]


def as_the_client(paths: Paths, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run the hook as Claude Code does."""
    with Index(paths.index) as index:
        index.add([fact(1, CENTS), fact(2, TAGS), *(fact(number, f"Tide table {number}.") for number in range(10, 50))])
    payload = {"hook_event_name": "UserPromptSubmit", "prompt": ORDER, "session_id": "s1", "cwd": "/nowhere/shop"}
    payload["permission_mode"] = "default"
    given = {"PATH": os.environ["PATH"], "HOME": paths.home, "MEMORIA_HOME": paths.home, weighed_notes.CLIENT: "cli"}
    command = [sys.executable, "-S", "-I", str(ROOT / "hooks/user-prompt-submit.py")]
    return subprocess.run(
        command, env={**given, **env}, input=json.dumps(payload).encode(), capture_output=True, check=False
    )


def test_the_hook_becomes_the_process_that_weighs(paths: Paths, tmp_path: Path) -> None:
    state.open_state(paths)
    chooser = tmp_path / "python"
    chooser.write_text('#!/bin/sh\necho "$2 $CLAUDE_INVOKED_BY $MEMORIA_DETACHED"\nhead -c 300\necho oops >&2\n')
    chooser.chmod(0o755)
    run = as_the_client(paths, MEMORIA_PYTHON=str(chooser))
    first, second, request = run.stdout.decode().split("\n", 2)
    assert json.loads(first)["async"] is True
    assert second.split() == ["weigh", "memoria"], "it reads no hook of ours, and its output is read"
    assert request.startswith('{"session": "s1"')
    assert run.stderr == b"", "what it complains of is for the worker's log"
    assert "oops" in Path(paths.worker_output).read_text("utf-8")


def test_a_process_that_cannot_be_started_is_in_the_log_and_nowhere_else(paths: Paths, tmp_path: Path) -> None:
    state.open_state(paths)
    run = as_the_client(paths, MEMORIA_PYTHON=str(tmp_path / "gone"))
    assert (run.returncode, run.stderr) == (0, b"")
    assert json.loads(run.stdout)["async"] is True
    assert "ERROR FileNotFoundError" in Path(paths.hook_log).read_text("utf-8")


def test_an_environment_that_is_being_built_weighs_nothing(
    paths: Paths, handed: Handed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreter, "find", lambda _: "")
    ask(paths)
    assert handed == []


def test_the_models_that_can_choose_are_those_of_the_table_without_the_offline_one() -> None:
    assert {*weighed_notes.MODELS, "offline"} == set(chain.BACKENDS)


def test_a_rule_for_all_projects_is_offered_in_each(paths: Paths, handed: Handed) -> None:
    with Index(paths.index) as index:
        index.add([fact(60, "Hold a pen.", "preference", project="*"), fact(61, "Hold a cup.", "preference")])
    ask(paths)
    lines = " ".join(line for *_, line in handed[0][1]["notes"])
    assert "Hold a pen." in lines
    assert "Hold a cup." in lines
