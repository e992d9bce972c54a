"""The walk, whole and on real parts: the client, our plugin, the worker, the Agent SDK; only the model is scripted."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client_session import Session, transcripts, wait_until
from memoria.base.paths import Paths
from memoria.capture.spool import Spool
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.ledger import Ledger
from memoria.wiki.folder import Wiki
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env

pytestmark = pytest.mark.slow

FLUSH = {
    "worth_saving": True,
    "title": "Fix the flush race",
    "context": "Two workers flushed the same session.",
    "key_exchanges": ["The user asked why entries stood twice; the lock was taken too late."],
    "action_items": ["Add a test with two workers."],
    "statements": [
        {
            "kind": "preference", "content": "Use tabs in Makefiles.", "importance": 0.8, "tags": ["make"],
            "keywords": ["tabs"], "quote": "use tabs in Makefiles", "origin": "user", "supersedes": "",
        },
        {
            "kind": "decision",
            "content": "Hold `worker.lock` before reading the spool.",
            "quote": "hold `worker.lock` before reading the spool",
        },
        {"kind": "debugging", "content": "`flock` is not stale after a crash.", "quote": "`flock` is not stale"},
    ],
}  # fmt: skip


FIX = "then fix it: hold `worker.lock` before reading the spool, for `flock` is not stale after a crash"


def text_of(request: dict[str, Any]) -> str:
    return json.dumps(request, ensure_ascii=False)


def is_ours(request: dict[str, Any]) -> bool:
    return "You turn records of work into notes" in text_of(request)


def is_compile(request: dict[str, Any]) -> bool:
    return is_ours(request) and "<statements-" in text_of(request)


def compiled(request: dict[str, Any]) -> dict[str, Any]:
    """An article about the lock; what is not about it is left to the project's own page."""
    new = re.findall(r"(l-[0-9a-z]{8}) · (\w+) · \d", text_of(request).split("<statements-", 1)[1])
    about = [{"id": name, "article": "worker-lock"} for name, kind in new if kind in ("decision", "debugging")]
    article = {"slug": "worker-lock", "title": "Worker lock", "summary": "Hold it before reading the spool."}
    links = [{"from": "worker-lock", "to": "my-project", "why": "where it matters"}]
    return {"places": about, "articles": [article], "links": links}


class World:
    """A person with our plugin from this clone."""

    def __init__(self, base: Path) -> None:
        self.paths = Paths(str(base / "mémoria home"))
        self.work = base / "my prôject"
        self.work.mkdir()
        self.base = base
        self.env: dict[str, str] = {}

    def answer(self, request: dict[str, Any]) -> str:
        if not is_ours(request):
            return "scripted answer"
        return json.dumps(compiled(request) if is_compile(request) else FLUSH)

    def start(self, api: MessagesApi) -> None:
        self.env = clean_env(
            self.base / "user",
            api.url,
            MEMORIA_HOME=self.paths.home,
            MEMORIA_PYTHON=sys.executable,
            MEMORIA_LIMIT_RETRY_S="0,0",
            MEMORIA_COMPILE_INTERVAL_MIN="0",
        )

    def session(self, *options: str) -> Session:
        return Session(self.env, self.work, "--plugin-dir", str(ROOT), *options)

    def entries(self) -> list[Entry]:
        daily = DailyLog(self.paths)
        return [entry for day in daily.days() for entry in daily.entries(day)]

    def is_quiet(self) -> bool:
        """Nothing waits and everything written is compiled."""
        if Spool(self.paths.spool).jobs() or not Path(self.paths.ledger).exists():
            return False
        ledger = Ledger(self.paths)
        try:
            return ledger.counts()["uncompiled"] == 0
        finally:
            ledger.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[World, MessagesApi]]:
    world = World(tmp_path)
    with MessagesApi(world.answer) as api:
        world.start(api)
        yield world, api


def test_a_real_session_becomes_a_wiki_and_the_next_session_starts_with_it(world: tuple[World, MessagesApi]) -> None:
    person, api = world
    with person.session() as session:
        for prompt in ("why do entries stand twice?", "use tabs in Makefiles", FIX, "and test it"):
            assert session.ask(prompt) == "scripted answer"
        session.compact()
        wait_until(lambda: len(person.entries()) == 1, "the worker that PreCompact started has written", 60)
        session.ask("where were we?")
        session.settle()
        assert session.end() == 0
    assert session.failed_hooks == []
    assert {run.stdout for run in session.hooks if run.event == "Stop"} == {""}
    said = "\n".join(session.compactions).splitlines()
    assert len(said) == 2
    assert all(line.endswith("completed successfully") for line in said), said
    wait_until(person.is_quiet, "the session is in the daily log and in the wiki", 60)

    entries = person.entries()
    ours = [r for r in api.requests if r.body and is_ours(r.body)]
    assert len(entries) == len([r for r in ours if not is_compile(r.body or {})]) == 2  # compaction, end
    assert {entry.title for entry in entries} == {"Fix the flush race"}
    assert "Use tabs in Makefiles." in [line.text for line in entries[0].learned]
    keys = [key for entry in entries for key in entry.turns]
    assert len(keys) == len(set(keys))

    wiki = Wiki(person.paths)
    assert wiki.slugs() == ["concepts/my-project", "concepts/worker-lock"]
    lock, rest = map(wiki.get, wiki.slugs()[::-1])
    assert lock
    assert rest
    stated = {learned.text: learned.id for entry in entries for learned in entry.learned}
    assert {claim.text: claim.id for claim in (*lock.claims, *rest.claims)} == stated
    assert "concepts/my-project" in {link.target for link in lock.links}

    # our own calls left nothing in the client's list of sessions
    assert [path.stem for path in transcripts(person.env)] == [session.id]

    before = len(api.requests)
    with person.session() as following:
        following.ask("hello again")
        following.settle()
        following.end()
    page = Path(person.paths.page, "global.md").read_text(encoding="utf-8")
    own = next(path for path in Path(person.paths.page).glob("my-pr*.md")).read_text(encoding="utf-8")
    assert "Use tabs in Makefiles." in own
    assert "Makefiles" not in page, "what one project taught is not told in folders that are unknown"
    asked = [text_of(r.body) for r in api.requests[before:] if r.body and not is_ours(r.body)]
    assert any(json.dumps(own, ensure_ascii=False)[1:-1] in text for text in asked)
    assert following.failed_hooks == []
