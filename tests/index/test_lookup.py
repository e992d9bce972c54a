"""Lookup: what a person or a model typed is searched by its words, by the days that it names, and by id."""

from __future__ import annotations

from datetime import date

from memoria.index import lookup
from memoria.index.documents import Document, Passage
from memoria.index.index import Index


def test_a_question_with_a_spoken_date_finds_what_was_on_that_day() -> None:
    with Index(":memory:") as index:
        index.add(
            Document(
                path=f"note/day-{day}",
                kind="fact",
                passages=(Passage("A deployment went wrong."),),
                date=f"2026-11-{day}",
            )
            for day in (10, 16, 17, 18)
        )
        found = lookup.search(index, "Which deployment went wrong last Tuesday?", today=date(2026, 11, 20))
        assert found[0].path == "note/day-17"
        assert lookup.search(index, "Which deployment went wrong last Tuesday?")[0].path != "note/day-17"
