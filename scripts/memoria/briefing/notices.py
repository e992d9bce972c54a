"""Bulletin: what the user must know at the next session's start, one line for each kind, each said once.

SessionStart reads ``state/notice`` and takes it away (``recall``); what was said is remembered in
``state/told.json``, so that the same trouble is not told again until it changed or passed. Knows lines, not
what they are about.
"""

from __future__ import annotations

import json
from pathlib import Path

from memoria.base.paths import Paths
from memoria.ground import files, locks

PRIVATE = 0o600


def tell(paths: Paths, kind: str, text: str) -> bool:
    """Leave a line unless the last one of this kind said the same; whether it was left."""
    line = " ".join(text.split())
    with locks.waiting(Path(paths.notices_lock)):
        told = _told(paths)
        if told.get(kind) == line:
            return False
        waiting = [old for old in _waiting(paths) if old != told.get(kind)]
        files.replace(Path(paths.notice), "\n".join([*waiting, line]) + "\n", mode=PRIVATE)
        files.replace(Path(paths.notices_given), json.dumps(told | {kind: line}), mode=PRIVATE)
    return True


def clear(paths: Paths, kind: str) -> None:
    """The trouble is over: a line that still waits goes, and the same one may be said again another time."""
    if kind not in _told(paths):
        return
    with locks.waiting(Path(paths.notices_lock)):
        told = _told(paths)
        line = told.pop(kind, "")
        before = _waiting(paths)
        after = [old for old in before if old != line]
        if after:
            files.replace(Path(paths.notice), "\n".join(after) + "\n", mode=PRIVATE)
        elif before:
            Path(paths.notice).unlink(missing_ok=True)
        files.replace(Path(paths.notices_given), json.dumps(told), mode=PRIVATE)


def _told(paths: Paths) -> dict[str, str]:
    try:
        told = json.loads(Path(paths.notices_given).read_bytes())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _waiting(paths: Paths) -> list[str]:
    try:
        return Path(paths.notice).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
