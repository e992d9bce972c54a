"""Forty answers as models really write them, each with one fault, and what is good in them.

``GOOD`` answers are what the model meant. A fault is mended when the good answer, or what is left of it without the
one bad line, is read from it without a second call.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

from memoria.models import tasks
from memoria.models.protocol import JsonObject, Prompt
from memoria.models.tasks import LEARN_SCHEMA

ENTRY: JsonObject = {"id": "01k9x2ab", "day": "2026-11-18", "project": "shop", "title": "Uploads", "context": "Queue."}
OTHER: JsonObject = {**ENTRY, "id": "01k9x3cd", "title": "Ports"}

FLUSH: JsonObject = {
    "worth_saving": True,
    "title": "Fix the upload queue",
    "context": "Uploads were lost when the worker restarted.",
    "key_exchanges": ["Uploads vanish → the queue was kept in memory.", "Which store → `sqlite`, no service more."],
    "action_items": ["Add the retry to the uploader."],
    "statements": [
        {"kind": "decision", "content": "Uploads go through a queue in sqlite.", "quote": "keep it in sqlite"},
    ],
}
COMPILE: JsonObject = {
    "articles": [
        {
            "slug": "upload-queue",
            "title": "Upload queue",
            "summary": "Uploads go through a queue in `sqlite`.",
            "tags": ["uploads"],
            "claims": [
                {"text": "Uploads go through a queue in `sqlite`.", "sources": ["01k9x2ab"]},
                {"text": "The queue survives a restart.", "sources": ["01k9x2ab"]},
            ],
            "related": [{"slug": "worker", "why": "It empties the queue."}],
        }
    ]
}
LEARN: JsonObject = {
    "statements": [
        {"kind": "preference", "content": "Use pnpm, not npm.", "quote": "we use pnpm here", "importance": 0.8},
        {"kind": "operational", "content": "Tests run with `just test`.", "quote": "just test"},
    ]
}
GOOD = {"flush": FLUSH, "compile": COMPILE, "learn": LEARN}


@dataclass(frozen=True)
class Fault:
    """A malformed answer: what a model ``wrote`` for a task, and the data that must be read from it.

    ``again``: nothing certain can be read, and a second call is right.
    """

    task: str
    name: str
    wrote: str
    meant: JsonObject
    entries: tuple[JsonObject, ...] = (ENTRY,)
    again: bool = False

    @property
    def prompt(self) -> Prompt:
        """The question that was answered."""
        if self.task == "flush":
            return tasks.flush({"project": "shop", "exchanges": [{"user": "keep it in sqlite", "assistant": "Done."}]})
        if self.task == "compile":
            entries = list(self.entries)
            return tasks.compile_({"today": "2026-11-18", "entries": entries, "articles": [], "index": []})
        return Prompt("learn", "…", LEARN_SCHEMA, {"exchanges": []})


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


def _article(**parts: Any) -> JsonObject:
    return {"articles": [{**COMPILE["articles"][0], **parts}]}


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
    claims = COMPILE["articles"][0]["claims"]
    both = copy.deepcopy(COMPILE)
    both["articles"].append({"slug": "ports", "title": "Ports", "claims": [{"text": "Two.", "sources": ["01k9x3cd"]}]})
    unsourced = [{"text": claim["text"]} for claim in claims]
    return [
        _data("compile", "a slug in capitals", _article(slug="Upload-Queue")),
        _data("compile", "the only entry is no source", _article(claims=unsourced)),
        _data("compile", "claims are strings", _article(claims=[claim["text"] for claim in claims])),
        _data(
            "compile", "sources in other words",
            _article(claims=[{**claims[0], "sources": "[[daily/2026-11-18#^e-01k9x2ab]]"},
                             {**claims[1], "sources": ["entry 01K9X2AB"]}]),
            entries=(ENTRY, OTHER),
        ),
        _data("compile", "a bad claim among good ones", _article(claims=[*claims, {"sources": ["01k9x2ab"]}])),
        _data("compile", "a bad article among good ones", {"articles": [*COMPILE["articles"], {"slug": "../../x"}]}),
        _data("compile", "the title is missing", {"articles": [_without(COMPILE["articles"][0], "title")]}),
        _data("compile", "related is a list of slugs", _article(related=["worker"]),
              _article(related=[{"slug": "worker"}])),
        _data("compile", "a bare list", COMPILE["articles"]),
        _data("compile", "a bare article", COMPILE["articles"][0]),
        Fault("compile", "an article a line", "\n".join(json.dumps(part) for part in both["articles"]), both,
              (ENTRY, OTHER)),
        Fault("compile", "cut off after an article", _json(both)[:-80], both, (ENTRY, OTHER), again=True),
    ]  # fmt: skip


def _learn() -> list[Fault]:
    facts = LEARN["statements"]
    renamed = [{**_without(fact, "content"), "statement": fact["content"]} for fact in facts]
    return [
        _data("learn", "a bare list of facts", facts),
        _data("learn", "a single fact", {"statements": facts[0]}, {"statements": facts[:1]}),
        _data("learn", "the content under another name", {"statements": renamed}),
        _data("learn", "a fact that is none", {"statements": [*facts, None]}),
        _data("learn", '"none" for the list', {"statements": "none"}, {"statements": []}),
    ]


FAULTS: tuple[Fault, ...] = (*_flush(), *_compile(), *_learn())
