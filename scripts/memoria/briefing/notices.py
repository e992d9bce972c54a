"""Bulletin: what the user must know at the next session's start, one line for each kind, each said once.

SessionStart reads ``state/notice`` and takes it away (``recall``); what was said is remembered in
``state/told.json``, so that the same trouble is not told again until it changed or passed. Knows lines, not
what they are about.
"""

from __future__ import annotations

import json
from pathlib import Path

from memoria.ground import files, locks

PRIVATE = 0o600


def tell(state: Path, kind: str, text: str) -> bool:
    """Leave a line unless the last one of this kind said the same; whether it was left."""
    line = " ".join(text.split())
    with locks.waiting(state / "told.lock"):
        told = _told(state)
        if told.get(kind) == line:
            return False
        waiting = [old for old in _waiting(state) if old != told.get(kind)]
        files.replace(state / "notice", "\n".join([*waiting, line]) + "\n", mode=PRIVATE)
        files.replace(state / "told.json", json.dumps(told | {kind: line}), mode=PRIVATE)
    return True


def clear(state: Path, kind: str) -> None:
    """The trouble is over: a line that still waits goes, and the same one may be said again another time."""
    if kind not in _told(state):
        return
    with locks.waiting(state / "told.lock"):
        told = _told(state)
        line = told.pop(kind, "")
        before = _waiting(state)
        after = [old for old in before if old != line]
        if after:
            files.replace(state / "notice", "\n".join(after) + "\n", mode=PRIVATE)
        elif before:
            (state / "notice").unlink(missing_ok=True)
        files.replace(state / "told.json", json.dumps(told), mode=PRIVATE)


def _told(state: Path) -> dict[str, str]:
    try:
        told = json.loads((state / "told.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _waiting(state: Path) -> list[str]:
    try:
        return (state / "notice").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
