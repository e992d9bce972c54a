"""Finding: one thing that was checked, and what to do when it is not as it should be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

OK, NOTE, BROKEN = "ok", "note", "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: ``level`` is ok, note (works, and could be better) or broken; ``remedy`` is one line."""

    about: str
    level: str
    text: str
    remedy: str = ""


Findings = Iterator[Finding]
