"""Notice: what can be told of an exchange without asking a model.

Two uses: the local check after every turn (``notice``: is this worth a model call, or not even worth counting?), and
the last link of the judge chain (``claims``: the facts that plain patterns find). English and German. The patterns
would rather miss a fact than invent one: a question, a quotation, a passing wish ("for now") is none. Knows exchanges
as models get them; knows no model and no store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memoria.facts.fact import Checked, Material, Stamp, check, sentences

Exchange = Mapping[str, Any]

TRIVIAL_CHARS: Final = 40  # a shorter prompt without a cue is not even counted towards the next extraction
MAX_PROMPT: Final = 1_500  # characters of a prompt looked at; most of what is longer was pasted

_PASTED = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>.*$|<[a-z_-]+>.*?</[a-z_-]+>", re.DOTALL | re.MULTILINE)
_SPLIT = re.compile(r"(?<=[.!?])\s+(?=\S)|\n+")
_COMMAND = re.compile(
    r"^\s*(?:[/!#]\w|<(?:command|local-command|bash|task-notification|teammate)|\[Request interrupted)"
)
_FILLER = re.compile(
    r"^(?:(?:ok(?:ay)?|so|and|but|also|well|hm+|actually|please|bitte|und|also|gut|ja|yes|yeah|thanks|danke|"
    r"sorry|no|nope|"
    r"nein|oh|btw|by the way|fwiw|fyi|heads[ -]up|(?:just )?so (?:that )?you know(?: that)?|one (?:more )?thing|"
    r"remember|merk dir|note|fyi|as i said|again|wie gesagt|"
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


@dataclass(frozen=True, slots=True)
class _Cue:
    """A pattern, the kind it speaks for, how important that usually is, how many words the sentence must have."""

    kind: str
    importance: float
    pattern: re.Pattern[str]
    words: int


def _cue(kind: str, importance: float, words: int, *patterns: str) -> _Cue:
    return _Cue(kind, importance, re.compile("|".join(patterns), re.IGNORECASE), words)


_ASIDE = (  # what follows "don't" in a person's speech without being a rule
    r"worry|mind|think|know|understand|see|care|get|have|want|like|need|feel|find|believe|forget"
)
# Tried in order on each sentence that is no question; the first that fits decides. A standing rule is told from a step
# of the task at hand by its words: "never", "always", "we … here", plural things in general; not "don't set it".
_CUES: Final = (
    _cue(
        "correction", 0.9, 6,
        r"\bas i (?:already )?said\b",
        r"\bi (?:already )?(?:told|asked) you(?: already| before| to| not)",
        r"\byou keep \w+ing\b",
        r"^wie gesagt\b",
        r"\bich (?:habe|hab) (?:es )?dir (?:schon|bereits|doch)\b",
    ),
    _cue(
        "correction", 0.85, 6,
        r"^(?:(?:ok|sorry|hm+),? )?(?:no|nope|nein)[,:]\s+(?!(?:thanks|thank|danke|problem|worries|the other)\b)"
        r".*\b(?:we (?:use|run|do|don't|never|always)|wir|instead|always|never|immer|nie|niemals|statt|sondern)\b",
        r"^(?:(?:ok|sorry|hm+),? )?(?:no|nope|nein)[,:]\s+(?:(?:do not|don't) use|nicht)\b",
    ),
    _cue(
        "correction", 0.85, 8,
        r"\b(?:that'?s|that is) not how (?:we|i|it)\b",
        r"\bso (?:machen|nennen|schreiben) wir das (?:hier )?nicht\b",
        r"\b(?:that'?s|that is|you(?:'re| are)|das ist) (?:wrong|incorrect|not (?:right|true|correct)|mistaken|falsch|"
        r"nicht (?:richtig|wahr))\b.*(?:, not\b|\binstead of\b|\b(?:und|and) nicht\b|\bsondern\b)",
        r"\bdas stimmt nicht\b.*(?:\bnicht\b.*\bnicht\b|\bsondern\b)",
    ),
    _cue(
        "correction", 0.8, 4,
        r"^(?:never(?! mind\b)|ever use|avoid|only ever|stop \w+ing|niemals|vermeide|keine[nr]?)\b(?! ahnung\b)",
        r"^(?:do not|don't|dont) (?:ever\b|(?!" + _ASIDE + r")\w+(?: (?!it|this|that|them|these|those|anything|the|any|"
        r"a|an|my|your|us|me)\w+){0,2} (?!this|is|was)\w{3,}s\b)",
        r"\bnever\b.*\b(?:because|since|otherwise)\b",
        r"^(?:verwende|nutze|nimm|schreib\w*|mach)\b.*\b(?:niemals|nie)\b",
    ),
    _cue(
        "preference", 0.8, 4,
        r"\b(?:from now on|going forward|ab jetzt|ab sofort|künftig|in zukunft|grundsätzlich)\b",
        r"^in (?:the )?future,|^as a rule\b|^for (?:the|all) future\b|^für die zukunft\b",
    ),
    _cue(
        "preference", 0.75, 5,
        r"\bi (?:really |strongly |much |generally |usually )?prefer\b",
        r"\bi'?d (?:much )?prefer\b",
        r"\bi(?:'d| would) rather (?!not\b)|\bmir (?:ist|wäre) (?:es )?lieber\b|\bich hätte lieber\b",
        r"\bi always want\b|\bmy preference\b|\bich bevorzuge\b",
    ),
    _cue(
        "preference", 0.75, 5,
        r"^(?:always|immer)\b(?! (?:works?|fails?|returns?|happens?|wieder|noch|mehr)\b)",
        r"^make sure (?:to |that you |you )?always\b",
        r"^(?:schreib\w*|nutze|verwende|nimm|antworte|teste)\b.*\bimmer\b",
    ),
    _cue(
        "decision", 0.7, 5,
        r"\b(?:we|i)(?:'ve| have)? (?:decided|agreed|settled|opted|chosen|went with)\b",
        r"\bthe decision (?:is|was)\b",
        r"\bwe(?:'re| are) (?:dropping|moving (?:to|off|away)|switching (?:to|from)|going with|getting rid of|"
        r"standardi[sz]ing on|deprecating)\b(?! (?:option|this|that|it|the (?:next|first|second)|\d))",
        r"\bi(?:'ve| have)? (?:switched|moved|migrated) (?:us|everything|the team)\b",
        r"\bwir haben uns\b.*\b(?:entschieden|geeinigt)\b|\bwir (?:bleiben bei|steigen (?:auf|um))\b",
        r"\bshould be (?:the )?(?:single )?source of truth\b",
    ),
    _cue(
        "decision", 0.65, 5,
        r"^let'?s (?:use|go with|stick (?:to|with)|switch to|settle on) (?!option|\d|that|this|it\b).*"
        r"(?:\bnot\b|\binstead\b|\bover\b|\brather\b|\bbecause\b|\bsince\b|, (?:it|they|we)\b)",
        r"^lass uns .*\b(?:statt|weil)\b",
    ),
    _cue(
        "preference", 0.7, 5,
        r"\bwe (?:always |only |never |all )?(?:use|run|write|keep|put|test|name)\b.*\b(?:here|in (?:this|our) \w+|"
        r"everything|explicitly|on purpose)\b",
        r"\bwe (?:don't|do not|never) (?:use|run|write|keep|put|test|name)\b.*\b(?:here|because|since)\b",
        r"\bwir (?:nutzen|verwenden|nehmen|schreiben|testen|arbeiten)\b.*\b(?:hier|immer|nicht|statt|keine\w*|"
        r"diesem)\b",
    ),
    _cue(
        "preference", 0.7, 5,
        r"^(?:use|write|put|name|verwende|nutze|schreib\w*) .*(?:\bbreaks? (?:it|them)\b|\bin (?:all|every) \w+|"
        r"\bin diesem projekt\b)",
        r"^instead of \w+.*\bin (?:all|every|new)\b",
    ),
    _cue(
        "operational", 0.7, 6,
        r"\bremember(?: that\b|:|,)|\bremember this\b|,? remember that$",
        r"^(?:just )?so (?:that )?you know\b|^(?:fyi|heads[ -]up|for your information)\b|^damit du(?:'s| es)? weißt\b",
        r"\bkeep in mind\b|\bfor the record\b|\bmemori[sz]e\b.*:|\bmerke? dir\b|\bzur info\b",
    ),
    _cue(
        "debugging", 0.6, 8,
        r"\b(?:was|were|is|are) (?:only |just |all )?because\b.*\b(?:fix\w*|solv\w*|help\w*|work\w*)\b",
        r"^the (?:reason|cause)\b(?! (?:why )?(?:i|we|you)\b).*\b(?:was|is|were)\b",
        r"\bit turned out (?:that|to be)\b|^turned out\b",
        r"^(?:die ursache|der grund|schuld) (?:war|ist|dafür war)\b|\b(?:lag|hing) (?:am|an|daran)\b.*\b(?:läuft|geht|"
        r"behoben|gelöst)\b",
    ),
    _cue(
        "fact", 0.6, 5,
        r"^(?:this|that|these|die|diese) (?:files?|folders?|modules?|code|dateien?|ordner) (?:is|are|wird|werden|ist) "
        r"(?:auto-?)?(?:generated|vendored|generiert|erzeugt)\b",
        r"\bbei uns\b.*\b(?:nur|immer|nie|niemals|ausschließlich)\b|\b(?:nur|immer|nie) bei uns\b",
        r"\b(?:uses|always|never|must)\b.*\b(?:in|for) (?:this|our) (?:repo|repository|project|codebase|team)\b",
        r"^(?:the|our||my|die|der|das|unser\w*)\b.*\b(?:database|server|host|staging|production|pipeline|cluster|bucket|"
        r"queue|service|docs?|datenbank\w*|produktion\w*)\b.*\b(?:is called|is deployed|is hosted|lives (?:on|in)|"
        r"runs on|listens on|läuft auf|liegt auf|heißt|hängt an)\b",
        r"^(?:my name is|i'm responsible for|i am responsible for|deploys? (?:go|happen|run))\b",
    ),
)  # fmt: skip

# Looser: worth a model's look, not enough for a pattern to speak.
_HINT = re.compile(
    # a rule or a habit
    r"\b(?:don'?t|do not|never|always|instead of|rather than|that'?s (?:wrong|not)|not what i|i (?:said|meant|told)|"
    r"why did you|you should(?:n'?t)?|you keep|stop \w+ing|prefer|i (?:don'?t )?like|remember|memorize|make sure|"
    r"in (?:the )?future|from now on|next time|we (?:should|decided|always|never|use|agreed)|let'?s use|on purpose|"
    r"convention|source of truth|note that|trade-?off|nicht|kein\w*|niemals|immer|lieber|statt|bevorzug\w*|merk dir|"
    r"ab jetzt|künftig|entschieden|falsch|eigentlich|wir (?:nutzen|nehmen|verwenden)|"
    r"(?:would|'d) rather|no need (?:for|to)|leave \w+ out|keep (?:it|them|that) \w+|when(?:ever)? you \w+|wenn du|"
    r"für die zukunft|lass\w* .* weg|(?:have|has) to (?:be|have|go|run|stay)|must(?:n'?t)?|no exceptions|"
    # how things are here
    r"in (?:this|our) (?:repo|repository|project|codebase|team|company)|bei uns|hier (?:auf|nur|mit)|our own|"
    r"we(?:'ve| have| had) (?:an?|our|two|\w+ed)|we(?:'re| are) (?:dropping|moving|switching|going)|we went with|"
    r"(?:switched|moved|migrated) (?:us|to|over)|call(?:s|ed)? it|is called|heißt|heißen|no longer|"
    r"not any ?more|nicht mehr|inzwischen|gone since|dead code|deprecated|(?:is|are) generated|pin(?:ned)?|"
    r"until upstream|my name|i own|i'm on|"
    # told on purpose
    r"so you know|fyi|fwiw|by the way|btw|heads[ -]up|one (?:more )?thing|übrigens|achtung|damit du|the plan is|"
    # what went wrong
    r"schon wieder|that broke|that'?s (?:why|what|how)|the reason|(?:was|were|is) because|turned out|die ursache|"
    r"lag an|hing a[mn]|got it working)\b"
    # this and not that; done once more
    r"|\w,? (?:and |but )?not (?!sure\b|yet\b|only\b|working\b|the (?:same|case)\b)\w+[^?]*$"
    r"|\byou \w+ .*\bagain\b",
    re.IGNORECASE,
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
    hinted = _is_hint(user) or _is_resolved(exchange)
    short = _is_command(user) or len(user.strip()) < TRIVIAL_CHARS
    return Cues(kinds, hinted, trivial=short and not kinds and not hinted)


def _is_hint(user: str) -> bool:
    if _is_command(user) or len(user) > MAX_PROMPT:
        return False
    own = _sentences(_PASTED.sub("\n", user))
    return any(_HINT.search(part) and len(part.split()) >= 5 and not _QUESTION.search(part) for part in own)


def _is_resolved(exchange: Exchange) -> bool:
    """A tool failed, and the assistant says why and what helped."""
    told = str(exchange.get("assistant", ""))
    return bool(exchange.get("errors") and _FIX.search(told) and _CAUSE.search(told))


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
    if _is_command(user) or len(user) > MAX_PROMPT:
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
