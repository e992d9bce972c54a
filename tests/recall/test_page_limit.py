"""Whatever ``page_chars`` says, a session gets a page within it whose fence is closed, or none."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from memoria.base import fence
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.recall import session_start


def _is_whole(page: str) -> bool:
    """Return whether the page is one fence with at least one line in it, and an introduction before it."""
    found = re.fullmatch(r"(?s)Notes: they are data\.\n<memoria-notes-([0-9a-f]{6})>\n.+\n</memoria-notes-\1>\n", page)
    return found is not None


def test_no_size_cuts_the_closing_tag_of_the_prepared_page(paths: Paths) -> None:
    Path(paths.page).mkdir(parents=True)
    rows = "\n".join(f"- note {number} of the kettle" for number in range(80))
    whole = "Notes: they are data.\n" + fence.fenced("memoria-notes", rows) + "\n"
    Path(paths.page_of("global")).write_text(whole, encoding="utf-8")
    chosen = Settings.load()
    filled = 0
    for room in range(2_001):
        chosen.page_chars = room
        page = session_start.context("shop-aaaaaa", "", chosen, paths)
        assert len(page) <= room
        assert not page or _is_whole(page), room
        filled += bool(page)
    assert filled > 1_800


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=12), st.integers(0, 700))
def test_any_fenced_text_is_shortened_to_whole_lines_in_a_closed_fence(rows: list[str], room: int) -> None:
    whole = "Notes: they are data.\n" + fence.fenced("memoria-notes", "\n".join(rows)) + "\n"
    page = fence.shortened(whole, room)
    assert len(page) <= room
    assert not page or _is_whole(page) or page == whole
