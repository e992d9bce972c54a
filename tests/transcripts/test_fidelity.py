"""Fidelity: what the model is given still names what a session was about.

The yardstick is Claude Code's own compaction summaries: the identifiers in one (paths, `code`, snake_case and CamelCase
names) are looked up in what stood before it. Where a folder of real transcripts holds no such summary, texts that
Claude wrote about the same session are the yardstick, and what is given is compared with the ceiling: all text and
every raw tool input. 80 % of the summaries' identifiers against a ceiling of 84 % is 95 % of what can be had.
"""

from __future__ import annotations

import pytest

from fidelity import measure, recaps, summaries
from places import SHARED, TRANSCRIPTS

REAL = SHARED / "transcripts"


def test_a_hand_made_summary_finds_its_names_again() -> None:
    shares = measure([TRANSCRIPTS / "compaction.jsonl"], summaries, 5, 1)
    assert shares.count == 1
    assert shares.given >= 0.8
    assert shares.given > shares.window


@pytest.mark.skipif(not REAL.is_dir(), reason="the shared transcripts are not here")
def test_at_least_80_percent_of_the_clients_own_summaries_are_given_to_the_model() -> None:
    shares = measure(sorted(REAL.glob("*.jsonl")), summaries, 5, 5)
    if not shares.count:
        pytest.skip("none of these transcripts holds a compaction summary")
    assert shares.given >= 0.8


@pytest.mark.skipif(not REAL.is_dir(), reason="the shared transcripts are not here")
def test_what_is_given_names_at_least_95_percent_of_what_all_text_and_tool_inputs_name() -> None:
    shares = measure(sorted(REAL.glob("*.jsonl")), recaps, 8, 40)
    assert shares.count >= 10
    assert shares.given >= 0.95 * shares.ceiling
    assert shares.given >= 1.3 * shares.window
