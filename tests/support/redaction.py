"""The labelled set of redaction: invented secrets and look-alikes, in the forms they take in conversations.

``redaction_set.jsonl`` holds one JSON object a line: ``label`` (``secret`` or ``plain``), ``kind``, ``text``; for a
secret also ``form`` and ``secret``, the pieces that stand where the text has ``@@``. A broken bar in a piece keeps
push scanners from taking an invented key for a real one; it is taken out here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SET = Path(__file__).with_name("redaction_set.jsonl")
_MARK = re.compile(r"\[redacted:[a-z0-9-]+\]")


@dataclass(frozen=True, slots=True)
class Example:
    """One text and the pieces of it that must not survive (none: the text must stay as it is)."""

    kind: str
    form: str
    text: str
    pieces: tuple[str, ...]

    @property
    def name(self) -> str:
        """What a test is called by."""
        return f"{self.kind}-{self.form}" if self.pieces else f"{self.kind}-{self.text[:40]}"

    def survivors(self, redacted: str) -> list[str]:
        """The pieces of which eight characters in a row are still there (all of a shorter one)."""
        plain = _MARK.sub("\n", redacted)
        return [piece for piece in self.pieces if any(part in plain for part in _parts(piece))]


def _parts(piece: str) -> Iterator[str]:
    size = min(8, len(piece))
    return (piece[at : at + size] for at in range(len(piece) - size + 1))


def examples(label: str) -> list[Example]:
    """All examples with this label."""
    rows = [json.loads(line) for line in SET.read_text(encoding="utf-8").splitlines()]
    return [_example(row) for row in rows if row["label"] == label]


def _example(row: dict[str, object]) -> Example:
    text = str(row["text"]).replace("¦", "")
    listed = row.get("secret", [])
    pieces = tuple(str(piece).replace("¦", "") for piece in listed) if isinstance(listed, list) else ()
    for piece in pieces:
        text = text.replace("@@", piece, 1)
    return Example(str(row["kind"]), str(row.get("form", "")), text, pieces)
