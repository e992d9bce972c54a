"""Hit: one search result, as every kind of search returns it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Hit:
    """A document that was found: its place, its kind, how well it fits, and its best passages in order of fit."""

    __slots__ = (
        "anchor", "by", "date", "fit", "key", "kind", "passages", "path", "project", "score", "session", "title",
    )  # fmt: skip

    def __init__(self, row: Sequence[object], score: float, passages: list[str], fit: float) -> None:
        """Take ``row`` (key, path, kind, anchor, session, project, title, date); for ``fit`` see ``Finder.search``."""
        self.key, self.path, self.kind, self.anchor = (str(value) for value in row[:4])
        self.session, self.project, self.title, self.date = (str(value) for value in row[4:8])
        self.score = score
        self.fit = fit
        self.passages = passages
        self.by = "words"  # what found it
