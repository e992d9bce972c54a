"""Registered hooks: those that hooks.json and ``memoria install`` give to the clients, read from there.

A hook that is registered later stands in ``HOOKS`` without being named here. Its input is the recorded payload of its
event (tests/fixtures/payloads), and it may say nothing unless ``CONTEXT_EVENTS`` holds its event.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from typing import Any

from memoria.audit.client_settings import Hooks, codex_hooks, plugin_hooks
from places import PAYLOADS, ROOT

CONTEXT_EVENTS = ("SessionStart", "SubagentStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure")
CODEX = "codex"


@dataclass(frozen=True, slots=True)
class Hook:
    """A registered hook: the command line that the client runs, and the tools of its matcher."""

    agent: str
    event: str
    tools: tuple[str, ...]
    words: tuple[str, ...]
    timeout_s: float

    @property
    def script(self) -> str:
        """The file that installations before 0.3 run for it."""
        (name,) = set(re.findall(r"(?:\bset|/hooks/run'?) ([a-z-]+) ", " ".join(self.words)))
        return str(ROOT / "hooks" / f"{name}.py")

    @property
    def may_speak(self) -> bool:
        """Whether the client gives what the hook says to the model; Codex's file tells its events apart itself."""
        return self.event in CONTEXT_EVENTS or self.agent == CODEX


def _registered(agent: str, hooks: Hooks) -> dict[str, Hook]:
    found: dict[str, Hook] = {}
    for event, groups in hooks.items():
        for group in groups:
            handlers: Any = group["hooks"]
            matcher = str(group.get("matcher", ""))
            for handler in handlers:
                words = tuple(map(str, (handler["command"], *handler.get("args", ()))))
                words = words if "args" in handler else ("/bin/sh", "-c", *words)
                name = " ".join(filter(None, (agent, event)))
                name = f"{name} {len(found)}" if name in found else name
                tools = tuple(filter(None, matcher.split("|")))
                found[name] = Hook(agent, event, tools, words, float(handler["timeout"]))
    return found


HOOKS = {**_registered("", plugin_hooks(ROOT, sys.executable)), **_registered(CODEX, codex_hooks(ROOT, sys.executable))}


def recorded(event: str) -> dict[str, Any]:
    """Return what a client said of an event once; KeyError when no payload of it was recorded."""
    return payloads()[event][0]


def payloads() -> dict[str, list[dict[str, Any]]]:
    """Return all recorded payloads by their event."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(PAYLOADS.glob("*.json")):
        said = json.loads(path.read_bytes())
        found.setdefault(said["hook_event_name"], []).append(said)
    return found
