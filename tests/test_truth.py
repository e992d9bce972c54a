"""What no longer holds is told as current nowhere: stories played to their end, and every surface read after a session.

The figures over all stories are those of ``bench/truth.py``.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import stories
from memoria.base.fence import fenced
from memoria.models.protocol import Prompt
from played_story import Look, played
from truthful_model import Truthful

SHORT = ("port",)  # played in every run; the others are slow together
RECORDS = ("entry", "turn", "last sessions")  # what says on which day it was said
SURFACES = ("page", "hint", "search", "mcp", "wiki", "index", "server")


def _marked(name: str) -> Any:
    return pytest.param(name, marks=[] if name in SHORT else [pytest.mark.slow])


@pytest.fixture(scope="module", params=map(_marked, [*stories.names(), *stories.names("unseen")]))
def looks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Look]:
    """What was seen after each session of a story."""
    return played(stories.load(request.param), tmp_path_factory.mktemp(request.param.replace("/", "-"))).looks


def stale(looks: list[Look], surface: str, *, records: bool = False) -> list[str]:
    """Return the statements that a surface tells although they ended."""
    return [
        f"{look.place}, {where}: {row}"
        for look in looks
        for (where, _), row in look.stale.items()
        if where.startswith(surface) and where.endswith(RECORDS) == records
    ]


@pytest.mark.parametrize("surface", SURFACES)
def test_what_no_longer_holds_is_told_as_current_nowhere(looks: list[Look], surface: str) -> None:
    assert stale(looks, surface) == []


def test_a_record_of_a_day_is_not_shown_as_what_holds(looks: list[Look]) -> None:
    assert [row for surface in SURFACES for row in stale(looks, surface, records=True)] == []


def test_what_holds_is_told(looks: list[Look]) -> None:
    assert [(look.place, *each) for look in looks for each in look.missing] == []


def test_a_fact_that_was_superseded_is_ended(looks: list[Look]) -> None:
    assert [(look.place, name) for look in looks for name, right in look.ended if not right] == []


def test_open_items_close_and_stand_once(looks: list[Look]) -> None:
    assert [(look.place, name) for look in looks for name, right in look.items if not right] == []


def test_no_claim_of_a_truthful_model_is_refused(looks: list[Look]) -> None:
    assert [reason for look in looks for reason in look.refused] == []


def test_edits_by_hand_find_what_they_change(looks: list[Look]) -> None:
    assert [(look.place, *look.not_done) for look in looks if look.not_done] == []


# -- the model and the stories themselves


@pytest.mark.parametrize("name", [*stories.names(), *stories.names("unseen")])
def test_a_story_does_not_contradict_itself(name: str) -> None:
    assert 3 <= len(stories.load(name).sessions) <= 6


def ask(model: Truthful, task: str, **parts: str) -> dict[str, Any]:
    text = "\n\n".join(fenced(label.replace("_", " "), carried) for label, carried in parts.items())
    answer: dict[str, Any] = json.loads(model(Prompt(task, text, {})))
    return answer


def test_the_model_ends_only_what_the_request_shows() -> None:
    model = Truthful(stories.load("port"))
    talk = "user: So we have to move the listener to 9090 from today on."
    fact = "l-3k9x2m7q · decision · 2026-11-02 · user · The listener of the shop runs on port 8080."
    other = "l-aaaa1111 · fact · 2026-11-02 · user · The proxy runs on port 8080."
    shown = ask(model, "flush", conversation=talk, known=f"{other}\n{fact}")
    assert [each["supersedes"] for each in shown["statements"]] == [["l-3k9x2m7q"]]
    assert ask(model, "flush", conversation=talk)["statements"][0]["supersedes"] == ""
    assert ask(model, "learn", conversation=talk, known=other)["statements"][0]["supersedes"] == []


def test_the_model_places_what_is_new_beside_what_it_ends() -> None:
    model = Truthful(stories.load("port"))
    new = "l-bbbb2222 · decision · 2026-11-04 · The listener of the shop runs on port 9090, because 8081 is taken."
    old = "l-aaaa1111 · 2026-11-02 · [Behaviour] The listener of the shop runs on port 8080."
    answer = ask(model, "compile", statements=new, articles=f"article front-door · Front door\n{old}")
    assert answer["places"] == [{"id": "l-bbbb2222", "article": "front-door", "section": "Behaviour"}]
    assert answer["ends"] == [{"id": "l-aaaa1111", "by": "l-bbbb2222"}]
    assert "8080" not in answer["articles"][0]["summary"]


def test_the_model_closes_items_and_judges_pairs_by_what_is_shown() -> None:
    model = Truthful(stories.load("port"))
    items = "o-5fk2c8aa · 2026-11-02 · Add request metrics to the listener.\no-bbbb2222 · 2026-11-02 · Paint the door."
    answer = ask(model, "flush", conversation="assistant: the request metrics are in", open_items=items)
    assert (answer["done"], answer["dropped"]) == (["o-5fk2c8aa"], [])
    pairs = (
        "pair 1\nl-aaaa1111 · 2026-11-02 · user · The listener of the shop runs on port 8080.\n"
        "l-cccc3333 · 2026-11-04 · user · The listener of the shop runs on port 9090.\n"
        "pair 2\nl-aaaa1111 · 2026-11-02 · user · The listener of the shop runs on port 8080.\n"
        "l-bbbb2222 · 2026-11-03 · user · The health check of the listener answers within 200 ms."
    )
    verdicts = ask(model, "consolidate", pairs=pairs)["pairs"]
    assert [(each["pair"], each["verdict"]) for each in verdicts] == [(1, "second"), (2, "both")]
