"""No reader takes the square of the time for twice the text; a sample of bench/growth.py."""

from __future__ import annotations

import pytest

from bench import growth

PIECES = ("<system-reminder>", "{{ ", "[", "[[daily/2026-11-20#^e-", "title: [", "  ", "`", "a", "![", "(")


@pytest.mark.slow
@pytest.mark.parametrize("reader", growth.READERS)
def test_the_time_of_a_reader_grows_as_its_text_does(reader: str) -> None:
    found = [growth.measured(reader, piece, 16_000) for piece in PIECES]
    assert [one for one in found if not one.is_linear] == []
