"""Codex's lines become the same turns as Claude Code's, whatever a line holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agents
from memoria.transcripts import clients
from memoria.transcripts.clients import Client
from memoria.transcripts.turn import Turn
from memoria.transcripts.turn_reader import Reader

ROLLOUT = "0198a4c2-7b1e-7a30-9c55-1f2e3d4c5b6a"


def turns(client: Client, lines: Iterator[bytes] | list[bytes]) -> list[Turn]:
    return list(Reader(decode=client.decoder()).read(lines))


@pytest.fixture(scope="module")
def sample() -> list[bytes]:
    """Some lines of a rollout."""
    return next(agents.FIXTURES.glob(f"codex/sessions/**/*{ROLLOUT}.jsonl")).read_bytes().splitlines(keepends=True)


def test_what_a_person_typed_to_another_agent_is_theirs_and_answers_have_its_name() -> None:
    typed = "<bash-stdout>is what I typed</bash-stdout>"
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": typed}]}
    line = json.dumps({"timestamp": "2026-08-20T10:00:00Z", "type": "response_item", "payload": message}).encode()
    assert [turn.text for turn in turns(clients.CODEX, [line])] == [typed]
    names = [clients.speaker(agent) for agent in ("", "claude", "codex", "another")]
    assert names == ["Claude", "Claude", "Codex", "another"]


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


@pytest.mark.slow
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
