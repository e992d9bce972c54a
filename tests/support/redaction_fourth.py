"""The fourth labelled set of redaction, ``redaction_fourth.txt``: one secret a line, then one look-alike a line.

It was written before the tables of rules were looked at. The notation is that of ``redaction_held_out``, with
``\\n`` for a line break; ``human`` and ``word`` are passwords as people make them.
"""

from __future__ import annotations

from pathlib import Path

from redaction import Example
from redaction_held_out import drawn

SECRETS, PLAIN = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("== look-alikes\n")


def fourth(label: str, seed: int = 7) -> list[Example]:
    """All examples with this label (``secret`` or ``plain``), their values drawn with ``seed``."""
    rows = (SECRETS if label == "secret" else PLAIN).splitlines()
    return drawn([(row[:30], row.replace("\\n", "\n")) for row in rows], seed, "fourth")
