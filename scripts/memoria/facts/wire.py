"""Wire: a learned fact as a row of a memory server, and back.

A fact carries its id, kind, project and the rest of its particulars in the row's tags, so that another machine reads
the very same fact. Knows no network and no store.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any, Final

from memoria.facts.fact import GLOBAL, KINDS, Fact, Stamp, new_id, plain, words
from memoria.facts.memory_server import MAX_TAGS, Memory
from memoria.ground import clock

_CATEGORIES: Final = {"preference": "preferences", "correction": "preferences", "decision": "decisions"}
_KINDS: Final = {"preferences": "preference", "decisions": "decision"}
_TOLD: Final = ("id", "kind", "origin", "project", "time", "supersedes", "ended", "successor", "seen", "last", "also")


def to_memory(fact: Fact, number: int = 0) -> Memory:
    """The fact as a server keeps it. The quote and the session stay on this machine."""
    stored = fact.to_dict()
    told = {name: stored[name] for name in _TOLD if name in stored}
    tags = ["memoria"]
    for name, value in told.items():
        tags += [f"{name}:{part}" for part in (value if isinstance(value, list) else [value])]
    return Memory(
        id=number,
        content=fact.content,
        category=_CATEGORIES.get(fact.kind, "facts"),
        tags=_fitting([*tags, *fact.tags]),
        keywords=_fitting(list(fact.keywords)),
        importance=fact.importance,
    )


def to_fact(memory: Memory) -> Fact | None:
    """The fact that a memory stands for, also when another program made it; None when it holds no words."""
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
    return replace(fact, tags=words(free, 8), keywords=words(memory.keywords, 20)) if fact.kind in KINDS else None


def particulars(tags: str) -> tuple[dict[str, Any], str]:
    """The particulars among the tags, and the other tags."""
    parts = [part.strip() for part in tags.split(",") if part.strip()]
    if "memoria" not in parts:
        return {}, tags
    told: dict[str, Any] = {}
    free = []
    for part in parts:
        name, colon, value = part.partition(":")
        if colon and name in _TOLD:
            if name == "also":
                told.setdefault("also", []).append(value)
            else:
                told[name] = int(value) if name == "seen" and value.isdigit() else value
        elif part != "memoria":
            free.append(part)
    return told, ",".join(free)


def _fitting(parts: list[str]) -> str:
    """As many whole parts as a server takes, the first first."""
    text = ""
    for part in parts:
        longer = f"{text},{part}" if text else part
        if len(longer) > MAX_TAGS:
            break
        text = longer
    return text


def digest(fact: Fact) -> str:
    """A short text that differs when what a server keeps of a fact differs.

    Its id is left aside: two machines that learned the same words may call them by different ones.
    """
    changes = to_memory(replace(fact, id="")).changes()
    return hashlib.sha256(json.dumps(changes, sort_keys=True).encode()).hexdigest()[:16]


def same_words(one: Fact, other: Fact) -> bool:
    return one.content.casefold().strip(" .") == other.content.casefold().strip(" .")
