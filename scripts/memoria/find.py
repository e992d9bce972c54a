"""Find: the reading side of the search index. Words go in, ranked documents with their best passages come out.

Opens ``index.db`` read-only and never writes; what writes it is ``index``. A file that is missing, locked, of another
version or corrupt raises ``Unreadable``, nothing else. How the ranking works and what it is worth: docs/recall.md.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

from memoria import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

VERSION = 1  # of the index's tables and of how text becomes terms; another one in the file means: rebuild
SHIFT = 12  # a passage's row is (document << SHIFT) + its ordinal
KINDS = ("article", "entry", "fact", "turn")


class Unreadable(Exception):
    """The index cannot answer now; the message says why."""


class Hit:
    """One found document: where it stands, what it is, how well it fits, and its best passages in order of fit."""

    __slots__ = ("anchor", "date", "key", "kind", "passages", "path", "project", "score", "session", "title")

    def __init__(self, row: Sequence[object], score: float, passages: list[str]) -> None:
        """``row``: key, path, kind, anchor, session, project, title, date."""
        self.key, self.path, self.kind, self.anchor = (str(value) for value in row[:4])
        self.session, self.project, self.title, self.date = (str(value) for value in row[4:8])
        self.score = score
        self.passages = passages
