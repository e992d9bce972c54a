"""Fact: one learned fact, its end, and the form that its parts have.

This module does not know where facts are stored, nor what a model must prove for one (``claim_check``).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from memoria.base import fence
from memoria.base.pattern import Pattern
from memoria.ground import clock, markdown
from memoria.ground.files import short_id

KINDS: Final = ("correction", "preference", "decision", "fact", "debugging", "workaround", "operational")
ORIGINS: Final = ("user", "assistant", "tool")  # most trusted first
GLOBAL: Final = "*"  # the project of a fact that holds in every project
MAX_CONTENT: Final = 300  # characters of one that a model finds
MAX_STORED: Final = 600  # of one that a person words; a memory server accepts at most 1,400
MAX_PHRASES, PHRASE_CHARS = 5, 80  # by which one fact is found
MAX_HISTORY: Final = 10  # earlier wordings kept of one fact

_MARKERS = Pattern(r"(?s)<!--.*?(?:-->|$)|\^[le]-[0-9a-z]+\b|\[\[|\]\]")


@dataclass(frozen=True, slots=True)
class Fact:
    """One learned fact.

    ``content``: one topic in one to three sentences, on one line. ``importance``: 0 to 1. ``quote``: the words that
    prove it. ``supersedes``: ids of the facts that this one replaces. ``project``: a project key, or ``GLOBAL``;
    ``also``: other projects in which it came up. ``time``: when it was said, UTC. ``seen``: how often it was said;
    ``last``: when it was last said, if more than once. ``ended`` and ``successor``: when and by which fact or entry it
    was replaced; ``repetition``: only because that says the same. ``history``: earlier wordings that were replaced,
    each after its day. ``asked_as``: what one may ask, or be about to do, when the fact matters, in other words than
    its own. ``worded``: when its wording was last changed, UTC; it stands in the fact's own line, because a copied file
    is as new as its copy. ``beside``: the id of the fact that another machine words otherwise, and the name of the
    machine whose wording this is. ``id``: ``l-`` and eight letters or digits.
    """

    kind: str
    content: str
    importance: float
    origin: str
    project: str
    time: datetime
    id: str
    session: str = ""
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    quote: str = ""
    supersedes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    seen: int = 1
    last: datetime | None = None
    ended: datetime | None = None
    successor: str = ""
    repetition: bool = False
    history: tuple[str, ...] = ()
    asked_as: tuple[str, ...] = ()
    worded: datetime | None = None
    beside: str = ""

    @property
    def worded_at(self) -> datetime:
        """When the fact got the words that it has."""
        return self.worded or self.time

    def beside_note(self, live: Iterable[str]) -> list[str]:
        """Return as a note whose wording this is, while of these ids the one that is worded otherwise stands too."""
        first, _, machine = self.beside.partition(" ")
        return [f"so on {machine or 'another machine'}, otherwise in {first}"] if first in live else []

    @property
    def projects(self) -> tuple[str, ...]:
        """All projects that the fact belongs to."""
        return (self.project, *self.also)

    @property
    def is_outdated(self) -> bool:
        """Whether what it says no longer holds."""
        return self.ended is not None and not self.repetition

    @property
    def wordings(self) -> tuple[str, ...]:
        """The earlier wordings."""
        return tuple(line.partition(" ")[2] for line in self.history)

    def reword(self, content: str, day: str, worded: datetime | None = None) -> Fact:
        """Return the fact with other words; ``day`` (ISO) is put before the old ones in its history.

        What was counted was said in the old ones; only the user's own words stay the user's however they are put. A
        clock that was set back makes no new words older than those before, which a copied log would bring back.
        """
        history = (*self.history, f"{day} {self.content}")[-MAX_HISTORY:]
        moment = worded or self.worded
        if worded and worded <= self.worded_at:
            moment = self.worded_at + timedelta(seconds=1)
        seen = self.seen if self.origin == "user" else 1
        return replace(self, content=content, history=history, seen=seen, worded=moment)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, without empty and default values."""
        pairs = ((name, getattr(self, name)) for name in _FIELDS)
        pairs = ((name, value) for name, value in pairs if value is not False and (name, value) != ("seen", 1))
        return {name: _to_json(value) for name, value in pairs if value not in (None, "", ())}

    @classmethod
    def of_claim(
        cls, claim: Mapping[str, Any], kind: str, content: str, stamp: Stamp, *, origin: str, quote: str,
        supersedes: tuple[str, ...],
    ) -> Fact:  # fmt: skip
        """Return the fact that a model claims; what is not given was checked, or is read from the claim."""
        return cls(
            kind=kind,
            content=content,
            importance=clamp(claim.get("importance")),
            origin=origin,
            project=stamp.project,
            time=stamp.time,
            session=stamp.session,
            tags=words(claim.get("tags"), 8),
            keywords=words(claim.get("keywords"), 20),
            quote=make_plain(quote, MAX_CONTENT),
            supersedes=supersedes,
            asked_as=phrases(claim.get("asked_as")),
            id=new_id(kind, content, stamp),
        )

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Fact:
        """Return the fact from ``to_dict``'s output, possibly edited by hand.

        Raise ValueError when a required field is missing.
        """
        times = {name: clock.parse(stored.get(name)) for name in ("time", "last", "ended", "worded")}
        kind, content, ident = (str(stored.get(name, "")) for name in ("kind", "content", "id"))
        if not kind or not content or not ident or times["time"] is None:
            raise ValueError("a fact needs kind, content, id and time")
        origin = str(stored.get("origin", "assistant"))
        seen = stored.get("seen", 1)
        texts = {name: str(stored.get(name, "")) for name in ("project", "session", "quote", "successor", "beside")}
        lists = {name: _strings(stored.get(name)) for name in ("tags", "keywords", "also", "supersedes", "history")}
        more: dict[str, Any] = {**times, **texts, **lists}
        return cls(
            kind=kind,
            content=content,
            id=ident,
            importance=clamp(stored.get("importance")),
            origin=origin if origin in ORIGINS else "assistant",
            seen=seen if isinstance(seen, int) and seen > 0 else 1,
            repetition=str(stored.get("repetition")).casefold() == "true",
            asked_as=phrases(stored.get("asked_as")),
            **more,
        )


_FIELDS: Final = tuple(Fact.__dataclass_fields__)


def _to_json(value: Any) -> Any:
    """Return a value of a fact for JSON."""
    return value.isoformat() if isinstance(value, datetime) else list(value) if isinstance(value, tuple) else value


def _strings(value: object) -> tuple[str, ...]:
    if isinstance(value, str):  # ``supersedes`` was one id in earlier versions
        return (value,) if value else ()
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a fact: its ``id``, when and by whom it was said that it is over, and its ``successor`` if any.

    ``successor`` is the id of a fact. ``repetition``: the fact still holds, but its successor says the same.
    ``remains``: the part that holds on, which becomes a fact with its quote, origin and day. ``projects``: those in
    which it is over, all when there are none.
    """

    id: str
    time: datetime
    origin: str
    successor: str = ""
    repetition: bool = False
    remains: str = ""
    projects: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the end for JSON."""
        ended = {"id": self.id, "ended": self.time.isoformat(), "origin": self.origin, "successor": self.successor}
        more = {"repetition": self.repetition, "remains": self.remains, "projects": list(self.projects)}
        return ended | {name: value for name, value in more.items() if value}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Ending:
        """Return the end from ``to_dict``'s output; raise ValueError when it has no moment."""
        moment = clock.parse(stored["ended"])
        if moment is None:
            raise ValueError("no moment")
        origin, successor, remains = (str(stored.get(name) or "") for name in ("origin", "successor", "remains"))
        projects = _strings(stored.get("projects"))
        return cls(str(stored["id"]), moment, origin, successor, bool(stored.get("repetition")), remains, projects)


@dataclass(frozen=True, slots=True)
class Stamp:
    """Where and when the turns took place: project key, session id, time (UTC), and the coding agent.

    ``agent`` is the word for it, empty for Claude Code, whose hooks saw the user type.
    """

    project: str
    session: str
    time: datetime
    agent: str = ""


def make_plain(value: object, most: int = sys.maxsize) -> str:
    """Return text of a model or a person as one safe line, without control characters, markers, ids, tags or links.

    ``most``: its largest number of characters; of a longer one, the first words are returned.
    """
    return markdown.cut(markdown.line(_MARKERS.sub(" ", fence.defuse(value if isinstance(value, str) else ""))), most)


def clamp(value: Any) -> float:
    """Return an importance between 0 and 1, rounded to two digits; 0.5 when ``value`` is not a number."""
    try:
        return round(min(1.0, max(0.0, float(value))), 2)
    except (TypeError, ValueError):
        return 0.5


def words(value: object, limit: int) -> tuple[str, ...]:
    """Return at most ``limit`` distinct short words from a list or a comma-separated string."""
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    clean = (make_plain(part).replace(",", " ")[:40].strip().lower() for part in parts)
    return tuple(dict.fromkeys(word for word in clean if word))[:limit]


_phrase = lru_cache(10_000)(make_plain)  # stored facts are read again and again


def phrases(value: object) -> tuple[str, ...]:
    """Return the phrases of a list by which a statement can be found; a bad one is left out, and so are too many."""
    clean = (_phrase(part) for part in value if isinstance(part, str)) if isinstance(value, list | tuple) else ()
    return tuple(dict.fromkeys(part for part in clean if 1 < len(part) <= PHRASE_CHARS))[:MAX_PHRASES]


def new_id(kind: str, content: str, stamp: Stamp) -> str:
    """Return the id of a claim; it depends only on claim and stamp, so that a repeated run adds nothing."""
    return "l-" + short_id("\n".join((kind, content.casefold(), stamp.project, stamp.session, stamp.time.isoformat())))


# -- which of two holds


def said_at(fact: Fact) -> datetime:
    """Return when a fact was last said."""
    return fact.last or fact.time


def yields(old: Fact, moment: datetime, origin: str) -> bool:
    """Return whether a fact yields to what was said at ``moment``: the user's latest word wins over everything."""
    if (origin == "user") != (old.origin == "user"):
        return origin == "user"
    return said_at(old) <= moment


def end_of(loser: Fact, winner: Fact) -> Ending | None:
    """Return the end of a fact because another holds; None when it does not yield to that one."""
    moment = said_at(winner)
    if loser.id == winner.id or loser.ended or winner.ended or not yields(loser, moment, winner.origin):
        return None
    return Ending(loser.id, max(moment, said_at(loser)), winner.origin, winner.id, projects=winner.projects)


def unite(one: Fact, other: Fact) -> Ending | None:
    """Return the end of one of two facts that say the same: the older one's, if it yields to the other."""
    first, second = sorted((one, other), key=lambda fact: (said_at(fact), fact.id))
    end = end_of(first, second) or end_of(second, first)
    return end and replace(end, repetition=True)
