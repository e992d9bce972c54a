"""Similarity and stems: what two texts share."""

from __future__ import annotations

import pytest

from memoria.search import stemming, words
from memoria.search.comparison import LIGHT_WORDS
from memoria.search.words import FUNCTION_WORDS, stems


def test_shares_are_between_none_and_all() -> None:
    small, large, none = {"a", "b"}, {"b", "c", "d"}, set[str]()
    assert words.jaccard(small, large) == 0.25
    assert words.overlap(small, large) == words.coverage(small, large) == 0.5
    assert words.coverage(large, small) == pytest.approx(1 / 3)
    for share in (words.jaccard, words.overlap, words.coverage):
        assert share(none, none) == share(none, large) == 0
        assert share(large, large) == 1


def test_titles_that_differ_in_endings_and_little_words_are_one() -> None:
    assert stems("The flush races") == stems("Flush race")
    assert stems("Flush worker") != stems("Flush work")


def test_each_stemmer_cuts_as_deep_as_its_use_allows() -> None:
    assert [stemming.singular(word) for word in ("entries", "hooks", "status", "classes", "crashes")] == [
        "entry", "hook", "status", "class", "crash"
    ]  # fmt: skip
    assert stemming.without_ending("verwendungen") == "verwend"
    assert stemming.porter("generation") == stemming.porter("general") == "gener"
    assert stemming.without_ending("generation") != stemming.without_ending("general")


def test_a_comparison_of_rules_keeps_the_words_that_change_what_a_rule_says() -> None:
    assert {"before", "after", "not", "ohne"}.isdisjoint(LIGHT_WORDS)
    assert {"before", "after"} <= FUNCTION_WORDS
