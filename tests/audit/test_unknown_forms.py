"""The receipt's own rule: what the reader is blind to is counted and named, and what it reads raises no alarm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memoria.audit.unknown_forms import Form, UnknownForms
from memoria.transcripts.turn_reader import Reader
from places import TRANSCRIPTS

WORDS = "please keep the old name for now"


def forms(lines: list[bytes]) -> dict[str, Form]:
    reader, unknown = Reader(describing=False), UnknownForms()
    for line in lines:
        unknown.see(line, len(list(reader.read([line]))))
    return unknown.found


def line(**value: Any) -> bytes:
    return json.dumps({"uuid": "u", "sessionId": "s", **value}).encode() + b"\n"


def user(content: Any, **more: Any) -> bytes:
    return line(type="user", message={"role": "user", "content": content}, **more)


RESULT = [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]


@pytest.mark.parametrize(
    ("raw", "form"),
    [
        (line(type="human-turn", body={"words": WORDS}), "type 'human-turn'"),
        (user([{"type": "voice", "transcript": WORDS}]), "user: block 'voice'"),
        (line(type="assistant", message={"content": [{"type": "speech", "said": WORDS}]}), "assistant: block 'speech'"),
        (user(WORDS, origin={"kind": "hologram"}), "origin.kind 'hologram'"),
        (user(WORDS, promptSource="dictated"), "promptSource 'dictated'"),
        (user(RESULT, toolDenialKind="user-postponed"), "toolDenialKind 'user-postponed'"),
        (user(RESULT, toolUseResult={"questions": {"q": {}}, "answers": {"q": WORDS}}), "user: answers"),
        (user(RESULT, userFeedback=WORDS), "user: userFeedback"),
        (user(RESULT, toolUseResult={"content": {"report": WORDS}, "totalToolUseCount": 3}), "user: content"),
        (line(type="attachment", attachment={"type": "later", "prompt": WORDS}), "attachment 'later': prompt"),
        (b'{"type":"user", torn\n', "no JSON that can be read"),
    ],
)  # fmt: skip
def test_a_form_that_the_reader_does_not_know_is_named(raw: bytes, form: str) -> None:
    assert forms([user("hello there", uuid="first"), raw, raw.replace(b'"uuid": "u"', b'"uuid": "v"')]) == {
        form: Form(2, 2)
    }


@pytest.mark.parametrize("path", sorted(TRANSCRIPTS.rglob("*.jsonl")), ids=lambda path: path.stem)
def test_nothing_that_clients_wrote_so_far_raises_an_alarm(path: Path) -> None:
    found = forms(path.read_bytes().splitlines(keepends=True))
    assert set(found) <= ({"no JSON that can be read"} if path.stem == "broken" else set())


def test_the_rule_does_not_ask_the_reader() -> None:
    unknown = UnknownForms()
    unknown.see(user(WORDS), turns=0)  # as if the reader were blind to prompts
    said = {"role": "assistant", "content": [{"type": "text", "text": WORDS}]}
    unknown.see(line(type="assistant", message=said, uuid="a"), turns=0)
    assert set(unknown.found) == {"user: text", "assistant: text"}
