"""Offline: the words themselves, without a model; the same each time, and always an answer that fits its schema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.ground.errors import BadAnswerError
from memoria.models import tasks
from memoria.models.offline import Offline
from memoria.models.protocol import JsonObject, Prompt

RULE = "Never commit directly to main, because it deploys."


def exchange(user: str, assistant: str = "", **more: list[str]) -> JsonObject:
    return {"user": user, "assistant": assistant, "tools": [], "errors": [], "notes": [], **more}


def flushed(*exchanges: JsonObject) -> JsonObject:
    return Offline().complete(tasks.flush({"project": "shop", "exchanges": list(exchanges)})).data


def entry(number: int, **more: Any) -> JsonObject:
    shown = {"id": f"e{number}", "day": f"2026-11-{number:02d}", "project": "shop", "title": f"Day {number}"}
    return {**shown, "context": "", "key_exchanges": [], "action_items": [], "learned": [], **more}


def compiled(*entries: JsonObject, articles: tuple[JsonObject, ...] = ()) -> list[JsonObject]:
    material = {"today": "2026-11-21", "entries": list(entries), "articles": list(articles), "index": list(articles)}
    found: list[JsonObject] = Offline().complete(tasks.compile_(material)).data["articles"]
    return found


def test_small_talk_is_not_worth_saving() -> None:
    assert flushed(exchange("hello", "Hello!"), exchange("thanks!", "Sure."))["worth_saving"] is False


def test_an_entry_is_what_was_asked_and_what_was_answered() -> None:
    data = flushed(exchange("Make the importer faster.", "I looked around. It reads in batches now.\nDone."))
    assert data["title"] == "Make the importer faster."
    assert data["key_exchanges"] == ["Make the importer faster. → It reads in batches now. Done."]


def test_what_the_user_says_with_a_cue_is_a_statement_word_for_word_and_once() -> None:
    data = flushed(exchange(f"{RULE} Then fix the test."), exchange(RULE))
    assert [(each["kind"], each["content"], each["quote"]) for each in data["statements"]] == [
        ("preference", RULE, RULE)
    ]


def test_a_project_has_one_article_which_says_nothing_twice() -> None:
    first = entry(1, learned=[{"kind": "preference", "content": RULE}], context="Work.")
    second = entry(2, context="The importer reads in batches.")
    (page,) = compiled(first, second)
    assert (page["slug"], page["title"]) == ("shop", "shop")
    said = [(claim["text"], claim["sources"]) for claim in page["claims"]]
    assert said == [(RULE, ["e1"]), ("The importer reads in batches.", ["e2"])]
    claim = {"number": 1, "day": "2026-11-01", "section": "", "text": RULE, "sources": ["daily/2026-11-01#^e-e1"]}
    known = {"slug": "shop", "kind": "concept", "title": "shop", "claims": [claim], "summary": ""}
    assert compiled(first, articles=(known,)) == []


def test_a_task_that_takes_a_language_model_is_refused() -> None:
    with pytest.raises(BadAnswerError, match="takes a language model"):
        Offline().complete(Prompt("weigh", "", tasks.WEIGH_SCHEMA))


@given(st.lists(st.builds(exchange, st.text(), st.text(), tools=st.lists(st.text(), max_size=2)), max_size=4))
def test_whatever_was_said_the_note_fits_its_schema(exchanges: list[JsonObject]) -> None:
    assert flushed(*exchanges) == flushed(*exchanges)
