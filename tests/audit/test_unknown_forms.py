"""The receipt names lines of a form that no client wrote so far, and raises no alarm at any other."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memoria.audit.receipt import unknown_form
from memoria.transcripts.turn_reader import Reader
from places import TRANSCRIPTS

WORDS = "please keep the old name for now"


def forms(lines: list[bytes]) -> Counter[str]:
    reader = Reader(describing=False)
    found = (unknown_form(line, "claude", is_read=bool(list(reader.read([line])))) for line in lines)
    return Counter(filter(None, found))


def line(**value: Any) -> bytes:
    return json.dumps({"uuid": "u", "sessionId": "s", **value}).encode() + b"\n"


def user(content: Any, **more: Any) -> bytes:
    return line(type="user", message={"role": "user", "content": content}, **more)


RESULT = [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]


@pytest.mark.parametrize(("raw", "form"), [
    (line(type="human-turn", body={"words": WORDS}), "type 'human-turn'"),
    (user([{"type": "voice", "transcript": WORDS}]), "user: block 'voice'"),
    (line(type="assistant", message={"content": [{"type": "speech", "said": WORDS}]}), "assistant: block 'speech'"),
    (user(WORDS, origin={"kind": "hologram"}), "origin.kind 'hologram'"),
    (user(WORDS, promptSource="dictated"), "promptSource 'dictated'"),
    (user(RESULT, toolDenialKind="user-postponed"), "toolDenialKind 'user-postponed'"),
    (b'{"type":"user", torn\n', "no JSON object"),
])  # fmt: skip
def test_a_form_that_the_reader_does_not_know_is_named(raw: bytes, form: str) -> None:
    assert forms([user("hello there", uuid="first"), raw, raw.replace(b'"uuid": "u"', b'"uuid": "v"')]) == {form: 2}


@pytest.mark.parametrize("path", sorted(TRANSCRIPTS.rglob("*.jsonl")), ids=lambda path: path.stem)
def test_nothing_that_clients_wrote_so_far_raises_an_alarm(path: Path) -> None:
    found = forms([*path.read_bytes().splitlines(keepends=True), b'{"type":"user", "is still writ'])
    assert set(found) <= ({"no JSON object"} if path.stem == "broken" else set())
