"""Finding: one thing that was checked, and what to do when it is not as it should be.

Also holds the two things that both ``status`` and ``doctor`` look at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memoria.base import invocation
from memoria.base.paths import Paths
from memoria.base.visibility import Visibility
from memoria.daily.ledger import Ledger
from memoria.ground import printable
from memoria.ground.home import Home
from memoria.transcripts.screen import Tombstones

OK, NOTE, BROKEN = "ok", "note", "broken"
UNFINISHED = "a forget was interrupted"
FINISH = "the next worker completes it; {} starts one now"
UNREADABLE = "until then nothing is taken in or searched, because nobody knows what was forgotten"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: ``level`` is ok, note (works, and could be better) or broken; ``remedy`` is one line."""

    about: str
    level: str
    text: str
    remedy: str = ""


Findings = Iterator[Finding]


def excluded_entries(home: Home, ledger: Ledger) -> dict[str, int]:
    """Return the number of recorded entries of each project whose folders are all excluded, by the project's key."""
    counts = Counter(entry.project for entry in ledger.entries())
    visible = Visibility(home.settings, home.paths)
    return {project: count for project, count in sorted(counts.items()) if visible.hides(project)}


def still_stored(project: str, count: int) -> str:
    """Return what to tell a person of one project."""
    return f"{printable.counted(count, 'entry')} of the excluded project {project}, which no session is shown"


def forgetting_problems(paths: Paths) -> list[tuple[str, str]]:
    """Return a sentence and its remedy for each of both."""
    found = [(UNFINISHED, FINISH.format(invocation.shown("flush")))] if Path(paths.forgetting).exists() else []
    try:
        Tombstones.of(paths)
    except OSError as error:
        found.append((f"{paths.forgotten} cannot be read: {error.strerror}", UNREADABLE))
    return found
