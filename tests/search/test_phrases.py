"""How well a question fits the phrases by which a document is asked for."""

from __future__ import annotations

import pytest

from memoria.recall.prompt_notes import PHRASE_FIT, PHRASE_FIT_OF_SEVERAL
from memoria.search import phrases

WEIGHTS = {"discount": 1.0, "column": 0.9, "add": 0.3}


def test_words_shared_with_several_phrases_count_together_and_once() -> None:
    held = {2: {"add", "column"}, 3: {"discount"}, 4: {"discount"}}
    found = phrases.fit([["add", "discount", "column"]], held, [0, 0, 2, 2, 4], WEIGHTS)
    assert found == pytest.approx(1.0 + 0.9 + 0.3)


def test_a_small_part_of_a_long_phrase_counts_less_than_a_whole_short_one() -> None:
    fits = [phrases.fit([["discount"]], {0: {"discount"}}, [length], WEIGHTS) for length in (1, 2, 4)]
    assert fits == sorted(fits, reverse=True)
    assert fits[0] > PHRASE_FIT > fits[1]  # one word that stands nowhere else is not enough


def test_only_the_words_of_one_topic_count_together() -> None:
    held = {0: {"discount", "column"}}
    assert phrases.fit([["discount"], ["column"]], held, [2], WEIGHTS) < phrases.fit(
        [["discount", "column"]], held, [2], WEIGHTS
    )
    assert PHRASE_FIT_OF_SEVERAL > PHRASE_FIT


def test_no_word_in_common_is_no_fit() -> None:
    assert phrases.fit([["tide"]], {0: {"discount"}}, [1], WEIGHTS) == 0
    assert phrases.fit([["tide"]], {}, [], WEIGHTS) == 0
