"""Decisions: what was said once in passing, and the later prompts that need it, or need nothing.

A set is a TOML file in ``decision_sets``; its README describes the fields. ``Played`` plays all of them in one home,
through the hooks, the worker and the compile, and then asks the prompts.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.played_story import Look, Player, directed, staged
from memoria.capture import detach
from memoria.capture.hook import ENTRYPOINT, Event
from memoria.models import offline
from memoria.models.protocol import Model
from memoria.recall.prompt_notes import user_prompt_submit
from memoria.recall.session_start import session_start
from memoria.worker.weigher import Offer, Request
from memory_server import MemoryServer
from places import ROOT
from scripted_model import Scripted
from stories import Session, Statement, Story, is_marked
from truthful_model import Truthful

FOLDER = ROOT / "bench" / "decision_sets"
HALVES = ("tuning", "last")
SORTS = ("shared", "apart")  # prompts that share words with what they need, and that share none
MODELS = ("offline", "scripted")


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt and the statement that it needs; ``statement`` is None when it needs none."""

    project: str
    language: str
    half: str
    sort: str
    prompt: str
    statement: Statement | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What a prompt was given: the notes, and whether they or the page hold the statement.

    ``to_weigh``: the notes among which a model would choose, ``is_offered`` whether they hold it. A question that is
    answered at once has its notes in both.
    """

    asked: Asked
    notes: str
    in_notes: bool
    in_page: bool
    to_weigh: tuple[str, ...]
    is_offered: bool


@dataclass(frozen=True)
class Sets:
    """All sets as one story, the phrases by which a statement is asked for, and the prompts."""

    story: Story
    asked_as: dict[str, list[str]]
    asked: list[Asked]


def load() -> Sets:
    """Read the sets, in which every second statement and prompt belongs to the half that is looked at once."""
    statements: dict[str, Statement] = {}
    phrases: dict[str, list[str]] = {}
    asked: list[Asked] = []
    sessions: list[Session] = []
    titles: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        project = data["project"]
        titles |= {f"{project}-{slug}": title for slug, title in data["titles"].items()}
        for number, (name, given) in enumerate(data["says"].items()):
            statement = _statement(project, name, given)
            language, half = given.get("language", data["language"]), HALVES[number % 2]
            statements[statement.name] = statement
            phrases[statement.name] = given["asked_as"]
            asked += [Asked(project, language, half, sort, given[sort], statement) for sort in SORTS]
        for number, prompt in enumerate(data["nothing"]["prompts"]):
            asked.append(Asked(project, data["language"], HALVES[number % 2], "nothing", prompt))
        sessions += [_session(project, given) for given in data["session"]]
    sessions.sort(key=lambda session: session.at)
    return Sets(Story("decisions", "", "en", statements, {}, tuple(sessions), titles), phrases, asked)


def _statement(project: str, name: str, given: dict[str, Any]) -> Statement:
    return Statement(
        name=f"{project}-{name}",
        text=given["text"],
        marks=tuple(given["marks"]),
        page=f"{project}-{given['page']}",
        quote=given["quote"],
        kind=given.get("kind", "decision"),
        origin=given.get("origin", "user"),
        project=project,
    )


def _session(project: str, given: dict[str, Any]) -> Session:
    talk = tuple((user, assistant) for user, assistant in given["talk"])
    return Session(given["at"].replace(tzinfo=UTC), project, talk, (), given["title"])


@dataclass(slots=True)
class Knowing(Truthful):
    """The truthful model, which also writes by which phrases a statement is likely to be asked for."""

    asked_as: dict[str, list[str]] = field(default_factory=dict)

    def _learned(self, said: Any, shown: list[str], talk: str) -> list[dict[str, Any]]:
        said = list(said)
        learned = Truthful._learned(self, said, shown, talk)
        told = [each for each in said if each.kind not in ("", "withdrawal")]
        return [item | {"asked_as": self.asked_as[each.name]} for item, each in zip(learned, told, strict=True)]


class Played(Player):
    """The sets in one home; ``ask`` returns what a prompt is given after the last session."""

    def __init__(self, sets: Sets, base: Path, server: MemoryServer, model: str) -> None:
        super().__init__(sets.story, base, server)
        self.sets = sets
        self.answering: Model = offline.Offline()
        if model == "scripted":
            self.answering = Scripted(Knowing(sets.story, asked_as=sets.asked_as), "knowing")
        self.pages: dict[str, str] = {}

    def run(self) -> None:
        """Play every session."""
        for session in self.story.sessions:
            self.now = session.at
            self._converse(session, Look(self.story.name))
            self.now += timedelta(hours=2)  # the compile's interval has passed
            self._work()
        self.now += timedelta(days=1)
        self.pages = {project: self._page(project) for project in self.story.projects}

    def ask(self, asked: Asked) -> Seen:
        """Return what a prompt is given, as the first of a session of its own."""
        told = self._told(asked.project)
        notes = self._hook(user_prompt_submit, {**told, "hook_event_name": "UserPromptSubmit", "prompt": asked.prompt})
        marks = asked.statement.marks if asked.statement else ()
        in_notes, in_page = (
            bool(marks) and any(is_marked(row, marks) for row in text.splitlines())
            for text in (notes, self.pages[asked.project])
        )
        offered = self._to_weigh({**self._told(asked.project), "prompt": asked.prompt})
        return Seen(
            asked, notes, in_notes, in_page, offered, bool(marks) and any(is_marked(row, marks) for row in offered)
        )

    def _to_weigh(self, told: dict[str, object]) -> tuple[str, ...]:
        """Return the notes among which a model chooses, where one can be asked."""
        handed: list[bytes] = []
        event = Event({**told, "hook_event_name": "UserPromptSubmit", "permission_mode": "default"})
        with (
            patch.object(detach, "go_on_as", lambda *given: handed.append(given[2])),
            patch.dict(os.environ, {ENTRYPOINT: "cli"}),
            patch.object(self.home.settings, "model", "claude:haiku"),
            patch.object(self.home.settings, "weigh_notes", True),
        ):
            answer = user_prompt_submit(event, self.home.settings, self.home.paths)
            if event.after:
                event.after()
        if not handed:
            return tuple(str(answer or "").split("\\n"))[1:]
        request = Request.read(handed[0].decode(), self.home)
        offer = Offer(self.home, request.search_text, request.project, request.session)
        return tuple(note.line for note in offer.notes())

    def _page(self, project: str) -> str:
        return self._hook(
            session_start, {**self._told(project), "hook_event_name": "SessionStart", "source": "startup"}
        )

    def _told(self, project: str) -> dict[str, object]:
        self.prompts += 1
        return {"session_id": f"asked-{self.prompts}", "cwd": str(self._folder(project)), "transcript_path": ""}


@contextmanager
def played(model: str, base: Path, *, at_once: bool = True) -> Iterator[Played]:
    """Play the sets with one of MODELS; the home and its clock stay in place within the context."""
    sets = load()
    with staged(base) as server:
        player = Played(sets, base, server, model)
        player.works_at_once = at_once
        with directed(player, player.answering):
            player.run()
            yield player


def as_json(seen: Seen) -> str:
    """Return one line for a program to read."""
    asked = seen.asked
    given = {name: getattr(asked, name) for name in ("project", "language", "half", "sort", "prompt")}
    needed = asked.statement.name if asked.statement else ""
    return json.dumps(
        given
        | {"needs": needed, "in_notes": seen.in_notes, "in_page": seen.in_page, "notes": seen.notes}
        | {"to_weigh": seen.to_weigh, "is_offered": seen.is_offered},
        ensure_ascii=False,
    )
