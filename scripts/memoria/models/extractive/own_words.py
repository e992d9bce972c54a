"""Own words: the note on a conversation that is no longer than a note would be, made without a model.

Only a conversation in which the user asks for work and states nothing is noted so: no rule, no decision, no cause that
was found, nothing that concerns a known fact or an open item. Its note holds every word of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from memoria.facts import local_judge
from memoria.language import prose, requests, statements
from memoria.language.pattern import Pattern
from memoria.language.similarity import coverage
from memoria.models import answer, tasks
from memoria.models.extractive import summarize
from memoria.models.protocol import JsonObject

MAX_CHARS: Final = 1_400  # that a row of a note may have
MAX_TITLE: Final = 72  # as of the notes that are made without a model
MAX_SHARED: Final = 0.34  # of the words of a known fact or open item; with more, the conversation may be about it
_IMAGE = Pattern(r"(?i)\[image[^\]]*\]\s*")  # where the client shows a picture
_SUBSTANCE: Final = ("decisions", "lessons", "action_items", "learned")  # of a note


def note(exchanges: Sequence[JsonObject], known: Iterable[str], most: int) -> JsonObject | None:
    """Return the answer to ``flush`` for these exchanges, None when a model has to read them.

    ``exchanges``: as ``tasks.flush`` takes them. ``known``: the texts of the facts and open items that it would be
    shown. ``most``: the largest number of characters of a conversation that is noted so.
    """
    text = tasks.told(exchanges)
    if len(text) > min(most, MAX_CHARS) or not all(map(_is_plain, exchanges)) or _concerns(exchanges, known):
        return None
    found = summarize.note({"exchanges": list(exchanges)})
    if any(found.get(name) for name in _SUBSTANCE):
        return None
    rows = [row for exchange in exchanges if (row := _row(exchange))]
    if not rows:
        return answer.check({"worth_saving": False}, tasks.FLUSH_SCHEMA)
    asked = next((exchange["user"] for exchange in exchanges if exchange.get("user")), rows[0])
    asked = _IMAGE.sub("", found.get("title") or " ".join(asked.split()))
    title = prose.shorten(asked, MAX_TITLE)
    data = {
        "worth_saving": True,
        "title": title[:1].upper() + title[1:],
        "context": rows[-1],
        "key_exchanges": rows[:-1],
    }
    return answer.check(data, tasks.FLUSH_SCHEMA)


def _is_plain(exchange: JsonObject) -> bool:
    user = str(exchange.get("user", ""))
    # What the assistant says unasked continues something that is not shown here.
    is_request = requests.is_only_request(user) if user else not exchange.get("assistant")
    return is_request and not local_judge.notice(exchange).flagged


def _concerns(exchanges: Sequence[JsonObject], known: Iterable[str]) -> bool:
    """Return whether a conversation may be about something known: one word of the request or many words are shared."""
    asked = statements.words("\n".join(str(exchange.get("user", "")) for exchange in exchanges)).stems
    said = statements.words(tasks.told(exchanges)).stems
    about = [statements.words(text).stems for text in known]
    return any(asked & stems or coverage(stems, said) > MAX_SHARED for stems in about)


def _row(exchange: JsonObject) -> str:
    """Return an exchange on one line: request → what was said, and in brackets what was done and what failed."""
    steps = [(label, " ".join(text.split())) for label, text in tasks.steps_of(exchange)]
    said = {who: " ".join(text for label, text in steps if label == who) for who in ("user", "assistant")}
    done = "; ".join(text if label == "tool" else f"{label}: {text}" for label, text in steps if label not in said)
    talk = " → ".join(filter(None, said.values()))
    return f"{talk} ({done})" if talk and done else talk or done
