"""Cues: words of the user that are urgent to keep: a correction, a rule, a decision, in English and German.

They decide when a model is asked at once, and what is learned where there is none. What they find is never certain, so
that nothing else may rest on it.
"""

from __future__ import annotations

from memoria.base.pattern import Pattern

MAX_PROMPT = 1_500  # characters; longer prompts are mostly pasted text and are not examined

_QUOTED = Pattern(r"(?ms)```.*?(?:```|\Z)|<([a-z_-]+)>.*?</\1>|^[ \t]*>.*\Z")  # what is not the writer's own words
_SPLIT = Pattern(r"(?<=[.!?])\s+(?=\S)|(?<=[\u3002\uff01\uff1f])(?=\S)|\n+")
_BULLET = Pattern(r"^(?:[-*+\u2022]|\d{1,2}[.)])\s+")
_COMMAND = Pattern(r"^\s*(?:[/!#]\w|<(?:command|local-command|bash|task-notification|teammate)|\[Request interrupted)")
_CUES = (  # the first that a sentence holds says what it states
    (
        "correction",
        Pattern(
            r"(?i)^(?:no|nope|nein)\b[,.:!].*\w{3}|\b(?:that'?s|that is|das ist) (?:wrong|not (?:right|how)|falsch)\b|"
            r"\bas i (?:already )?said\b|\bwie gesagt\b|\bi (?:already )?told you\b|\bhabe? dir (?:schon|doch)\b"
        ),
    ),
    (
        "preference",
        Pattern(
            r"(?i)\b(?:always|never|immer|nie|niemals|prefer|bevorzug\w+|from now on|ab (?:jetzt|sofort)|künftig|"
            r"in (?:the )?future|going forward|remember(?: that|:)|merk dir|we (?:only )?use|wir (?:nutzen|nehmen))\b"
        ),
    ),
    (
        "decision",
        Pattern(
            r"(?i)\b(?:we|i)(?:'ve| have)? (?:decided|agreed|settled|chose|went with)\b|\bdecision:|"
            r"\bwir haben uns\b.*\b(?:entschieden|geeinigt)\b|^let'?s (?:use|go with|stick (?:to|with)) \w"
        ),
    ),
)


def find_stated(prompt: str) -> list[tuple[str, str]]:
    """Return the user's own sentences in a prompt that hold a cue, each with the kind of what it states.

    Commands, questions, quotations and pasted text are none.
    """
    if is_command(prompt) or len(prompt) > MAX_PROMPT:
        return []
    own = sentences(_QUOTED.sub("\n", prompt))
    return [(part, kind) for part in own if (kind := kind_of(part))]


def kind_of(sentence: str) -> str:
    """Return the kind of what a sentence states by its cue, ``""`` when it holds none or is a question."""
    if sentence.rstrip().endswith(("?", "\uff1f")):
        return ""
    return next((kind for kind, pattern in _CUES if pattern.search(sentence)), "")


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, without the marks of list items."""
    parts = (_BULLET.sub("", part.strip()) for part in _SPLIT.split(text))
    return [part for part in parts if part]


def is_command(text: str) -> bool:
    """Return whether a prompt is empty, or is meant for the client and not for the assistant."""
    return not text.strip() or bool(_COMMAND.match(text))
