"""Lines: learned facts in daily logs, which are the authoritative record.

A fact is a learned line with its quote and its particulars, as ``daily.day_text`` reads and writes them. Only the first
line is required, so that a person can write or change one by hand. What the particulars lack is taken from the entry
that contains the line. This module knows the meaning of a fact's line, but not the file's syntax or how facts are
checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Any

from memoria.daily.daily_log import DailyLog
from memoria.daily.day_text import DayText, LearnedLine, Part
from memoria.daily.entry import Learned, below
from memoria.statements.fact import GLOBAL, KINDS, Fact

BY_HAND = "-"  # the session of an entry that a person wrote

_IN_LINE = ("kind", "content", "id", "quote")  # in the visible lines, not repeated in the comment


def to_learned(fact: Fact) -> Learned:
    """Return the fact as a learned line of a daily log, with its quote and particulars; ``read_facts`` reads it."""
    particulars = {name: value for name, value in fact.to_dict().items() if name not in _IN_LINE}
    return Learned(fact.kind, fact.content, fact.id, below(fact.quote, _comment_json(particulars)))


def _comment_json(particulars: Mapping[str, Any]) -> str:
    """Return JSON that cannot end the HTML comment around it."""
    text = json.dumps(particulars, ensure_ascii=False)
    return text.replace("--", "-\\u002d").replace(">", "\\u003e").replace("<", "\\u003c")


def read_facts(text: DayText, day: date) -> list[Fact]:
    """Return the facts in a day's text with the present keys of their projects, in order, the first of each id."""
    return [_fact(line, day, text.aliases) for line in _facts(text)]


def owner(part: Part, facts: Iterable[Fact]) -> str:
    """Return the project of a part of a day: that of its statements, where memoria wrote a heading above them.

    It is a key, ``""`` for none; the project's name where neither a marker nor a statement has the key.
    """
    inside = (fact.project for fact in facts if part.is_learned and f" ^{fact.id}" in part.raw)
    return next(inside, part.project)


def _facts(day: DayText) -> list[LearnedLine]:
    """Return the lines that are facts, the first of each id."""
    found: dict[str, LearnedLine] = {}
    for line in day.facts():
        if line.learned.kind in KINDS and line.learned.text.strip():
            found.setdefault(line.learned.id, line)
    return list(found.values())


def _fact(line: LearnedLine, day: date, aliases: Mapping[str, str]) -> Fact:
    stated: dict[str, Any] = {"quote": line.quote}
    for particulars in line.particulars:
        stated.update(_object(particulars))
    place = {"session": line.session, "project": line.project} if line.project and "project" not in stated else {}
    if line.session == BY_HAND:  # below a session's heading it is what is left of a model's entry
        place |= {"session": "", "origin": "user" if line.project == GLOBAL else "assistant"}
    noon = datetime.combine(day, time(12), UTC).isoformat()
    shown = {"kind": line.learned.kind, "content": line.learned.text, "id": line.learned.id}
    stored = {"time": noon, **place, **stated, **shown}
    try:
        fact = Fact.from_dict(stored)
    except ValueError:  # a person made the time unreadable
        fact = Fact.from_dict({**stored, "time": noon})
    return _renew_keys(fact, aliases) if aliases else fact


def _renew_keys(fact: Fact, aliases: Mapping[str, str]) -> Fact:
    """Return the fact with the present keys of its projects, each once."""
    own, *others = dict.fromkeys(aliases.get(key, key) for key in fact.projects)
    return fact if (own, *others) == fact.projects else replace(fact, project=own, also=tuple(others))


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
        # An escaped half of a surrogate pair cannot be stored in a file or a database.
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class Lines:
    """The learned facts in a folder of daily logs."""

    def __init__(self, daily: DailyLog) -> None:
        """``daily`` provides the files and their lock."""
        self.daily = daily

    def read(self, day: date) -> list[Fact]:
        """Return the facts of a day; an empty list when it has no file."""
        return read_facts(self.daily.read(day), day)

    def entries(self, day: date) -> dict[str, str]:
        """Return the id of the entry that holds each fact of a day, for those that are in one."""
        return {line.learned.id: line.entry for line in _facts(self.daily.read(day)) if line.entry}

    def add(self, fact: Fact, day: date, clock_time: str, project: str) -> bool:
        """Append a fact to a day; return False when the day has its id already.

        ``clock_time`` (``HH:MM``) and ``project`` (its name) form the heading; facts with the same heading share it.
        """

        def add(rows: DayText) -> None:
            if all(line.learned.id != fact.id for line in _facts(rows)):
                rows.add(to_learned(fact), clock_time, project)

        return self.daily.edit(day, add)

    def change(self, fact: Fact, day: date) -> bool:
        """Replace the lines that have the fact's id; return False when they are not in this day's file."""
        return self._edit(fact.id, day, lambda rows, line: rows.change(line, to_learned(fact)))

    def remove(self, ident: str, day: date) -> bool:
        """Remove a fact's lines, and a heading left empty; return False when there are no such lines."""
        return self._edit(ident, day, lambda rows, _: rows.drop({ident}))

    def _edit(self, ident: str, day: date, edit: Callable[[DayText, LearnedLine], None]) -> bool:
        found = False

        def edit_line(rows: DayText) -> None:
            nonlocal found
            line = next((line for line in _facts(rows) if line.learned.id == ident), None)
            found = line is not None
            if line:
                edit(rows, line)

        self.daily.edit(day, edit_line)
        return found
