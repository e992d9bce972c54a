"""The scripted API and the real client fit together: what every test with a real client stands on."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from loopback import Json
from messages_api import MessagesApi, Reply
from real_client import clean_env, run_claude


@pytest.mark.slow
def test_the_real_client_holds_a_conversation_with_the_scripted_api(tmp_path: Path) -> None:
    with MessagesApi(lambda _: "scripted hello") as api:
        env = clean_env(tmp_path / "person", api.url)
        work = tmp_path / "work"
        work.mkdir()
        first = run_claude(["-p", "hi there"], env, work)
        second = run_claude(["-p", "and again", "--continue"], env, work)
    assert (first.returncode, first.stdout.strip(), first.stderr) == (0, "scripted hello", "")
    assert second.stdout.strip() == "scripted hello"
    assert "hi there" in api.messages[0].conversation
    assert "hi there" in api.messages[-1].conversation
    assert "and again" in api.messages[-1].text


@pytest.mark.slow
def test_the_real_client_runs_a_tool_the_script_asks_for(tmp_path: Path) -> None:
    def answer(request: Json) -> str | list[Json]:
        results = [b for m in request["messages"] if isinstance(m["content"], list) for b in m["content"]]
        if any(block["type"] == "tool_result" for block in results):
            return "read it"
        return [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": str(tmp_path / "note")}}]

    (tmp_path / "note").write_text("forty-two")
    with MessagesApi(answer) as api:
        done = run_claude(["-p", "read the note"], clean_env(tmp_path / "person", api.url), tmp_path)
    assert done.stdout.strip() == "read it"
    assert "forty-two" in json.dumps(api.messages[-1].body)


def test_it_answers_without_streaming_and_counts_tokens() -> None:
    def post(url: str, body: Json) -> Json:
        request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as response:
            answer: Json = json.load(response)
            return answer

    with MessagesApi(lambda _: Reply("cut", "max_tokens", 7, 3)) as api:
        said = post(f"{api.url}/v1/messages", {"model": "m", "messages": []})
        counted = post(f"{api.url}/v1/messages/count_tokens", {"messages": []})
    assert (said["content"][0]["text"], said["stop_reason"], said["usage"]["input_tokens"]) == ("cut", "max_tokens", 7)
    assert counted["input_tokens"] >= 1
    assert len(api.messages) == 1
