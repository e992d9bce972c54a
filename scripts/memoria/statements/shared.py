"""Shared: what the teams of the user's repositories share, as it was read there last (``exchange.team``).

It is shown beside the user's memory and is no part of it: it is in no log, article or exchange, repeats and ends
nothing, and is gone when the repository or the user takes it out.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from memoria.base.paths import Paths
from memoria.ground import home_files

LABEL: Final = "from the team"


class Shared(NamedTuple):
    """A statement in a repository: who shares it, its day (ISO, may be empty), and its id in that person's memory."""

    who: str
    kind: str
    text: str
    day: str
    source: str


def read_all(paths: Paths) -> dict[str, dict[str, Any]]:
    """Return what is known of each repository that was asked about, by its git folder.

    ``key``: its project, ``""`` when the user said no; ``remotes``: whose it was then; ``root``: its folder; ``tree``:
    what was read, a git object; ``rows``: what it shares.
    """
    try:
        found = json.loads(home_files.text(paths.team))
        for about in found.values():
            about["rows"] = [Shared(*map(str, row)) for row in about["rows"]]
            _ = [about[name].strip() for name in ("key", "remotes", "root", "tree")]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # none yet, or damaged: it is asked anew
        return {}
    return dict(found)


def by_project(paths: Paths) -> dict[str, list[Shared]]:
    """Return what the teams of projects share, the newest first; of several clones each says the same."""
    found: dict[str, set[Shared]] = {}
    for about in read_all(paths).values():
        found.setdefault(about["key"], set()).update(about["rows"])
    return {key: sorted(rows, key=lambda row: (row.day, row), reverse=True) for key, rows in found.items() if rows}
