"""A week of one preference: stated, changed, corrected, seen in two projects, promoted, edited elsewhere, forgotten.

Every evening the store, the daily logs, the prepared page, what can be found and the memory server say the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from facts import BLOG, MONDAY, SHOP, a_fact, keeper, sync
from home_of import article, run
from memoria.base import project
from memoria.base.project import Project
from memoria.capture import hook
from memoria.commands import learned
from memoria.commands import sync as sync_verb
from memoria.exchange.memory_server import Memory
from memoria.exchange.row_form import to_told
from memoria.ground.home import Home
from memoria.index.index import Index
from memoria.mcp import search
from memoria.mcp.calls import Session
from memoria.pages import refresh
from memoria.recall import prompt_notes
from memoria.statements.fact import GLOBAL, Fact
from memoria.statements.keeper import Keeper
from memoria.worker import together
from memory_server import KEY, MemoryServer, running

NPM, PNPM = "Use npm for packages, not yarn.", "Use pnpm for packages, not npm."


class Person:
    """One home with a memory server, and another machine of the same person."""

    def __init__(self, server: MemoryServer, other: Keeper) -> None:
        self.server = server
        self.other = other
        self.sessions = 0
        self.home = Home.open()
        for number in range(20):  # so that words can be rare
            article(self.home, f"concepts/tides-{number}", f"Tides {number}")

    def says(self, fact: Fact) -> None:
        """A fact is learned; then the worker does what it does after every run."""
        with Keeper.at(self.home) as kept:
            kept.take([fact], fact.project.rsplit("-", 1)[0])
            self.evening(kept)

    def evening(self, kept: Keeper) -> None:
        together.run(self.home)
        kept.refresh()
        refresh.renew(self.home, kept)

    def elsewhere(self) -> None:
        assert sync(self.other, self.server, full=True).problems == ()

    # -- the five places

    def in_store(self, key: str = SHOP) -> list[str]:
        with Keeper.at(self.home) as kept:
            return [event.content for event in kept.store.facts(project=key)]

    def in_logs(self) -> list[str]:
        """The learned lines, those that ended left out."""
        text = "".join(path.read_text() for path in sorted(Path(self.home.paths.daily).glob("*.md")))
        found = re.findall(r"^- \[\w+\] (.*) \^l-\w+\n(?:  >.*\n)?(  <!--.*)", text, re.MULTILINE)
        return [content for content, particulars in found if '"ended"' not in particulars]

    def on_page(self, key: str = SHOP) -> list[str]:
        path = Path(self.home.paths.page, f"{key}.md")
        text = (path if path.exists() else path.with_name("global.md")).read_text("utf-8")
        return re.findall(r"^- \[\w+(?:, corrected [^]]+)?\] (.*?) \(", text, re.MULTILINE)

    def on_server(self) -> list[str]:
        live = [memory for memory in self.server.memories.values() if not memory["deleted_at"]]
        told = [to_told(Memory.read(memory)) for memory in live]
        return [each.fact.content for each in told if each and not each.fact.ended]

    def found(self, key: str) -> list[set[str]]:
        """The facts about packages by the search verb's index, by a hint, and by the model's own search."""
        with Index(self.home.paths.index) as index:
            hits = index.search("npm yarn packages", kinds=("fact",))
        self.sessions += 1  # a session is given each note once
        prompt = "Do we use npm, pnpm or yarn for packages, or none?"
        given = {"hook_event_name": "UserPromptSubmit", "session_id": f"s{self.sessions}", "prompt": prompt}
        own = Project("/x", key)
        with patch.object(project, "of", lambda *_: own):
            told = prompt_notes.user_prompt_submit(
                hook.Event({**given, "cwd": "/nowhere"}), self.home.settings, self.home.paths
            )
        hinted = re.findall(r"- \[\w+[^]]*\] (?:[^(\n]*: )?([^(\n]*?) \(daily", _context(told))
        asked = search.found(self.home, Session(self.home, own, "s").visible, "npm yarn packages", 5, ("fact",))
        return [{hit.passages[0] for hit in hits}, set(hinted), {one.passages[0] for one in asked[0]}]

    def everywhere(self, key: str = SHOP) -> bool:
        """Whether all places say this and nothing else."""
        wanted = self.in_store(key)
        places = (self.in_logs(), self.on_page(key), self.on_server())
        return all(place == wanted for place in places) and self.found(key) == [set(wanted)] * 3


def _context(told: dict[str, object] | None) -> str:
    output = (told or {}).get("hookSpecificOutput")
    return str(output["additionalContext"]) if isinstance(output, dict) else ""


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    with running() as server, keeper(tmp_path / "other") as other:
        monkeypatch.setenv("MEMORY_API_URL", server.url)
        monkeypatch.setenv("MEMORY_API_KEY", KEY)
        yield Person(server, other)


def test_a_week_ends_right_in_store_logs_page_search_and_server(person: Person) -> None:
    person.says(a_fact(NPM))  # Monday: stated
    assert person.in_store() == [NPM]
    assert person.everywhere()

    person.says(a_fact(PNPM, day=1))  # Tuesday: changed
    assert person.in_store() == [PNPM]
    assert person.everywhere()

    person.says(a_fact("No, use pnpm for packages, not npm!", "correction", day=2))  # Wednesday: corrected
    with Keeper.at(person.home) as kept:
        (live,) = kept.store.facts(project=SHOP)
        assert (live.content, live.kind, live.seen) == (PNPM, "correction", 2)
        assert kept.offered() == []
    assert person.everywhere()
    page = Path(person.home.paths.page, f"{SHOP}.md").read_text("utf-8")
    assert f"- [correction, corrected twice] {PNPM} (said 2 times, last 2026-11-18)" in page

    person.says(a_fact(PNPM, day=3, project=BLOG))  # Thursday: seen in a second project, and offered
    assert f"learned promote {live.id}" in Path(person.home.paths.notice).read_text("utf-8")
    assert person.in_store(BLOG) == [PNPM]
    assert person.everywhere()
    assert person.everywhere(BLOG)

    assert run(learned, person.home, "promote", live.id) == 0  # Friday: accepted, and the other machine looks in
    assert run(sync_verb, person.home) == 0
    person.elsewhere()
    assert [event.content for event in person.other.store.facts(project="third-000000")] == [PNPM]
    assert person.everywhere()
    assert person.everywhere("third-000000")

    person.other.edit(live.id, "Use pnpm 9 for packages, not npm.")  # Saturday: reworded on the other machine
    person.elsewhere()
    with Keeper.at(person.home) as kept:
        person.evening(kept)
    assert person.in_store() == ["Use pnpm 9 for packages, not npm."]
    assert person.everywhere()
    Path(person.home.paths.facts).unlink()  # the store agrees with the logs alone
    with Keeper.at(person.home) as kept:
        (again,) = kept.store.facts()
        assert (again.id, again.project, again.seen, again.kind) == (live.id, GLOBAL, 3, "correction")
    assert person.everywhere()

    assert run(learned, person.home, "delete", live.id) == 0  # Sunday: forgotten
    assert run(sync_verb, person.home) == 0
    person.elsewhere()
    assert person.in_store() == []
    assert person.everywhere()
    assert [event for event in person.other.store.facts() if "pnpm" in event.content] == []
    assert MONDAY.date().isoformat() in {path.stem for path in Path(person.home.paths.daily).glob("*.md")}
