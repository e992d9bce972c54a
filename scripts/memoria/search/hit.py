"""Hit: one search result, as every kind of search returns it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


FIELDS = ("key", "path", "kind", "anchor", "session", "project", "title", "date")  # of a document, as it is stored


class Hit:
    """A document that was found: its place, its kind, its score, and its best passages in the order of theirs.

    ``about``: by the text of a passage its label and whether it is the user's own. ``phrases``: those by which the
    document is asked for. ``also`` are the keys of documents about the same session that were left out for it.
    """

    __slots__ = (
        "about", "also", "anchor", "date", "key", "kind", "passages", "path", "phrases", "project", "score", "session",
        "title",
    )  # fmt: skip

    def __init__(self, row: Sequence[object], score: float, passages: list[str]) -> None:
        """Take ``row`` (key, path, kind, anchor, session, project, title, date)."""
        self.key, self.path, self.kind, self.anchor = (str(value) for value in row[:4])
        self.session, self.project, self.title, self.date = (str(value) for value in row[4:8])
        self.score = score
        self.passages = passages
        self.about: dict[str, tuple[str, bool]] = {}
        self.phrases: list[str] = []
        self.also: list[str] = []

    def of(self, passage: str) -> Hit:
        """Return the hit with this passage alone."""
        return Hit([getattr(self, name) for name in FIELDS], self.score, [passage])
