"""A sub-agent of the real client that runs in the foreground: what it reports is kept as the assistant's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from client_session import Session
from memoria.transcripts.turn_reader import Reader
from messages_api import MessagesApi
from real_client import clean_env

pytestmark = pytest.mark.slow

TASK = {"description": "look at the shuttle", "prompt": "SUBAGENT look", "subagent_type": "general-purpose"}
REPORT = "The shuttle module has two callers."


def answer(body: dict[str, Any]) -> str | list[dict[str, Any]]:
    said = str(body["messages"])
    if not body.get("tools"):
        return "a title"
    if "SUBAGENT look" in str(body["messages"][0]):
        return REPORT
    if "tool_result" in said:
        return "It has two."
    return [{"type": "tool_use", "id": "toolu_1", "name": "Agent", "input": {**TASK, "run_in_background": False}}]


def test_a_real_sub_agents_report_is_kept(tmp_path: Path) -> None:
    work = tmp_path / "loom"
    work.mkdir()
    with MessagesApi(answer) as api:
        env = clean_env(tmp_path / "user", api.url)
        with Session(env, work) as session:
            assert session.ask("who calls the shuttle module?") == "It has two."
            session.end()
    (transcript,) = (tmp_path / "user" / ".claude" / "projects").glob("*/*.jsonl")
    turns = list(Reader().read(transcript.read_bytes().splitlines(keepends=True)))
    assert f"(a sub-agent reported: look at the shuttle)\n{REPORT}" in [
        turn.text for turn in turns if turn.role == "assistant"
    ]
    assert [turn.text for turn in turns if turn.role == "user"] == ["who calls the shuttle module?"]
