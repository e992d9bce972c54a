"""A scripted model for the plugin's evals: it does what a skill says, and answers only from what the tools returned.

Without the plugin it knows nothing, so that a case which passes in the baseline arm proves nothing about the plugin.
"""

from __future__ import annotations

import json
from typing import Any

from messages_api import Scripted

PREFIX = "mcp__plugin_memoria_memoria__"
Step = tuple[str, dict[str, Any]]


def skill(name: str, args: str) -> Step:
    return "Skill", {"skill": f"memoria:{name}", "args": args}


def tool(name: str, **given: Any) -> Step:
    return PREFIX + name, given


FACT = "tidemark's staging database is restored from the backup every Monday at 04:00 UTC."
STEPS: dict[str, list[Step]] = {  # words of a case's prompt -> what the model does
    "Where did we decide": [skill("recall", "cache file's place"), tool("search", query="tidemark cache file")],
    "zebra migration": [tool("search", query="zebra migration"), tool("search", query="zebra")],
    "no dependency on rich": [skill("why", "rich was removed"), tool("why", statement="rich was removed")],
    "Remember for later": [skill("remember", FACT), tool("remember", content=FACT, kind="operational")],
    "the one about dot folders": [tool("search", query="dot folders")],
    "memoria:standup": [tool("read", path="daily/2026-11-18"), tool("read", path="daily/2026-11-19")],
    "Mia takes over": [
        skill("handoff", "Mia"), tool("working"), tool("facts"), tool("search", query="decision"),
        tool("read", path="daily/2026-11-18"),
    ],
}  # fmt: skip


def answer(body: dict[str, Any]) -> Scripted:
    """Take the next step of the case that this conversation is, or answer."""
    said = json.dumps(body["messages"])
    if not body.get("tools"):
        return "a title"
    if "TOML" in said:
        return "tomllib"
    steps = next((steps for words, steps in STEPS.items() if words in said), [])
    if "memoria:recall: " not in said + json.dumps(body.get("system", "")):
        return "I do not know."
    done = said.count('"type": "tool_use"')
    if done < len(steps):
        name, given = steps[done]
        return [{"type": "tool_use", "id": f"toolu_{done}", "name": name, "input": given}]
    return _answered(said, _results(body))


def _answered(said: str, results: str) -> str:
    if "zebra" in said:
        return "memoria has nothing about a zebra migration." if "zebra" not in results.lower() else results
    if "the one about dot" in said:
        return f"This was found; shall it go?\n{results}\nl-wsvt4z85: shall I forget it?"
    if "memoria:standup" in said or "Mia takes over" in said:
        return f"Goal, done, decided and open, from the memory:\n{results}"
    return f"From the memory:\n{results}"


def _results(body: dict[str, Any]) -> str:
    """Return what the memory's tools returned."""
    texts = []
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block["type"] == "tool_result" and not block.get("is_error"):
                content = block["content"]
                texts.append(
                    content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
                )
    return "\n".join(texts)
