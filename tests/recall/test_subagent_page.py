"""Sub-agent page: which rows of the session's page a sub-agent is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hooks import PLUGIN, client_settings
from memoria.base import fence, state
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture import hook
from memoria.recall import subagent_page, tool_notes

RULE = "- [preference] Commit messages are imperative."
ROWS = (
    "## What matters most", RULE, "- [decision] Stripes are counted by the zebra tally.",
    "- [decision] Boats are painted blue.", "", "## Articles of the zebra tally, which counts",
    "- [[concepts/tally|Zebra tally]]: how stripes are counted", "- [[concepts/paint|Paint]]: what is blue",
)  # fmt: skip
TASK = "Find out how the zebra tally counts stripes"


@pytest.fixture
def world(paths: Paths) -> Paths:
    state.open_state(paths)
    Path(paths.page_of("global")).parent.mkdir(parents=True, exist_ok=True)
    write(paths, ROWS)
    return paths


def write(paths: Paths, rows: tuple[str, ...]) -> None:
    Path(paths.page_of("global")).write_text("Notes.\n" + fence.fence("memoria-notes", "\n".join(rows)) + "\n")


def fire(paths: Paths, name: str, env: dict[str, str] | None = None, **more: Any) -> str:
    event = hook.Event({"session_id": "s1", "cwd": "/nowhere/shop", "hook_event_name": name, **more})
    handler = tool_notes.pre_tool_use if name == "PreToolUse" else subagent_page.subagent_start
    output = handler(event, Settings.load(env or {}), paths)
    told: Any = output["hookSpecificOutput"] if output else {"additionalContext": ""}
    return str(told["additionalContext"])


def begin(paths: Paths, task: str, kind: str = "Explore") -> None:
    given = {"description": "look", "prompt": task, "subagent_type": kind}
    assert fire(paths, "PreToolUse", tool_name="Agent", tool_input=given) == ""


def test_a_subagent_is_given_the_rules_and_what_concerns_its_task(world: Paths) -> None:
    begin(world, TASK)
    said = fire(world, "SubagentStart", agent_type="Explore", agent_id="a1")
    assert [row for row in said.splitlines() if row.startswith(("- ", "## "))] == [
        row for row in ROWS if row and "blue" not in row
    ]


def test_subagents_that_are_started_together_share_their_tasks(world: Paths) -> None:
    begin(world, TASK)
    begin(world, "Which boats are painted blue?")
    assert fire(world, "SubagentStart", agent_type="Plan", agent_id="a3") == ""
    for agent in ("a1", "a2"):
        said = fire(world, "SubagentStart", agent_type="Explore", agent_id=agent)
        assert "zebra" in said
        assert "Boats" in said
    client_settings(PLUGIN)
    assert fire(world, "SubagentStart", agent_type="Explore", agent_id="a4") == "", "the plugin's hook answers"


@pytest.mark.parametrize("env", [{"MEMORIA_EXCLUDE": "/nowhere/shop"}, {"MEMORIA_NOTES": "prompt"}])
def test_nothing_is_kept_or_given_in_an_excluded_folder_or_unasked(world: Paths, env: dict[str, str]) -> None:
    fire(world, "PreToolUse", env, tool_name="Agent", tool_input={"prompt": TASK, "subagent_type": "Explore"})
    assert fire(world, "SubagentStart", agent_type="Explore", agent_id="a1") == ""
    begin(world, TASK)
    assert fire(world, "SubagentStart", env, agent_type="Explore", agent_id="a1") == ""


def test_as_many_rows_are_given_as_fit_below_their_headings(world: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, told, other = "- [correction] Rule", [f"- A zebra tally {n}." for n in range(4)], "- A zebra sleeps."
    begins = ("## One", rule, "so", "## Two", f"{rule}s", other, rule, "## Three", "", other, "## Four")
    monkeypatch.setattr(subagent_page, "RULES_CHARS", len(rule) + len(rule) + 1)
    monkeypatch.setattr(subagent_page, "MAX_CHARS", subagent_page.RULES_CHARS + 3 * len(told[0]))
    write(world, (*begins, *told, told[0][:-3]))
    begin(world, TASK)
    said = fire(world, "SubagentStart", agent_type="Explore", agent_id="a1")
    assert said.splitlines()[2:-1] == ["## One", rule, "## Two", f"{rule}s", "## Four", *told[:3]]


def test_tasks_of_one_type_count_together_for_ten_seconds() -> None:
    times = {"old": 0.0, "edge": 99.5, "first": 100, "last": 109.5}
    lines: list[dict[str, object]] = [{"task": name, "agent": "Plan", "at": at} for name, at in times.items()]
    assert subagent_page._task([*lines, {"task": "x", "agent": "y", "at": 110}], "Plan") == {"first", "last"}
