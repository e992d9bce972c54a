"""What search makes of words: terms, stems, what two texts share, names out of code, and cues of what is urgent."""

from __future__ import annotations

import json

import pytest

from memoria.search import comparison, cues, identifiers, stemming, tokens, words
from memoria.search.stemming import porter
from places import TESTS

TOLD = json.loads((TESTS / "fixtures" / "words.json").read_text("utf-8"))

# -- tokens


@pytest.mark.parametrize(("text", "terms"), [
    ("The code is under the MIT licence", ["code", "mit", "licenc"]), ("do NOT push", ["push"]),
    ("Wir bauen auf dem Server", ["bauen", "server"]), ("Le serveur est dans la zone", ["serveur", "zone"]),
    ("c'est l'année", ["anne"]), ("Anna's", ["anna"]), ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ("東京都", ["東", "東京", "京", "京都", "都"]),
    ("k" * 20 + "_" + "v" * 20, ["k" * 20, "v" * 20, "k" * 20 + "v" * 20]),
    ("k" * 21 + "_" + "v" * 20, ["k" * 21, "v" * 20]),
])  # fmt: skip
def test_terms_are_what_says_something_and_signs_and_pairs_where_no_blank_parts_words(
    text: str, terms: list[str]
) -> None:
    assert tokens.terms(text) == terms


def test_a_query_asks_for_pairs_of_signs_and_for_an_id_instead_of_the_signs_in_them() -> None:
    assert tokens.query_terms("東京都 語") == ["東京", "京都", "語"]
    assert tokens.query_terms("^l-deadbeef ^e-4k7m2q9x l- e-") == ["ldeadbeef", "e4k7m2q9x"]
    assert tokens.query_terms("e-commerce") == ["commerc", "ecommerce"]


# -- words


def test_shares_are_between_none_and_all() -> None:
    small, large, none = {"a", "b"}, {"b", "c", "d"}, set[str]()
    assert words.jaccard(small, large) == 0.25
    assert words.overlap(small, large) == words.coverage(small, large) == 0.5
    assert words.coverage(large, small) == pytest.approx(1 / 3)
    for share in (words.jaccard, words.overlap, words.coverage):
        assert share(none, none) == share(none, large) == 0
        assert share(large, large) == 1


def test_what_is_too_long_is_cut_between_words_unless_that_leaves_less_than_half() -> None:
    greek, letters = "alpha beta, gamma", {6: "abcde…", 8: "abcdefg…"}
    assert [words.shorten(greek, limit) for limit in (17, 16, 13)] == [greek, "alpha beta…", "alpha beta…"]
    assert {limit: words.shorten("abcdefghij", limit) for limit in letters} == letters
    assert [words.shorten(text, 8) for text in ("ab cdefghij", "abcd efghij")] == ["ab cdef…", "abcd…"]


def test_each_stemmer_cuts_as_deep_as_its_use_allows() -> None:
    for word, stem in {"verwendungen": "verwend", "planned": "plan", "adds": "add", "walls": "wall", "access": "access",
                       "used": "used", "verified": "verif", "see": "see", "running": "run"}.items():  # fmt: skip
        assert stemming.strip_ending(word) == stem
    assert stemming.porter("generation") == stemming.porter("general") == "gener"
    published = TOLD["porter"].split()
    assert [*map(porter, published[::2])] == published[1::2]
    assert stemming.strip_ending("generation") != stemming.strip_ending("general")


# -- comparison


@pytest.mark.parametrize(("one", "other", "is_same"), TOLD["same"])
def test_what_is_said_otherwise_is_the_same_and_the_opposite_or_another_thing_is_not(
    one: str, other: str, is_same: bool
) -> None:
    assert comparison.is_same(comparison.words(one), comparison.words(other)) is is_same


def test_of_texts_that_say_the_same_the_last_is_distinct() -> None:
    texts = ["Use tabs in Makefiles.", "Use tabs, not spaces.", "Makefiles use tabs, always.", "Use tabs in Makefiles."]
    assert comparison.distinct(texts) == [1, 3]


# -- identifiers


@pytest.mark.parametrize(("text", "names"), TOLD["names"])
def test_names_in_prose(text: str, names: list[str]) -> None:
    assert identifiers.find(text) == names


# -- cues


@pytest.mark.parametrize("said", [*TOLD["unstated"], "never " + "x " * 800])
def test_requests_questions_and_what_is_quoted_hold_no_cue(said: str) -> None:
    assert cues.find_stated(said) == []
