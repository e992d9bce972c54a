"""Excluded: what is still stored of projects that were excluded after something of them was recorded."""

from __future__ import annotations

from collections import Counter

from memoria.base.visibility import Visibility
from memoria.daily.ledger import Ledger
from memoria.ground import printable
from memoria.ground.home import Home


def remaining(home: Home, ledger: Ledger) -> dict[str, int]:
    """Return the number of recorded entries of each project whose folders are all excluded, by the project's key."""
    counts = Counter(entry.project for entry in ledger.entries())
    visible = Visibility(home.settings, home.paths)
    return {project: count for project, count in sorted(counts.items()) if visible.hides(project)}


def sentence(project: str, count: int) -> str:
    """Return what to tell a person of one project."""
    return f"{printable.counted(count, 'entry')} of the excluded project {project}, which no session is shown"
