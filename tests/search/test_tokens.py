"""Tokens: which words of a text can be found."""

from __future__ import annotations

import pytest

from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from memoria.search import tokens
from memoria.search.stemming import stem


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("which licence: MIT", "The code is under the MIT-License."),
        ("US region", "Buckets stay in the US."),
        ("the ER diagram", "The ER-diagram is drawn by hand."),
        ("EST timezone", "Reports are dated by EST/EDT."),
        ("the IT team's rota", "IT's rota is in the wiki."),
    ],
)
def test_a_name_in_capitals_is_found_although_some_language_has_a_stop_word_like_it(asked: str, said: str) -> None:
    name = next(word for word in asked.split() if word.isupper()).lower()
    with Index(":memory:") as index:
        index.add(
            [Document("own", "fact", passages=(Passage(said),)), Document("else", "fact", passages=(Passage("x"),))]
        )
        assert [hit.path for hit in index.search(name.upper())] == ["own"]
        assert index.search(name) == [], "and in small letters it is the stop word"
    assert name in tokens.of_query(asked)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Wir bauen mit dem Server", ["bauen", "server"]),
        ("Die Fabrik steht mit der MIT-Lizenz", ["die", "fabrik", "steht", "mit", "lizenz", "mitlizenz"]),
        ("Le serveur est dans la zone EST", ["serveur", "zone", "est"]),
    ],
)
def test_a_stop_word_stays_one_in_a_text_of_its_language(text: str, terms: list[str]) -> None:
    assert tokens.of(text) == [stem(term) for term in terms]


@pytest.mark.parametrize(
    "text",
    ["do NOT push, this is NOT ours", "SELECT id FROM t WHERE a IN b AND c IS NOT NULL", "bitte NICHT mit ODER"],
)
def test_emphasis_and_keywords_of_sql_are_no_names(text: str) -> None:
    assert tokens.of(text) == tokens.of(text.lower())


def test_a_single_capital_letter_is_still_a_stop_word() -> None:
    assert tokens.of("I need A licence") == tokens.of("need licence")


@pytest.mark.parametrize(("text", "terms"), [("c'est l'année", ["anne"]), ("j'ai qu'il", ["ai"]), ("Anna's", ["anna"])])
def test_what_an_apostrophe_cuts_off_is_no_word(text: str, terms: list[str]) -> None:
    assert tokens.of(text) == terms
