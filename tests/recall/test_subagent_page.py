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
from memoria.recall import subagent_page

RULES = ("- [preference] Commit messages are imperative.", "- [correction] Use uv.")
ROWS = (
    "## What matters most",
    *RULES,
    "- [decision] Boats are painted blue.",
    "",
    "## Articles",
    "- [[concepts/x]]: y",
)


@pytest.fixture
def world(paths: Paths) -> Paths:
    state.open_state(paths)
    Path(paths.page_of("global")).parent.mkdir(parents=True, exist_ok=True)
    write(paths, ROWS)
    return paths


def write(paths: Paths, rows: tuple[str, ...]) -> None:
    Path(paths.page_of("global")).write_text("Notes.\n" + fence.fence("memoria-notes", "\n".join(rows)) + "\n")


def start(paths: Paths, env: dict[str, str] | None = None) -> list[str]:
    event = hook.Event({"session_id": "s1", "cwd": "/nowhere/shop", "hook_event_name": "SubagentStart"})
    output = subagent_page.subagent_start(event, Settings.load(env or {}), paths)
    told: Any = output["hookSpecificOutput"] if output else {"additionalContext": ""}
    return str(told["additionalContext"]).splitlines()[2:-1]


def test_a_subagent_is_given_the_rules_as_many_as_fit(world: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    assert start(world) == list(RULES)
    monkeypatch.setattr(subagent_page, "MAX_CHARS", len(RULES[0]) - 1)
    assert start(world) == [RULES[1]]
    write(world, ROWS[3:])
    assert start(world) == []


@pytest.mark.parametrize("env", [{"MEMORIA_EXCLUDE": "/nowhere/shop"}, {"MEMORIA_NOTES": "prompt"}])
def test_nothing_is_given_in_an_excluded_folder_or_unasked(world: Paths, env: dict[str, str]) -> None:
    assert start(world, env) == []
    client_settings(PLUGIN)
    assert start(world) == [], "the plugin's hook answers"
