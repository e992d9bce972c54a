"""Forty answers as models really write them, each with one fault, and what is good in them.

``GOOD`` answers are what the model meant. A fault is mended when the good answer, or what is left of it without the
one bad line, is read from it without a second call.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from memoria.models import tasks
from memoria.models.protocol import JsonObject, Prompt

NEW: JsonObject = {"id": "l-01k9x2ab", "kind": "fact", "day": "2026-11-18", "about": "Uploads", "text": "It queues."}

FLUSH: JsonObject = {
    "worth_saving": True,
    "title": "Fix the upload queue",
    "context": "Uploads were lost when the worker restarted.",
    "key_exchanges": ["Uploads vanish → the queue was kept in memory.", "Which store → `sqlite`, no service more."],
    "action_items": ["Add the retry to the uploader."],
    "statements": [
        {"kind": "decision", "content": "Uploads go through a queue in sqlite.", "quote": "keep it in sqlite"}
    ],
}
COMPILE: JsonObject = {
    "places": [
        {"id": "l-01k9x2ab", "article": "upload-queue", "section": "Behaviour"},
        {"id": "l-01k9x3cd", "article": "upload-queue", "section": "Behaviour"},
    ],
    "articles": [
        {
            "slug": "upload-queue", "title": "Upload queue", "summary": "Uploads go through a queue in `sqlite`.",
            "aliases": ["uploads"],
        }
    ],
    "links": [{"from": "upload-queue", "to": "worker", "why": "It empties the queue."}],
}  # fmt: skip
STATEMENTS: list[JsonObject] = [
    {"kind": "preference", "content": "Use pnpm, not npm.", "quote": "we use pnpm here", "importance": 0.8},
    {"kind": "operational", "content": "Tests run with `just test`.", "quote": "just test"},
]
GOOD = {"flush": FLUSH, "compile": COMPILE}


@dataclass(frozen=True)
class Fault:
    """A malformed answer: what a model ``wrote`` for a task, and the data that must be read from it.

    ``again``: nothing certain can be read, and a second call is right.
    """

    task: str
    name: str
    wrote: str
    meant: JsonObject
    again: bool = False

    @property
    def prompt(self) -> Prompt:
        """The question that was answered."""
        if self.task == "flush":
            return tasks.flush({"project": "shop", "exchanges": [{"user": "keep it in sqlite", "assistant": "Done."}]})
        statements = [NEW, {**NEW, "id": "l-01k9x3cd", "text": "It survives a restart."}]
        return tasks.compile_({"statements": statements, "articles": [], "index": []})


def holds(found: Any, meant: Any) -> bool:
    """Return whether everything that was meant is in what was found, which may hold defaults beside it."""
    if isinstance(meant, dict):
        return isinstance(found, dict) and all(holds(found.get(key), part) for key, part in meant.items())
    if isinstance(meant, list):
        same = isinstance(found, list) and len(found) == len(meant)
        return same and all(holds(one, other) for one, other in zip(found, meant, strict=True))
    return bool(found == meant)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _with(task: str, **parts: Any) -> JsonObject:
    return {**GOOD[task], **parts}


def _without(value: JsonObject, *names: str) -> JsonObject:
    return {key: part for key, part in value.items() if key not in names}


def _text(task: str, name: str, old: str, new: str, meant: JsonObject | None = None) -> Fault:
    """Return the fault of a good answer's text in which ``old`` became ``new``."""
    good = _json(GOOD[task])
    assert old in good, (name, old)
    return Fault(task, name, good.replace(old, new), meant or GOOD[task])


def _data(task: str, name: str, wrote: Any, meant: JsonObject | None = None, **more: Any) -> Fault:
    return Fault(task, name, _json(wrote), meant or GOOD[task], **more)


def _flush() -> list[Fault]:
    good = _json(FLUSH)
    return [
        _data("flush", "worth_saving is missing", _without(FLUSH, "worth_saving")),
        _data("flush", "worth_saving is a word", _with("flush", worth_saving="yes")),
        _data("flush", "a string for a list", _with("flush", action_items=FLUSH["action_items"][0])),
        _data(
            "flush", "a bulleted text for a list",
            _with("flush", key_exchanges="\n".join(f"- {line}" for line in FLUSH["key_exchanges"])),
        ),
        _data("flush", "objects with a text", _with("flush", action_items=[{"text": FLUSH["action_items"][0]}])),
        _data(
            "flush", "a line is an object with its reason",
            _with("flush", action_items=[{"item": FLUSH["action_items"][0], "why": "it is memory"}]),
            _with("flush", action_items=[f"{FLUSH['action_items'][0]}; why: it is memory"]),
        ),
        _data("flush", "an object for a list", _with("flush", key_exchanges=dict(enumerate(FLUSH["key_exchanges"])))),
        _data("flush", "a bare line that is no text", _with("flush", key_exchanges=[*FLUSH["key_exchanges"], True])),
        _text("flush", "trailing commas", '"\n ]', '",\n ],'),
        _text("flush", "comments", '"key_exchanges"', '// what was asked\n "key_exchanges"'),
        Fault("flush", "single quotes, Python's literals", str(FLUSH), FLUSH),
        _text("flush", "names without quotes", '"title"', "title"),
        _text("flush", "typographic quotes", '"Fix the upload queue"', "“Fix the upload queue”"),
        _text(
            "flush", "quotes inside a text", "Uploads were lost", 'The "old" uploads were lost',
            _with("flush", context='The "old" uploads were lost when the worker restarted.'),
        ),
        _text("flush", "a missing comma", ',\n  "Which', '\n  "Which'),
        _data("flush", "names in another case", {"worthSaving": True, "Key Exchanges": FLUSH["key_exchanges"],
              "Action Items": FLUSH["action_items"],
              **_without(FLUSH, "worth_saving", "key_exchanges", "action_items")}),
        _data("flush", "the answer in an object of its own", {"note": FLUSH}),
        Fault("flush", "the answer as a JSON string", json.dumps(good), FLUSH),
        _data(
            "flush", "a title of 300 characters", _with("flush", title="Fix " + "the upload queue " * 18),
            _without(FLUSH, "title", "context"),
        ),
        _data(
            "flush", "a line of 2,000 characters", _with("flush", action_items=["A worker forgets. " * 110]),
            _with("flush", action_items=[("A worker forgets. " * count)[:1_493].strip() for count in (110, 27)]),
        ),
        Fault("flush", "cut off in the middle", good[: len(good) // 2], FLUSH, again=True),
        Fault("flush", "no JSON at all", "I am sorry, I cannot help with that.", FLUSH, again=True),
    ]  # fmt: skip


def _compile() -> list[Fault]:
    places, (article,) = COMPILE["places"], COMPILE["articles"]
    return [
        _data("compile", "places by id", _with("compile", places={place["id"]: place["article"] for place in places})),
        _data("compile", "places are strings", _with("compile", places=[place["id"] for place in places])),
        _data("compile", "a place without an id", _with("compile", places=[*places, {"article": "upload-queue"}])),
        _data("compile", "an article without a slug", _with("compile", articles=[article, {"title": "Ports"}])),
        _data("compile", "ids as numbers", _with("compile", places=[{**places[0], "id": 1}, places[1]])),
        _data("compile", "a link is a slug", _with("compile", links=["worker"])),
        _data("compile", "an article is its slug", _with("compile", articles=[article["slug"]])),
        _data("compile", "a bare list", places),
        _data("compile", "a bare place", places[0]),
        Fault("compile", "a place a line", "\n".join(json.dumps(place) for place in places), COMPILE),
        Fault("compile", "cut off after a place", _json(COMPILE)[:120], COMPILE, again=True),
    ]


def _statements() -> list[Fault]:
    renamed = [{**_without(fact, "content"), "statement": fact["content"]} for fact in STATEMENTS]

    def fault(name: str, wrote: Any, meant: Any = STATEMENTS) -> Fault:
        return _data("flush", name, _with("flush", statements=wrote), _with("flush", statements=meant))

    return [
        _data("flush", "a bare list of facts", STATEMENTS, _with("flush", statements=STATEMENTS)),
        fault("a single fact", STATEMENTS[0], STATEMENTS[:1]), fault("the content under another name", renamed),
        fault("a fact that is none", [*STATEMENTS, None]), fault('"none" for the list', "none", []),
    ]  # fmt: skip


FAULTS: tuple[Fault, ...] = (*_flush(), *_compile(), *_statements())
