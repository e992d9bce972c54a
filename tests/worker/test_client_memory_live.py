"""The real client saves a fact in its own memory: that one is not learned again, the other one of the turn is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client_session import Session
from home_of import run, scripted
from memoria.base import state
from memoria.commands import flush, search
from memoria.ground.home import Home
from memoria.index.client_memory import folder_name
from memoria.statements.keeper import Keeper
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env

SAVED = "Never commit directly to main, it deploys by itself."
OTHER = "Always sort imports with ruff."
ANSWER = {
    "worth_saving": True, "title": "Two rules", "context": "The user gave two rules.", "key_exchanges": [],
    "action_items": [],
    "statements": [
        {"kind": "preference", "content": text, "importance": 0.8, "tags": [], "keywords": [], "quote": text,
         "origin": "user", "supersedes": ""}
        for text in (SAVED, OTHER)
    ],
}  # fmt: skip


class World:
    def __init__(self, base: Path, env: pytest.MonkeyPatch) -> None:
        self.work = base / "shop"
        self.work.mkdir()
        user = base / "user"
        self.memory = user / ".claude" / "projects" / folder_name(str(self.work)) / "memory" / "MEMORY.md"
        self.api = MessagesApi(self.answer)
        nobody = shutil.which("true") or "true"  # the worker is run by hand below
        self.env = clean_env(user, "", MEMORIA_HOME=str(base / "memoria"), MEMORIA_PYTHON=nobody)
        scripted(base, env, flush=[ANSWER], learn=[{"statements": []}])
        state.open_state(Home.open().paths)

    def answer(self, request: dict[str, Any]) -> Any:
        results = [b for m in request["messages"] if isinstance(m["content"], list) for b in m["content"]]
        if not request.get("tools") or any(block["type"] == "tool_result" for block in results):
            return "Saved one of them."
        given = {"file_path": str(self.memory), "content": f"# Memory\n\n- {SAVED}\n"}
        return [{"type": "tool_use", "id": "toolu_1", "name": "Write", "input": given}]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    one = World(tmp_path, monkeypatch)
    with one.api as api:
        one.env["ANTHROPIC_BASE_URL"] = api.url
        yield one


@pytest.mark.slow
def test_what_the_client_saved_itself_is_not_learned_again_and_the_rest_is(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    with Session(world.env, world.work, "--plugin-dir", str(ROOT), "--allowedTools", "Write") as session:
        session.ask(f"{SAVED} And one more thing. {OTHER}")
        session.settle()
        session.end()
    assert SAVED in world.memory.read_text("utf-8"), "the real client wrote its memory"
    home = Home.open()
    assert run(flush, home, "--now") == 0
    with Keeper.at(home) as keeper:
        assert [event.content for event in keeper.store.facts()] == [OTHER]
    log = "".join(path.read_text("utf-8") for path in Path(home.paths.daily).glob("*.md"))
    assert "Two rules" in log
    assert f"[preference] {SAVED}" not in log
    capsys.readouterr()
    assert run(search, home, "commit", "main", "deploys", "--kind", "memory", "--json") == 0
    (hit,) = json.loads(capsys.readouterr().out)["results"]
    assert hit["path"] == str(world.memory)
