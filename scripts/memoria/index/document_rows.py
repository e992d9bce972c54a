"""Document rows: what the index's tables hold of a document, and the counts that follow from it."""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator

from memoria.index.documents import Document, Passage
from memoria.search import layout, tokens

MAX_PASSAGES = layout.LAST + 1 - layout.HEADS  # of one document
_PURGE = 8  # passages of which one may be of a document that is gone
_GONE = "gone"  # in ``facts`` the number of such passages


class DocumentRows:
    """The rows of documents in the index behind a connection."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """Work on ``db``, within the caller's transaction."""
        self._db = db
        self._totals: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._gone = 0

    def put(self, document: Document, source: str) -> bool:
        """Add or update a document; return False when it is stored as it is."""
        row = self._db.execute("SELECT digest FROM documents WHERE key = ?", (document.key,)).fetchone()
        digest = document.digest
        if row and row[0] == digest:
            return False
        if row:
            self.drop(document.key)
        parts = document.passages[:MAX_PASSAGES]
        held = [terms[: layout.MAX_WORDS] for terms in _terms(document, parts)]
        own = [False] * layout.HEADS + [part.own for part in parts]
        lengths = array("H", (len(terms) | layout.OWN_BIT * is_own for terms, is_own in zip(held, own, strict=True)))
        place = (document.key, source, document.path, document.kind, document.anchor, document.session)
        about = (document.project, document.title, document.date, document.importance, document.superseded_by)
        number: int = self._db.execute(  # type: ignore[assignment]  # an INSERT that did not raise has a row
            "INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*place, *about, document.hidden, lengths.tobytes(), digest),
        ).lastrowid
        first = number << layout.SHIFT
        if document.kind != "turn":  # whose texts stand in the archive
            self._db.executemany(
                "INSERT INTO passages VALUES (?, ?, ?, ?)",
                ((row, part.text, part.label, part.own) for row, part in enumerate(parts, first + layout.HEADS)),
            )
        places = map(layout.project_term, (document.project, *document.also))
        belongs = " ".join(("", layout.kind_term(document.kind), *places))
        self._db.executemany(
            "INSERT INTO terms (rowid, words) VALUES (?, ?)",
            ((row, _words(terms) + belongs) for row, terms in enumerate(held, first) if terms),
        )
        total = self._totals[document.project, document.kind]
        total.update(documents=1, passages=len(held), words=sum(map(len, held)))
        return True

    def drop(self, key: str) -> bool:
        """Remove a document by key; return whether it existed. Its terms stay until ``purge`` and lead nowhere."""
        row = self._db.execute("SELECT id, project, kind, lengths FROM documents WHERE key = ?", (key,)).fetchone()
        if row is None:
            return False
        number, project, kind, packed = row
        lengths = [length & ~layout.OWN_BIT for length in memoryview(packed).cast("H")]
        self._gone += len(lengths)
        self._totals[project, kind].update(documents=-1, passages=-len(lengths), words=-sum(lengths))
        span = (number << layout.SHIFT, (number << layout.SHIFT) + layout.LAST)
        self._db.execute("DELETE FROM passages WHERE id BETWEEN ? AND ?", span)
        self._db.execute("DELETE FROM documents WHERE id = ?", (number,))
        return True

    def write_counts(self) -> None:
        """Add to the stored counts what has changed since they were last written or discarded."""
        if self._totals:
            self._db.execute("DELETE FROM facts WHERE name = ?", (layout.PREPARED,))
        for (project, kind), total in self._totals.items():
            self._db.execute(
                "INSERT INTO totals VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET documents = documents +"
                " excluded.documents, passages = passages + excluded.passages, words = words + excluded.words",
                (project, kind, total["documents"], total["passages"], total["words"]),
            )
        if self._gone:
            self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_GONE, self._number(_GONE) + self._gone))

    def discard_counts(self) -> None:
        """Forget what has changed: the transaction has ended."""
        self._totals.clear()
        self._gone = 0

    def purge(self) -> None:
        """Remove the terms of documents that are gone, once these are many.

        The full-text search, which holds no texts, is to be told the terms that it shall remove; its vocabulary knows
        them.
        """
        gone = self._number(_GONE)
        if not gone or _PURGE * gone < (self._db.execute("SELECT sum(passages) FROM totals").fetchone()[0] or 0):
            return
        present = {number for (number,) in self._db.execute("SELECT id FROM documents")}
        held = defaultdict(list)
        for term, row in self._db.execute("SELECT term, doc FROM instances"):
            if row >> layout.SHIFT not in present:
                held[row].append(term)
        self._db.executemany(
            "INSERT INTO terms (terms, rowid, words) VALUES ('delete', ?, ?)",
            ((row, " ".join(terms)) for row, terms in held.items()),
        )
        self._db.execute("INSERT INTO terms (terms) VALUES ('optimize')")  # until then they are only marked as removed
        self._db.execute("DELETE FROM facts WHERE name = ?", (_GONE,))

    def _number(self, name: str) -> int:
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else 0


def _terms(document: Document, parts: tuple[Passage, ...]) -> Iterator[list[str]]:
    """Yield the terms of the title, of the names with the day, and of each passage."""
    names = " ".join([*document.aliases, *document.tags, *document.keywords])
    yield tokens.of(document.title)
    yield tokens.of(names) + tokens.of_day(document.date)
    yield from (tokens.of(f"{part.label} {part.text}") for part in parts)


def _words(terms: list[str]) -> str:
    """Return the terms of a passage as the full-text search holds them, each once and in its order."""
    return " ".join(sorted(layout.marked(term, count) for term, count in Counter(terms).items()))
