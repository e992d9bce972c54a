"""A short conversation that only asks for work is noted as it is; any other is read by a model."""

from __future__ import annotations

from typing import Any

import pytest

from memoria.models.extractive import own_words


def told(user: str, assistant: str = "Done.", *tools: str, **more: Any) -> dict[str, Any]:
    """Return an exchange as a request takes it."""
    steps = [("user", user)] if user else []
    steps += [("tool", line) for line in tools] + ([("assistant", assistant)] if assistant else [])
    return {
        "user": user,
        "assistant": assistant,
        "tools": list(tools),
        "errors": [],
        "notes": [],
        "steps": steps,
        **more,
    }


def note(exchanges: list[dict[str, Any]], known: list[str], most: int) -> dict[str, Any] | None:
    """Return the note on these exchanges beside known facts, each of which also stands for an open item."""
    facts, items = [{"content": text} for text in known], [{"text": text} for text in known]
    return own_words.note({"exchanges": exchanges, "known": facts, "open_items": items}, most)


def test_the_note_holds_every_word_and_every_tool() -> None:
    first = told("write a file about geese in docs", "Created `notes/geese.md`.", "Write notes/geese.md")
    last = told("delete that file", "Deleted.", "Bash rm notes/geese.md")
    found = note([first, last], [], 1_200)
    assert found
    assert found["title"] == "Write a file about geese in docs"
    assert found["key_exchanges"] == [
        "write a file about geese in docs → Created `notes/geese.md`. (Write notes/geese.md)"
    ]
    assert found["context"] == "delete that file → Deleted. (Bash rm notes/geese.md)"
    assert (found["statements"], found["done"], found["worth_saving"]) == ([], [], True)


def test_the_place_of_a_picture_is_no_title() -> None:
    found = note([told("[image]\n[Image #1] can you add a margin to the details element?")], [], 1_200)
    assert found
    assert found["title"] == "Can you add a margin to the details element?"


def test_tools_without_a_word_are_noted_too() -> None:
    found = note([told("", "", "Bash sleep 9", "TaskCreate Draft fixture")], [], 1_200)
    assert found
    assert found["context"] == "Bash sleep 9; TaskCreate Draft fixture"


@pytest.mark.parametrize(
    "exchange",
    [
        told("never push to main", "Understood."),
        told("use pnpm", "Switched."),
        told("Führe die Tests aus", "Sie laufen."),
        told("fix the test", "The root cause was a stale lock; fixed by removing it.", errors=["exit 1: locked"]),
        told("run the tests", "All pass. We still need to cover the uploader."),
        told("run the tests", "All pass. " * 200),
        told("", "The root cause was a stale lock; fixed by removing it.", errors=["exit 1: locked"]),
    ],
    ids=["a rule", "a choice", "another language", "a cause", "an open item", "long", "a cause that nobody asked for"],
)
def test_anything_more_is_for_a_model(exchange: dict[str, Any]) -> None:
    assert note([told("run the linter"), exchange], [], 1_200) is None


@pytest.mark.parametrize(
    ("known", "is_noted"),
    [
        ("The listener runs on port 9001.", False),
        ("Add the retry to the uploader", True),
    ],
)
def test_what_touches_a_known_fact_or_open_item_is_for_a_model(known: str, is_noted: bool) -> None:
    assert (note([told("update the port to 9002", "Done.")], [known], 1_200) is not None) == is_noted


def test_what_the_assistant_says_unasked_is_noted_whole_and_no_plan_becomes_an_outcome() -> None:
    plan = told(
        "", "## Plan to move the filters\n\n1. Create `filters.py`.\n2. Removes the circular import.", "ExitPlanMode"
    )
    found = note([plan], [], 2_000)
    assert found
    assert found["title"] == "Plan to move the filters"
    assert found["context"] == (
        "## Plan to move the filters 1. Create `filters.py`. 2. Removes the circular import. (ExitPlanMode)"
    )
    assert found["statements"] == []


def test_what_is_said_unasked_about_something_known_is_for_a_model() -> None:
    assert note([told("", "The listener is on port 9002.")], ["The listener runs on port 9001."], 2_000) is None


def test_an_open_item_that_the_answer_closes_is_for_a_model() -> None:
    said = told("fix it", "The retry is in the uploader, as planned.")
    assert note([said], ["Add the retry to the uploader"], 1_200) is None


@pytest.mark.parametrize(
    "known", [{"known": [{"content": "The port is 9001."}]}, {"open_items": [{"text": "Open the port."}]}]
)
def test_facts_and_open_items_both_count_as_known(known: dict[str, Any]) -> None:
    material = {"exchanges": [told("update the port to 9002")], "known": [], "open_items": []}
    assert own_words.note(material, 1_200) is not None
    assert own_words.note({**material, **known}, 1_200) is None


def test_nothing_is_noted_so_when_it_is_switched_off() -> None:
    assert note([told("run the tests")], [], 0) is None
    assert note([told("run the tests", "x" * 1_800)], [], 100_000) is not None
    assert note([told("run the tests", "x" * 3_000)], [], 100_000) is None, "a row of a note has its limit"
    assert note([told("run the tests", "x" * 1_500), told("thanks")], [], 100_000) is None, "so has every other row"
