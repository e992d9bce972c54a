"""Wire: a learned fact as a row of a memory server, and back.

A fact carries its id, kind, project and the rest of its particulars in the row's tags, so that another machine reads
the very same fact. Knows no network and no store.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from memoria.exchange.memory_server import MAX_TAGS, Memory
from memoria.ground import clock
from memoria.statements.fact import GLOBAL, KINDS, Fact, Stamp, new_id, plain, words

MAX_FREE_TAGS, MAX_KEYWORDS = 8, 20
_NO_ID: Final = "l-00000000"
_CATEGORIES: Final = {"preference": "preferences", "correction": "preferences", "decision": "decisions"}
_KINDS: Final = {"preferences": "preference", "decisions": "decision"}
_QUOTES: Final = str.maketrans(dict.fromkeys('"`\u2018\u2019\u201c\u201d\u00b4', "'"))
_TOLD: Final = (
    "id", "kind", "origin", "project", "time", "supersedes", "ended", "successor", "repetition", "seen", "last", "also",
)  # fmt: skip


def to_memory(fact: Fact, number: int = 0, edited: datetime | None = None) -> Memory:
    """Return the fact as a server keeps it. The quote and the session stay on this machine.

    ``edited``: when it got its words, by the server's clock; a row's own time says only when it was sent.
    """
    stored = fact.to_dict()
    told = {name: stored[name] for name in _TOLD if name in stored}
    tags = ["memoria"]
    for name, value in told.items():
        tags += [f"{name}:{part}" for part in (value if isinstance(value, list) else [value])]
    return Memory(
        id=number,
        content=fact.content,
        category=_CATEGORIES.get(fact.kind, "facts"),
        tags=_fitting([*tags, *fact.tags, *_edited_tag(fact.content, edited)]),
        keywords=_fitting(list(fact.keywords)),
        importance=fact.importance,
    )


def _edited_tag(content: str, edited: datetime | None) -> list[str]:
    """Return the tag that says when these words were written; it holds for no other words."""
    return [f"edited:{edited.isoformat(timespec='milliseconds')}/{words_digest(content)}"] if edited else []


def edited_at(memory: Memory) -> datetime | None:
    """Return when a row got its words, by the server's clock."""
    moment, _, words_then = str(particulars(memory.tags)[0].get("edited", "")).partition("/")
    said = clock.parse(moment) if words_then == words_digest(memory.content) else None
    return said or clock.parse(memory.updated)


def to_fact(memory: Memory) -> Fact | None:
    """Return the fact that a row stands for, also when another program wrote it; None when it holds no words."""
    content = plain(memory.content)
    if not content:
        return None
    told, free = particulars(memory.tags)
    told.setdefault("kind", _KINDS.get(memory.category, "fact"))
    told.setdefault("project", GLOBAL)
    told.setdefault("time", memory.created or clock.now().isoformat())
    if "id" not in told:
        moment = clock.parse(told["time"]) or clock.now()
        told["id"] = new_id(str(told["kind"]), content, Stamp(GLOBAL, f"server-{memory.id}", moment))
    try:
        fact = Fact.from_dict({**told, "content": content, "importance": memory.importance})
    except ValueError:
        return None
    return (
        replace(fact, tags=words(free, MAX_FREE_TAGS), keywords=words(memory.keywords, MAX_KEYWORDS))
        if fact.kind in KINDS
        else None
    )


def particulars(tags: str) -> tuple[dict[str, Any], str]:
    """Return the particulars among the tags, and the other tags."""
    parts = [part.strip() for part in tags.split(",") if part.strip()]
    if "memoria" not in parts:
        return {}, tags
    told: dict[str, Any] = {}
    free = []
    for part in parts:
        name, colon, value = part.partition(":")
        if colon and (name in _TOLD or name == "edited"):
            if name in ("also", "supersedes"):
                told.setdefault(name, []).append(value)
            else:
                told[name] = int(value) if name == "seen" and value.isdigit() else value
        elif part != "memoria":
            free.append(part)
    return told, ",".join(free)


def _fitting(parts: list[str]) -> str:
    """Return as many whole parts as a server takes, the first first."""
    text = ""
    for part in parts:
        longer = f"{text},{part}" if text else part
        if len(longer) > MAX_TAGS:
            break
        text = longer
    return text


def digest(fact: Fact) -> str:
    """Return a short text that differs when what a server keeps of a fact differs.

    Its id is left aside: two machines that learned the same words may call them by different ones. Words that a person
    wrote count as a server tells them back, so that a line written by hand is not taken for an older one.
    """
    told = replace(
        fact,
        id=_NO_ID,
        content=plain(fact.content),
        tags=words(fact.tags, MAX_FREE_TAGS),
        keywords=words(fact.keywords, MAX_KEYWORDS),
    )
    changes = to_memory(told).changes()
    return hashlib.sha256(json.dumps(changes, sort_keys=True).encode()).hexdigest()[:16]


def words_digest(content: str) -> str:
    """Return a short text that is the same for two contents that differ in case, blanks, quotes or full stops only."""
    plain_words = " ".join(unicodedata.normalize("NFKC", content).casefold().split()).translate(_QUOTES)
    return hashlib.sha256(plain_words.strip(" .!'").encode()).hexdigest()[:16]


def named(memory: Memory) -> str:
    """Return the fact id that memoria wrote into the row, ``""`` when another program wrote the row."""
    return str(particulars(memory.tags)[0].get("id", ""))
