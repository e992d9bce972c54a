"""Stored: the documents and passages of an open index, as far as they may be shown."""

from __future__ import annotations

from memoria.search import layout, ranking

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from memoria.base.visibility import Visibility
    from memoria.search.hit import Hit

PASSAGES = 3  # of a document that are shown
_SUCCESSIONS = 8  # greatest length of a chain of superseded facts that is followed
SHOW = "SELECT id, key, path, kind, anchor, session, project, title, date, superseded_by, importance FROM documents"


class Stored:
    """What an index holds."""

    __slots__ = ("_db", "_last")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._last: tuple[int, Sequence[tuple[str, str, bool]]] = (0, ())  # the packed document that was read last

    def current(self, document: int) -> tuple[Any, ...] | None:
        """Return the row of a document, or of its successor; None when that was forgotten, so that neither is found."""
        row: tuple[Any, ...] | None = self._db.execute(SHOW + " WHERE id = ?", (document,)).fetchone()
        for _ in range(_SUCCESSIONS):
            if row is None or not row[9]:
                break
            column, name = ("anchor", row[9][1:]) if row[9].startswith("^") else ("key", row[9])
            row = self._db.execute(f"{SHOW} WHERE {column} = ?", (name,)).fetchone()
        return row

    def worthiest(self, project: str, labels: Collection[str], most: int) -> list[tuple[float, int]]:
        """Return importance and id of up to ``most`` current facts of a project, of these labels or all, best first."""
        wanted = f" AND label IN ({', '.join('?' * len(labels))})" if labels else ""
        rows = self._db.execute(
            "SELECT importance, documents.id FROM documents"  # noqa: S608 (question marks)
            f" JOIN passages ON passages.id = (documents.id << {layout.SHIFT}) + {len(ranking.HEAD)}"
            f" WHERE kind = 'fact' AND project = ? AND superseded_by = ''{wanted}"
            f" ORDER BY importance DESC, documents.id DESC LIMIT {most}",
            (project, *labels),
        )
        return rows.fetchall()

    def about(self, key: str, text: str) -> tuple[str, bool]:
        """Return the label of a document's passage with this text, and whether it is the user's own."""
        found = self._db.execute("SELECT id FROM documents WHERE key = ?", (key,)).fetchone()
        if found and (held := [(label, own) for told, label, own in self._packed(found[0]) if told == text]):
            return held[0]
        first = found[0] << layout.SHIFT if found else -1
        asked = "SELECT label, own FROM passages WHERE id BETWEEN ? AND ? AND text = ? LIMIT 1"
        row = self._db.execute(asked, (first, first + (1 << layout.SHIFT) - 1, text)).fetchone()
        return (row[0], bool(row[1])) if row else ("", False)

    def phrases(self, key: str) -> Collection[str]:
        """Return the phrases by which a document is asked for."""
        found = self._db.execute("SELECT id FROM documents WHERE key = ?", (key,)).fetchone()
        return self._phrases(found[0]).values() if found else ()

    def _phrases(self, document: int) -> dict[int, str]:
        """Return the phrases by which a document is asked for, by their ordinals."""
        first = document << layout.SHIFT
        asked = "SELECT id, text FROM passages WHERE id BETWEEN ? AND ? AND label = ?"
        rows = self._db.execute(asked, (first, first + (1 << layout.SHIFT) - 1, layout.ASKED))
        return {row - first: text for row, text in rows}

    def screen(self, row: tuple[Any, ...], view: Visibility | None) -> Callable[[str], bool] | None:
        """Return which passages of a document may be shown; None when the document may not be.

        Of an article that also rests on entries of hidden projects, only the passages are shown that cite no such
        entries but others.
        """
        if view is None:
            return shows_all
        if view.hides(row[6]):
            return None
        if row[3] not in ("article", layout.HISTORY):
            return shows_all
        first = row[0] << layout.SHIFT
        texts = self._db.execute(
            "SELECT text FROM passages WHERE id BETWEEN ? AND ?", (first, first + (1 << layout.SHIFT) - 1)
        ).fetchall()
        cited = {ident for (text,) in texts for ident in layout.entry_ids(text)}
        seen = {ident for ident in cited if not view.hides(self._of_entry(ident, "project"))}
        if seen == cited:
            return shows_all
        return lambda text: bool(own := layout.entry_ids(text)) and own <= seen

    def _of_entry(self, ident: str, column: str) -> str:
        """Return the project or the session of an entry, ``""`` for an entry that is unknown."""
        row = self._db.execute(f"SELECT {column} FROM documents WHERE anchor = ?", (ident,)).fetchone()  # noqa: S608
        return str(row[0]) if row else ""

    def sessions(self, hit: Hit) -> frozenset[str]:
        """Return the sessions in which the best passage of a hit was said, as far as they are known."""
        if hit.kind != "article":
            return frozenset((hit.session,) if hit.session else ())
        said = {self._of_entry(ident, "session") for ident in layout.entry_ids(hit.passages[0])}
        return frozenset(said) if "" not in said else frozenset()

    def texts(
        self, document: int, scored: Mapping[int, float], screen: Callable[[str], bool] | None = None
    ) -> list[str]:
        """Return the texts of the best passages, or of the first one when no passage but a phrase was scored."""
        heads = len(ranking.HEAD)
        said = {ordinal for ordinal in scored if ordinal >= heads}.difference(self._phrases(document))
        texts: list[str] = []
        for ordinal in sorted(said, key=lambda ordinal: (-scored[ordinal], ordinal)) or [heads]:
            text = self.passage(document, ordinal)[0]
            if text and (screen is None or screen(text)):
                texts.append(text)
            if len(texts) == PASSAGES:
                break
        return texts

    def passage(self, document: int, ordinal: int) -> tuple[str, str, bool]:
        """Return the text and the label of a passage and whether it is the user's own; empty when there is none."""
        asked = ((document << layout.SHIFT) + ordinal,)
        row = self._db.execute("SELECT text, label, own FROM passages WHERE id = ?", asked).fetchone()
        if row:
            return row[0], row[1], bool(row[2])
        parts, place = self._packed(document), ordinal - len(ranking.HEAD)
        return parts[place] if 0 <= place < len(parts) else ("", "", False)

    def _packed(self, document: int) -> Sequence[tuple[str, str, bool]]:
        """Return the passages of a document that is packed; none of another."""
        if document != self._last[0]:
            row = self._db.execute("SELECT parts FROM packed WHERE id = ?", (document,)).fetchone()
            self._last = document, _unpacked(row[0]) if row else ()
        return self._last[1]


def _unpacked(parts: bytes) -> Sequence[tuple[str, str, bool]]:
    from memoria.search import packing  # noqa: PLC0415 (not for a hook)

    return packing.parts(parts)


def shows_all(text: str) -> bool:  # noqa: ARG001 (a screen looks at the text)
    """Show every passage."""
    return True
