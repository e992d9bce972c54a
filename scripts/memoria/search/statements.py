"""Statements: the sentence of a passage that answers a question, as far as the words that both share can tell.

The evidence for a sentence is the score of its document times the information of the shared words, measured in words
that are as rare as a word of the collection can be. Only both together tell an answer from a chance match:
docs/experiments/threshold.md.
"""

from __future__ import annotations

from memoria.search import tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from memoria.search.hit import Hit

ENDS = (".", "!", "?", ";", ":")  # what a sentence ends in, before a blank
_OPENING = '-*> "\u201c\u2018('  # before the first word of a list item, or of what an entry quotes
_AROUND = ".,;:!?()\"'"
CLOSING = "\"')]}*_`\u201d\u2019\u00bb"
FULL_STOPS = "\u3002\uff01\uff1f\uff1b"  # of scripts that put no blank after them
_LEADING = (  # what an announcement or a request begins with
    "alright", "also", "and", "but", "excellent", "finally", "first", "good", "great", "hmm", "interesting", "next",
    "now", "ok", "okay", "perfect", "please", "so", "sorry", "then", "yeah", "yes",
)  # fmt: skip
_ANNOUNCING = (
    "let me ", "let's ", "i'll ", "i will ", "i'm going to ", "i am going to ", "i need to ", "i can see ", "i see ",
)  # fmt: skip
_REQUESTING = (  # and wishes
    "let's ", "can you ", "could you ", "can we ", "could we ", "i'd like ", "i would like ", "i want to ",
    "i want you to ", "i need you to ", "would be nice ", "it would be nice ", "it'd be nice ",
    "i would have expected ", "i am curious ", "i'm curious ", "i wonder ", "i am wondering ", "i'm wondering ",
    "i'm working on ", "take a look ", "have a look ", "implement ", "add ", "fix ", "create ", "review ", "check ",
    "look at ", "log a ", "log an ", "replace ", "remove ", "rename ", "update ", "write a ", "write the ",
    "investigate ", "explain ", "consider ", "the user asked: ",
    "kannst du ", "könntest du ", "ich möchte ", "ich hätte gern ", "peux-tu ", "pourrais-tu ", "je voudrais ",
    "j'aimerais ", "puedes ", "podrías ", "quisiera ", "me gustaría ", "можешь ", "мне хотелось бы ",
    "ik wil ", "ik zou ", "kun je ", "kan je ", "kunnen we ", "zou je ", "maak ", "voeg ", "zorg ",
    "vorrei ", "voglio ", "puoi ", "potresti ", "aggiungi ", "quero ", "gostaria ", "você pode ", "adicione ", "crie ",
    "chcę ", "chciałbym ", "czy możesz ", "dodaj ", "zrób ",
)  # fmt: skip
_WISHING = (" wil ik ", " zou ik ", " möchte ich ", " will ich ", " hätte ich gern")  # where the verb comes second
_ORDERS = frozenset((  # what an order to work begins with
    "adjust", "attach", "build", "change", "clean", "close", "commit", "compare", "compile", "complete", "continue",
    "convert", "copy", "debug", "decompose", "delete", "deploy", "describe", "do", "download", "draw", "execute",
    "explore", "extract", "find", "finish", "generate", "get", "give", "go", "improve", "include", "inspect",
    "install", "integrate", "keep", "launch", "list", "look", "make", "merge", "modify", "move", "open", "perform",
    "proceed", "prove", "pull", "push", "put", "read", "rebase", "refactor", "regenerate", "rerun", "restart",
    "restore", "revert", "rewrite", "run", "save", "scan", "search", "show", "simplify", "start", "stop",
    "summarize", "tell", "test", "tidy", "train", "translate", "try", "turn", "undo", "use", "verify", "view",
    "wait", "watch", "work", "write",
))  # fmt: skip
_PLEASE = (  # what makes an order of a sentence with any verb
    "please ", "bitte ", "por favor ", "s'il te plaît ", "s'il vous plaît ", "пожалуйста ", "请", "請",
)  # fmt: skip
_LASTING = frozenset((  # what makes a rule of an order: it holds longer than for that work
    "always", "because", "can't", "don't", "doesn't", "every", "from", "instead", "must", "never", "no", "not",
    "only", "rather", "should", "since", "than", "unless", "until", "whenever", "without",
    "immer", "kein", "keine", "nicht", "nie", "niemals", "nur", "ohne", "sondern", "statt", "weil",
    "jamais", "pas", "plutôt", "sans", "seulement", "toujours", "jamás", "nunca", "porque", "siempre", "sin", "solo",
    "sólo", "без", "вместо", "всегда", "не", "никогда", "потому", "только",
))  # fmt: skip
_LASTING_PAIRS = ("不要", "必须", "总是", "始终", "永远", "只能", "一律", "必ず", "常に")  # of scripts without blanks
_FIELDS = 3  # values (``files=3``) in a line that a program logged
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")


class Statement:
    """A sentence that may answer a question, with those around it.

    ``hit`` is its document, with the passage; ``text`` the sentences to show; ``core`` the one that answers;
    ``speaker`` who said them, ``user``, ``assistant`` or ``""``; ``label`` that of the passage, such as a fact's kind.
    ``evidence`` is at least 0, and ``margin`` the same as a multiple of what is needed (1 for what phrases lead to when
    it matters little); ``words`` are the terms of the question that it holds; ``sessions`` those in which it was said,
    as far as they are known. ``is_noted``: whether it is a turn whose conversation a model has noted.
    """

    __slots__ = ("core", "evidence", "hit", "is_noted", "label", "margin", "sessions", "speaker", "text", "words")

    def __init__(self, hit: Hit, text: str, speaker: str) -> None:
        self.hit = hit
        self.text = text
        self.core = text
        self.speaker = speaker
        self.label = ""
        self.is_noted = False
        self.evidence = 0.0
        self.margin = 0.0
        self.words: frozenset[str] = frozenset()
        self.sessions: frozenset[str] = frozenset()


def best(
    passage: str,
    topics: Sequence[Sequence[str]],
    weight_of: Callable[[Collection[str]], float],
    room: int,
    *,
    is_of_work: bool = False,
    is_told: bool = False,
) -> tuple[str, str, float, frozenset[str]]:
    """Return the text to show, the sentence that shares the most with one topic, and the weight and terms it shares.

    The text is that sentence with the sentences after it, then those before it, while all stay within ``room``
    characters. What records work (``is_of_work``) also holds questions, requests and what a model was about to do; such
    a sentence answers nothing.
    """
    spans = _sentences(passage)
    if is_of_work:
        spans = [(start, end) for start, end in spans if states(passage[start:end], is_told=is_told)]
    found: tuple[float, int, frozenset[str]] = (0.0, 0, frozenset())
    for number, (start, end) in enumerate(spans):
        held = set(tokens.of(passage[start:end]))
        for topic in topics:
            shared = held.intersection(topic)
            weight = weight_of(shared)
            if weight > found[0]:
                found = (weight, number, frozenset(shared))
    weight, number, words = found
    if not spans:
        return "", "", 0.0, frozenset()
    return _around(passage, spans, number, room), _core(passage, spans, number), weight, words


def states(sentence: str, *, is_told: bool) -> bool:
    """Return whether a sentence states something, so that it can answer.

    Questions and lines of a log do not, nor does what a model (``is_told``) was about to do. Nor do the requests and
    orders of others that are for one day.
    """
    words = sentence.lower().replace("\u2019", "'").split()
    if not words or is_question(sentence) or sentence.count("=") >= _FIELDS:
        return False
    is_order = False
    while words and words[0].strip(",.!:-*>") in _LEADING:
        is_order |= _beginning(words).startswith(_PLEASE)
        del words[0]
    beginning = _beginning(words)
    if is_told:
        return not beginning.startswith(_ANNOUNCING)
    is_order |= beginning.partition(" ")[0] in _ORDERS or beginning.startswith(_PLEASE)
    if is_order and not _lasts(sentence, words):
        return False
    return not (beginning.startswith(_REQUESTING) or any(wish in sentence.lower() for wish in _WISHING))


def is_question(text: str) -> bool:
    """Return whether a text ends in a question mark, whatever closes it after that (``?!``, ``?)``)."""
    return text.rstrip().rstrip(CLOSING + "!.\u2026").endswith(_QUESTION_MARKS)


def _lasts(sentence: str, words: Sequence[str]) -> bool:
    """Return whether an order holds longer than for the work of its day; ``words`` are its words in lower case."""
    is_rule = not _LASTING.isdisjoint(word.strip(_AROUND) for word in words)
    return is_rule or any(pair in sentence for pair in _LASTING_PAIRS)


def _beginning(words: Sequence[str]) -> str:
    """Return the first words, without commas and with a blank at the end, for a comparison with whole words."""
    return " ".join(words[:5]).lstrip(_OPENING).replace(",", "") + " "


def _core(passage: str, spans: list[tuple[int, int]], number: int) -> str:
    """Return a sentence, with the next one if it only announces it."""
    start, end = spans[number]
    if passage[end - 1] == ":" and number + 1 < len(spans):
        end = spans[number + 1][1]
    return passage[start:end]


def _around(passage: str, spans: list[tuple[int, int]], number: int, room: int) -> str:
    first = last = number
    while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= room:
        last += 1
    while first and spans[last][1] - spans[first - 1][0] <= room:
        first -= 1
    return passage[spans[first][0] : spans[last][1]]


def _sentences(passage: str) -> list[tuple[int, int]]:
    """Return where each sentence or line begins and ends."""
    spans: list[tuple[int, int]] = []
    start = 0
    for position, character in enumerate(passage):
        if character == "\n" or character in FULL_STOPS:
            is_end = True
        elif character in " \t":
            is_end = passage[start:position].rstrip(CLOSING).endswith(ENDS)
        else:
            continue
        if is_end:
            if passage[start:position].strip():
                spans.append((start, position + 1 if character in FULL_STOPS else position))
            start = position + 1
    if passage[start:].strip():
        spans.append((start, len(passage)))
    return spans
