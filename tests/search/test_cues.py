"""Cues: what the user says so that it is kept is urgent, and text that is not the user's own never is."""

from __future__ import annotations

import pytest

from memoria.search import cues


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("No, use tabs in Makefiles.", "correction"),
        ("Nein, die Tests laufen mit pnpm.", "correction"),
        ("That's wrong, the port is 9090.", "correction"),
        ("Never push to main on a Friday.", "preference"),
        ("Schreib Commits immer auf Englisch.", "preference"),
        ("From now on ask before you deploy.", "preference"),
        ("We decided to keep carts in Postgres.", "decision"),
        ("Wir haben uns für SQLite entschieden.", "decision"),
        ("Let's go with Redis for the queue.", "decision"),
    ],
)
def test_a_cue_says_what_a_sentence_states(said: str, kind: str) -> None:
    assert cues.stated(f"Please look at the importer. {said}") == [(said, kind)]


@pytest.mark.parametrize(
    "said",
    [
        "Add a test for the importer.",
        "Should we always use uv for this?",
        "/compact never lose this",
        "See this:\n```\nnever call me directly\n```",
        "> we always use pnpm\nand what they wrote below it never counts",
        "<log>always failing</log>",
        f"never {'x ' * 800}",
    ],
)
def test_requests_questions_and_what_is_quoted_hold_no_cue(said: str) -> None:
    assert cues.stated(said) == []
