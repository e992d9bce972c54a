"""What no longer holds is told as current nowhere: stories played to their end, and every surface read after a session.

The figures over all stories are those of ``bench/truth.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import stories
from bench.played_story import played

SHORT = ("port",)  # played in every run; the others are slow together
RECORDS = ("entry", "turn", "last sessions")  # what says on which day it was said
STORIES = [
    pytest.param(name, marks=[] if name in SHORT else [pytest.mark.slow])
    for name in (*stories.names(), *stories.names("unseen"))
]


@pytest.mark.parametrize("name", STORIES)
def test_after_each_session_of_a_story_every_surface_tells_what_holds_and_nothing_that_ended(
    name: str, tmp_path: Path
) -> None:
    looks = played(stories.load(name), tmp_path).looks
    assert 3 <= len(looks) <= 6
    for look in looks:
        stale = {
            kind: [f"{where}: {row}" for (where, _), row in look.stale.items() if where.endswith(RECORDS) == is_record]
            for kind, is_record in (("told", False), ("record", True))
        }
        assert stale == {"told": [], "record": []}, look.place
        assert look.missing == [], look.place
        assert [name for name, right in look.ended if not right] == [], f"{look.place}: superseded and not ended"
        assert [name for name, right in look.items if not right] == [], f"{look.place}: open items"
        assert look.refused == [], f"{look.place}: claims of a truthful model"
        assert not look.not_done, f"{look.place}: edits by hand"
