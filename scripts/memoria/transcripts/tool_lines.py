"""Tool lines: one line for each tool use, with what identifies it and nothing of what it moved.

A command, a path, a pattern, a URL; for edits and writes the identifiers in them, since what a session was about stands
there (docs/decisions/0001-capture.md has the figures). Knows the tools' inputs; does not know a transcript's lines or
turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memoria.search import identifiers

COMMAND = 600  # characters kept of a command, a query, a prompt's start
LINE = 4_000  # characters of a whole line
NAMES = 1_500  # characters of identifiers in it

Input = Mapping[str, Any]

_PLAN = "(the plan stands in the text)"
_SPACE = re.compile(r"\s+")


def describe(name: str, given: object) -> str:
    """Return the line for a use of tool ``name`` with input ``given``; never empty, never longer than ``LINE``."""
    values: Input = given if isinstance(given, Mapping) else {}
    detail = _FORMS.get(name, _any)(values)
    return f"{name} {detail}".strip()[:LINE]


def one_line(text: object, limit: int = COMMAND) -> str:
    """Return a text on one line; of what is over ``limit``, only the identifiers."""
    flat = _SPACE.sub(" ", text).strip() if isinstance(text, str) else ("" if text is None else str(text))
    if len(flat) <= limit:
        return flat
    rest = (word for word in identifiers.in_code([flat[limit:]]) if word not in flat[:limit])
    return f"{flat[:limit]} … {_fit(rest, NAMES)}".rstrip()


def _fit(words: Iterable[str], limit: int) -> str:
    """Return as many whole words as fit."""
    line = " ".join(words)
    return line if len(line) <= limit else line[:limit].rsplit(" ", 1)[0]


def names(old: Iterable[str], new: Iterable[str]) -> str:
    """Return the identifiers of an edit, added and removed ones first, at most ``NAMES`` characters."""
    before, after = identifiers.in_code(old), identifiers.in_code(new)
    common = set(before) & set(after)
    ordered = [word for word in (*after, *before) if word not in common] + [word for word in after if word in common]
    return _fit(dict.fromkeys(ordered), NAMES)


def _edit(given: Input) -> str:
    edits = given.get("edits")
    parts = [edit for edit in edits if isinstance(edit, Mapping)] if isinstance(edits, list) else [given]
    return _file(given, names(_strings(parts, "old_string"), _strings(parts, "new_string", "new_source")))


def _write(given: Input) -> str:
    return _file(given, names((), _strings([given], "content")))


def _file(given: Input, touched: str) -> str:
    path = _first(given, "file_path", "notebook_path", "path")
    return f"{path}: {touched}" if touched else path


def _strings(parts: Iterable[Input], *keys: str) -> list[str]:
    return [part[key] for part in parts for key in keys if isinstance(part.get(key), str)]


def _first(given: Input, *keys: str) -> str:
    return next((one_line(given[key]) for key in keys if given.get(key)), "")


def _read(given: Input) -> str:
    path, start, count = _first(given, "file_path", "path"), given.get("offset"), given.get("limit")
    return f"{path} from {start or 1} ({count} lines)" if count else path


def _search(given: Input) -> str:
    where = [str(given[key]) for key in ("path", "glob", "type") if given.get(key)]
    return " in ".join([_first(given, "pattern"), *where])


def _web(given: Input) -> str:
    return " · ".join(filter(None, (_first(given, "url"), _first(given, "prompt", "query"))))


def _agent(given: Input) -> str:
    kind = _first(given, "subagent_type", "name")
    return " · ".join(filter(None, (kind, _first(given, "description"), _first(given, "prompt", "script"))))


def _todos(given: Input) -> str:
    todos = given.get("todos")
    items = [todo for todo in todos if isinstance(todo, Mapping)] if isinstance(todos, list) else []
    return "; ".join(f"[{todo.get('status', '?')}] {one_line(todo.get('content'), 160)}" for todo in items)


def _task_update(given: Input) -> str:
    """Return the change of a task: its status and, where a reader knows it, its subject in place of its number."""
    task = _first(given, "subject") or f"#{given.get('taskId', '?')}"
    return f"[{given['status']}] {task}" if given.get("status") else task


def _questions(given: Input) -> str:
    asked = given.get("questions")
    items = [item for item in asked if isinstance(item, Mapping)] if isinstance(asked, list) else []
    return " | ".join(f"{one_line(item.get('question'), 300)} ({_options(item)})" for item in items)


def _options(question: Input) -> str:
    options = question.get("options")
    labels = (
        [option.get("label") for option in options if isinstance(option, Mapping)] if isinstance(options, list) else []
    )
    return ", ".join(one_line(label, 80) for label in labels)


def _any(given: Input) -> str:
    """Describe a tool that is not known by name (an MCP server's, one to come): every short value under its key."""
    return " ".join(f"{key}={one_line(value, 200)}" for key, value in given.items() if value not in (None, "", [], {}))


_FORMS: dict[str, Callable[[Input], str]] = {
    "Agent": _agent,
    "AskUserQuestion": _questions,
    "Bash": lambda given: _first(given, "command"),
    "Edit": _edit,
    "ExitPlanMode": lambda _: _PLAN,
    "Glob": _search,
    "Grep": _search,
    "LS": _read,
    "MultiEdit": _edit,
    "NotebookEdit": _edit,
    "Read": _read,
    "Task": _agent,
    "TaskCreate": lambda given: _first(given, "subject"),
    "TaskUpdate": _task_update,
    "TodoWrite": _todos,
    "WebFetch": _web,
    "WebSearch": _web,
    "Workflow": _agent,
    "Write": _write,
    "exit_plan_mode": lambda _: _PLAN,
}
