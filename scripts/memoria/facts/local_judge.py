"""Local judge: what can be told of an exchange without asking a model.

Two uses: the local check after every turn (``notice``: is this worth a model call, or not even worth counting?), and
the last link of the judge chain (``claims``: the facts that plain patterns find). Knows exchanges as models get them;
knows no model and no store. What a sentence says is known to ``language.cues``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memoria.facts.fact import Checked, Material, Stamp, check, sentences
from memoria.language import cues

Exchange = Mapping[str, Any]

TRIVIAL_CHARS: Final = 40  # a shorter prompt without a cue is not even counted towards the next extraction


@dataclass(frozen=True, slots=True)
class Cues:
    """What the local check saw.

    ``kinds``: what the patterns found; ``hinted``: words that often go with something worth keeping, or an error that
    was resolved; ``trivial``: nothing to learn from even in a batch.
    """

    kinds: tuple[str, ...] = ()
    hinted: bool = False
    trivial: bool = False

    @property
    def flagged(self) -> bool:
        """Whether the exchange is worth a model call of its own."""
        return bool(self.kinds) or self.hinted


def notice(exchange: Exchange) -> Cues:
    """Look at one exchange, microseconds to a few milliseconds, no model call."""
    user = str(exchange.get("user", ""))
    kinds = tuple(dict.fromkeys(claim["kind"] for claim in _found(exchange)))
    hinted = any(map(cues.is_hint, cues.own_sentences(user))) or _is_resolved(exchange)
    short = cues.is_command(user) or len(user.strip()) < TRIVIAL_CHARS
    return Cues(kinds, hinted, trivial=short and not kinds and not hinted)


def _is_resolved(exchange: Exchange) -> bool:
    """A tool failed, and the assistant says why and what helped."""
    told = str(exchange.get("assistant", ""))
    return bool(exchange.get("errors") and cues.FIX.search(told) and cues.CAUSE.search(told))


def claims(exchanges: Sequence[Exchange]) -> list[dict[str, Any]]:
    """What the patterns find, in the form of a model's ``learned`` list."""
    return [claim for exchange in exchanges for claim in _found(exchange)]


def judge(exchanges: Sequence[Exchange], stamp: Stamp) -> Checked:
    """The patterns as a judge: the same checked facts as from a model."""
    return check(claims(exchanges), Material.of(exchanges), stamp)


def _found(exchange: Exchange) -> Iterator[dict[str, Any]]:
    yield from _said(str(exchange.get("user", "")))
    yield from _resolved(exchange)


def _said(user: str) -> Iterator[dict[str, Any]]:
    """What the user's own sentences say."""
    for sentence in cues.own_sentences(user):
        if cue := cues.of(sentence):
            yield _claim(cue.kind, cue.importance, cues.worded(sentence), sentence, "user")


def _resolved(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """Error, cause and fix, as the assistant told them after something had gone wrong."""
    if not exchange.get("errors") and not cues.TROUBLE.search(str(exchange.get("user", ""))):
        return
    told = cues.sentences(cues.without_quotations(str(exchange.get("assistant", ""))))
    fixes = [number for number, part in enumerate(told) if cues.FIX.search(part) and not cues.GUESS.search(part)]
    for number in fixes[-1:]:
        near = [part for part in told[max(0, number - 1) : number + 1] if not cues.GUESS.search(part)]
        text = " ".join(near)
        if cues.CAUSE.search(text) and sentences(text) <= 3:
            kind = "workaround" if cues.WORKAROUND.search(text) else "debugging"
            yield _claim(kind, 0.6, cues.worded(text), told[number], "assistant")


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
