"""The fifth labelled set of redaction, ``redaction_fifth.txt``: one secret a line, then one look-alike a line.

It was written by somebody who had not read the tables of rules. The notation is that of ``redaction_held_out``, with
``\\n`` for a line break and ``\\\\n`` for the two characters; ``human`` and ``word`` are passwords as people make them.
"""

from __future__ import annotations

from pathlib import Path

from redaction import Example
from redaction_held_out import drawn

SECRETS, PLAIN = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("== look-alikes\n")


def fifth(label: str, seed: int = 7) -> list[Example]:
    """All examples with this label (``secret`` or ``plain``), their values drawn with ``seed``."""
    rows = (SECRETS if label == "secret" else PLAIN).splitlines()
    return drawn([(row[:30], _unescaped(row)) for row in rows], seed, "fifth")


def _unescaped(row: str) -> str:
    return "\\n".join(part.replace("\\n", "\n") for part in row.split("\\\\n"))
