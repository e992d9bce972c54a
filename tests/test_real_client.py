"""The real client: what it tells hooks, what of a hook's children it lets live, and our hooks inside it.

The measured table that capture stands on: when one of these fails after the SDK's pin has moved, the client has
changed, and docs/decisions/ and the hooks must be looked at again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client_session import Probe, Session, probe_plugin
from messages_api import MessagesApi
from real_client import clean_env

PAYLOADS = Path(__file__).parent / "payloads"
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "PostCompact", "SubagentStop", "SessionEnd")
RECORDING = bool(os.environ.get("MEMORIA_RECORD_PAYLOADS"))  # read before conftest clears the environment
# what memoria reads; the client may say more, and more from version to version
FIELDS = {"session_id", "transcript_path", "cwd", "hook_event_name", "source", "prompt", "trigger", "reason"}
FIELDS |= {"compact_summary", "last_assistant_message", "agent_transcript_path"}
RECORD = """
name = os.path.join(folder, str(time.time_ns()))
with open(name + '.part', 'wb') as out:
    out.write(payload)
os.rename(name + '.part', name + '.json')
"""


class World:
    """A person's machine: a home, a project folder, a scripted model, and a folder for what probes leave."""

    def __init__(self, base: Path, api: MessagesApi) -> None:
        self.api = api
        self.env = clean_env(base / "user", api.url)
        self.work = base / "my prôject"
        self.found = base / "found"
        self.plugin = base / "plugin"
        self.work.mkdir()
        self.found.mkdir()

    def session(self, *options: str) -> Session:
        return Session(self.env, self.work, *options)

    def probing(self, probes: dict[str, Probe]) -> Session:
        return self.session("--plugin-dir", str(probe_plugin(self.plugin, self.found, probes)))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with MessagesApi(lambda _: "scripted answer") as api:
        yield World(tmp_path, api)


def recorded(world: World) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in sorted(world.found.glob("*.json"))]


def scrubbed(payload: dict[str, Any], world: World) -> dict[str, Any]:
    """The payload without this machine's paths and this run's ids."""
    text = json.dumps(payload, ensure_ascii=False)
    text = re.sub(r"/projects/[^/]*/", "/projects/-home-ada-my-pr-ject/", text)
    text = text.replace(world.env["HOME"], "/home/ada").replace(str(world.work), "/home/ada/my prôject")
    text = text.replace(payload["session_id"], "5e551014-0000-4000-8000-000000000001")
    plain: dict[str, Any] = json.loads(text)
    if "prompt_id" in plain:
        plain["prompt_id"] = "b0a7b1d0-0000-4000-8000-000000000002"
    if "agent_id" in plain:
        plain = json.loads(json.dumps(plain, ensure_ascii=False).replace(plain["agent_id"], "a0000000000000001"))
    return plain


def read_of(payloads: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {key: payload[key] for key in FIELDS if key in payload} for name, payload in payloads.items()}


def test_the_recorded_payloads_are_what_the_client_says_today(world: World) -> None:
    """Set MEMORIA_RECORD_PAYLOADS=1 to write them anew."""
    everything = {event: Probe(RECORD, {}) for event in EVENTS}
    with world.probing(everything) as session:
        assert [session.ask("fix the flush race"), session.ask("and now the tests")] == ["scripted answer"] * 2
        session.compact()
        session.ask("where were we?")
        assert session.end() == 0
    said: dict[str, dict[str, Any]] = {}
    for payload in recorded(world):
        name = payload["hook_event_name"] + (f"-{payload['source']}" if "source" in payload else "")
        said.setdefault(name, scrubbed(payload, world))
    if RECORDING:
        PAYLOADS.mkdir(exist_ok=True)
        for name, payload in said.items():
            (PAYLOADS / f"{name}.json").write_text(json.dumps(payload, indent=2, ensure_ascii=False) + "\n", "utf-8")
    known = {path.stem: json.loads(path.read_text("utf-8")) for path in PAYLOADS.glob("*.json")}
    assert read_of(said) == read_of(known)
