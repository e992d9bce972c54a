"""Turn: one kept transcript line, and exchanges: a prompt with what answered it, as models are told of them.

A turn is a prompt, a piece of an answer or a failed tool's first lines. Its ``key`` comes from the line's uuid, so that
overlapping slices, forks, resumes and rewritten transcripts cannot make it count twice. ``turn_reader`` reads turns
from a transcript.

A tool use is one line with what identifies it and nothing of what it moved: a command, a path, a pattern, a URL; for
edits and writes the identifiers in them, since what a session was about stands there
(docs/decisions/0001-capture.md has the figures).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from memoria.base import fence
from memoria.search import identifiers

Role = Literal["user", "assistant", "error", "note"]
Step = tuple[str, str]  # a role or ``tool``, and its text

MAX_SAID = 700  # characters of what the assistant, or a sub-agent, said before the last words of an exchange
PLANS = ("ExitPlanMode", "exit_plan_mode")  # tools that put a plan before the user, which is told whole


@dataclass(frozen=True, slots=True)
class Turn:
    """One kept transcript line.

    ``role``: ``user`` (typed by the person), ``assistant`` (text and/or tool lines), ``error`` (a tool's failure, first
    lines), ``note`` (what the client itself wrote: a summary, an interruption, an approval without words). ``tools``:
    one line per tool use with what identifies it. ``time`` is UTC, None when the line carries none.
    """

    key: str
    role: Role
    text: str
    tools: tuple[str, ...] = ()
    time: datetime | None = None
    cwd: str = ""
    uses: tuple[str, ...] = ()  # ids of the tool uses that ``tools`` describes, or whose errors an error tells

    @property
    def words(self) -> str:
        """The text and the lines of the tool uses, for searching."""
        return "\n".join((self.text, *self.tools))

    @property
    def size(self) -> int:
        """Characters that the turn takes in a request, with a label before each line."""
        said = len(self.role) + 3 + len(self.text) if self.text else 0
        return said + sum(len(line) + 7 for line in self.tools)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user turn and what answered it; the first of a session may begin without a user turn."""

    turns: tuple[Turn, ...]

    @property
    def time(self) -> datetime | None:
        """The first known time of its turns, UTC; that of a note, which may be older, only when there is no other."""
        times = {turn.role == "note": turn.time for turn in reversed(self.turns) if turn.time}
        return times.get(False) or times.get(True)

    @property
    def size(self) -> int:
        """Characters of its turns."""
        return sum(turn.size for turn in self.turns)

    def texts(self, role: Role) -> list[str]:
        """Return the texts of one role, in order."""
        return [turn.text for turn in self.turns if turn.role == role and turn.text]

    def material(self) -> dict[str, Any]:
        """Return the exchange as models get it: the texts of each role and the tool lines."""
        return {
            "user": "\n\n".join(self.texts("user")),
            "assistant": "\n\n".join(self.texts("assistant")),
            "tools": [line for turn in self.turns for line in turn.tools],
            "errors": self.texts("error"),
            "notes": self.texts("note"),
        }

    def clean(self, clean: Callable[[str], str]) -> Exchange:
        """Return the same with every text and tool line put through ``clean``."""
        return Exchange(
            tuple(replace(turn, text=clean(turn.text), tools=tuple(map(clean, turn.tools))) for turn in self.turns)
        )


def exchanges(turns: Iterable[Turn]) -> list[Exchange]:
    """Group turns: a user turn opens an exchange unless only user turns and notes came since the last one opened."""
    groups: list[list[Turn]] = []
    answered = True
    for turn in turns:
        if not groups or (turn.role == "user" and answered):
            groups.append([])
            answered = False
        groups[-1].append(turn)
        answered = answered or turn.role in ("assistant", "error")
    return [Exchange(tuple(group)) for group in groups]


def steps(parts: Sequence[Exchange], folder: str = "") -> list[list[Step]]:
    """Return what happened in each exchange, in order, each error below the tool use that it is of.

    Paths below ``folder`` (default: the first that a turn names) are relative. Of to-do lists only the last is told.
    """
    root = folder or next((turn.cwd for part in parts for turn in part.turns if turn.cwd), "")
    shorten = _shortener(root)
    lists = [line for part in parts for turn in part.turns for line in turn.tools if line.startswith("TodoWrite ")]
    return [[step for step in _steps(part, shorten) if step[1] not in lists[:-1]] for part in parts]


def _steps(part: Exchange, shorten: Callable[[str], str]) -> Iterator[Step]:
    known = {use for turn in part.turns for use in turn.uses if turn.role != "error"}
    errors: dict[str, list[Step]] = {}
    last = next((turn for turn in reversed(part.turns) if turn.role == "assistant" and turn.text), None)
    for turn in part.turns:
        if turn.role == "error" and len(turn.uses) == 1:
            errors.setdefault(turn.uses[0], []).append(("error", shorten(turn.text)))
    for turn in part.turns:
        if turn.role == "error":
            if not (len(turn.uses) == 1 and turn.uses[0] in known):
                yield "error", shorten(turn.text)
            continue
        if turn.text:
            is_whole = turn.role != "assistant" or turn is last or any(line.startswith(PLANS) for line in turn.tools)
            yield turn.role, turn.text if is_whole else fence.ends(turn.text, MAX_SAID)
        for number, line in enumerate(turn.tools):
            yield "tool", shorten(line)
            yield from errors.get(turn.uses[number], ()) if number < len(turn.uses) else ()


def _shortener(root: str) -> Callable[[str], str]:
    """Return what takes the project's folder from the paths of a line."""
    bare = root.rstrip("/\\")
    if not bare or bare.endswith(":"):  # the root of a disk
        return str
    begins = re.compile(rf"^Bash cd ['\"]?{re.escape(bare)}['\"]?\s*(?:&&|;)\s*")
    before = re.compile(rf"(?<![\w./\\-]){re.escape(bare)}[/\\]")

    def shorten(text: str) -> str:
        return before.sub("", begins.sub("Bash ", text)) if bare in text else text

    return shorten


def split(parts: Iterable[Exchange], limit: int) -> list[list[Exchange]]:
    """Deal exchanges into calls of at most ``limit`` characters each, in order, none left out or cut off.

    An exchange over the limit is divided between its turns, a turn over it into pieces that carry the same key.
    """
    calls: list[list[Exchange]] = []
    room = 0
    for part in parts:
        for piece in _divide(part, limit):
            if not calls or piece.size > room:
                calls.append([])
                room = limit
            calls[-1].append(piece)
            room -= piece.size
    return calls


def _divide(part: Exchange, limit: int) -> Iterator[Exchange]:
    group: list[Turn] = []
    room = limit
    for turn in (piece for whole in part.turns for piece in _pieces(whole, limit)):
        if group and turn.size > room:
            yield Exchange(tuple(group))
            group, room = [], limit
        group.append(turn)
        room -= turn.size
    yield Exchange(tuple(group))


def _pieces(turn: Turn, limit: int) -> Iterator[Turn]:
    if turn.size <= limit:
        yield turn
        return
    width, bare = limit - 12, replace(turn, text="", tools=(), uses=())  # less the label's room
    yield from (replace(bare, text=text) for text in fence.pieces(turn.text, width))
    yield from (replace(bare, tools=(text,)) for line in turn.tools for text in fence.pieces(line, width))


COMMAND = 600  # characters kept of a command, a query, a prompt's start
LINE = 4_000  # characters of a whole line
NAMES = 1_500  # characters of identifiers in it

Input = Mapping[str, Any]

_PLAN = "(the plan stands in the text)"
_SPACE = re.compile(r"\s+")


def describe(name: str, given: object) -> str:
    """Return the line for a use of tool ``name`` with input ``given``; never empty, never longer than ``LINE``."""
    values: Input = given if isinstance(given, Mapping) else {}
    detail = _FORMS.get(name, _describe)(values)
    return f"{name} {detail}".strip()[:LINE]


def one_line(text: object, limit: int = COMMAND) -> str:
    """Return a text on one line; of what is over ``limit``, only the identifiers."""
    flat = _SPACE.sub(" ", text).strip() if isinstance(text, str) else ("" if text is None else str(text))
    if len(flat) <= limit:
        return flat
    rest = (word for word in identifiers.find(flat[limit:]) if word not in flat[:limit])
    return f"{flat[:limit]} … {_fit(rest, NAMES)}".rstrip()


def _fit(words: Iterable[str], limit: int) -> str:
    """Return as many whole words as fit."""
    line = " ".join(words)
    return line if len(line) <= limit else line[:limit].rsplit(" ", 1)[0]


def names(old: Iterable[str], new: Iterable[str]) -> str:
    """Return the identifiers of an edit, added and removed ones first, at most ``NAMES`` characters."""
    before, after = (identifiers.find("\n".join(texts)) for texts in (old, new))
    common = set(before) & set(after)
    changed = (word for word in (*after, *before) if word not in common)
    return _fit(dict.fromkeys((*changed, *after)), NAMES)


def _edit(given: Input) -> str:
    edits = given.get("edits")
    parts = [edit for edit in edits if isinstance(edit, Mapping)] if isinstance(edits, list) else [given]
    return _file(given, names(_strings(parts, "old_string"), _strings(parts, "new_string", "new_source")))


def _write(given: Input) -> str:
    return _file(given, names((), _strings([given], "content")))


def _file(given: Input, touched: str) -> str:
    path = _first_value(given, "file_path", "notebook_path", "path")
    return f"{path}: {touched}" if touched else path


def _strings(parts: Iterable[Input], *keys: str) -> list[str]:
    return [part[key] for part in parts for key in keys if isinstance(part.get(key), str)]


def _first_value(given: Input, *keys: str) -> str:
    return next((one_line(given[key]) for key in keys if given.get(key)), "")


def _read(given: Input) -> str:
    path, start, count = _first_value(given, "file_path", "path"), given.get("offset"), given.get("limit")
    return f"{path} from {start or 1} ({count} lines)" if count else path


def _search(given: Input) -> str:
    where = [str(given[key]) for key in ("path", "glob", "type") if given.get(key)]
    return " in ".join([_first_value(given, "pattern"), *where])


def _web(given: Input) -> str:
    return " · ".join(filter(None, (_first_value(given, "url"), _first_value(given, "prompt", "query"))))


def _agent(given: Input) -> str:
    kind = _first_value(given, "subagent_type", "name")
    return " · ".join(filter(None, (kind, _first_value(given, "description"), _first_value(given, "prompt", "script"))))


def _todos(given: Input) -> str:
    todos = given.get("todos")
    items = [todo for todo in todos if isinstance(todo, Mapping)] if isinstance(todos, list) else []
    return "; ".join(f"[{todo.get('status', '?')}] {one_line(todo.get('content'), 160)}" for todo in items)


def _task_update(given: Input) -> str:
    """Return the change of a task: its status and, where a reader knows it, its subject in place of its number."""
    task = _first_value(given, "subject") or f"#{given.get('taskId', '?')}"
    return f"[{given['status']}] {task}" if given.get("status") else task


def _questions(given: Input) -> str:
    asked = given.get("questions")
    items = [item for item in asked if isinstance(item, Mapping)] if isinstance(asked, list) else []
    return " | ".join(f"{one_line(item.get('question'), 300)} ({_options(item)})" for item in items)


def _options(question: Input) -> str:
    options = question.get("options")
    labels = [one.get("label") for one in options if isinstance(one, Mapping)] if isinstance(options, list) else []
    return ", ".join(one_line(label, 80) for label in labels)


def _describe(given: Input) -> str:
    """Describe a tool that is not known by name (an MCP server's, one to come): every short value under its key."""
    return " ".join(f"{key}={one_line(value, 200)}" for key, value in given.items() if value not in (None, "", [], {}))


_FORMS: dict[str, Callable[[Input], str]] = {
    "Agent": _agent,
    "AskUserQuestion": _questions,
    "Bash": lambda given: _first_value(given, "command"),
    "Edit": _edit,
    "ExitPlanMode": lambda _: _PLAN,
    "Glob": _search,
    "Grep": _search,
    "LS": _read,
    "MultiEdit": _edit,
    "NotebookEdit": _edit,
    "Read": _read,
    "Task": _agent,
    "TaskCreate": lambda given: _first_value(given, "subject"),
    "TaskUpdate": _task_update,
    "TodoWrite": _todos,
    "WebFetch": _web,
    "WebSearch": _web,
    "Workflow": _agent,
    "Write": _write,
    "exit_plan_mode": lambda _: _PLAN,
}
