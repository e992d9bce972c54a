"""Tools: what a model can call: the name of each tool, its purpose, and the schema of its arguments.

The server describes them as it starts. What runs one is imported for its first call: ``runs`` names a module of this
folder and a function of it, which takes the session and the arguments.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoria.mcp.calls import Session

Json = dict[str, Any]

LINES = 400  # of a page in one answer
KEY_CHARS, NOTE_CHARS = 256, 4_096  # as working memory has them
STATUSES = ("pending", "in_progress", "blocked", "completed", "failed", "cancelled")
KINDS = ("article", "entry", "fact", "turn")  # of search results
STATED = ("decision", "fact", "debugging", "workaround", "operational")  # kinds of facts that a model may state


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. ``schema`` is the JSON schema of its arguments, which are checked before it runs.

    ``destroys``: it may remove or replace what was stored. ``is_open``: it reaches a model, and so perhaps another
    machine.
    """

    name: str
    description: str
    schema: Json
    runs: str
    reads_only: bool = False
    destroys: bool = False
    is_open: bool = False

    @property
    def writes(self) -> bool:
        """Whether it stores something, or hands something to a model."""
        return not self.reads_only and self.name != "forget"

    def run(self, session: Session, given: Json) -> str:
        """Return the tool's answer; raise ExpectedError when there is none."""
        module, _, function = self.runs.partition(".")
        answer: str = getattr(importlib.import_module(f"memoria.mcp.{module}"), function)(session, given)
        return answer


def arguments(required: Sequence[str] = (), **properties: Json) -> Json:
    """Return the JSON schema of a tool's arguments: these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _text(most: int, least: int = 1, **more: Any) -> Json:
    return {"type": "string", "minLength": least, "maxLength": most, **more}


def _int(most: int) -> Json:
    return {"type": "integer", "minimum": 1, "maximum": most}


def _list(items: Json, most: int) -> Json:
    return {"type": "array", "items": items, "maxItems": most}


_KEY = _text(KEY_CHARS, pattern="^[^_]", description="The key; not beginning with '_'.")
_START = _int(10_000_000)
_NOTE = _text(NOTE_CHARS)
_SHARE: Json = {"type": "number", "minimum": 0}
_CONTENT = _text(600, 8)
_IDENT = _text(100)
_ASKED = _text(1_000, 2, pattern="\\S")

TOOLS = (
    Tool(
        "working",
        "What this session holds in mind, which survives compaction: task, notes, keys. Or one key.",
        arguments(
            key=_KEY,
            outwards={"type": "boolean", "description": "Also in the project's and the agent's memory."},
            first_character=_START,
        ),
        "memory_tools.read_working",
        reads_only=True,
    ),
    Tool(
        "remember_now",
        "Keep for this session: a note, the task or progress on it, a value under a key.",
        arguments(
            note=_NOTE,
            task={**_NOTE, "description": "A new task: its goal."},
            step=_text(500),
            status={"enum": list(STATUSES)},
            percent={**_SHARE, "maximum": 100},
            key=_KEY,
            value={"description": "Any JSON; null deletes the key."},
        )
        | {"minProperties": 1, "dependentRequired": {"key": ["value"], "value": ["key"]}},
        "memory_tools.remember_now",
        destroys=True,
    ),
    Tool(
        "search",
        "Search everything that earlier sessions recorded: articles, daily entries, learned facts, turns. read opens "
        "each result by its path; an id (e-…, l-…) finds what it names.",
        arguments(["query"], query=_text(1_000), limit=_int(20), kinds=_list({"enum": list(KINDS)}, len(KINDS))),
        "search.search",
        reads_only=True,
    ),
    Tool(
        "read",
        "Read what search named, by the path that it shows: an article, an entry, a fact, archived turns. Also takes a "
        "wikilink's target or an id (e-…, l-…).",
        arguments(["path"], path=_text(300), first_line=_START, lines=_int(LINES)),
        "pages.read",
        reads_only=True,
    ),
    Tool(
        "query",
        "Have memoria's own model answer a question from articles and daily logs, with checked links. It costs a "
        "model call within the daily budget and takes some seconds: use search and read when they will do.",
        arguments(["question"], question=_ASKED),
        "search.query",
        is_open=True,
    ),
    Tool(
        "why",
        "Show the entries and the very words that a statement of the memory rests on: who said it, and when. Takes "
        "words of the statement, an article's title or path, or an id (e-…, l-…).",
        arguments(["statement"], statement=_ASKED),
        "origin.why",
        reads_only=True,
    ),
    Tool(
        "remember",
        "Store one fact for later sessions, in one to three self-contained sentences. The user's preferences and "
        "corrections are learned from the user's own words and cannot be added here.",
        arguments(
            ["content"],
            content=_CONTENT,
            kind={"enum": list(STATED)},
            importance={**_SHARE, "maximum": 1},
            tags=_list(_text(40), 8),
        ),
        "fact_tools.remember",
    ),
    Tool(
        "facts",
        "List the learned facts that hold in this project, the latest first, each with its id (l-…).",
        arguments(kind={"enum": ["correction", "preference", *STATED]}, limit=_int(200), first_character=_START),
        "fact_tools.facts",
        reads_only=True,
    ),
    Tool(
        "update",
        "Give a fact that an assistant stated another wording, when it is no longer right. What the user said is the "
        "user's to change, with `memoria learned edit`.",
        arguments(["id", "content"], id=_IDENT, content=_CONTENT),
        "fact_tools.update",
        destroys=True,
    ),
    Tool(
        "forget",
        "Delete a learned fact for good when the user asks for it. search shows the id (l-…).",
        arguments(["id"], id=_IDENT),
        "fact_tools.forget",
        destroys=True,
    ),
)
