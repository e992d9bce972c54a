"""The home of Codex, made of the fixtures, and a plain count of the turns in it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from places import ROOT

FIXTURES = ROOT / "tests" / "fixtures" / "agents"
AGE_S = 20 * 86_400.0


def install(age_s: float = AGE_S) -> Path:
    """Give the test's user the sessions of Codex, as old as said; return the folder where they are."""
    target = Path(os.environ["HOME"]) / ".codex"
    shutil.copytree(FIXTURES / "codex", target)
    moment = time.time() - age_s
    for path in target.rglob("*"):
        os.utime(path, (moment, moment))
    return target


def count() -> int:
    """Count the turns in the fixtures line by line, by a rule of the test's own."""
    return sum(_counts())


def _counts() -> Iterator[int]:
    """Prompts by the events that tell of them, where there are any; the rest by the words on each line."""
    for path in (FIXTURES / "codex").rglob("rollout-*.jsonl"):
        text = path.read_text("utf-8")
        if '"thread_source": "subagent"' in text:
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
