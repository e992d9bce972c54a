"""Fact: one learned fact, and the check that a model's claim must pass to become one.

A claim is accepted only if its quote occurs in the material that was judged. A claim that is proven only by a tool's
output or a pasted page can never become a preference, a correction or an instruction (memory poisoning: agentmemory
#850). This module does not know where facts are stored or which model made a claim.
"""

from __future__ import annotations

import hashlib
import logging
import math
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from memoria.base import fence
from memoria.ground import clock, markdown
from memoria.language.pattern import Pattern

log = logging.getLogger(__name__)

KINDS: Final = ("correction", "preference", "decision", "fact", "debugging", "workaround", "operational")
ORIGINS: Final = ("user", "assistant", "tool")  # most trusted first
GLOBAL: Final = "*"  # the project of a fact that holds in every project
MAX_FACTS: Final = 5  # per call; a model that finds more is inventing them
MAX_CONTENT: Final = 600  # characters; a memory server accepts at most 1,400
MAX_SENTENCES: Final = 3
MAX_QUOTE: Final = 300
MAX_PHRASES, PHRASE_CHARS = 5, 80  # by which one fact is found
MAX_HISTORY: Final = 10  # earlier wordings kept of one fact
MIN_CONTENT, MIN_QUOTE = 8, 4

_PERSONAL = ("preference", "correction")
_SENTENCE_END = Pattern(r"(?<=[.!?])[\"')\]]?\s+(?=[A-ZÄÖÜ\"'`(])")
_ABBREVIATION = Pattern(r"(?i)\b(?:e\.g|i\.e|z\.B|d\.h|vs|etc|usw|bzw|ca|Dr|Mr|Ms|No|Nr)\.\s+")
_ORDER = Pattern(
    r"(?i)\b(?:always|never|must(?! be\b)|you should|do not|don't|ignore (?:all|any|previous|the)|from now on|"
    r"make sure|immer|niemals|nie|du sollst|sie müssen|ab jetzt|ignoriere)\b"
    r"|^(?:please |bitte )?(?:run|use|install|execute|download|disable|delete|send|open|visit|"
    r"führe|installiere|nutze)\b"
)
_PASTED = Pattern(r"(?sm)```.*?(?:```|\Z)|^[ \t]*>.*$")
_ID = Pattern(r"[\s^\[(#-]*(l-[0-9a-z]{6,})\b")
_MARKERS = Pattern(r"(?s)<!--.*?(?:-->|$)|\^[le]-[0-9a-z]+\b|\[\[|\]\]")


@dataclass(frozen=True, slots=True)
class Fact:
    """One learned fact.

    ``content``: one topic in one to three sentences, on one line. ``importance``: 0 to 1. ``quote``: the words that
    prove it. ``supersedes``: ids of the facts that this one replaces; before it is stored, also the words of one.
    ``project``: a project key, or ``GLOBAL``; ``also``: other projects in which it came up. ``time``: when it was said,
    UTC. ``seen``: how often it was said; ``last``: when it was last said, if more than once. ``ended`` and
    ``successor``: when and by which fact or entry it was replaced; ``repetition``: only because that says the same.
    ``history``: earlier wordings that were replaced, each after its day. ``asked_as``: what one may ask, or
    be about to do, when the fact matters, in other words than its own. ``id``: ``l-`` and eight letters or digits.
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

    def reworded(self, content: str, day: str) -> Fact:
        """Return the fact with other words; ``day`` (ISO) is put before the old ones in its history."""
        return replace(self, content=content, history=(*self.history, f"{day} {self.content}")[-MAX_HISTORY:])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, without empty and default values."""
        pairs = ((name, getattr(self, name)) for name in _FIELDS)
        pairs = ((name, value) for name, value in pairs if value is not False and (name, value) != ("seen", 1))
        kept = {name: value for name, value in pairs if value not in (None, "", ())}
        return {
            name: value.isoformat()
            if isinstance(value, datetime)
            else list(value)
            if isinstance(value, tuple)
            else value
            for name, value in kept.items()
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Fact:
        """Return the fact from ``to_dict``'s output, possibly edited by hand.

        Raise ValueError when a required field is missing.
        """
        times = {name: clock.parse(stored.get(name)) for name in ("time", "last", "ended")}
        kind, content, ident = (str(stored.get(name, "")) for name in ("kind", "content", "id"))
        if not kind or not content or not ident or times["time"] is None:
            raise ValueError("a fact needs kind, content, id and time")
        origin = str(stored.get("origin", "assistant"))
        seen = stored.get("seen", 1)
        return cls(
            kind=kind,
            content=content,
            id=ident,
            time=times["time"],
            last=times["last"],
            ended=times["ended"],
            importance=clamp(stored.get("importance")),
            origin=origin if origin in ORIGINS else "assistant",
            seen=seen if isinstance(seen, int) and seen > 0 else 1,
            repetition=str(stored.get("repetition")).casefold() == "true",
            tags=_strings(stored.get("tags")),
            keywords=_strings(stored.get("keywords")),
            also=_strings(stored.get("also")),
            supersedes=_strings(stored.get("supersedes")),
            history=_strings(stored.get("history")),
            asked_as=phrases(stored.get("asked_as")),
            **{name: str(stored.get(name, "")) for name in ("project", "session", "quote", "successor")},
        )


_FIELDS: Final = tuple(Fact.__dataclass_fields__)


def _strings(value: object) -> tuple[str, ...]:
    if isinstance(value, str):  # ``supersedes`` was one id in earlier versions
        return (value,) if value else ()
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a fact: its ``id``, when and by whom it was said that it is over, and its ``successor`` if any.

    ``successor`` is the id of a fact or of an entry. ``instead``: what holds now, when that is not the successor's
    content. ``repetition``: the fact still holds, but its successor says the same.
    """

    id: str
    time: datetime
    origin: str
    successor: str = ""
    instead: str = ""
    repetition: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the end for JSON."""
        ended = {"id": self.id, "ended": self.time.isoformat(), "origin": self.origin, "successor": self.successor}
        more = {"instead": self.instead, "repetition": self.repetition}
        return ended | {name: value for name, value in more.items() if value}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Ending:
        """Return the end from ``to_dict``'s output; raise ValueError when it has no moment."""
        moment = clock.parse(stored["ended"])
        if moment is None:
            raise ValueError("no moment")
        origin, successor, instead = (str(stored.get(name) or "") for name in ("origin", "successor", "instead"))
        return cls(str(stored["id"]), moment, origin, successor, instead, bool(stored.get("repetition")))


@dataclass(frozen=True, slots=True)
class Stamp:
    """Where and when the judged turns took place: project key, session id, time (UTC)."""

    project: str
    session: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Material:
    """The text that was judged, by speaker; quotes are searched in it."""

    user: str
    assistant: str = ""
    tool: str = ""

    @classmethod
    def of(cls, exchanges: Sequence[Mapping[str, Any]]) -> Material:
        """Return the material of exchanges in the form that models receive.

        Text that the user pasted (code blocks and ``>`` lines) counts as tool output, not as the user's own words.
        """
        users = [str(exchange.get("user", "")) for exchange in exchanges]
        assistants = [str(exchange.get("assistant", "")) for exchange in exchanges]
        tools = [
            line for exchange in exchanges for key in ("tools", "errors", "notes") for line in exchange.get(key, ())
        ]
        tools += [  # with the paths as the model was shown them
            text for exchange in exchanges for label, text in exchange.get("steps", ()) if label in ("tool", "error")
        ]
        pasted = [block for text in users for block in _PASTED.findall(text)]
        own = [_PASTED.sub("\n", text) for text in users]
        return cls("\n\n".join(own), "\n\n".join(assistants), "\n".join(map(str, (*tools, *pasted))))

    def origin_of(self, quote: str) -> str:
        """Return the most trusted speaker whose text contains the quote; ``""`` when there is none."""
        wanted = _folded(quote)
        for name in ORIGINS:
            if wanted and wanted in _folded(getattr(self, name)):
                return name
        return ""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of checking a model's claims: ``facts``, ``endings``, and for each rejected claim the reason."""

    facts: tuple[Fact, ...] = ()
    dropped: tuple[str, ...] = ()
    endings: tuple[Ending, ...] = ()


class _Refused(Exception):  # noqa: N818 (never leaves this module; not a program error)
    """The reason why a claim is dropped."""


def check(
    claims: object, material: Material, stamp: Stamp, *, shown: Collection[str] = (), ended: object = ()
) -> Checked:
    """Return the facts among a model's claims, a list of dicts like ``learned`` in a flush's answer; never raise.

    ``shown``: the ids of the known facts that the model was shown; it can end no other. ``ended``: those that it says
    are over, a list of dicts like ``ended`` in the answer.
    """
    if not isinstance(claims, list | tuple):
        return Checked((), ("the answer contains no list of facts",))
    dropped: list[str] = []
    endings: dict[str, Ending] = {}
    for claim in ended if isinstance(ended, list | tuple) else ():
        try:
            ending = _ending(claim, material, stamp, shown)
        except _Refused as reason:
            dropped.append(str(reason))
        else:
            endings.setdefault(ending.id, ending)
    facts: dict[str, Fact] = {}
    for claim in claims:
        try:
            fact = _checked(claim, material, stamp, shown)
        except _Refused as reason:
            dropped.append(str(reason))
            continue
        if len(facts) == MAX_FACTS and fact.id not in facts:
            dropped.append(f"more than {MAX_FACTS} facts in one answer: {fact.content[:60]}")
        else:
            facts.setdefault(fact.id, fact)
    for why in dropped:
        log.info("dropped a claim: %s", why)
    return Checked(tuple(facts.values()), tuple(dropped), tuple(endings.values()))


def _checked(claim: object, material: Material, stamp: Stamp, shown: Collection[str]) -> Fact:
    if not isinstance(claim, Mapping):
        raise _Refused("a fact is not an object")
    kind = str(claim.get("kind", "")).strip().lower()
    if kind not in KINDS:
        raise _Refused(f"there is no kind {kind[:30]!r}")
    content = plain(claim.get("content"))
    _check_content(content)
    ident = new_id(kind, content, stamp)
    quote, origin = _proof(claim, material)
    if origin == "tool" and (kind in _PERSONAL or _ORDER.search(content)):
        raise _Refused(f"came from a tool or a page and would be a {kind} or an instruction: {content[:60]}")
    if kind in _PERSONAL and origin != "user":
        raise _Refused(f"a {kind} that the user did not say: {content[:60]}")
    return Fact(
        kind=kind,
        content=content,
        importance=clamp(claim.get("importance")),
        origin=origin,
        project=stamp.project,
        time=stamp.time,
        id=ident,
        session=stamp.session,
        tags=words(claim.get("tags"), 8),
        keywords=words(claim.get("keywords"), 20),
        quote=plain(quote, MAX_QUOTE),
        supersedes=_superseded(claim.get("supersedes"), shown),
        asked_as=phrases(claim.get("asked_as")),
    )


def _ending(claim: object, material: Material, stamp: Stamp, shown: Collection[str]) -> Ending:
    if not isinstance(claim, Mapping):
        raise _Refused("the end of a fact is not an object")
    named = _named(claim.get("id"))
    if named not in shown:
        raise _Refused(f"ends a fact that was not shown: {_text(claim.get('id'))[:30]!r}")
    _, origin = _proof(claim, material)
    return Ending(named, stamp.time, origin)


def _superseded(value: object, shown: Collection[str]) -> tuple[str, ...]:
    """Return the ids in a claim's ``supersedes`` that were shown; for a text without an id, the text."""
    parts = value if isinstance(value, list | tuple) else _text(value).split(",") if _named(value) else (value,)
    named = dict.fromkeys(ident for part in parts if (ident := _named(part)) in shown)
    if named or not isinstance(value, str) or _named(value):
        return tuple(named)
    text = plain(value, MAX_CONTENT)
    return (text,) if text else ()


def _named(value: object) -> str:
    """Return the id that a model's text begins with, ``""`` when there is none."""
    match = _ID.match(_text(value))
    return match[1] if match else ""


def _check_content(content: str) -> None:
    if not MIN_CONTENT <= len(content) <= MAX_CONTENT:
        raise _Refused(f"content of {len(content)} characters, not {MIN_CONTENT} to {MAX_CONTENT}")
    if sentences(content) > MAX_SENTENCES:
        raise _Refused(f"more than {MAX_SENTENCES} sentences: {content[:60]}")


def _proof(claim: Mapping[str, Any], material: Material) -> tuple[str, str]:
    """Return a claim's quote and its origin, which is where the quote is found; refuse a claim without proof."""
    quote = _on_one_line(_text(claim.get("quote")))
    origin = material.origin_of(quote) if len(quote) >= MIN_QUOTE else ""
    if not origin:
        raise _Refused(f"the quote does not occur in what was judged: {quote[:60]!r}")
    return quote, origin


def sentences(text: str) -> int:
    """Return the number of sentences in a text; the full stop of an abbreviation does not end one."""
    return len(_SENTENCE_END.findall(_ABBREVIATION.sub("", text))) + 1


def plain(value: object, most: int = sys.maxsize) -> str:
    """Return text of a model or a person as one safe line, without control characters, markers, ids, tags or links.

    ``most``: its largest number of characters; of a longer one, the first words are returned.
    """
    return markdown.cut(markdown.line(_MARKERS.sub(" ", fence.neutral(_text(value)))), most)


def clamp(value: object) -> float:
    """Return an importance between 0 and 1, rounded to two digits; 0.5 when ``value`` is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return 0.5
    try:
        number = float(value)
    except ValueError:
        return 0.5
    return 0.5 if math.isnan(number) else round(min(1.0, max(0.0, number)), 2)


def words(value: object, limit: int) -> tuple[str, ...]:
    """Return at most ``limit`` distinct short words from a list or a comma-separated string."""
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    clean = (plain(part).replace(",", " ")[:40].strip().lower() for part in parts)
    return tuple(dict.fromkeys(word for word in clean if word))[:limit]


def phrases(value: object) -> tuple[str, ...]:
    """Return the phrases of a list by which a statement can be found; a bad one is left out, and so are too many."""
    clean = (plain(part) for part in value if isinstance(part, str)) if isinstance(value, list | tuple) else ()
    return tuple(dict.fromkeys(part for part in clean if 1 < len(part) <= PHRASE_CHARS))[:MAX_PHRASES]


def new_id(kind: str, content: str, stamp: Stamp) -> str:
    """Return the id of a claim; it depends only on claim and stamp, so that a repeated run adds nothing."""
    seed = "\n".join((kind, content.casefold(), stamp.project, stamp.session, stamp.time.isoformat()))
    return "l-" + _base32(hashlib.sha256(seed.encode("utf-8", "replace")).digest())


def _base32(digest: bytes) -> str:
    number = int.from_bytes(digest[:5], "big")
    return "".join("0123456789abcdefghjkmnpqrstvwxyz"[number >> shift & 31] for shift in range(35, -1, -5))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_EMPHASIS = Pattern(r"\*\*|__(?=\S)|(?<=\S)__")  # a quote may leave it out


def _on_one_line(text: str) -> str:
    """Return what a person sees of a text, on one line."""
    return " ".join(fence.visible(text).split())


def _folded(text: str) -> str:
    return " ".join(_EMPHASIS.sub("", _on_one_line(text)).split()).casefold()
