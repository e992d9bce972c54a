"""Own words: the note on a conversation that is no longer than a note would be, made without a model.

Only a conversation in which the user asks for work and states nothing is noted so: no rule, no decision, no cause that
was found, nothing that concerns a known fact or an open item. Its note holds every word of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memoria.facts import local_judge
from memoria.language import prose, requests, statements
from memoria.language.pattern import Pattern
from memoria.models import answer, tasks
from memoria.models.extractive import summarize
from memoria.models.protocol import JsonObject

MAX_CHARS: Final = 1_400  # that a row of a note may have
MAX_TITLE: Final = 72  # as of the notes that are made without a model
MAX_SHARED: Final = 0.34  # of the words of a known fact or open item; with more, the conversation may be about it
_IMAGE = Pattern(r"(?i)\[image[^\]]*\]\s*")  # where the client shows a picture
_SUBSTANCE: Final = ("decisions", "lessons", "action_items", "learned")  # of a note


def note(material: JsonObject, most: int) -> JsonObject | None:
    """Return the answer to ``flush`` for this material, None when a model has to read it.

    ``most``: the largest number of characters of a conversation that is noted so.
    """
    exchanges: Sequence[JsonObject] = material["exchanges"]
    said = tasks.told(exchanges)
    if len(said) > min(most, MAX_CHARS) or not all(map(_is_plain, exchanges)):
        return None
    rows = [row for exchange in exchanges if (row := _row(exchange))]
    found = summarize.note(material)
    request = "\n".join(str(exchange.get("user", "")) for exchange in exchanges)
    known = [fact["content"] for fact in material["facts"]] + [item["text"] for item in material["open_items"]]
    if any(found.get(name) for name in _SUBSTANCE) or statements.concern(known, request, said, MAX_SHARED):
        return None
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


def _row(exchange: JsonObject) -> str:
    """Return an exchange on one line: request → what was said, and in brackets what was done and what failed."""
    steps = [(label, " ".join(text.split())) for label, text in tasks.steps_of(exchange)]
    said = {who: " ".join(text for label, text in steps if label == who) for who in ("user", "assistant")}
    done = "; ".join(text if label == "tool" else f"{label}: {text}" for label, text in steps if label not in said)
    talk = " → ".join(filter(None, said.values()))
    return f"{talk} ({done})" if talk and done else talk or done
