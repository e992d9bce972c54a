"""Codex's lines become the same turns as Claude Code's, whatever a line holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agents
from memoria.transcripts import client_files, clients
from memoria.transcripts.clients import Client
from memoria.transcripts.turn import Turn
from memoria.transcripts.turn_reader import Reader

ROLLOUT = "0198a4c2-7b1e-7a30-9c55-1f2e3d4c5b6a"


def session(part: str) -> tuple[Client, Path]:
    """The session whose path holds these words."""
    client = clients.CLIENTS["codex"]
    found = client.transcripts(agents.install())
    return client, next(item.path for item in found if part in str(item.path))


def turns(client: Client, lines: Iterator[bytes] | list[bytes]) -> list[Turn]:
    return list(Reader(decode=client.decoder()).read(lines))


def test_a_rollout_becomes_prompts_answers_tool_lines_and_failures() -> None:
    client, path = session(ROLLOUT)
    read = turns(client, client_files.lines(path))
    assert [turn.text for turn in read if turn.role == "user"] == [
        "The gauge reader gives up after the first timeout. "
        "Let it try three times, and always wait 250 ms between tries.",
        "No, leave the fixture out and mock the clock instead. See the picture.\n[image]",
        "Go on.",
    ]
    assert [line for turn in read for line in turn.tools] == [
        "Bash rg -n read_gauge src",
        "TodoWrite [in_progress] Retry in read_gauge; [pending] Test the wait",
        "Edit src/gauge.py: port.read_frame wait_ms port.read_frame()",
        "Write tests/test_gauge_retry.py: test_waits_between_tries()",
        "Bash make check",
        "WebSearch pytest freeze clock monotonic",
        "mcp__calendar__lookup day=2026-08-14",
        "Bash pytest -q tests/test_gauge_retry.py",
    ]
    assert [turn.text.splitlines()[0] for turn in read if turn.role == "error"] == [
        "exit 2: tests/test_gauge_retry.py:2: NameError: name 'waits' is not defined"
    ]
    assert [turn.text for turn in read if turn.role == "note"] == [
        "(the user interrupted Codex here)",
        "(the user ran in the shell: git stash)",
    ]
    assert (read[0].cwd, read[-1].cwd) == ("/home/mira/weir", "/home/mira/weir/tests")
    assert {turn.branch for turn in read} == {"gauge-retry"}
    assert read[0].time == datetime(2026, 8, 14, 9, 12, 6, 222_000, tzinfo=UTC)


def test_a_rollout_of_the_first_versions_keeps_its_day_and_both_of_two_equal_lines() -> None:
    client, path = session("5973b6c0")
    read = turns(client, client_files.lines(path))
    assert [turn.text for turn in read].count("continue") == 2
    assert {turn.time for turn in read} == {datetime(2025, 7, 3, 8, tzinfo=UTC)}


@pytest.fixture(scope="module")
def sample() -> list[bytes]:
    """Some lines of a rollout."""
    return next(agents.FIXTURES.glob(f"codex/sessions/**/*{ROLLOUT}.jsonl")).read_bytes().splitlines(keepends=True)


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 1e300, "", "x", [], [None], [[]], {}, {"type": []}, {"text": {}}]
)


def _bent(value: Any, draw: Any) -> Any:
    """The value with one thing in it replaced by something odd."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(value)))
        return value | {key: _bent(value[key], draw)}
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        return [_bent(value[0], draw), *value[1:]]
    return draw(ODD)


@given(data=st.data())
def test_whatever_a_line_holds_only_that_line_is_lost(data: st.DataObject, sample: list[bytes]) -> None:
    client, lines = clients.CLIENTS["codex"], sample
    number = data.draw(st.integers(0, len(lines) - 1))
    try:
        bent = _bent(json.loads(lines[number]), data.draw)
    except ValueError:
        bent = data.draw(ODD)
    whole = {turn.key for turn in turns(client, lines)}
    own = {turn.key for turn in turns(client, [lines[0], lines[number]])}
    read = turns(client, [*lines[:number], json.dumps(bent).encode() + b"\n", *lines[number + 1 :]])
    assert whole - own <= {turn.key for turn in read}
