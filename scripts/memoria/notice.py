"""Notice: what can be told of an exchange without asking a model.

Two uses: the local check after every turn (``notice``: is this worth a model call, or not even worth counting?), and
the last link of the judge chain (``claims``: the events that plain patterns find). English and German. The patterns
would rather miss a fact than invent one: a question, a quotation, a passing wish ("for now") is none. Knows exchanges
as models get them; knows no model and no store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memoria.memory.event import Checked, Material, Stamp, check, sentences

Exchange = Mapping[str, Any]

TRIVIAL_CHARS: Final = 40  # a shorter prompt without a cue is not even counted towards the next extraction
LONGEST: Final = 4_000  # characters of a prompt looked at; what is longer was pasted
_WORDS_NEEDED = 4

_PASTED = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>.*$|<[a-z_-]+>.*?</[a-z_-]+>", re.DOTALL | re.MULTILINE)
_SPLIT = re.compile(r"(?<=[.!?])\s+(?=\S)|\n+")
_COMMAND = re.compile(
    r"^\s*(?:[/!#]\w|<(?:command|local-command|bash|task-notification|teammate)|\[Request interrupted)"
)
_FILLER = re.compile(
    r"^(?:(?:ok(?:ay)?|so|and|but|also|well|hm+|actually|please|bitte|und|also|gut|ja|yes|yeah|thanks|danke|"
    r"sorry|no|nope|"
    r"nein|remember|merk dir|note|fyi|as i said|again|wie gesagt|"
    r"i (?:already )?told you(?: already)?)\b[\s,:;!.-]*)+",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\?\s*$|^(?:(?:ok|so|and|but|actually|hey|presumably)[\s,]+)*(?:can|could|should|shall|would|will|is|are|"
    r"was|were|"
    r"do we|do you|does|did|what|why|how|where|which|who|when should|kannst|könntest|können|soll|sollen|sollte|"
    r"ist|sind|"
    r"was|warum|wieso|wie (?!gesagt)|wo|welche|wer|gibt|hast|haben wir)\b",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\b(?:for now|right now|this time|just once|for the moment|today|yet|for a (?:second|moment)|erst ?mal|vorerst|"
    r"diesmal|gerade nicht|noch nicht|heute)\b",
    re.IGNORECASE,
)
_THIS = re.compile(
    r"^(?:use|run|take|nimm|nutze) (?:this|that|it|the (?:same|following)|dies\w*|"
    r"das)\b",
    re.IGNORECASE,
)

_STEER = (
    r"(?:please |bitte |ever )*(?:do not|don't|dont|never|stop|avoid|always|only ever|niemals|nie|immer|keine[nr]?|"
    r"vermeide|hör auf)\b"
)
_NO_STEER = (
    r"(?!(?:do not|don't|dont|never) (?:worry|mind|think|know|understand|see|care|bother|get|have|want|like|need|"
    r"really|even|believe|remember|feel|find)\b)(?!stop (?:here|now|it|the)\b)(?!(?:immer|nie) (?:wieder|noch|"
    r"mehr)\b)"
)


@dataclass(frozen=True, slots=True)
class _Cue:
    """A pattern, the kind it speaks for, how important that usually is, how many words the sentence must have."""

    kind: str
    importance: float
    pattern: re.Pattern[str]
    words: int = _WORDS_NEEDED


def _cue(kind: str, importance: float, pattern: str, words: int = _WORDS_NEEDED) -> _Cue:
    return _Cue(kind, importance, re.compile(pattern, re.IGNORECASE), words)


# Tried in order on each sentence that is no question; the first that fits decides.
_CUES: Final = (
    _cue(
        "correction",
        0.9,
        r"\b(?:as i (?:already )?said|i (?:already )?(?:told|asked) you(?: already| before| to| not)|you keep \w+ing|"
        r"how (?:often|many times)|once again,|wie gesagt|ich (?:habe|hab) (?:es )?(?:dir )?(?:schon|bereits|doch) )",
        6,
    ),
    _cue(
        "correction",
        0.85,
        r"^(?:(?:ok|sorry|hm+),? )?(?:no|nope|nein)[,:]\s+(?!(?:thanks|thank|danke|problem|worries|the other|"
        r"it's fine|"
        r"das reicht|passt)\b).*\b(?:don't|do not|not|never|always|must|we|use|instead|nicht|nie|immer|wir|"
        r"kein\w*|statt)\b",
        6,
    ),
    _cue(
        "correction",
        0.85,
        r"\b(?:that'?s|that is|this is|you(?:'re| are)|das ist|das war) (?:wrong|incorrect|not (?:right|true|"
        r"correct|how)|"
        r"mistaken|falsch|nicht (?:richtig|wahr|so))\b|\bdas stimmt nicht\b",
        8,
    ),
    _cue("correction", 0.8, r"^" + _NO_STEER + _STEER),
    _cue(
        "correction",
        0.8,
        r"\b(?:never|niemals)\b(?! mind).*\b(?:because|since|otherwise|weil|sonst|da)\b|\b(?:use|verwende|nutze|"
        r"nimm)\b.*"
        r"\b(?:never|niemals|nie)\b",
        6,
    ),
    _cue(
        "preference",
        0.8,
        r"\b(?:from now on|going forward|in (?:the )?future|as a rule|by default,? (?:use|i|we)|ab jetzt|"
        r"ab sofort|künftig|"
        r"in zukunft|grundsätzlich)\b",
    ),
    _cue(
        "preference",
        0.75,
        r"\b(?:i (?:really |strongly |much |generally |usually )?prefer|i'?d (?:much )?prefer|"
        r"i (?:always )?want you to|"
        r"my preference|ich bevorzuge|ich (?:möchte|will|hätte gerne?),? dass du|mir ist lieber)\b",
        5,
    ),
    _cue(
        "preference",
        0.75,
        r"^(?:please |bitte )?(?:always|immer)\b|^(?:please |bitte )?\w+ .*\b(?:immer|always)\b.*"
        r"\b(?:before|after|when|with|in|auf|in|mit|vor|nach)\b",
        5,
    ),
    _cue(
        "decision",
        0.7,
        r"\b(?:we|i)(?:'ve| have)? (?:decided|agreed|settled|opted|chose|chosen|went with)\b|"
        r"\bthe decision (?:is|was)\b|"
        r"\bwir (?:haben uns|bleiben bei)\b.*\b(?:entschieden|geeinigt|bleiben)\b|\bsource of truth\b",
        5,
    ),
    _cue(
        "decision",
        0.65,
        r"^let'?s (?:use|go with|stick (?:to|with)|keep|switch to|settle on) (?!option|(?:number )?\d|that|this|"
        r"it\b).*"
        r"(?:\bnot\b|\binstead\b|\bover\b|\brather\b|\bbecause\b|\bsince\b|,| for )|^lass uns .*\b(?:statt|weil|"
        r"nicht)\b",
        5,
    ),
    _cue(
        "preference",
        0.7,
        r"\b(?:we|wir) (?:always |only |don't |do not |never |all )?(?:use|run|write|keep|put|test|do|deploy|"
        r"name|nutzen|"
        r"verwenden|nehmen|schreiben|testen|arbeiten)\b.*\b(?:here|in this \w+|everything|because|never|not|"
        r"instead|hier|"
        r"immer|nicht|statt|keine\w*|in diesem)\b",
        5,
    ),
    _cue(
        "preference",
        0.7,
        r"^(?:use|write|put|name|inject|prefer|verwende|nutze|schreib\w*) .*(?:\binstead of\b|\brather than\b|"
        r", not\b|"
        r"\bbreak|\bbecause\b|\bin (?:all|every|this)\b|\bstatt\b|\bin diesem\b)|^instead of \w+.*\bin (?:all|"
        r"every|new)\b",
        5,
    ),
    _cue(
        "operational",
        0.7,
        r"\b(?:remember(?: that|:)|remember this|keep in mind|note that|for the record|memori[sz]e|merk(?:e)? dir|"
        r"nicht vergessen|zur info|belongs? in)\b",
        6,
    ),
    _cue(
        "fact",
        0.6,
        r"^(?:the|our|my|die|der|das|unser\w*|deploys?|releases?)\b.*\b(?:database|server|host|deploy\w*|"
        r"staging|production|"
        r"pipeline|cluster|bucket|queue|datenbank\w*|produktion\w*|service|api|docs?|"
        r"workflow)\b.*\b(?:is called|is deployed|"
        r"is hosted|lives|runs on|runs in|go out|goes out|listens|points to|läuft|liegt|heißt|hängt)\b|"
        r"^(?:my name is|i'm responsible for|i am responsible for|i work on|deploys? (?:go|goes|happen|run)s?)\b",
        5,
    ),
)

_TROUBLE = re.compile(
    r"\b(?:fail\w*|error\w*|broken|bug|hang\w*|crash\w*|slow|issue|problem|timeout|leak|flaky|why|wrong|"
    r"fixed it|delay|"
    r"solved|fehl\w*|fehler\w*|warum|kaputt|rot|hängt)\b",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"\b(?:root cause|the cause|caused by|(?:error|hang|delay|failure|problem|bug|issue) (?:was|is|comes|came)|"
    r"because|"
    r"needed|needs about|inherited|die ursache|lag an|liegt an|weil)\b",
    re.IGNORECASE,
)
_FIX = re.compile(
    r"\b(?:fixed (?:it |this )?by|(?:the )?fix (?:was|is)|solved by|resolved by|fixed|workaround|avoids (?:it|"
    r"this|that)|"
    r"passes now after|works now (?:that|because)|needed `|behoben|gelöst|umgehung|indem)\b",
    re.IGNORECASE,
)
_GUESS = re.compile(
    r"\b(?:may|might|maybe|perhaps|probably|not sure|could be|i think|i'll look|possibly|vielleicht|vermutlich|"
    r"eventuell)\b",
    re.IGNORECASE,
)
_WORKAROUND = re.compile(r"\b(?:workaround|avoids|umgehung)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Notice:
    """What the local check saw: the ``kinds`` its cues speak for; ``trivial``: nothing to learn from in a batch."""

    kinds: tuple[str, ...] = ()
    trivial: bool = False

    @property
    def flagged(self) -> bool:
        """Whether the exchange is worth a model call of its own."""
        return bool(self.kinds)


def notice(exchange: Exchange) -> Notice:
    """Look at one exchange, microseconds to a few milliseconds, no model call."""
    found = [claim["kind"] for claim in _found(exchange)]
    user = str(exchange.get("user", ""))
    resolved = bool(exchange.get("errors")) and bool(_FIX.search(str(exchange.get("assistant", ""))))
    trivial = not found and not resolved and (_is_command(user) or len(user.strip()) < TRIVIAL_CHARS)
    return Notice(tuple(dict.fromkeys(found)), trivial)


def claims(exchanges: Sequence[Exchange]) -> list[dict[str, Any]]:
    """What the patterns find, in the form of a model's ``learned`` list."""
    return [claim for exchange in exchanges for claim in _found(exchange)]


def judge(exchanges: Sequence[Exchange], stamp: Stamp) -> Checked:
    """The patterns as a judge: the same checked events as from a model."""
    return check(claims(exchanges), Material.of(exchanges), stamp)


def _found(exchange: Exchange) -> Iterator[dict[str, Any]]:
    yield from _said(str(exchange.get("user", "")))
    yield from _resolved(exchange)


def _said(user: str) -> Iterator[dict[str, Any]]:
    """What the user's own sentences say."""
    if _is_command(user) or len(user) > LONGEST:
        return
    for sentence in _sentences(_PASTED.sub("\n", user)):
        cue = next((cue for cue in _CUES if _fits(cue, sentence)), None)
        if cue:
            yield _claim(cue.kind, cue.importance, _worded(sentence), sentence, "user")


def _fits(cue: _Cue, sentence: str) -> bool:
    bare = _FILLER.sub("", sentence)
    return (
        len(sentence.split()) >= cue.words
        and bool(cue.pattern.search(sentence) or cue.pattern.search(bare))
        and not _QUESTION.search(sentence)
        and not _QUESTION.search(bare)
        and not _PASSING.search(sentence)
        and not _THIS.search(bare)
    )


def _resolved(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """Error, cause and fix, as the assistant told them after something had gone wrong."""
    if not exchange.get("errors") and not _TROUBLE.search(str(exchange.get("user", ""))):
        return
    told = _sentences(_PASTED.sub("\n", str(exchange.get("assistant", ""))))
    fixes = [number for number, part in enumerate(told) if _FIX.search(part) and not _GUESS.search(part)]
    for number in fixes[-1:]:
        near = [part for part in told[max(0, number - 1) : number + 1] if not _GUESS.search(part)]
        text = " ".join(near)
        if _CAUSE.search(text) and sentences(text) <= 3:
            kind = "workaround" if _WORKAROUND.search(text) else "debugging"
            yield _claim(kind, 0.6, _worded(text), told[number], "assistant")


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


def _worded(sentence: str) -> str:
    """The sentence without what only leads into it, beginning with a capital, ending in a full stop."""
    bare = _FILLER.sub("", sentence).strip() or sentence
    return bare[:1].upper() + bare[1:] + ("" if bare[-1:] in ".!" else ".")


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SPLIT.split(text) if part.strip()]


def _is_command(text: str) -> bool:
    return not text.strip() or bool(_COMMAND.match(text))
