r"""Lines: learned facts as they stand in daily logs, which are the truth.

A fact is a learned line with its quote and its particulars, as ``daily.day_text`` reads and writes them. Only the
first line is needed: a person may write or change one by hand; what the comment does not say is taken from the entry
that it stands in. Knows what a fact's line means; knows neither how it stands in a file nor how facts are judged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping
from datetime import UTC, date, datetime, time
from typing import Any

from memoria.daily.daily_log import DailyLog
from memoria.daily.day_text import DayText, LearnedLine, below, learned_rows
from memoria.daily.entry import Learned
from memoria.facts.fact import KINDS, Fact

_IN_LINE = ("kind", "content", "id", "quote")  # shown in the lines themselves, not repeated in the comment


def render(fact: Fact) -> str:
    """Return the fact's lines, ending in a newline; ``parse`` reads the very same fact back."""
    return "\n".join(learned_rows(learned(fact))) + "\n"


def learned(fact: Fact) -> Learned:
    """Return the fact as it stands in a daily log, with its quote and its particulars."""
    told = {name: value for name, value in fact.to_dict().items() if name not in _IN_LINE}
    return Learned(fact.kind, fact.content, fact.id, below(fact.quote, _comment_json(told)))


def _comment_json(told: Mapping[str, Any]) -> str:
    """Return JSON that cannot end the comment it stands in."""
    return (
        json.dumps(told, ensure_ascii=False).replace("--", "-\\u002d").replace(">", "\\u003e").replace("<", "\\u003c")
    )


def parse(text: str, day: date) -> list[Fact]:
    """Return the facts in a day's text, in order; one id counts once."""
    return [_fact(line, day) for line in _facts(DayText(text))]


def without(text: str, idents: Container[str]) -> str:
    """Return a day's text without those of these facts that stand in no entry."""
    day = DayText(text)
    for line in reversed(_facts(day)):
        if line.learned.id in idents and not line.session:
            day.remove(line)
    return day.text


def _facts(day: DayText) -> list[LearnedLine]:
    """Return the lines that are facts, the first of each id."""
    found: dict[str, LearnedLine] = {}
    for line in day.learned():
        if line.learned.kind in KINDS and line.learned.text.strip():
            found.setdefault(line.learned.id, line)
    return list(found.values())


def _fact(line: LearnedLine, day: date) -> Fact:
    told: dict[str, Any] = {"quote": line.quote}
    for particulars in line.particulars:
        told.update(_object(particulars))
    place = {"session": line.session, "project": line.project} if line.session and "project" not in told else {}
    noon = datetime.combine(day, time(12), UTC).isoformat()
    shown = {"kind": line.learned.kind, "content": line.learned.text, "id": line.learned.id}
    stored = {"time": noon, **place, **told, **shown}
    try:
        return Fact.from_dict(stored)
    except ValueError:  # a time that a person made unreadable
        return Fact.from_dict({**stored, "time": noon})


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
        # an escaped half of a surrogate pair is a text that no file and no database can hold
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class Lines:
    """The learned lines of a folder of daily logs."""

    def __init__(self, daily: DailyLog) -> None:
        """``daily`` names files and lock."""
        self.daily = daily

    def read(self, day: date) -> list[Fact]:
        """Return the facts of a day; none when it has no file."""
        return parse(self.daily.text(day), day)

    def loose(self, day: date) -> list[Fact]:
        """Return the facts of a day that stand in no entry: learned while their session went on."""
        return [_fact(line, day) for line in _facts(DayText(self.daily.text(day))) if not line.session]

    def add(self, fact: Fact, day: date, clock_time: str, project: str) -> bool:
        """Append a fact to a day; False when its id stands there already.

        ``clock_time`` (``HH:MM``) and ``project`` (its name) make the heading; facts of one heading share it.
        """

        def added(text: str) -> str:
            rows = DayText(text)
            if all(line.learned.id != fact.id for line in _facts(rows)):
                rows.add(learned(fact), clock_time, project)
            return rows.text

        return self.daily.rewrite(day, added)

    def change(self, fact: Fact, day: date, *, known: Fact | None = None) -> bool:
        """Write the fact over the lines that have its id; False when they are not in this day's file.

        ``known``: False also when kind or words there are no longer this fact's, because a person changed them.
        """

        def as_known(line: LearnedLine) -> bool:
            return known is None or (line.learned.kind, line.learned.text) == (known.kind, known.content)

        return self._edit(fact.id, day, lambda rows, line: rows.change(line, learned(fact)), only=as_known)

    def remove(self, ident: str, day: date) -> bool:
        """Take a fact's lines out, and a heading that is left with nothing; False when they are not there."""
        return self._edit(ident, day, DayText.remove)

    def _edit(
        self,
        ident: str,
        day: date,
        edit: Callable[[DayText, LearnedLine], None],
        *,
        only: Callable[[LearnedLine], bool] = lambda _: True,
    ) -> bool:
        found = False

        def edited(text: str) -> str:
            nonlocal found
            rows = DayText(text)
            line = next((line for line in _facts(rows) if line.learned.id == ident), None)
            found = line is not None and only(line)
            if line and found:
                edit(rows, line)
            return rows.text

        self.daily.rewrite(day, edited)
        return found
