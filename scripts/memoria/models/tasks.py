"""Tasks: the questions to models, and the schemas of their answers.

Each function turns material into a Prompt: instructions from ``prompts/``, the outline of the answer, and the material
fenced as data. Limits are part of the schema: an answer that exceeds them is bad and is not cut.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from memoria.base.fence import fenced
from memoria.models.protocol import JsonObject, Prompt
from memoria.statements.fact import MAX_CONTENT

PROMPTS = Path(__file__).parent / "prompts"

NAME_CHARS = 300  # of a title, alias, tag or source in a prompt; the schemas below keep a model's own shorter
LINE_CHARS = 2_000  # of one row
PART_CHARS = 20_000  # of all rows of one kind in an entry or article

ARTICLE_KINDS = ("concept", "connection")
# Rules about a part of the material, by the words that they begin with: sent only with that part.
RULES_ABOUT = {
    "flush": {"done, dropped:": "open items", "known:": "known", "ended:": "known"},
    "learn": {"known:": "known", "ended:": "known"},
    "compile": {
        "Use a slug of the index": "articles",
        "Entries and articles name their project": "projects",
        "What stands under": "ended",
        "Compare each entry": "articles",
        "If there is a list of what was refused": "refused",
    },
}
# Fields of an answer that point at a part of the material.
FIELDS_ABOUT = {
    "done": "open items",
    "dropped": "open items",
    "ended": "known",
    "supersedes": "known",
    "replaces": "articles",
    "retire": "articles",
    "move": "articles",
}
VERDICTS = ("first", "second", "same", "both")  # which of two statements holds


def _text(limit: int) -> JsonObject:
    return {"type": "string", "maxLength": limit, "default": ""}


def _must(limit: int) -> JsonObject:
    return {"type": "string", "minLength": 1, "maxLength": limit}


def _many(item: JsonObject, limit: int) -> JsonObject:
    return {"type": "array", "items": item, "maxItems": limit, "default": []}


def _loose(part: JsonObject) -> JsonObject:
    """Return a part of a schema without its default."""
    return {name: rule for name, rule in part.items() if name != "default"}


def _object(required: Iterable[str], **properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


FLUSH_SHAPE = _object(
    ["worth_saving"],
    worth_saving={"type": "boolean"},
    title=_text(200),
    context=_text(2_000),
    key_exchanges=_many(_must(1_500), 40),
    statements=_many(
        _object(
            ["kind", "content"],
            kind=_must(20),  # the prompt names the kinds
            content=_must(1_500),
            quote=_text(2_000),
            importance={"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
            supersedes=_many(_must(80), 10),
            asked_as=_many(_must(80), 5),
        ),
        40,
    ),
    ended=_many(
        _object(["id", "quote"], id=_must(80), remains=_text(1_500), why=_text(300), quote=_text(2_000)),
        20,
    ),
    action_items=_many(_must(1_500), 40),
    done=_many(_must(80), 40),
    dropped=_many(_must(80), 40),
)
LEARN_SHAPE = _object(["statements"], **{name: FLUSH_SHAPE["properties"][name] for name in ("statements", "ended")})

# Loose on purpose beside what a statement cannot be without: ``statements.claim_check`` judges each one separately, and
# a bad one must cost neither the summary nor the good ones beside it.
_PARTS = ("importance", "tags", "keywords", "quote", "supersedes", "asked_as")
STATEMENTS: JsonObject = {
    "type": "array",
    "default": [],
    "items": {
        "type": "object",
        "properties": {"kind": _must(80), "content": _must(5_000)} | {name: {} for name in _PARTS},
        "required": ["kind", "content"],
    },
}
ENDED: JsonObject = {
    "type": "array",
    "default": [],
    "items": {
        "type": "object",
        "properties": {"id": _must(80)} | {name: {} for name in ("remains", "why", "quote")},
        "required": ["id"],
    },
}
FLUSH_SCHEMA: JsonObject = {
    **FLUSH_SHAPE,
    "properties": {**FLUSH_SHAPE["properties"], "statements": STATEMENTS, "ended": ENDED},
}
LEARN_SCHEMA = _object(["statements"], statements=_loose(STATEMENTS), ended=ENDED)

# With or without its folder: ``concepts/flush-race``. No path that leads out of the wiki matches.
SLUG = {"type": "string", "pattern": "^([a-z]+/)?[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 120}

CITED = {"type": "array", "items": _must(80), "minItems": 1, "maxItems": 500}
NUMBER = {"type": "integer", "minimum": 0}

COMPILE_SCHEMA = _object(
    ["articles"],
    articles={
        "type": "array",
        "maxItems": 200,
        "items": _object(
            ["slug", "title"],
            slug=SLUG,
            kind={"type": "string", "enum": list(ARTICLE_KINDS), "default": "concept"},
            title=_must(160),
            aliases=_many(_must(160), 20),
            tags=_many(_must(60), 20),
            asked_as=_many(_must(200), 20),
            summary=_text(2_000),
            claims=_many(
                _object(
                    ["text", "sources"],
                    text=_must(1_500),
                    sources=CITED,
                    replaces=_many(NUMBER, 40),
                    section=_text(120),
                    supersedes=_text(1_500),
                ),
                300,
            ),
            retire=_many(_object(["claim", "why", "sources"], claim=NUMBER, why=_must(600), sources=CITED), 100),
            move=_many(_object(["claim", "section"], claim=NUMBER, section=_must(120)), 300),
            related=_many(_object(["slug"], slug=SLUG, why=_text(400)), 40),
        ),
    },
)

QUERY_SCHEMA = _object(["text"], text=_text(6_000), rests_on=_many(_must(200), 40))

WEIGH_SCHEMA = _object(["needed"], needed=_many({"type": "integer", "minimum": 1}, 100))

CONTRADICTIONS_SCHEMA = _object(
    ["contradictions"],
    contradictions={
        "type": "array",
        "maxItems": 100,
        "items": _object(["pair"], pair={"type": "integer", "minimum": 1}, why=_text(400)),
    },
)

CONSOLIDATE_SHAPE = _object(
    ["pairs"],
    pairs=_many(
        _object(
            ["pair", "verdict"],
            pair={"type": "integer", "minimum": 1},
            verdict={"type": "string", "enum": list(VERDICTS)},
            why=_text(300),
        ),
        100,
    ),
)
# Loose on purpose: one bad verdict must not cost the others. ``worker.verdicts`` judges each one separately.
CONSOLIDATE_SCHEMA = _object(
    ["pairs"], pairs={"type": "array", "items": {"properties": {name: {} for name in ("pair", "verdict", "why")}}}
)


def flush(material: JsonObject) -> Prompt:
    """Ask for the note on a stretch of conversation.

    ``material``: ``{"project": str, "exchanges": [{"user", "assistant": str, "tools", "errors", "notes": [str]}],
    "known": [{"id", "kind", "day", "origin", "content"}]}``, and optionally ``"open_items": [{"id", "day", "text"}]``,
    those of the project. An exchange may have what ``transcripts.steps`` makes of it, and say that it was ``judged``.
    """
    carried = f"project: {material['project']}\n{told(material['exchanges'])}"
    parts = [*known_statements(material), ("conversation", carried)]
    if material.get("open_items"):
        rows = (f"{item['id']} · {item['day']} · {_cut(item['text'], NAME_CHARS)}" for item in material["open_items"])
        parts.insert(-1, ("open items", "\n".join(rows)))
    return _prompt("flush", FLUSH_SHAPE, parts, material, FLUSH_SCHEMA)


def learn(material: JsonObject, brief: Iterable[JsonObject]) -> Prompt:
    """Ask for the statements in exchanges of an open session.

    ``material``: as of ``flush``, without open items. ``brief``: the exchanges as the model is to be told of them.
    """
    parts = [*known_statements(material), ("conversation", told(brief))]
    return _prompt("learn", LEARN_SHAPE, parts, material, LEARN_SCHEMA)


def known_statements(material: JsonObject) -> list[tuple[str, str]]:
    """Return the known statements nearest to a conversation as a labelled part of a prompt, none without any."""
    rows = [
        f"{known['id']} · {known['kind']} · {known['day']} · {known['origin']} · {_cut(known['content'], MAX_CONTENT)}"
        for known in material.get("known", ())
    ]
    return [("known", "\n".join(rows))] if rows else []


def compile_(material: JsonObject) -> Prompt:
    """Ask for what new entries add to the wiki.

    ``material``: ``{"today": str, "entries": [...], "articles": [...], "index": [...]}`` with the fields that
    ``_entry``, ``_article`` and ``_row`` read; ``refused``, if there, says why claims of the last answer did not pass.
    """
    parts = [("entries", "\n\n".join(map(_entry, material["entries"])))]
    if material["articles"]:
        parts.append(("articles", "\n\n".join(map(_article, material["articles"]))))
    if material["index"]:
        parts.append(("index", "\n".join(map(_row, material["index"]))))
    if material.get("refused"):
        parts.append(("refused", "\n".join(_cut(reason, LINE_CHARS) for reason in material["refused"])))
    projects = {part.get("project", "") for name in ("entries", "articles", "index") for part in material[name]}
    about = {"projects"} if len(projects) > 1 else set()
    about |= {"ended"} if any(entry.get("ended") for entry in material["entries"]) else set()
    return _prompt("compile", COMPILE_SCHEMA, parts, material, about=about)


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


def weigh(material: JsonObject) -> Prompt:
    """Ask which notes a prompt needs.

    ``material``: ``{"prompt": str, "conversation": str, "notes": [str]}``; the conversation is what was said before.
    """
    rows = (f"{number}: {note}" for number, note in enumerate(material["notes"], 1))
    parts = [("conversation", material["conversation"])] if material["conversation"] else []
    parts += [("prompt", material["prompt"]), ("notes", "\n".join(rows))]
    return _prompt("weigh", WEIGH_SCHEMA, parts, material)


def contradictions(material: JsonObject) -> Prompt:
    """Ask which pairs of claims cannot both hold. ``material``: ``{"pairs": [{"one": str, "other": str}]}``."""
    rows = [
        f"pair {number}\n  one: {_cut(pair['one'], LINE_CHARS)}\n  other: {_cut(pair['other'], LINE_CHARS)}"
        for number, pair in enumerate(material["pairs"], 1)
    ]
    return _prompt("contradictions", CONTRADICTIONS_SCHEMA, [("pairs", "\n".join(rows))], material)


def consolidate(material: JsonObject) -> Prompt:
    """Ask which statement of each pair still holds.

    ``material``: ``{"pairs": [{"first": statement, "second": statement}]}``; a statement is ``{"name", "day", "origin",
    "text": str}``, where ``name`` is ``fact l-…`` or ``claim slug#n`` and ``origin`` is empty for a claim.
    """
    rows = [
        f"pair {number}\n{_statement(pair['first'])}\n{_statement(pair['second'])}"
        for number, pair in enumerate(material["pairs"], 1)
    ]
    return _prompt("consolidate", CONSOLIDATE_SHAPE, [("pairs", "\n".join(rows))], material, CONSOLIDATE_SCHEMA)


def _statement(statement: JsonObject) -> str:
    parts = (statement["name"], statement["day"], statement["origin"], _cut(statement["text"], LINE_CHARS))
    return " · ".join(filter(None, parts))


def _prompt(
    task: str,
    shape: JsonObject,
    parts: list[tuple[str, str]],
    material: JsonObject,
    schema: JsonObject | None = None,
    *,
    about: Collection[str] = (),
) -> Prompt:
    """``shape`` is outlined in the prompt; ``schema``, if looser, validates the answer.

    Rules and fields about something that the material does not hold are left out. ``about``: what it holds beside the
    labels of ``parts``.
    """
    holds = {*about, *(label for label, _ in parts)}
    without = {field for field, part in FIELDS_ABOUT.items() if part not in holds}
    text = "\n\n".join(
        [
            _instructions(task, holds),
            f"Shape of the answer:\n{outline(shape, without)}",
            *(fenced(label, carried) for label, carried in parts),
            "Answer now with the JSON object alone.",
        ]
    )
    return Prompt(task=task, text=text, schema=schema or shape, material=material)


def _instructions(task: str, holds: Collection[str]) -> str:
    """Return a task's instructions without the rules about parts that the material does not hold."""
    text = (PROMPTS / f"{task}.md").read_text(encoding="utf-8").strip()
    for begin, part in RULES_ABOUT.get(task, {}).items():
        if part not in holds:
            text = re.sub(rf"^- {re.escape(begin)}.*\n(?:  .*\n)*", "", text + "\n", flags=re.MULTILINE).rstrip("\n")
    return text


def outline(schema: Mapping[str, Any], without: Collection[str] = ()) -> str:
    """Return a short outline of a schema, which models read as well as the schema, at a fifth of its size.

    ``without``: names of fields to leave out.
    """
    if "enum" in schema:
        return "|".join(schema["enum"])
    if schema["type"] == "object":
        fields = ((name, part) for name, part in schema["properties"].items() if name not in without)
        return "{" + ", ".join(f'"{name}": {outline(part, without)}' for name, part in fields) + "}"
    if schema["type"] == "array":
        return f"[{outline(schema['items'], without)}]"
    return {"string": "str", "boolean": "bool", "number": "0..1", "integer": "int"}[schema["type"]]


def _cut(text: str, most: int) -> str:
    """Return at most ``most`` characters of ``text``: no schema limits what people write."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters, cut)"


def _rows(label: str, rows: Iterable[str], most: int) -> list[str]:
    """Return labelled rows up to ``most`` characters in total, each cut to the length that the schemas allow."""
    lines: list[str] = []
    for row in rows:
        short = _cut(f"{label}: {row}", LINE_CHARS)
        most -= len(short)
        if most < 0:
            lines.append(f"{label}: … (more than fits here)")
            break
        lines.append(short)
    return lines


def told(exchanges: Iterable[JsonObject]) -> str:
    """Return exchanges as a prompt tells them: numbered, a line for each step."""
    blocks = []
    for number, exchange in enumerate(exchanges, 1):
        head = f"[{number}, judged] " if exchange.get("judged") else f"[{number}] "
        blocks.append(head + "\n".join(f"{label}: {text}" for label, text in steps_of(exchange)))
    return "\n".join(blocks)


def steps_of(exchange: JsonObject) -> list[tuple[str, str]]:
    """Return what happened in an exchange, in order as far as that is known."""
    if "steps" in exchange:
        return list(exchange["steps"])
    labels = (("tool", "tools"), ("error", "errors"), ("note", "notes"))
    said = [(speaker, str(exchange[speaker])) for speaker in ("user", "assistant") if exchange.get(speaker)]
    return said + [(label, str(line)) for label, key in labels for line in exchange.get(key, ())]


def _entry(entry: JsonObject) -> str:
    lines = [f"entry {entry['id']} · {entry['day']} · project {entry['project']} · {_cut(entry['title'], NAME_CHARS)}"]
    if entry.get("context"):
        lines.append(f"context: {_cut(entry['context'], LINE_CHARS)}")
    for label, key in (
        ("exchange", "key_exchanges"),
        ("decision", "decisions"),
        ("lesson", "lessons"),
        ("no longer holds", "ended"),
    ):
        lines += _rows(label, entry.get(key, ()), PART_CHARS)
    facts = (f"({fact['kind']}): {fact['content']}" for fact in entry.get("learned", ()))
    return "\n".join(lines + [row.replace("learned: ", "learned ", 1) for row in _rows("learned", facts, PART_CHARS)])


def _article(article: JsonObject) -> str:
    owner = _owner(article)
    lines = [f"article {article['slug']} · {article['kind']} · {owner} · {_cut(article['title'], NAME_CHARS)}"]
    lines += [f"{label}: {_names(article[label])}" for label in ("aliases", "tags") if article.get(label)]
    if article.get("summary"):
        lines.append(f"summary: {_cut(article['summary'], LINE_CHARS)}")
    # the newest come last, and new entries are about those
    rows = [_cut(_claim(claim), LINE_CHARS) for claim in article.get("claims", ())]
    while rows and sum(map(len, rows)) > PART_CHARS:
        del rows[0]
    return "\n".join(lines + rows)


def _claim(claim: JsonObject) -> str:
    head = f"claim {claim['number']} · {claim['day']} · [{_cut(claim['section'], NAME_CHARS)}]"
    return f"{head} {claim['text']} ({_names(source.rsplit('^e-', 1)[-1] for source in claim['sources'])})"


def _names(names: Iterable[str]) -> str:
    return _cut(", ".join(_cut(name, NAME_CHARS) for name in names), LINE_CHARS)


def _owner(article: JsonObject) -> str:
    return f"project {article['project']}" if article.get("project") else "all projects"


def _row(row: JsonObject) -> str:
    return f"{row['slug']} · {_owner(row)} · {_cut(row['title'], NAME_CHARS)} · {_cut(row['summary'], LINE_CHARS)}"
