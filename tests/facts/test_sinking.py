"""Sinking: an order of the moment that was taken for a rule does not stay at the head of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from facts import SHOP, a_fact, keeper
from memoria.facts import sinking
from memoria.facts.fact import Fact
from memoria.facts.store import leading

ORDER = "Don't create a PR, just a commit."
RULE = "Never push straight to main, open a branch."


def order(said: str = ORDER, **given: Any) -> Fact:
    return a_fact(said, "correction", importance=0.85, session="s-1", **given)


@pytest.mark.parametrize(
    ("said", "later"),
    [
        (ORDER, "Now create a PR for the importer, please."),
        ("Do not change the code just yet.", "ok, change the code now"),
        ("no, I did not say commit anything", "commit what you have"),
    ],
)
def test_what_was_learned_from_an_order_sinks_when_the_next_session_does_otherwise(
    tmp_path: Path, said: str, later: str
) -> None:
    with keeper(tmp_path) as home:
        home.take([order(said), a_fact("The importer reads CSV files.", "fact", importance=0.4, day=1)])
        assert leading(home.store, SHOP)[0].content == said
        assert [fact.content for fact in sinking.sink(home, SHOP, "s-2", [later])] == [said]
        assert leading(home.store, SHOP)[-1].content == said
        assert sinking.sink(home, SHOP, "s-3", [later]) == [], "it sinks once"


def test_it_is_back_when_it_is_said_again(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        home.take([order()])
        sinking.sink(home, SHOP, "s-2", ["create a PR"])
        home.take([a_fact(ORDER, "correction", importance=0.85, session="s-3", day=2)])
        (fact,) = home.store.facts()
        assert (fact.importance, fact.seen) == (0.85, 2)


@pytest.mark.parametrize(
    ("fact", "later"),
    [
        (order(RULE), "push straight to main this once"),
        (order(), "show me the diff of the importer"),
        (order(), "Don't create a PR for it"),
        (a_fact(ORDER, "correction", session="s-2"), "now create a PR"),
        (a_fact(ORDER, "correction", seen=2), "now create a PR"),
        (a_fact(ORDER, "correction", quote=""), "now create a PR"),
        (a_fact("The importer does not create PRs.", "fact"), "create PRs"),
    ],
)
def test_rules_and_what_was_not_reversed_stay_where_they_are(tmp_path: Path, fact: Fact, later: str) -> None:
    with keeper(tmp_path) as home:
        home.take([fact])
        before = home.store.facts()
        assert sinking.sink(home, SHOP, "s-2", [later]) == []
        assert home.store.facts() == before
