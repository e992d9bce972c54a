"""One of the plugin's evals, run by the real client's own command against a scripted model on loopback."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_client import drive
from messages_api import MessagesApi, Scripted
from places import ROOT
from real_client import clean_env, run_claude

if TYPE_CHECKING:
    from mcp import Client

pytestmark = pytest.mark.slow

EVALS = ROOT / "plugin" / "evals"
CASE = "recall-a-decision"
STEPS: list[tuple[str, dict[str, Any]]] = [
    ("Skill", {"skill": "memoria:recall", "args": "cache file's place"}),
    ("mcp__plugin_memoria_memoria__search", {"query": "tidemark cache file"}),
]
LISTED = EVALS / "mocks" / "memoria" / "_tools.json"


def answer(body: dict[str, Any]) -> Scripted:
    """Do what the skill says, and answer only from what the tools returned; without the plugin nothing is known."""
    said = json.dumps(body["messages"])
    if "memoria:recall: " not in said + json.dumps(body.get("system", "")) or not body.get("tools"):
        return "I do not know."
    if (done := said.count('"type": "tool_use"')) < len(STEPS):
        name, given = STEPS[done]
        return [{"type": "tool_use", "id": f"toolu_{done}", "name": name, "input": given}]
    contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    return json.dumps([block for content in contents for block in content if block["type"] == "tool_result"])


def test_a_case_passes_with_the_plugin_alone_and_no_memory_of_its_own_comes_about(tmp_path: Path) -> None:
    with MessagesApi(answer) as api:
        env = clean_env(tmp_path / "user", api.url, MEMORIA_DISABLED="1")
        words = ["plugin", "eval", str(ROOT / "plugin"), "--json", "result.json", "--output-dir", "out", "--case", CASE]
        words += ["--trust-plugin", "--no-publish", "--runs", "1", "-j", "2"]
        done = run_claude(words, env, tmp_path, timeout=300)
    result = json.loads((tmp_path / "result.json").read_text("utf-8"))
    (case,) = result["cases"]
    assert [run["score"] for run in case["arms"]["with"]] == [1], result
    assert case["arms"]["without"][0]["score"] < 1
    assert (result["partial"], done.returncode) == (False, 0)
    assert not (tmp_path / "user" / "memoria").exists()


def test_the_stand_ins_are_the_tools_that_the_server_has(tmp_path: Path) -> None:
    tools: list[dict[str, Any]] = []

    async def listed(client: Client) -> None:
        told = (await client.list_tools()).tools
        tools.extend(tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in told)

    drive(tmp_path, listed)
    text = json.dumps({"tools": tools}, indent=1, ensure_ascii=False) + "\n"
    assert LISTED.read_text("utf-8") == text, f"write this to {LISTED.relative_to(ROOT)}:\n{text}"
    names = {tool["name"] for tool in tools}
    assert {path.stem for path in LISTED.parent.glob("*.md")} < names
