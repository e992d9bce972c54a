"""Learning on real parts: a correction typed into the client is a fact on disk before the session ends.

The client, our plugin, hook, observer, worker and Agent SDK are real; only the model is scripted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client_session import Session, wait_until
from memoria.base.paths import Paths
from memoria.capture.spool import Spool
from memoria.daily.daily_log import DailyLog
from memoria.search import cues
from memoria.statements.fact import Fact
from memoria.statements.store import Store
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env

pytestmark = pytest.mark.slow

CORRECTION = "No, never push straight to main here, because main is deployed at once."
LEARNED = "Do not push straight to main: whatever is on main is deployed at once."
UNFLAGGED = "compare it with kelp, the staging server of the harbour gauge, and go on with that"  # waits for the end
OTHER = "The staging server of the harbour gauge is called kelp."


def claim(kind: str, content: str, quote: str) -> dict[str, Any]:
    return {"kind": kind, "content": content, "importance": 0.9, "tags": [], "keywords": [], "quote": quote,
            "origin": "user", "supersedes": ""}  # fmt: skip


class World:
    """A person with our plugin, and a model that sums up and otherwise says nothing of interest."""

    def __init__(self, base: Path) -> None:
        self.paths = Paths(str(base / "mémoria"))
        self.work = base / "harbour"
        self.work.mkdir()
        self.summed_up: list[str] = []

    def answer(self, request: dict[str, Any]) -> str:
        text = json.dumps(request, ensure_ascii=False)
        if "You turn records of work into notes" not in text:
            return "scripted answer"
        if "Write the note" not in text:
            return json.dumps({"places": []})
        self.summed_up.append(text)
        said = [claim("correction", LEARNED, CORRECTION)] if CORRECTION in text else []
        said += [claim("fact", OTHER, "staging server of the harbour gauge")] if UNFLAGGED in text else []
        return json.dumps({"worth_saving": True, "title": "Harbour", "context": "Work.", "statements": said})

    def facts(self) -> list[Fact]:
        if not Path(self.paths.facts).exists():
            return []
        with Store(self.paths) as store:
            return store.facts()

    def written(self) -> str:
        return "".join(path.read_text(encoding="utf-8") for path in Path(self.paths.daily).glob("*.md"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[World, dict[str, str]]]:
    world = World(tmp_path)
    with MessagesApi(world.answer) as api:
        ours = {"MEMORIA_HOME": world.paths.home, "MEMORIA_PYTHON": sys.executable, "MEMORIA_LIMIT_RETRY_S": "0,0"}
        yield world, clean_env(tmp_path / "user", api.url, **ours)


def test_a_correction_is_learned_before_the_session_ends_and_not_again_at_its_end(
    world: tuple[World, dict[str, str]],
) -> None:
    person, env = world
    with Session(env, person.work, "--plugin-dir", str(ROOT)) as session:
        session.ask("please look at the gauge's release script and say what you think of it")
        session.ask(CORRECTION)
        wait_until(lambda: LEARNED in person.written(), "the fact stands in the daily log", 60)
        wait_until(lambda: LEARNED in [event.content for event in person.facts()], "and in the store", 60)
        session.ask(UNFLAGGED)
        session.settle()
        assert session.end() == 0
    assert session.failed_hooks == []
    assert not cues.find_stated(UNFLAGGED), "or a worker may take it before the session's end is spooled"
    wait_until(lambda: OTHER in person.written(), "the session's end was summed up", 60)
    wait_until(lambda: not Spool(person.paths.spool).jobs(), "nothing waits", 60)
    assert [CORRECTION in text for text in person.summed_up] == [True, False]
    assert [UNFLAGGED in text for text in person.summed_up] == [False, True]
    (fact, other) = person.facts()
    assert (fact.content, fact.kind, fact.seen, fact.session) == (LEARNED, "correction", 1, session.id)
    assert (other.content, other.seen) == (OTHER, 1)
    assert person.written().count(LEARNED) == 1
    entries = DailyLog(person.paths).entries(DailyLog(person.paths).days()[0])
    assert [[fact.text for fact in entry.learned] for entry in entries] == [[LEARNED], [OTHER]]
