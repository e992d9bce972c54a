"""Stored: the documents and passages of an open index, as far as they may be shown."""

from __future__ import annotations

from memoria.search import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from memoria.base.visibility import Visibility
    from memoria.search.hit import Hit

    Part = tuple[str, str, bool]  # text and label of a passage, and whether it is the user's own
    Turns = Callable[[str, str], Sequence[Part]]

PASSAGES = 3  # of a document that are shown
_SUCCESSIONS = 8  # greatest length of a chain of superseded facts that is followed
SHOW = "SELECT id, key, path, kind, anchor, session, project, title, date, superseded_by, source, hidden FROM documents"


def no_turns(source: str, hidden: str) -> Sequence[Part]:  # noqa: ARG001 (reads nothing)
    """Return no passages: a hook shows none of an archived conversation."""
    return ()


class Stored:
    """What an index holds. The texts of archived conversations stand in the archive, where ``turns`` reads them."""

    __slots__ = ("_db", "_last", "_turns")

    def __init__(self, connection: sqlite3.Connection, turns: Turns = no_turns) -> None:
        self._db = connection
        self._turns = turns
        self._last: tuple[int, Mapping[int, Part]] = (0, {})  # the document that was read last

    def current(self, document: int) -> tuple[Any, ...] | None:
        """Return the row of a document, or of its successor; None when that was forgotten, so that neither is found."""
        row: tuple[Any, ...] | None = self._db.execute(SHOW + " WHERE id = ?", (document,)).fetchone()
        for _ in range(_SUCCESSIONS):
            if row is None or not row[9]:
                break
            column, name = ("anchor", row[9][1:]) if row[9].startswith("^") else ("key", row[9])
            row = self._db.execute(f"{SHOW} WHERE {column} = ?", (name,)).fetchone()
        return row

    def worthiest(self, project: str, labels: Sequence[str], most: int) -> list[tuple[float, int]]:
        """Return importance and id of up to ``most`` current facts of a project, of these labels or all, best first."""
        wanted = f" AND label IN ({', '.join('?' * len(labels))})" if labels else ""
        rows = self._db.execute(
            "SELECT importance, documents.id FROM documents"  # noqa: S608 (question marks)
            f" JOIN passages ON passages.id = (documents.id << {layout.SHIFT}) + {layout.HEADS}"
            f" WHERE kind = 'fact' AND project = ? AND superseded_by = ''{wanted}"
            f" ORDER BY importance DESC, documents.id DESC LIMIT {most}",
            (project, *labels),
        )
        return rows.fetchall()

    def screen(self, row: tuple[Any, ...], view: Visibility | None) -> Callable[[str], bool] | None:
        """Return which passages of a document may be shown; None when the document may not be.

        Of an article that also rests on what hidden projects said, only the passages are shown that cite nothing of it
        but something else.
        """
        if view is None:
            return shows_all
        if view.hides(row[6]):
            return None
        if row[3] not in ("article", layout.HISTORY):
            return shows_all
        cited = {ident for text, _, _ in self.parts(row).values() for ident in layout.block_ids(text)}
        seen = {ident for ident in cited if not view.hides(self._of_entry(ident, "project"))}
        if seen == cited:
            return shows_all
        return lambda text: bool(own := layout.block_ids(text)) and own <= seen

    def of_block(self, ident: str) -> tuple[Any, ...] | None:
        """Return the row of the statement with a block id, or of its successor; None when neither is there."""
        return self.current(int(self._of_entry(ident, "id") or 0))

    def _of_entry(self, ident: str, column: str) -> str:
        """Return the project, the session or the row's id of a statement or entry, ``""`` for one that is unknown."""
        row = self._db.execute(f"SELECT {column} FROM documents WHERE anchor = ?", (ident,)).fetchone()  # noqa: S608
        return str(row[0]) if row else ""

    def sessions(self, hit: Hit) -> frozenset[str]:
        """Return the sessions in which the best passage of a hit was said, as far as they are known."""
        if hit.kind != "article":
            return frozenset((hit.session,) if hit.session else ())
        said = {self._of_entry(ident, "session") for ident in layout.block_ids(hit.passages[0])}
        return frozenset(said) if "" not in said else frozenset()

    def parts(self, row: tuple[Any, ...]) -> Mapping[int, Part]:
        """Return the passages of a document by their ordinals, without its title and names."""
        if row[0] != self._last[0]:
            is_archived = row[3] == "turn"
            parts = dict(enumerate(self._turns(row[10], row[11]), layout.HEADS)) if is_archived else self._rows(row[0])
            self._last = row[0], parts
        return self._last[1]

    def _rows(self, document: int) -> dict[int, Part]:
        first = document << layout.SHIFT
        asked = "SELECT id, text, label, own FROM passages WHERE id BETWEEN ? AND ?"
        rows = self._db.execute(asked, (first, first + layout.LAST))
        return {number - first: (text, label, bool(own)) for number, text, label, own in rows}

    def phrases(self, row: tuple[Any, ...]) -> list[str]:
        """Return the phrases by which a document is asked for."""
        return [text for text, label, _ in self.parts(row).values() if label == layout.ASKED]

    def shown(self, row: tuple[Any, ...], scored: Mapping[int, float], screen: Callable[[str], bool]) -> list[Part]:
        """Return the best passages, or the first one when no passage but a phrase was scored."""
        parts = self.parts(row)
        said = [ordinal for ordinal in scored if ordinal in parts and parts[ordinal][1] != layout.ASKED]
        first = [layout.HEADS] if layout.HEADS in parts else []
        found: list[Part] = []
        for ordinal in sorted(said, key=lambda ordinal: (-scored[ordinal], ordinal)) or first:
            part = parts[ordinal]
            if part[0] and screen(part[0]):
                found.append(part)
            if len(found) == PASSAGES:
                break
        return found


def shows_all(text: str) -> bool:  # noqa: ARG001 (a screen looks at the text)
    """Show every passage."""
    return True
