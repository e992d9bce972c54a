"""Local judge: what can be learned from an exchange without asking a model.

It has two uses: the local check after every turn (``notice``: is the exchange worth a model call, or not even worth
counting?), and the last link of the judge chain (``claims``: the facts that patterns find). It reads exchanges in the
form that models receive. The patterns are in ``language.cues``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memoria.facts import retractions
from memoria.facts.claim_check import Checked, Material, check, sentences
from memoria.facts.fact import Stamp
from memoria.language import cues

Exchange = Mapping[str, Any]

TRIVIAL_CHARS: Final = 40  # a shorter prompt without a cue does not count towards the next extraction


@dataclass(frozen=True, slots=True)
class Cues:
    """The result of the local check.

    ``kinds``: the kinds of facts that the patterns found; ``hinted``: whether it contains words that often accompany a
    fact, or an error that was resolved; ``trivial``: whether there is nothing to learn even in a batch; ``urgent``:
    whether the patterns found a fact in the user's own words, so that it is worth a model call of its own.
    """

    kinds: tuple[str, ...] = ()
    hinted: bool = False
    trivial: bool = False
    urgent: bool = False

    @property
    def flagged(self) -> bool:
        """Whether there may be a fact in the exchange."""
        return bool(self.kinds) or self.hinted


def notice(exchange: Exchange) -> Cues:
    """Return the cues in one exchange, without a model call; takes microseconds to a few milliseconds."""
    user = str(exchange.get("user", ""))
    own = [claim["kind"] for claim in _said(user)]
    kinds = tuple(dict.fromkeys([*own, *(claim["kind"] for claim in _resolved(exchange))]))
    hinted = any(map(cues.is_hint, cues.own_sentences(user))) or _is_resolved(exchange)
    short = cues.is_command(user) or len(user.strip()) < TRIVIAL_CHARS
    return Cues(kinds, hinted, trivial=short and not kinds and not hinted, urgent=bool(own))


def _is_resolved(exchange: Exchange) -> bool:
    """Return whether a tool failed and the assistant named the cause and the fix."""
    answer = str(exchange.get("assistant", ""))
    return bool(exchange.get("errors") and cues.FIX.search(answer) and cues.CAUSE.search(answer))


def claims(exchanges: Sequence[Exchange]) -> list[dict[str, Any]]:
    """Return what the patterns find, in the form of a model's ``statements`` list."""
    return [claim for exchange in exchanges for claim in _found(exchange)]


def judge(exchanges: Sequence[Exchange], stamp: Stamp, near: Sequence[Mapping[str, Any]] = ()) -> Checked:
    """Return the facts that the patterns find, and the ends of facts among ``near``, checked like those of a model."""
    shown = {str(fact["id"]): str(fact["content"]) for fact in near}
    ended = retractions.ended(exchanges, near)
    return check(claims(exchanges), Material.of(exchanges), stamp, shown=shown, ended=ended)


def _found(exchange: Exchange) -> Iterator[dict[str, Any]]:
    yield from _said(str(exchange.get("user", "")))
    yield from _resolved(exchange)


def _said(user: str) -> Iterator[dict[str, Any]]:
    """Yield the claims in the user's own sentences."""
    for sentence, cue in cues.stated(user):
        yield _claim(cue.kind, cue.importance, cues.worded(sentence), sentence, "user")


def _resolved(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """Yield the cause and fix that the assistant named last, if something had gone wrong."""
    if not exchange.get("errors") and not cues.TROUBLE.search(str(exchange.get("user", ""))):
        return
    answer = cues.sentences(cues.without_quotations(str(exchange.get("assistant", ""))))
    fixes = [number for number, part in enumerate(answer) if cues.FIX.search(part) and not cues.GUESS.search(part)]
    for number in fixes[-1:]:
        before = answer[number - 1] if number else ""
        joined = before and not cues.GUESS.search(before) and cues.refers(answer[number], before)
        text = f"{before} {answer[number]}" if joined else answer[number]
        if cues.CAUSE.search(text) and sentences(text) <= 3:
            kind = "workaround" if cues.WORKAROUND.search(text) else "debugging"
            yield _claim(kind, 0.6, cues.worded(text), answer[number], "assistant")


def _claim(kind: str, importance: float, content: str, quote: str, origin: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "content": content,
        "importance": importance,
        "tags": [],
        "keywords": [],
        "quote": quote,
        "origin": origin,
        "supersedes": "",
    }
