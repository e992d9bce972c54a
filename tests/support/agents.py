"""The homes of other coding agents, made of the fixtures, and a plain count of the turns in them."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from places import ROOT

FIXTURES = ROOT / "tests" / "fixtures" / "agents"
AGE_S = 20 * 86_400.0


def install(agent: str, age_s: float = AGE_S) -> Path:
    """Give the test's user the sessions of an agent, as old as said; return the folder where they are."""
    home = Path(os.environ["HOME"])
    target = {"codex": home / ".codex", "gemini": home / ".gemini"}.get(agent, home / ".local" / "share" / agent)
    shutil.copytree(FIXTURES / agent, target)
    moment = time.time() - age_s
    if agent == "opencode":
        script = target / "opencode.sql"
        with closing(sqlite3.connect(target / "opencode.db")) as db:
            db.executescript(script.read_text("utf-8"))
        script.unlink()
    for path in target.rglob("*"):
        os.utime(path, (moment, moment))
    return target


def count(agent: str, *, sides: bool = False) -> int:
    """Count the turns in an agent's fixtures line by line, by a rule of the test's own."""
    rule = {"codex": _codex, "gemini": _gemini, "opencode": _opencode}[agent]
    return sum(rule(sides))


def _values(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text("utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _codex(sides: bool) -> Iterator[int]:
    """Prompts by the events that tell of them, where there are any; the rest by the words on each line."""
    for path in (FIXTURES / "codex").rglob("rollout-*.jsonl"):
        text = path.read_text("utf-8")
        if '"thread_source": "subagent"' in text and not sides:
            continue
        lines = text.splitlines()
        if '"event_msg"' in text:
            yield sum('"user_message"' in line for line in lines)
        else:
            yield sum('"role": "user"' in line for line in lines)
        yield sum('"role": "assistant"' in line and line.endswith("}") for line in lines)
        yield sum('"type": "function_call"' in line or '"type": "custom_tool_call"' in line for line in lines)
        yield sum('_shell_call"' in line or '"web_search_call"' in line for line in lines)
        yield sum('"turn_aborted"' in line or "<user_shell_command>" in line for line in lines)
        failed = ("code 1", "code 2", 'exit_code\\": 1', 'exit_code\\": 2')
        yield sum('_call_output"' in line and any(mark in line for mark in failed) for line in lines)


def _gemini(sides: bool) -> Iterator[int]:
    """Messages by their ids, and tool calls by theirs; a failed one is two turns."""
    for path in (FIXTURES / "gemini" / "tmp").rglob("*.json*"):
        if path.parent.parent.name == "chats" and not sides:
            continue
        whole = json.loads(path.read_text("utf-8"))["messages"] if path.suffix == ".json" else list(_values(path))
        messages = [value for value in whole if value.get("type") in ("user", "gemini")]
        yield len({value["id"] for value in messages if value["content"]})
        calls = {call["id"]: call["status"] for value in messages for call in value.get("toolCalls", ())}
        yield len(calls) + list(calls.values()).count("error")


def _opencode(sides: bool) -> Iterator[int]:
    """Parts, by the words in their files and rows."""
    parts = FIXTURES / "opencode" / "storage" / "part"
    texts = [" ".join(path.read_text("utf-8").split()) for path in parts.rglob("*.json")]
    texts += (FIXTURES / "opencode" / "opencode.sql").read_text("utf-8").splitlines()
    for text in texts:
        if not text.endswith(("}", "}');")) or '"synthetic"' in text or "compaction wrote" in text:
            continue
        if "List the piers" in text and not sides:
            continue
        yield '"type": "text"' in text or '"type": "file"' in text
        ended = '"type": "tool"' in text and ('"completed"' in text or '"status": "error"' in text)
        yield ended + (ended and ('"exit": 1' in text or '"status": "error"' in text))
