"""Tokens: which words of a text can be found."""

from __future__ import annotations

import pytest

from memoria.search import tokens


@pytest.mark.parametrize("name", ["MIT", "ER", "US", "EST", "IT"])
def test_a_name_in_capitals_is_found_although_some_language_has_a_stop_word_like_it(name: str) -> None:
    assert tokens.of(f"the {name} licence")[0] == name.lower()
    assert name.lower() not in tokens.of(f"the {name.lower()} licence")


def test_a_single_capital_letter_is_still_a_stop_word() -> None:
    assert tokens.of("I need A licence") == tokens.of("need licence")


@pytest.mark.parametrize(("text", "terms"), [("c'est l'année", ["anne"]), ("j'ai qu'il", ["ai"]), ("Anna's", ["anna"])])
def test_what_an_apostrophe_cuts_off_is_no_word(text: str, terms: list[str]) -> None:
    assert tokens.of(text) == terms
