"""A passage is divided into sentences, and those around the one that says the most of a query are shown."""

from __future__ import annotations

from memoria.search.hit import surroundings


def test_what_fits_of_a_passage_lies_around_the_sentence_that_says_the_most_and_is_no_question() -> None:
    passage = "It rains. Is the tide high? We went. The tide is computed from harmonics. It holds. It snows and hails."
    bits = {"tide": 2.0, "harmonic": 3.0}
    assert surroundings(passage, bits, len(passage)) == passage
    best = "The tide is computed from harmonics."
    for room, told in {
        20: best, 44: best, 45: f"We went. {best}", 46: f"{best} It holds.", 64: f"We went. {best} It holds.",
        65: f"It rains. We went. {best} It holds.", 66: f"{best} It holds. It snows and hails.",
    }.items():  # fmt: skip
        assert surroundings(passage, bits, room) == told
