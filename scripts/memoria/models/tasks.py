"""Tasks: the questions to models, and the schemas of their answers.

Each function turns material into a Prompt: instructions from ``prompts/``, the outline of the answer, and the material
fenced as data. Limits are part of the schema: an answer that exceeds them is bad and is not cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from memoria.base.fence import defuse, fence
from memoria.models.protocol import JsonObject, Prompt
from memoria.statements.fact import MAX_STORED

PROMPTS = Path(__file__).parent / "prompts"

NAME_CHARS = 300  # of a title, alias, tag or source in a prompt; the schemas below keep a model's own shorter
LINE_CHARS = 2_000  # of one row


def _text(limit: int) -> JsonObject:
    return {"type": "string", "maxLength": limit, "default": ""}


def _must(limit: int) -> JsonObject:
    return {"type": "string", "minLength": 1, "maxLength": limit}


def _list_of(item: JsonObject, limit: int) -> JsonObject:
    return {"type": "array", "items": item, "maxItems": limit, "default": []}


def _loosen(part: JsonObject) -> JsonObject:
    """Return a part of a schema without its default."""
    return {name: rule for name, rule in part.items() if name != "default"}


def _object(required: list[str], **properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _separate(names: Iterable[str], **needed: JsonObject) -> JsonObject:
    """Return the schema of a list of objects that have what is ``needed``, and anything under the other names."""
    properties = needed | {name: {} for name in names}
    items = {"type": "object", "properties": properties, "required": list(needed)}
    return {"type": "array", "default": [], "items": items}


# Loose on purpose beside what a statement cannot be without: ``statements.claim_check`` judges each one separately, and
# a bad one must cost neither the summary nor the good ones beside it. ``redact.marker`` judges secrets in the same way.
FLUSH_SCHEMA = _object(
    ["worth_saving"],
    worth_saving={"type": "boolean"},
    title=_text(200),
    context=_text(2_000),
    key_exchanges=_list_of(_must(1_500), 40),
    statements=_separate(["importance", "quote", "supersedes", "asked_as"], kind=_must(80), content=_must(5_000)),
    ended=_separate(["remains", "quote"], id=_must(80)),
    asked={"default": []},
    action_items=_list_of(_must(1_500), 40),
    done=_list_of(_must(80), 40),
    dropped=_list_of(_must(80), 40),
    secrets={"default": []},
)

COMPILE_SCHEMA = _object(
    ["places"],
    places=_loosen(_list_of(_object(["id", "article"], id=_must(80), article=_must(120), section=_text(60)), 300)),
    articles=_list_of(
        _object(["slug"], slug=_must(120), title=_text(160), aliases=_list_of(_must(160), 20), summary=_text(600)), 100
    ),
    same=_list_of(_object(["id", "other"], id=_must(80), other=_must(80)), 100),
    ends=_list_of(_object(["id", "by"], id=_must(80), by=_must(80)), 100),
    links=_list_of(_object(["from", "to"], **{"from": _must(120), "to": _must(120), "why": _text(200)}), 40),
    connections=_list_of(_object(["text", "ids"], text=_must(400), ids=_list_of(_must(80), 10)), 10),
)

QUERY_SCHEMA = _object(["text"], text=_text(6_000), rests_on=_list_of(_must(200), 40))

WIDEN_SCHEMA = _object(["words"], words=_loosen(_list_of(_text(200), 200)))

WEIGH_SCHEMA = _object(["needed"], needed=_list_of({"type": "integer", "minimum": 1}, 100))

# What a request says of the answer: models read it as well as the schema, at a fifth of its size.
SHAPES = {
    "flush": (
        '{"worth_saving": bool, "title": str, "context": str, "key_exchanges": [str], "statements": [{"kind": str, '
        '"content": str, "quote": str, "importance": 0..1, "supersedes": [str], "asked_as": [str]}], "ended": '
        '[{"id": str, "remains": str, "quote": str}], "asked": [{"id": str, "asked_as": [str]}], '
        '"action_items": [str], "done": [str], "dropped": [str], "secrets": [str]}'
    ),
    "compile": (
        '{"places": [{"id": str, "article": str, "section": str}], "articles": [{"slug": str, "title": str, '
        '"aliases": [str], "summary": str}], "same": [{"id": str, "other": str}], "ends": [{"id": str, "by": str}], '
        '"links": [{"from": str, "to": str, "why": str}], "connections": [{"text": str, "ids": [str]}]}'
    ),
    "query": '{"text": str, "rests_on": [str]}',
    "widen": '{"words": [str]}',
    "weigh": '{"needed": [int]}',
}


def flush(material: JsonObject) -> Prompt:
    """Ask for the note on a stretch of conversation.

    ``material``: ``{"project": str, "exchanges": [{"steps": [(label, text)]}], "known": [{"id", "kind", "day",
    "origin", "content", "is_asked"}]}``, and optionally ``"open_items": [{"id", "day", "text"}]``, those of the
    project, and ``"before": str``, Claude's words that the conversation answers. What ``offline`` reads of an exchange
    besides are ``"user"`` and ``"assistant"``.
    """
    blocks = (
        f"[{number}] " + "\n".join(f"{label}: {text}" for label, text in exchange.get("steps", ()))
        for number, exchange in enumerate(material["exchanges"], 1)
    )
    items = (f"{one['id']} · {one['day']} · {_cut(one['text'], NAME_CHARS)}" for one in material.get("open_items", ()))
    parts = [
        ("known", "\n".join(map(_known_row, material.get("known", ())))),
        ("just before", material.get("before", "")),
        ("open items", "\n".join(items)),
        ("conversation", "\n".join([f"project: {material['project']}", *blocks])),
    ]
    return _prompt("flush", FLUSH_SCHEMA, parts, material)


def _known_row(known: JsonObject) -> str:
    """Return the row of a known statement; the id of one without phrases by which it is asked for is marked."""
    mark = "" if known["is_asked"] else "*"
    about = f"{known['id']}{mark} · {known['kind']} · {known['day']} · {known['origin']}"
    return f"{about} · {_cut(known['content'], MAX_STORED)}"


def compile_(material: JsonObject) -> Prompt:
    """Ask where the statements of one project stand in the wiki.

    ``material``: ``{"statements": [{"id", "kind", "day", "about", "text"}], "articles": [{"slug", "title", "aliases",
    "summary", "lines": [{"id", "day", "section", "text"}]}], "index": [{"slug", "title", "summary"}]}``; ``about`` is
    the title of the entry that a statement is in; ``refused``, if there, says what was wrong with the last answer.
    """
    parts = [
        ("statements", "\n".join(_statements(material["statements"]))),
        ("articles", "\n\n".join(map(_article, material["articles"]))),
        ("index", "\n".join(map(_row, material["index"]))),
        ("refused", "\n".join(_cut(reason, LINE_CHARS) for reason in material.get("refused", ()))),
    ]
    return _prompt("compile", COMPILE_SCHEMA, parts, material)


def query(material: JsonObject) -> Prompt:
    """Ask for an answer from passages.

    ``material``: ``{"question": str, "passages": [{"ref", "kind", "title", "date", "text": str}]}``.
    """
    blocks = [
        f"[[{part['ref']}]] · {part['kind']} · {part['date']} · {_cut(part['title'], NAME_CHARS)}\n{part['text']}"
        for part in material["passages"]
    ]
    parts = [("question", material["question"]), ("passages", "\n\n".join(blocks))]
    return _prompt("query", QUERY_SCHEMA, parts, material)


def widen(material: JsonObject) -> Prompt:
    """Ask for the words of notes that a prompt may need.

    ``material``: ``{"prompt": str, "conversation": str}``; the conversation is what was said before.
    """
    return _prompt("widen", WIDEN_SCHEMA, _prompt_parts(material), material)


def weigh(material: JsonObject) -> Prompt:
    """Ask which notes a prompt needs.

    ``material``: that of ``widen`` with ``"notes": [str]``.
    """
    rows = (f"{number}: {note}" for number, note in enumerate(material["notes"], 1))
    return _prompt("weigh", WEIGH_SCHEMA, [*_prompt_parts(material), ("notes", "\n".join(rows))], material)


def _prompt_parts(material: JsonObject) -> list[tuple[str, str]]:
    """Return a prompt, below the conversation before it, as labelled parts."""
    return [("conversation", material["conversation"]), ("prompt", material["prompt"])]


def _prompt(task: str, schema: JsonObject, parts: list[tuple[str, str]], material: JsonObject) -> Prompt:
    """Return the question with its material as labelled parts; empty ones are left out."""
    text = "\n\n".join(
        [
            (PROMPTS / f"{task}.md").read_text(encoding="utf-8").strip(),
            f"Shape of the answer:\n{SHAPES[task]}",
            *(fence(label, carried) for label, carried in parts if carried),
            "Answer now with the JSON object alone.",
        ]
    )
    return Prompt(task=task, text=text, schema=schema, material=material)


def _cut(text: str, most: int) -> str:
    """Return at most ``most`` characters of ``text``: no schema limits what people write."""
    if len(text) <= most:
        return text
    return f"{defuse(text)[:most]}… ({len(text)} characters, cut)"  # neutral first: the end may say what it refers to


def _statements(rows: Iterable[JsonObject]) -> Iterator[str]:
    """Yield the rows of statements, below the title of the entry that they are in."""
    about = ""
    for row in rows:
        if row["about"] != about:
            about = row["about"]
            yield f"# {_cut(about, NAME_CHARS)}"
        yield f"{row['id']} · {row['kind']} · {row['day']} · {_cut(row['text'], LINE_CHARS)}"


def _article(article: JsonObject) -> str:
    names = ", ".join(_cut(name, NAME_CHARS) for name in (article["title"], *article["aliases"]))
    rows = [f"article {article['slug']} · {_cut(names, LINE_CHARS)}"]
    rows += [f"summary: {_cut(article['summary'], LINE_CHARS)}"] if article["summary"] else []
    return "\n".join([*rows, *(_line(line) for line in article["lines"])])


def _line(line: JsonObject) -> str:
    return f"{line['id']} · {line['day']} · [{_cut(line['section'], NAME_CHARS)}] {_cut(line['text'], LINE_CHARS)}"


def _row(row: JsonObject) -> str:
    return f"{row['slug']} · {_cut(row['title'], NAME_CHARS)} · {_cut(row['summary'], LINE_CHARS)}"
