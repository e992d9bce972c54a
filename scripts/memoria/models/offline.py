"""Offline: answer without a model; deterministic, without network or cost.

It takes the words themselves: an entry is what was asked and what was answered, a statement is a sentence of the user's
that holds a cue, a project has one article, and nothing is ended. It answers only when the setting ``model`` names it:
a transient fault must be retried, not hidden by a poorer note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground.errors import BadAnswerError
from memoria.models import answer
from memoria.models.protocol import Completion, JsonObject, Model, Prompt, Usage
from memoria.search import cues, words
from memoria.statements.claim_check import MAX_FACTS
from memoria.statements.fact import make_plain

MIN_SAID: Final = 40  # characters of a request or an answer that is more than small talk
MAX_EXCHANGES: Final = 40  # as many as the schema of a note allows
ASKED, ANSWERED, TITLE = 200, 400, 72  # characters shown of a request, of an answer, of a title
IMPORTANCE: Final = {"correction": 0.85, "preference": 0.8, "decision": 0.65}

Exchange = Mapping[str, Any]


def note(material: JsonObject) -> JsonObject:
    """Return the answer to ``flush``: what was asked and answered, and the statements with a cue."""
    exchanges = [exchange for exchange in material["exchanges"] if _says_something(exchange)]
    statements = claims(exchanges)
    if not exchanges:
        return {"worth_saving": False}
    rows = list(filter(None, map(_row, exchanges)))
    title = next(filter(None, (_first_sentence(exchange.get("user", "")) for exchange in exchanges)), "") or "".join(
        rows[:1]
    )
    return {
        "worth_saving": True,
        "title": words.shorten(title[:1].upper() + title[1:], TITLE),
        "context": _first_sentence(exchanges[-1].get("assistant", "")),
        "key_exchanges": rows[:MAX_EXCHANGES],
        "statements": statements[:MAX_FACTS],
    }


def claims(exchanges: Iterable[Exchange]) -> list[JsonObject]:
    """Return the user's sentences that hold a cue, in the form of a model's ``statements``."""
    found = [item for exchange in exchanges for item in cues.find_stated(str(exchange.get("user", "")))]
    return [
        {"kind": kind, "content": sentence, "importance": IMPORTANCE[kind], "quote": sentence, "supersedes": []}
        for sentence, kind in dict.fromkeys(found)
    ]


def _says_something(exchange: Exchange) -> bool:
    """Return whether an exchange is more than small talk: long words, work that was done, or a cue."""
    user, assistant = str(exchange.get("user", "")), str(exchange.get("assistant", ""))
    did = bool(exchange.get("tools") or exchange.get("errors"))
    return did or len(user) >= MIN_SAID or len(assistant) >= MIN_SAID or bool(cues.find_stated(user))


def _row(exchange: Exchange) -> str:
    """Return an exchange on one line: request → the end of the answer."""
    said = " ".join(cues.sentences(make_plain(exchange.get("assistant")))[-2:])
    return " → ".join(filter(None, (make_plain(exchange.get("user"), ASKED), words.shorten(said, ANSWERED))))


def _first_sentence(text: object) -> str:
    """Return the first sentence of a text that is no command to the client."""
    lines = "\n".join(line for line in str(text).splitlines() if not cues.is_command(line))
    return make_plain(next(iter(cues.sentences(lines)), ""))


TASKS: dict[str, Callable[[JsonObject], JsonObject]] = {
    "flush": note,
    "compile": lambda _: {"places": []},  # what an answer leaves out stands on its project's own page
}


class Offline:
    """The backend without a model."""

    name = "offline"

    def complete(self, prompt: Prompt) -> Completion:
        """Answer the tasks it knows; raise BadAnswerError for the others, which need a language model."""
        if prompt.task not in TASKS:
            raise BadAnswerError(f"offline cannot answer {prompt.task!r}; that takes a language model.")
        return Completion(answer.check(TASKS[prompt.task](prompt.material), prompt.schema), self.name, Usage())


def make(argument: str, settings: Settings, paths: Paths) -> Model:  # noqa: ARG001 (every backend is made alike)
    """Return the model ``offline``, which has no variants and no settings."""
    return Offline()
