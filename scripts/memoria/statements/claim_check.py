"""Claim check: what a model's statement must prove to be kept, or to end another one.

Its quote must occur in the material that it is about, and its names and numbers in the conversation; where they do not,
the quote takes the place of its words. A statement that is proven only by a tool's output or a pasted page can never
become a preference, a correction or an instruction (memory poisoning: agentmemory #850). This module does not know
which model made a statement.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memoria.base import fence
from memoria.base.pattern import Pattern
from memoria.search import identifiers
from memoria.statements.fact import (
    KINDS,
    MAX_CONTENT,
    ORIGINS,
    Ending,
    Fact,
    Stamp,
    make_plain,
    phrases,
)

log = logging.getLogger(__name__)

MAX_FACTS: Final = 12  # of one answer
MIN_CONTENT, MIN_QUOTE = 8, 4
MIN_ALONE: Final = 4  # words of a quote that can be understood by itself; "yes, do that" cannot

_PERSONAL = ("preference", "correction")
_ORDER = Pattern(
    r"(?i)\b(?:always|never|must(?! be\b)|you should|do not|don't|ignore (?:all|any|previous|the)|from now on|"
    r"make sure|immer|niemals|nie|du sollst|sie müssen|ab jetzt|ignoriere)\b"
    r"|^(?:please |bitte )?(?:run|use|install|execute|download|disable|delete|send|open|visit|"
    r"führe|installiere|nutze)\b"
)
_PASTED = Pattern(r"(?sm)```.*?(?:```|\Z)|^[ \t]*>.*$")
_ID = Pattern(r"[\s^\[(#-]*(l-[0-9a-z]{6,})\b")
_EMPHASIS = Pattern(r"\*\*|__(?=\S)|(?<=\S)__")  # a quote may leave it out
_JOINED = Pattern(r"[./:=<>(),]+")
_PLACEHOLDER = Pattern(r"<\w[\w .-]{0,40}>")  # "<name>" stands for any name
_NUMBER = Pattern(r"\d+(?:[.,:]\d+)*")
_THOUSANDS = Pattern(r"(?<=\d)[,.'_ ](?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class Material:
    """What was said and done, by speaker; quotes are searched in it."""

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
        tools = [line for each in exchanges for key in ("tools", "errors", "notes") for line in each.get(key, ())]
        tools += [  # with the paths as the model was shown them
            text for exchange in exchanges for label, text in exchange.get("steps", ()) if label in ("tool", "error")
        ]
        pasted = [block for text in users for block in _PASTED.findall(text)]
        own = [_PASTED.sub("\n", text) for text in users]
        return cls("\n\n".join(own), "\n\n".join(assistants), "\n".join(map(str, (*tools, *pasted))))

    def origin_of(self, quote: str) -> str:
        """Return the most trusted speaker whose text contains the quote; ``""`` when there is none."""
        wanted = _fold(quote)
        return next((name for name in ORIGINS if wanted and wanted in _fold(getattr(self, name))), "")


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of checking a model's claims: ``facts``, ``endings``, and for each rejected claim the reason."""

    facts: tuple[Fact, ...] = ()
    dropped: tuple[str, ...] = ()
    endings: tuple[Ending, ...] = ()


class _Refused(Exception):  # noqa: N818 (never leaves this module; not a program error)
    """The reason why a claim is dropped."""


def check(
    claims: Iterable[Mapping[str, Any]],
    material: Material,
    stamp: Stamp,
    *,
    shown: Mapping[str, str] | None = None,
    ended: Iterable[Mapping[str, Any]] = (),
    told: str = "",
) -> Checked:
    """Return the facts among a model's claims, a list of dicts like ``statements`` in its answer; never raise.

    ``shown``: the known facts that the model was shown, content by id; it can end no other. ``ended``: those that it
    says are over, a list of dicts like ``ended`` in the answer. ``told``: what else the model was told, in which names
    and numbers may stand.
    """
    shown = shown or {}
    ground = "\n".join((material.user, material.assistant, material.tool, told, *shown.values()))
    dropped: list[str] = []
    endings: dict[str, Ending] = {}
    for claim in ended:
        try:
            ending = _ending(claim, material, stamp, shown, ground)
        except _Refused as reason:
            dropped.append(str(reason))
        else:
            endings.setdefault(ending.id, ending)
    facts: dict[str, Fact] = {}
    for claim in claims:
        try:
            fact = _check(claim, material, stamp, shown, ground)
        except _Refused as reason:
            dropped.append(str(reason))
            continue
        if len(facts) == MAX_FACTS and fact.id not in facts:
            dropped.append(f"more than {MAX_FACTS} statements in one answer: {fact.content}")
        else:
            facts.setdefault(fact.id, fact)
    for why in dropped:
        log.warning("dropped a statement: %s", why)
    return Checked(tuple(facts.values()), tuple(dropped), tuple(endings.values()))


def read_phrases(claims: object, unasked: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the phrases that a model gives to statements among ``unasked``, by their ids; never raise."""
    rows = [claim for claim in claims if isinstance(claim, Mapping)] if isinstance(claims, list | tuple) else []
    named = ((_named_id(row.get("id")), phrases(row.get("asked_as"))) for row in rows)
    return {ident: given for ident, given in named if ident in unasked and given}


def _check(claim: Mapping[str, Any], material: Material, stamp: Stamp, shown: Collection[str], ground: str) -> Fact:
    kind = str(claim.get("kind", "")).strip().lower()
    if kind not in KINDS:
        raise _Refused(f"there is no kind {kind!r}")
    quote, origin = _proof(claim, material, stamp)
    superseded = _supersedes(claim.get("supersedes"), shown)
    content = _ground(make_plain(claim.get("content")), quote, origin, ground)
    if not MIN_CONTENT <= len(content) <= MAX_CONTENT:
        raise _Refused(f"content of {len(content)} characters, not {MIN_CONTENT} to {MAX_CONTENT}")
    if origin == "tool" and (kind in _PERSONAL or _ORDER.search(content)):
        raise _Refused(f"came from a tool or a page and would be a {kind} or an instruction: {content}")
    if stamp.agent and kind in _PERSONAL:
        kind = "fact"
    if kind in _PERSONAL and origin != "user":
        raise _Refused(f"a {kind} that the user did not say: {content}")
    return Fact.of_claim(claim, kind, content, stamp, origin=origin, quote=quote, supersedes=superseded)


def _ending(claim: Mapping[str, Any], material: Material, stamp: Stamp, shown: Collection[str], ground: str) -> Ending:
    named = _named_id(claim.get("id"))
    if named not in shown:
        raise _Refused(f"ends a statement that was not shown: {_text(claim.get('id'))!r}")
    _, origin = _proof(claim, material, stamp)
    remains = make_plain(claim.get("remains"), MAX_CONTENT)
    if remains and (absent := find_unheard(remains, ground)):
        raise _Refused(f"what remains of {named} names {absent[0]!r}, of which nothing was said: {remains}")
    return Ending(named, stamp.time, origin, remains=remains, projects=(stamp.project,))


def _ground(content: str, quote: str, origin: str, ground: str) -> str:
    """Return a statement's words, or its quote where they hold a name or a number that the conversation does not.

    Where the quote has no number, a number of one digit may have been said as a word. What a tool printed is no
    statement.
    """
    absent = find_unheard(content, ground)
    if not _NUMBER.search(quote):
        absent = [part for part in absent if not (len(part) == 1 and part.isdigit())]
    if not absent:
        return content
    if len(quote.split()) < MIN_ALONE or origin == "tool":
        raise _Refused(f"nothing was said of {absent[0]!r}: {content}")
    log.warning("nothing was said of %r; the quote stands for: %s", absent[0], content)
    return make_plain(quote, MAX_CONTENT)


def find_unheard(text: str, ground: str) -> list[str]:
    """Return the names and numbers of a text that the conversation does not hold, whatever their case or separators."""
    text, said = _PLACEHOLDER.sub(" ", text), _THOUSANDS.sub("", _fold(ground))
    numbers = set(_NUMBER.findall(said))
    names = identifiers.find(text)
    words_ = (piece.strip("`()[]{}<>\"'.,:;!?…") for name in names for piece in name.split())
    pieces = [piece for piece in words_ if any(map(str.isalnum, piece))]
    absent = [piece for piece in pieces if any(part not in said for part in _parts(_fold(piece), said))]
    rest = text
    for name in sorted(names, key=len, reverse=True):
        rest = rest.replace(name, " ")
    return absent + [number for number in _NUMBER.findall(_THOUSANDS.sub("", rest)) if number not in numbers]


def _parts(name: str, said: str) -> list[str]:
    """Return a name, or what a dot, slash or the like joins in it where it was not said whole; a number is no part."""
    return [name] if name in said or _NUMBER.search(name) else [part for part in _JOINED.split(name) if part]


def _supersedes(value: object, shown: Collection[str]) -> tuple[str, ...]:
    """Return the ids in a claim's ``supersedes`` that were shown."""
    parts = value if isinstance(value, list | tuple) else _text(value).split(",")
    return tuple(dict.fromkeys(ident for part in parts if (ident := _named_id(part)) in shown))


def _named_id(value: object) -> str:
    """Return the id that a model's text begins with, ``""`` when there is none."""
    match = _ID.match(_text(value))
    return match[1] if match else ""


def _proof(claim: Mapping[str, Any], material: Material, stamp: Stamp) -> tuple[str, str]:
    """Return a claim's quote and its origin, which is where the quote is found; refuse a claim without proof.

    What stands in the transcript of another agent is nobody's rule until the user says so here.
    """
    quote = _join_lines(_text(claim.get("quote")))
    origin = material.origin_of(quote) if len(quote) >= MIN_QUOTE else ""
    if not origin:
        raise _Refused(f"the quote does not occur in what was said: {quote!r}")
    return quote, "assistant" if stamp.agent and origin == "user" else origin


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _join_lines(text: str) -> str:
    """Return what a person sees of a text, on one line."""
    return " ".join(fence.strip_invisible(text).split())


def _fold(text: str) -> str:
    return " ".join(_EMPHASIS.sub("", _join_lines(text)).split()).casefold()
