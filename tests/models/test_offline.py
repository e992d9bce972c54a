"""Offline: the words themselves, without a model; the same each time, and always an answer that fits its schema."""

from __future__ import annotations

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


def test_small_talk_is_not_worth_saving() -> None:
    assert flushed(exchange("hello", "Hello!"), exchange("thanks!", "Sure."))["worth_saving"] is False
    assert all(flushed(exchange("go", "Ok.", **{did: ["x"]}))["worth_saving"] for did in ("tools", "errors"))


def test_an_entry_is_what_was_asked_and_what_was_answered() -> None:
    data = flushed(exchange("Make the importer faster.", "I looked around. It reads in batches now.\nDone."))
    assert data["title"] == "Make the importer faster."
    assert data["key_exchanges"] == ["Make the importer faster. → It reads in batches now. Done."]


def test_what_the_user_says_with_a_cue_is_a_statement_word_for_word_and_once() -> None:
    data = flushed(exchange(f"{RULE} Then fix the test."), exchange(RULE))
    assert [(it["kind"], it["content"], it["quote"]) for it in data["statements"]] == [("preference", RULE, RULE)]


def test_a_task_that_takes_a_language_model_is_refused() -> None:
    with pytest.raises(BadAnswerError, match="takes a language model"):
        Offline().complete(Prompt("weigh", "", tasks.WEIGH_SCHEMA))


@pytest.mark.slow
@given(st.lists(st.builds(exchange, st.text(), st.text(), tools=st.lists(st.text(), max_size=2)), max_size=4))
def test_whatever_was_said_the_note_fits_its_schema(exchanges: list[JsonObject]) -> None:
    assert flushed(*exchanges) == flushed(*exchanges)
