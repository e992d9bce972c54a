"""A story played through the hooks, the worker and the compile of one home, and what each surface says after a session.

Everything runs in this process, with the truthful model in place of a service, the story's time as the clock, and a
memory server on loopback. What the worker would start as a process of its own is run when the worker has ended.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import io
import json
import os
import re
import sys
import textwrap
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast
from unittest.mock import patch

from home_of import article
from memoria.base import project
from memoria.capture import detach
from memoria.capture.capture import capture
from memoria.capture.hook import Event
from memoria.commands import search
from memoria.daily.ledger import Ledger
from memoria.exchange.memory_server import Memory
from memoria.exchange.rows import read_told
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.mcp import search as mcp_search
from memoria.mcp.calls import Session as ToolSession
from memoria.mcp.fact_tools import list_facts
from memoria.mcp.pages import read
from memoria.models.protocol import Model
from memoria.recall.prompt_notes import user_prompt_submit
from memoria.recall.session_start import session_start
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.wiki.folder import Wiki
from memoria.worker import worker
from memory_server import KEY, MemoryServer
from scripted_model import Scripted
from stories import Edit, Session, Start, Statement, Story, is_marked, lines
from truthful_model import Truthful

if TYPE_CHECKING:
    from memoria.capture.hook import Handler

FILLERS = 12  # articles on something else, so that a word can be rare
_RESULT = re.compile(r"(?:- \[)?(entry|turn|fact|article|memory|last sessions)(?:: |, |\])")
DATED = "last sessions: "  # before a page's row on what was done on a day
IN_WIKI = ("wiki",)  # surfaces that tell whatever was said
FACTS = ("page", "mcp facts", "server")  # surfaces that tell learned facts
FOUND = ("search", "mcp search")
STARTED_HERE = ("flush", "observe")  # what the player runs itself


@dataclass(slots=True)
class Look:
    """What was seen after one session: wrong rows by surface, and counts of what was right."""

    place: str
    stale: dict[tuple[str, str], str] = field(default_factory=dict)  # surface, statement: the first such row
    missing: list[tuple[str, str]] = field(default_factory=list)  # surface, statement
    told: Counter[str] = field(default_factory=Counter)  # surface: statements looked for
    ended: list[tuple[str, bool]] = field(default_factory=list)
    items: list[tuple[str, bool]] = field(default_factory=list)
    history: list[tuple[str, bool]] = field(default_factory=list)
    hinted: list[tuple[str, bool]] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)  # bytes by task
    refused: list[str] = field(default_factory=list)
    not_done: list[str] = field(default_factory=list)  # edits that found nothing to change


class Player:
    """Plays a story in a folder of its own; ``looks`` holds what was seen after each session."""

    works_at_once = True  # and not only when a session ends

    def __init__(self, story: Story, base: Path, server: MemoryServer) -> None:
        self.story, self.base, self.server = story, base, server
        self.home = Home.open()
        self.model = Truthful(story)
        self.scripted = Scripted(self.model, "truthful")
        self.now = story.sessions[0].at - timedelta(days=1)
        self.looks: list[Look] = []
        self.started: list[list[str]] = []
        self.prompts = 0
        self.ever: set[str] = set()  # statements that were a learned fact at some time
        self.claimed: set[str] = set()  # statements that were a claim at some time
        self.closed: set[str] = set()  # statements whose end was counted
        for number in range(FILLERS):
            article(self.home, f"concepts/tides-{number}", f"Tides {number}", (f"Harmonics of basin {number}.", "x"))

    # -- what happens

    def play(self) -> list[Look]:
        for number, session in enumerate(self.story.sessions, 1):
            self.now = session.at
            before, refused = len(self.model.asked), self._refusals()
            look = Look(f"{self.story.name} {number}")
            if session.talk:
                self._converse(session, look)
            for edit in session.hand:
                self._edit(edit, look)
            self.now += timedelta(hours=2)  # the compile's interval has passed
            self._work()
            for task, size in self.model.asked[before:]:
                look.calls[task] += 1
                look.sent[task] += size
            look.refused = self._refusals()[len(refused) :]
            self.look(session, look)
            self.looks.append(look)
        return self.looks

    def _converse(self, session: Session, look: Look) -> None:
        ident = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.story.name} {session.at}"))
        cwd = self._folder(session.project)
        path = Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", f"-{session.project}", f"{ident}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        told = {"session_id": ident, "transcript_path": str(path), "cwd": str(cwd)}
        self._hook(session_start, {**told, "hook_event_name": "SessionStart", "source": "startup"})
        for number, (asked, answered) in enumerate(lines(session, ident, cwd)):
            text = session.talk[number][0]
            self._hook(user_prompt_submit, {**told, "hook_event_name": "UserPromptSubmit", "prompt": text})
            with path.open("ab") as file:
                file.write(asked + answered)
            self._hook(capture, {**told, "hook_event_name": "Stop"})
            self.now += timedelta(minutes=4)
            if self.works_at_once:
                self._work()
            for start in session.starts:
                if start.after == number + 1:
                    self._start_inside(session, start, told, look)
        self._hook(capture, {**told, "hook_event_name": "SessionEnd", "reason": "other"})
        self._work()

    def _start_inside(self, session: Session, start: Start, told: dict[str, str], look: Look) -> None:
        """Compact or resume a session, and compare what its next start is given with what the story says."""
        before = {
            "compact": {"hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": ""},
            "resume": {"hook_event_name": "SessionEnd", "reason": "other"},
        }
        self._hook(capture, {**told, **before[start.by]})
        self._work()
        page = self._hook(session_start, {**told, "hook_event_name": "SessionStart", "source": start.by})
        current = [self.story.statements[name] for name in start.current]
        past = self._past(start.past, current)
        own = [each for each in current if self._project(each) == session.project]
        gone = [each for each in past if self._project(each) == session.project]
        surfaces = self._surfaces(session.project, session, [*own, *gone]) | {"page": _page_rows(page)}
        for name, rows in (surfaces | self._shared_surfaces(session)).items():
            self._find_stale(name, rows, gone if name in surfaces else past, look)
        self._find_missing(surfaces, own, look)

    def _folder(self, name: str) -> Path:
        folder = self.base / "work" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _hook(self, handler: Handler, fields: dict[str, object]) -> str:
        """Run a hook's handler; return the context that it gives to the model."""
        given = handler(Event(fields), self.home.settings, self.home.paths) or {}
        output = cast(dict[str, str], given.get("hookSpecificOutput") or {})
        return output.get("additionalContext", "")

    def _work(self) -> None:
        """Run the worker, and then what it starts."""
        worker.work(self.home)
        while self.started:
            _, _, verb, *words = self.started.pop(0)
            if verb not in STARTED_HERE:
                self._run(verb, *words)

    def _run(self, name: str, *words: str) -> str:
        """Run a verb as the command line would; return what it printed."""
        verb = importlib.import_module(f"memoria.commands.{name}")
        parser = argparse.ArgumentParser()
        verb.arguments(parser)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            verb.command(parser.parse_args(words), self.home)
        return out.getvalue()

    def _edit(self, edit: Edit, look: Look) -> None:
        if edit.run:
            try:
                words = [self._id(word[1:-1]) if word.startswith("{") else word for word in edit.run]
            except LookupError as error:
                look.not_done.append(f"no fact tells {error}")
                return
            self._run(*words)
            return
        for path in self._files(edit.file):
            text = path.read_text(encoding="utf-8")
            changed = _wrapped(text) if edit.way == "wrap" else re.sub(edit.find, edit.put, text)
            if edit.way == "half":
                path.write_text(text[: len(text) // 2], encoding="utf-8")
                self._work()
            if changed != text or edit.way == "half":
                path.write_text(changed, encoding="utf-8")
                return
        look.not_done.append(f"{edit.find or edit.way!r} stands in no {edit.file}")

    def _files(self, name: str) -> list[Path]:
        if name == "daily":
            return sorted(Path(self.home.paths.daily).glob("*.md"), reverse=True)
        return sorted(Path(self.home.paths.knowledge).rglob(f"{name}.md"))

    def _id(self, name: str) -> str:
        found = [fact for fact in self._facts(live=True) if name in _names(self.story.told(fact.content))]
        if not found:
            raise LookupError(name)
        return found[0].id

    def _facts(self, *, live: bool) -> list[Fact]:
        with Keeper.at(self.home) as keeper:
            return keeper.store.facts(live=live)

    def _refusals(self) -> list[str]:
        ledger = Ledger(self.home.paths)
        try:
            return [text for _, _, _, text in reversed(ledger.notes("refused"))]
        finally:
            ledger.close()

    # -- what is to be seen

    def look(self, session: Session, look: Look) -> None:
        """Compare every surface with what the story says."""
        current = [self.story.statements[name] for name in session.current]
        past = self._past(session.past, current)
        for place in self.story.projects:
            own = [each for each in current if self._project(each) == place]
            gone = [each for each in past if self._project(each) == place]
            others = [each for each in (*current, *past) if self._project(each) != place]
            surfaces = self._surfaces(place, session, [*own, *gone])
            for name, rows in surfaces.items():
                self._find_stale(name, rows, gone, look)
                if name in ("page", "hint", "mcp search", "mcp facts"):
                    self._find_stale(f"{name} (other project)", rows, others, look)
            self._find_missing(surfaces, own, look)
            if session.prompt and place == session.project:
                asked = [each for each in own if is_about(session.prompt, each)]
                look.hinted += [(each.name, _tells(surfaces["hint"], each)) for each in asked]
        for name, rows in self._shared_surfaces(session).items():
            self._find_stale(name, rows, past, look)
            if name in IN_WIKI:
                self._miss(name, rows, current, look)
        self._look_at_facts(past, look)
        self._look_at_items(session, look)
        self._look_at_history(past, look)

    def _past(self, names: Iterable[str], current: Iterable[Statement]) -> list[Statement]:
        """Return the statements with these names but for those that nothing tells from what holds."""
        same = {each.marks for each in current}
        return [each for name in names if (each := self.story.statements[name]).marks not in same]

    def _project(self, statement: Statement) -> str:
        return statement.project or self.story.projects[0]

    def _find_stale(self, name: str, rows: list[str], gone: list[Statement], look: Look) -> None:
        names = {each.name for each in gone}
        for row in rows:
            for each in self.story.told(row):
                where = _kind(name, row)
                if each.name in names and (where, each.name) not in look.stale:
                    look.stale[where, each.name] = row.strip()[:300]

    def _find_missing(self, surfaces: dict[str, list[str]], own: list[Statement], look: Look) -> None:
        learned = [each for each in own if each.kind]
        for name in FACTS:
            if name in surfaces:
                self._miss(name, [row for row in surfaces[name] if not row.startswith(DATED)], learned, look)
        for name in FOUND:
            self._miss(name, surfaces[name], own, look)

    def _miss(self, name: str, rows: list[str], wanted: list[Statement], look: Look) -> None:
        for each in wanted:
            look.told[name] += 1
            if not _tells(rows, each):
                look.missing.append((name, each.name))

    def _surfaces(self, place: str, session: Session, about: list[Statement]) -> dict[str, list[str]]:
        """Return the rows of the surfaces that one project's sessions see."""
        cwd = str(self._folder(place))
        self.prompts += 1
        base = {"session_id": f"look-{self.prompts}", "cwd": cwd, "transcript_path": ""}
        page = self._hook(session_start, {**base, "hook_event_name": "SessionStart", "source": "startup"})
        prompt = session.prompt or " ".join(about[-1].marks if about else ())
        hint = self._hook(user_prompt_submit, {**base, "hook_event_name": "UserPromptSubmit", "prompt": prompt})
        queries = list(dict.fromkeys([prompt, *(" ".join(each.marks) for each in about)]))
        found = {
            "page": _page_rows(page),
            "hint": hint.splitlines(),
            "search": [row for query in queries for row in self._searched(query)],
        }
        return found | asyncio.run(self._mcp(cwd, queries))

    def _searched(self, query: str) -> list[str]:
        parser = argparse.ArgumentParser()
        search.arguments(parser)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            search.command(parser.parse_args([query, "--json", "-k", "10"]), self.home)
        found = json.loads(out.getvalue())["results"]
        return [
            f"{hit['kind']}: {part}"
            for hit in found
            for part in [hit["title"], *(row for passage in hit["passages"] for row in passage.splitlines())]
        ]

    async def _mcp(self, cwd: str, queries: list[str]) -> dict[str, list[str]]:
        """Call the tools of the MCP server as a session of the project does."""
        session = ToolSession(self.home, project.key_of(cwd, self.home.settings, self.home.paths), "look")
        rows: list[str] = []
        for query in queries:
            rows += _labelled(mcp_search.search(session, {"query": query, "limit": 10}).splitlines())
        shown = {"mcp search": rows, "mcp facts": [fact.content for fact in list_facts(session, "")]}
        if len(self.story.projects) == 1:
            shown["mcp read"] = [
                row
                for slug in Wiki(self.home.paths).slugs()
                if "tides" not in slug
                for row in _current_rows(read(session, {"path": f"knowledge/{slug}.md"}))
            ]
            shown["server"] = self._on_server()
        return shown

    def _on_server(self) -> list[str]:
        live = [memory for memory in self.server.memories.values() if not memory["deleted_at"]]
        told = [read_told(Memory.read(memory)) for memory in live]
        return [each.fact.content for each in told if each and not each.fact.ended]

    def _shared_surfaces(self, session: Session) -> dict[str, list[str]]:
        """Return the rows of what a person opens."""
        wiki = Wiki(self.home.paths)
        texts = {slug: wiki.path(slug).read_text("utf-8") for slug in wiki.slugs() if "tides" not in slug}
        for text in texts.values():
            current = _current_rows(text)
            self.claimed |= {each.name for row in current for each in self.story.told(row)}
        root = Path(self.home.paths.knowledge)
        lists = [path for path in root.rglob("*.md") if path.stem != "log" and _slug(root, path) not in wiki.slugs()]
        del session
        return {
            "wiki": [row for text in texts.values() for row in _current_rows(text)],
            "index": [row for path in lists for row in path.read_text("utf-8").splitlines() if "tides" not in row],
        }

    def _look_at_facts(self, past: list[Statement], look: Look) -> None:
        facts = self._facts(live=False)
        self.ever |= {each.name for fact in facts for each in self.story.told(fact.content)}
        live = {each.name for fact in facts if not fact.ended for each in self.story.told(fact.content)}
        for each in past:
            if each.name in self.ever and each.name not in self.closed:
                self.closed.add(each.name)
                look.ended.append((each.name, each.name not in live))

    def _look_at_items(self, session: Session, look: Look) -> None:
        rows = []
        for place in self.story.projects:
            base = {
                "session_id": f"items-{self.prompts}-{place}",
                "cwd": str(self._folder(place)),
                "transcript_path": "",
            }
            page = self._hook(session_start, {**base, "hook_event_name": "SessionStart", "source": "startup"})
            rows += _section(page, "open")
        raised = {
            item.name
            for item in self.story.items.values()
            for each in self.story.sessions[: self.story.sessions.index(session) + 1]
            for user, assistant in each.talk
            if any(words in user or words in assistant for words in item.said)
        }
        for name in sorted(raised):
            count = sum(is_marked(row, self.story.items[name].marks) for row in rows)
            look.items.append((name, count == (1 if name in session.open else 0)))

    def _look_at_history(self, past: list[Statement], look: Look) -> None:
        wiki = Wiki(self.home.paths)
        rows = [row for slug in wiki.slugs() for row in _history_rows(wiki.path(slug).read_text("utf-8"))]
        for each in past:
            if each.name in self.claimed and not each.by_hand:
                look.history.append((each.name, any(is_marked(row, each.marks) for row in rows)))


def is_about(prompt: str, statement: Statement) -> bool:
    """Return whether a prompt names the first mark of a statement, which is its subject."""
    return is_marked(prompt, statement.marks[:1])


def _tells(rows: list[str], statement: Statement) -> bool:
    return any(is_marked(row, statement.marks) for row in rows)


def _names(statements: list[Statement]) -> set[str]:
    return {each.name for each in statements}


def _kind(surface: str, row: str) -> str:
    """Return the surface, with the part of it that a row comes from where that makes a difference."""
    match = _RESULT.match(row)
    if match and (surface != "page" or row.startswith(DATED)):
        return f"{surface}, {match[1]}"
    return surface


def _page_rows(page: str) -> list[str]:
    """Return the rows of a page; those of the last sessions are dated records, and are labelled."""
    rows, heading = [], ""
    for row in page.splitlines():
        heading = row if row.startswith("## ") else heading
        rows.append(f"{DATED}{row}" if "last session" in heading.lower() else row)
    return rows


def _labelled(rows: list[str]) -> list[str]:
    """Return the rows of a search's answer, each with the kind of its result."""
    kind, found = "", []
    for row in rows:
        if match := re.match(r"\S+ · (entry|turn|fact|article|memory) · ", row):
            kind = match[1]
        found.append(f"{kind}: {row.strip()}" if kind else row)
    return found


def _section(page: str, word: str) -> list[str]:
    heading, rows = "", []
    for row in page.splitlines():
        heading = row.lower() if row.startswith("#") else heading
        if word in heading and row.startswith("- "):
            rows.append(row)
    return rows


def _current_rows(text: str) -> list[str]:
    return [row for row, is_past in _rows(text) if not is_past]


def _history_rows(text: str) -> list[str]:
    return [row for row, is_past in _rows(text) if is_past]


def _rows(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the rows of an article, and whether they stand under History; a bullet of several lines is one row."""
    level = 0
    for row in re.sub(r"(?<=\S)\n +(?=[^\s>*-])", " ", text).splitlines():
        if match := re.match(r"(#+) (.*)", row):
            depth = len(match[1])
            if level and depth <= level:
                level = 0
            if match[2].strip().lower() == "history":
                level = depth
        yield row, bool(level)


def _wrapped(text: str) -> str:
    """Return a markdown file as a formatter writes it that breaks lines at 60 columns: not in its front matter."""
    start = text.find("\n---\n", 4) + 5 if text.startswith("---\n") else 0
    rows = [
        textwrap.wrap(row, 60, subsequent_indent=" " * _indent(row), break_long_words=False, break_on_hyphens=False)
        if len(row) > 60 and not row.lstrip().startswith(("#", "|", "<", "```"))
        else [row]
        for row in text[start:].split("\n")
    ]
    return text[:start] + "\n".join(part for row in rows for part in row)


def _indent(row: str) -> int:
    match = re.match(r"\s*(?:[-*] |> )?", row)
    return len(match[0]) if match else 0


def _slug(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix().removesuffix(".md")


@contextlib.contextmanager
def staged(base: Path) -> Iterator[MemoryServer]:
    """Give a story a world of its own: a home below ``base``, a memory server, and nothing of the caller's."""
    user = base / "user"
    user.mkdir(parents=True, exist_ok=True)
    dropped = ("ANTHROPIC_", "CLAUDE", "MEMORIA_", "MEMORY_", "OLLAMA_", "XDG_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    with MemoryServer() as server:
        env = {
            **inherited, "HOME": str(user), "XDG_CONFIG_HOME": str(user / ".config"), "MEMORIA_TZ": "UTC",
            "CLAUDE_CONFIG_DIR": str(user / ".claude"), "MEMORIA_HOME": str(base / "memoria"),
            "MEMORIA_LIMIT_RETRY_S": "0", "MEMORIA_PYTHON": sys.executable,
            "MEMORY_API_URL": server.url, "MEMORY_API_KEY": KEY,
        }  # fmt: skip
        with patch.dict(os.environ, env, clear=True):
            yield server


@contextlib.contextmanager
def directed(player: Player, model: Model) -> Iterator[None]:
    """Run memoria by the player's clock and with this model; a worker that is to start is only noted."""

    def start(command: list[str], *_: object, **__: object) -> None:
        player.started.append(command)

    with (
        patch.object(clock, "now", lambda: player.now),
        patch.object(detach, "start", start),
        patch.object(detach, "lower_priority", lambda: None),
        patch("memoria.models.protocol.from_settings", lambda *_: model),
    ):
        yield


def played(story: Story, base: Path) -> Player:
    """Play a whole story; return the player, with what it saw."""
    with staged(base) as server:
        player = Player(story, base, server)
        with directed(player, player.scripted):
            player.play()
    return player
