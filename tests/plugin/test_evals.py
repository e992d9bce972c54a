"""The plugin's evals, run by the real client's own command against a scripted model on loopback."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import eval_model
from mcp_client import drive
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env, run_claude

if TYPE_CHECKING:
    from mcp import Client

pytestmark = pytest.mark.slow

EVALS = ROOT / "plugin" / "evals"
CASES = {path.parent.name for path in EVALS.glob("*/prompt.md")}
LISTED = EVALS / "mocks" / "memoria" / "_tools.json"


def run(tmp_path: Path, folder: Path, *words: str) -> dict[str, Any]:
    with MessagesApi(eval_model.answer) as api:
        env = clean_env(tmp_path / "user", api.url, MEMORIA_DISABLED="1")
        words = ("--trust-plugin", "--no-publish", "--runs", "1", "-j", "2", "--output-dir", "out", *words)
        done = run_claude(["plugin", "eval", str(folder), "--json", "result.json", *words], env, tmp_path, timeout=300)
    result: dict[str, Any] = json.loads((tmp_path / "result.json").read_text("utf-8"))
    assert result["partial"] is False
    return result | {"status": done.returncode}


def test_a_case_passes_with_the_plugin_alone_and_no_memory_of_its_own_comes_about(tmp_path: Path) -> None:
    result = run(tmp_path, ROOT / "plugin", "--case", "recall-a*")  # one of them: two runs of the client
    scores = {
        case["name"]: {arm: [run["score"] for run in runs] for arm, runs in case["arms"].items()}
        for case in result["cases"]
    }
    for name, arms in sorted(scores.items()):
        print(f"{name:<26} with {arms['with'][0]:.2f}  without {arms['without'][0]:.2f}")
    print(result["aggregates"])
    assert set(scores) == {name for name in CASES if name.startswith("recall-a")}
    assert all(arms["with"] == [1] for arms in scores.values()), result["cases"]
    assert all(arms["without"][0] < 1 for arms in scores.values())
    assert result["status"] == 0
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
