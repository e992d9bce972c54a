"""Notices: lines for the user at the next session's start, one per kind, each shown once.

SessionStart reads and removes ``state/notice`` (see ``recall``). ``state/told.json`` records the notices that were
given, so that the same notice is not repeated until it has changed or been cleared.
"""

from __future__ import annotations

import json
from pathlib import Path

from memoria.base.paths import Paths
from memoria.ground import files, home_files, locks

PRIVATE = 0o600


def tell(paths: Paths, kind: str, text: str) -> bool:
    """Leave a line unless it repeats the last one of this kind; return whether it was left."""
    line = " ".join(text.split())
    with locks.waiting(Path(paths.notices_lock)):
        given = _given(paths)
        if given.get(kind) == line:
            return False
        waiting = [old for old in _waiting(paths) if old != given.get(kind)]
        files.replace(Path(paths.notice), "\n".join([*waiting, line]) + "\n", mode=PRIVATE)
        files.replace(Path(paths.notices_given), json.dumps(given | {kind: line}), mode=PRIVATE)
    return True


def clear(paths: Paths, kind: str) -> None:
    """Withdraw the line of this kind if it still waits, and allow the same line to be given again later."""
    if kind not in _given(paths):
        return
    with locks.waiting(Path(paths.notices_lock)):
        given = _given(paths)
        line = given.pop(kind, "")
        before = _waiting(paths)
        after = [old for old in before if old != line]
        if after:
            files.replace(Path(paths.notice), "\n".join(after) + "\n", mode=PRIVATE)
        elif before:
            Path(paths.notice).unlink(missing_ok=True)
        files.replace(Path(paths.notices_given), json.dumps(given), mode=PRIVATE)


def _given(paths: Paths) -> dict[str, str]:
    try:
        given = json.loads(home_files.read(paths.notices_given))
    except (OSError, ValueError):
        return {}
    return given if isinstance(given, dict) else {}


def _waiting(paths: Paths) -> list[str]:
    try:
        return home_files.text(paths.notice).splitlines()
    except OSError:
        return []
