"""Own words: the note on a conversation that is shorter than the instructions for a note, made without a model.

Only a conversation in which the user asks for work, or says nothing, is noted so: no rule, no decision, no cause that
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

MAX_CHARS: Final = 1_900  # of the last row, which is the context of the note; the schema allows a little more
MAX_ROW: Final = 1_400  # of every other row
MAX_ROWS: Final = 40
MAX_TITLE: Final = 72  # as of the notes that are made without a model
MAX_SHARED: Final = 0.34  # of the words of a known fact or open item; with more, the conversation may be about it
_IMAGE = Pattern(r"(?i)\[image[^\]]*\]\s*")  # where the client shows a picture
_MARKS: Final = "#*_` \t"  # of a heading
_SUBSTANCE: Final = ("statements", "action_items")  # of a note


def note(material: JsonObject, most: int) -> JsonObject | None:
    """Return the answer to ``flush`` for this material, None when a model has to read it.

    ``most``: the largest number of characters of a conversation that is noted so.
    """
    exchanges: Sequence[JsonObject] = material["exchanges"]
    said = tasks.told(exchanges)
    if len(said) > most or not all(map(_is_plain, exchanges)):
        return None
    found = summarize.note(material)
    known = [fact["content"] for fact in material["known"]] + [item["text"] for item in material["open_items"]]
    if any(found.get(name) for name in _SUBSTANCE) or statements.concern(known, _asked(exchanges), said, MAX_SHARED):
        return None
    rows = [row for exchange in exchanges if (row := _row(exchange))]
    if len(rows) > MAX_ROWS or any(len(row) > MAX_ROW for row in rows[:-1]) or len("".join(rows[-1:])) > MAX_CHARS:
        return None
    if not rows:
        return answer.check({"worth_saving": False}, tasks.FLUSH_SCHEMA)
    title = prose.shorten(_title(exchanges, found) or rows[0], MAX_TITLE)
    data = {
        "worth_saving": True,
        "title": title[:1].upper() + title[1:],
        "context": rows[-1],
        "key_exchanges": rows[:-1],
    }
    return answer.check(data, tasks.FLUSH_SCHEMA)


def _title(exchanges: Sequence[JsonObject], found: JsonObject) -> str:
    """Return what the user asks; where nobody asks, the first line of what is said, such as the heading of a plan."""
    asked = next((str(exchange["user"]) for exchange in exchanges if exchange.get("user")), "")
    if asked:
        return _IMAGE.sub("", found.get("title") or " ".join(asked.split()))
    lines = (line.strip(_MARKS) for exchange in exchanges for line in str(exchange.get("assistant", "")).splitlines())
    return next(filter(None, lines), "")


def _asked(exchanges: Sequence[JsonObject]) -> str:
    """Return what is asked in each exchange; where nobody asks, what the assistant says unasked."""
    return "\n".join(str(exchange.get("user") or exchange.get("assistant", "")) for exchange in exchanges)


def _is_plain(exchange: JsonObject) -> bool:
    user = str(exchange.get("user", ""))
    return (not user or requests.is_only_request(user)) and not local_judge.notice(exchange).flagged


def _row(exchange: JsonObject) -> str:
    """Return an exchange on one line: request → what was said, and in brackets what was done and what failed."""
    steps = [(label, " ".join(text.split())) for label, text in tasks.steps_of(exchange)]
    said = {who: " ".join(text for label, text in steps if label == who) for who in ("user", "assistant")}
    done = "; ".join(text if label == "tool" else f"{label}: {text}" for label, text in steps if label not in said)
    talk = " → ".join(filter(None, said.values()))
    return f"{talk} ({done})" if talk and done else talk or done
