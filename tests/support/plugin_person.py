"""A person's machine with a project of its own, and the ways to get memoria's plugin onto it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from client_session import Session, wait_until
from installed import clone, environment_of, fingerprint, packages, repository
from messages_api import MessagesApi
from real_client import clean_env, run_claude

ADDRESS = "https://example.invalid/memoria.git"  # what git rewrites to the repository on this machine
PREFIX = "mcp__plugin_memoria_memoria__"  # of the names that the plugin's tools have in the client
HOSTILE = {
    "UV_PROJECT_ENVIRONMENT": ".venv", "UV_FROZEN": "1", "VIRTUAL_ENV": ".venv", "PYTHONPATH": "src",
    "PYTHONSTARTUP": "start.py",
}  # fmt: skip
PYPROJECT = '[project]\nname = "shop"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["pyyaml==6.0.2"]\n'


class Person:
    """A person's machine: the client, a project with an environment of its own, and a memoria to install."""

    def __init__(self, base: Path, api: MessagesApi) -> None:
        self.base = base
        self.api = api
        self.home = base / "user"
        self.env = clean_env(self.home, api.url, MEMORIA_MODEL="offline")
        self.clone = clone(base / "a clöne")
        self.environment = environment_of(self.home, self.clone)
        self.project = base / "shop"
        (self.project / "src" / "yaml").mkdir(parents=True)
        for name, text in {
            "pyproject.toml": PYPROJECT, "uv.toml": 'index-url = "http://127.0.0.1:9/"\n',
            "pip.conf": "[global]\nindex-url = http://127.0.0.1:9/\n", "start.py": "raise SystemExit(3)\n",
            "src/yaml/__init__.py": "raise SystemExit(3)\n", "src/sitecustomize.py": "raise SystemExit(3)\n",
        }.items():  # fmt: skip
            (self.project / name).write_text(text)
        packages(self.project / ".venv")
        self.before = fingerprint(self.project)

    def claude(self, *words: str) -> str:
        done = run_claude(words, self.env, self.project)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def has_packages(self) -> None:
        self.environment.parent.mkdir(parents=True, exist_ok=True)
        packages(self.environment.with_name("made"))
        self.environment.with_name("made").rename(self.environment)

    def from_git(self) -> list[str]:
        bare = repository(self.clone, self.base / "memoria.git")
        (self.home / ".gitconfig").write_text(f'[url "file://{bare}"]\n\tinsteadOf = {ADDRESS}\n')
        self.claude("plugin", "marketplace", "add", ADDRESS)
        self.claude("plugin", "install", "memoria@memoria")
        shutil.rmtree(self.clone)
        return []

    def from_folder(self) -> list[str]:
        return ["--plugin-dir", str(self.clone)]


def said(body: dict[str, Any]) -> str:
    """The text of the last tool result that the model was given; empty when there is none."""
    contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    results = [block for content in contents for block in content if block["type"] == "tool_result"]
    content = results[-1]["content"] if results else ""
    return content if isinstance(content, str) else str(content[0]["text"])


def call(session: Session, person: Person, tool: str) -> str:
    """Let the model call one of the server's tools, as soon as the client offers it; returns what the tool answered."""
    given = {"query": "harbour"} if tool == "search" else {}
    waiting = [{"type": "tool_use", "id": "toolu_1", "name": PREFIX + tool, "input": given}]

    def answer(body: dict[str, Any]) -> str | list[dict[str, Any]]:
        if not body.get("tools"):
            return "a title"
        return [waiting.pop() | {"id": f"toolu_{len(person.api.requests)}"}] if waiting else said(body)

    heard: list[str] = []

    def answered() -> bool:
        waiting[:] = [{"type": "tool_use", "id": "toolu_1", "name": PREFIX + tool, "input": given}]
        heard.append(session.ask(f"use {tool}"))
        return "No such tool" not in heard[-1]

    person.api.answer = answer
    wait_until(answered, f"the client offers {tool}", timeout=60)
    return heard[-1]
