"""The sets of redaction in files, ``redaction_fourth.txt`` and ``redaction_fifth.txt``: secrets, then look-alikes.

Each was written before the tables of rules were looked at, one example a line. The notation is that of
``redaction_held_out``, with ``\\n`` for a line break and ``\\\\n`` for the two characters; ``human`` and ``word`` are
passwords as people make them.
"""

from __future__ import annotations

from pathlib import Path

from redaction import Example
from redaction_held_out import drawn


def blind(name: str, label: str, seed: int = 7) -> list[Example]:
    """All examples of a set with this label (``secret`` or ``plain``), their values drawn with ``seed``."""
    text = Path(__file__).with_name(f"redaction_{name}.txt").read_text(encoding="utf-8")
    secrets, plain = text.split("== look-alikes\n")
    rows = (secrets if label == "secret" else plain).splitlines()
    return drawn([(row[:30], _unescaped(row)) for row in rows], seed, name)


def _unescaped(row: str) -> str:
    return "\\n".join(part.replace("\\n", "\n") for part in row.split("\\\\n"))
