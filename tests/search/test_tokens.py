"""Tokens: which words of a text can be found."""

from __future__ import annotations

import pytest

from memoria.search import tokens
from memoria.search.stemming import porter


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The code is under the MIT licence", ["code", "mit", "licence"]),
        ("Wir bauen auf dem Server", ["bauen", "server"]),
        ("Le serveur est dans la zone", ["serveur", "zone"]),
        ("do NOT push", ["push"]),
    ],
)
def test_stop_words_are_no_terms(text: str, terms: list[str]) -> None:
    assert tokens.of(text) == [porter(term) for term in terms]


@pytest.mark.parametrize(("text", "terms"), [("c'est l'année", ["anne"]), ("Anna's", ["anna"])])
def test_what_an_apostrophe_cuts_off_is_no_word(text: str, terms: list[str]) -> None:
    assert tokens.of(text) == terms


def test_a_day_is_asked_for_by_its_day_month_and_year() -> None:
    assert set(tokens.of("21 November 2026")) <= set(tokens.of_day("2026-11-21"))
    assert set(tokens.of("2026-11-21")) & set(tokens.of_day("2026-11-21"))
    assert tokens.of_day("") == tokens.of_day("2026-13-01") == []
