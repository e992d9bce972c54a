"""What no longer holds is told as current nowhere: stories played to their end, and every surface read after a session.

The figures over all stories are those of ``bench/truth.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stories
from memoria.base.fence import fenced
from memoria.models.protocol import Prompt
from played_story import played
from truthful_model import Truthful

SHORT = ("port",)  # played in every run; the others are slow together
RECORDS = ("entry", "turn", "last sessions")  # what says on which day it was said
STORIES = [
    pytest.param(name, marks=[] if name in SHORT else [pytest.mark.slow])
    for name in (*stories.names(), *stories.names("unseen"))
]


@pytest.mark.parametrize("name", STORIES)
def test_after_each_session_of_a_story_every_surface_tells_what_holds_and_nothing_that_ended(
    name: str, tmp_path: Path
) -> None:
    looks = played(stories.load(name), tmp_path).looks
    assert 3 <= len(looks) <= 6
    for look in looks:
        stale = {
            kind: [f"{where}: {row}" for (where, _), row in look.stale.items() if where.endswith(RECORDS) == is_record]
            for kind, is_record in (("told", False), ("record", True))
        }
        assert stale == {"told": [], "record": []}, look.place
        assert look.missing == [], look.place
        assert [name for name, right in look.ended if not right] == [], f"{look.place}: superseded and not ended"
        assert [name for name, right in look.items if not right] == [], f"{look.place}: open items"
        assert look.refused == [], f"{look.place}: claims of a truthful model"
        assert not look.not_done, f"{look.place}: edits by hand"


# -- the model


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
    assert ask(model, "flush", conversation=talk, known=other)["statements"][0]["supersedes"] == []


def test_the_model_places_what_is_new_beside_what_it_ends() -> None:
    model = Truthful(stories.load("port"))
    new = "l-bbbb2222 · decision · 2026-11-04 · The listener of the shop runs on port 9090, because 8081 is taken."
    old = "l-aaaa1111 · 2026-11-02 · [Behaviour] The listener of the shop runs on port 8080."
    answer = ask(model, "compile", statements=new, articles=f"article front-door · Front door\n{old}")
    assert answer["places"] == [{"id": "l-bbbb2222", "article": "front-door", "section": "Behaviour"}]
    assert answer["ends"] == [{"id": "l-aaaa1111", "by": "l-bbbb2222"}]
    assert "8080" not in answer["articles"][0]["summary"]


def test_the_model_closes_items_by_what_is_shown() -> None:
    model = Truthful(stories.load("port"))
    items = "o-5fk2c8aa · 2026-11-02 · Add request metrics to the listener.\no-bbbb2222 · 2026-11-02 · Paint the door."
    answer = ask(model, "flush", conversation="assistant: the request metrics are in", open_items=items)
    assert (answer["done"], answer["dropped"]) == (["o-5fk2c8aa"], [])
