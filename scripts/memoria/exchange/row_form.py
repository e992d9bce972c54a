"""Row form: how a statement stands in a row of a memory server: its words as the content, what else is told as tags."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from memoria.exchange.memory_server import MAX_TAGS, Memory
from memoria.exchange.record import digest_of
from memoria.ground import clock
from memoria.statements.fact import GLOBAL, KINDS, Fact, Stamp, new_id, plain, words

MAX_FREE_TAGS, MAX_KEYWORDS = 8, 20
_CATEGORIES: Final = {"preference": "preferences", "correction": "preferences", "decision": "decisions"}
_KINDS: Final = {"preferences": "preference", "decisions": "decision"}
_QUOTES: Final = str.maketrans(dict.fromkeys('"`\u2018\u2019\u201c\u201d\u00b4', "'"))
_LISTS: Final = ("supersedes", "also")
_TOLD: Final = ("id", "kind", "origin", "project", "time", *_LISTS, "ended", "successor", "repetition", "seen", "last")
MORE: Final = ("worded", "beside", "was", "resumed", "edited")  # told too, and not compared; the last by 0.2.0


def to_memory(fact: Fact, number: int = 0, more: dict[str, str] | None = None) -> Memory:
    """Return a statement as a server keeps it; ``more`` is told in its tags besides."""
    told = {name: value for name, value in fact.to_dict().items() if name in _TOLD} | (more or {})
    pairs = [(name, part) for name, value in told.items() for part in (value if name in _LISTS else [value])]
    tags = ["memoria", *(f"{name}:{part}" for name, part in pairs if part), *fact.tags]
    category = _CATEGORIES.get(fact.kind, "facts")
    return Memory(number, fact.content, category, _fitting(tags), _fitting(fact.keywords), fact.importance)


@dataclass(frozen=True, slots=True)
class Told:
    """What a row tells: a statement, the id that memoria wrote into it, its former wordings, and ends taken back."""

    fact: Fact
    named: str
    was: frozenset[str]
    resumed: frozenset[str]


def to_told(memory: Memory) -> Told | None:
    """Return what a row tells, also when another program wrote it; None when it holds no words."""
    content = plain(memory.content)
    told, free = _particulars(memory.tags)
    named = str(told.get("id", ""))
    told = {"kind": _KINDS.get(memory.category, "fact"), "project": GLOBAL, "time": memory.created} | told
    if not named:
        moment = clock.parse(told["time"]) or clock.now()
        told |= {"time": moment.isoformat(), "id": new_id(
            told["kind"], content, Stamp(GLOBAL, f"server-{memory.id}", moment))}  # fmt: skip
    try:
        fact = Fact.from_dict({**told, "content": content, "importance": memory.importance})
    except ValueError:
        return None
    fact = replace(fact, tags=words(free, MAX_FREE_TAGS), keywords=words(memory.keywords, MAX_KEYWORDS))
    was, resumed = (frozenset(str(told[name]).split(".") if name in told else ()) for name in ("was", "resumed"))
    return Told(fact, named, was - {digest_of(memory.content)}, resumed) if fact.kind in KINDS else None


def _particulars(tags: str) -> tuple[dict[str, Any], str]:
    """Return the particulars among the tags, and the other tags."""
    parts = [part.strip() for part in tags.split(",") if part.strip()]
    told: dict[str, Any] = {}
    if "memoria" not in parts:
        return told, tags
    free = []
    for part in parts:
        name, _, value = part.partition(":")
        if name in _LISTS:
            told.setdefault(name, []).append(value)
        elif name in (*_TOLD, *MORE) and value:
            told[name] = int(value) if name == "seen" and value.isdigit() else value
        elif part != "memoria":
            free.append(part)
    return told, ",".join(free)


def _fitting(parts: Iterable[str]) -> str:
    """Return as many whole parts as a server takes, the first first."""
    text = ""
    for part in parts:
        longer = f"{text},{part}" if text else part
        if len(longer) > MAX_TAGS:
            break
        text = longer
    return text


def digest(fact: Fact) -> str:
    """Return a short text that differs when what a server keeps of a statement differs, its id aside."""
    bare = replace(fact, id="l-00000000", content=plain(fact.content), tags=words(fact.tags, MAX_FREE_TAGS),
                   keywords=words(fact.keywords, MAX_KEYWORDS))  # fmt: skip
    return hashlib.sha256(json.dumps(to_memory(bare).changes(), sort_keys=True).encode()).hexdigest()[:16]


def said(content: str) -> str:
    """Return a short text that is the same for two contents that differ in case, blanks, quotes or full stops only."""
    bare = " ".join(unicodedata.normalize("NFKC", content).casefold().split()).translate(_QUOTES)
    return hashlib.sha256(bare.strip(" .!'").encode()).hexdigest()[:16]


def named_in(memory: Memory) -> str:
    """Return the id that memoria wrote into a row, ``""`` when another program wrote it."""
    return str(_particulars(memory.tags)[0].get("id", ""))
