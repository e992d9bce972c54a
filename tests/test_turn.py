"""Turns: what a person said and what was done, kept once and whole, whatever the transcript's lines look like."""

from __future__ import annotations

import json
from typing import Any

from memoria.turn import Reader, Turn


def line(**value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def read(*lines: bytes) -> list[Turn]:
    reader = Reader()
    return [*reader.read(lines), *reader.settle()]


def test_a_typed_prompt_is_a_user_turn() -> None:
    [turn] = read(line(type="user", uuid="u1", message={"role": "user", "content": "hello"}))
    assert (turn.role, turn.text, len(turn.key)) == ("user", "hello", 10)
