"""The plugin's skills: short, calling what is there, and found by the real client however the plugin is installed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from installed import clone
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env, run_claude

FOLDER = ROOT / "plugin" / "skills"
SKILLS = {"recall", "why", "remember", "forget", "status", "handoff", "standup", "open"}
COMMANDS = ROOT / "scripts" / "memoria" / "commands"
BY_USER = {"forget", "open"}  # a model never calls these by itself
PREFIX = "mcp__plugin_memoria_memoria__"
TOOLS = json.loads((ROOT / "plugin" / "evals" / "mocks" / "memoria" / "_tools.json").read_text("utf-8"))["tools"]


def parts(name: str) -> tuple[dict[str, Any], str]:
    """The frontmatter and the body of a skill."""
    _, front, body = (FOLDER / name / "SKILL.md").read_text("utf-8").split("---\n", 2)
    return yaml.safe_load(front), body


def tokens(text: str) -> int:
    """More tokens than any tokenizer makes of English: one for three bytes."""
    return -(-len(text.encode()) // 3)


def test_these_are_the_skills() -> None:
    assert {path.name for path in FOLDER.iterdir()} == SKILLS
    for name in SKILLS:
        assert [path.name for path in (FOLDER / name).iterdir()] == ["SKILL.md"]
        assert parts(name)[0]["name"] == name


@pytest.mark.parametrize("name", sorted(SKILLS))
def test_what_every_session_carries_of_a_skill_is_under_a_hundred_tokens_and_the_rest_short(name: str) -> None:
    front, body = parts(name)
    always = tokens(f"- memoria:{name}: {front['description']}")
    print(f"{name:<10} always {always:>3} tokens, when called {tokens(body):>4}")
    assert always < 100
    assert tokens(body) < 500
    assert front.get("disable-model-invocation", False) is (name in BY_USER)


@pytest.mark.parametrize("name", sorted(SKILLS))
def test_a_skill_calls_only_tools_and_commands_that_there_are(name: str) -> None:
    front, body = parts(name)
    known = {tool["name"]: tool for tool in TOOLS}
    allowed = [word.strip() for word in re.split(r",\s*(?![^(]*\))", front.get("allowed-tools", "")) if word.strip()]
    named = {word.removeprefix(PREFIX) for word in allowed if word.startswith(PREFIX)}
    assert named <= set(known)
    assert all(known[tool]["annotations"]["readOnlyHint"] for tool in named), "what changes something is asked about"
    others = [word for word in allowed if not word.startswith(PREFIX)]
    assert all(re.fullmatch(r"Bash\((git|memoria) [a-z]+:\*\)", word) for word in others)
    commands = set(re.findall(r"`memoria ([a-z]+)", body)) | set(re.findall(r"Bash\(memoria ([a-z]+)", str(allowed)))
    assert commands <= {path.stem for path in COMMANDS.glob("*.py")}
    for tool in re.findall(r"(?:tool|memoria's) `([a-z]+)`", body):
        assert tool in known, tool


def listed(body: dict[str, Any]) -> set[str]:
    """The skills that the model is told of."""
    return set(re.findall(r"- memoria:([a-z]+): ", json.dumps(body)))


@pytest.mark.slow
def test_the_client_finds_the_skills_and_expands_one(tmp_path: Path) -> None:
    root = clone(tmp_path / "a clöne")
    with MessagesApi(lambda _: "done") as api:
        env = clean_env(tmp_path / "user", api.url, MEMORIA_DISABLED="1")
        for words in (["marketplace", "add", str(root)], ["install", "memoria@memoria"]):
            done = run_claude(["plugin", *words], env, tmp_path)
            assert done.returncode == 0, done.stdout + done.stderr
        done = run_claude(["-p", "/memoria:standup since the harbour opened"], env, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        asked = next(request.body for request in api.messages if request.body.get("tools"))
    assert listed(asked) == SKILLS - BY_USER
    assert "Since: since the harbour opened" in json.dumps(asked)
