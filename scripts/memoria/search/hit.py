"""Hit: one search result, as every kind of search returns it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


FIELDS = ("key", "path", "kind", "anchor", "session", "project", "title", "date")  # of a document, as it is stored


class Hit:
    """A document that was found: its place, its kind, its score, and its best passages in the order of theirs.

    ``also`` are the keys of documents about the same session that were left out for it.
    """

    __slots__ = (
        "also", "anchor", "by", "date", "key", "kind", "passages", "path", "project", "score", "session", "title",
    )  # fmt: skip

    def __init__(self, row: Sequence[object], score: float, passages: list[str]) -> None:
        """Take ``row`` (key, path, kind, anchor, session, project, title, date)."""
        self.key, self.path, self.kind, self.anchor = (str(value) for value in row[:4])
        self.session, self.project, self.title, self.date = (str(value) for value in row[4:8])
        self.score = score
        self.passages = passages
        self.also: list[str] = []
        self.by = "words"  # what found it
