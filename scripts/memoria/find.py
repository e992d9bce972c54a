"""Find: the reading side of the search index. Words go in, ranked documents with their best passages come out.

Opens ``index.db`` read-only and never writes; what writes it is ``index``. A file that is missing, locked, of another
version or corrupt raises ``UnreadableError``, nothing else. How the ranking works and what it is worth: docs/recall.md.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

from memoria import ranking, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence
    from typing import Any

VERSION = 1  # of the index's tables and of how text becomes terms; another one in the file means: rebuild
SHIFT = 12  # a passage's row is (document << SHIFT) + its ordinal
KINDS = ("article", "entry", "fact", "turn")
_COLUMNS = {"title": 3.0, "names": 2.0, "body": 1.0, "own": 1.2}  # what an occurrence in each field counts
_ABOUT = "key, path, kind, anchor, session, project, title, date"
_BATCH = 500  # placeholders in one statement: below the limit of the oldest SQLite that has FTS5
_READ_PER_TERM = 2_000  # occurrences read of one term: words of the whole collection say little and cost most
_CANDIDATES = 1_500  # documents that are scored in full
_SUCCESSIONS = 8  # a chain of superseded facts is followed this far
_QUERY_CHARS = 20_000  # of a longer query only the start is read
_QUERY_TERMS = 64
_ORDINAL = (1 << SHIFT) - 1


class UnreadableError(Exception):
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


class Finder:
    """An open index to search in. Use as a context manager, or ``close()`` it."""

    def __init__(self, path: str, connection: sqlite3.Connection | None = None) -> None:
        """``connection``: one that the writing side has open already. Raises UnreadableError."""
        self._own = connection is None
        self._db = _opened(path) if connection is None else connection

    def __enter__(self) -> Finder:
        """The finder itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Let go of the file (unless someone else opened it)."""
        if self._own:
            self._db.close()

    def search(
        self, query: str, *, limit: int = 10, project: str = "", prefer: str = "", kinds: Collection[str] = ()
    ) -> list[Hit]:
        """The best documents for the words of ``query``, best first.

        ``project`` and ``kinds`` leave out everything else; ``prefer`` is a project that only ranks higher. Any text is
        a valid query. Raises UnreadableError when the file cannot be read.
        """
        words = terms.of_query(query[:_QUERY_CHARS])[:_QUERY_TERMS]
        if not words:
            return []
        try:
            return self._search(words, limit, project, prefer, kinds)
        except _faults() as error:
            raise UnreadableError(str(error)) from None

    def _search(self, words: list[str], limit: int, project: str, prefer: str, kinds: Collection[str]) -> list[Hit]:
        found = {word: rows for word in words if (rows := self._occurrences(word))}
        documents = self._candidates(found, project, kinds)
        scope = self._scope(project, kinds)
        weights = {
            word: ranking.rarity(sum(document in documents for document in rows), scope.documents)
            for word, rows in found.items()
        }
        lengths = {document: about[0] for document, about in documents.items()}
        ranked = ranking.scores(found, weights, lengths, scope)
        best = sum(2.2 * weight for weight in weights.values()) or 1.0
        order = sorted(
            (
                (score * _standing(documents[document], prefer) / (3 * best), document)
                for document, (score, _) in ranked.items()
            ),
            key=lambda pair: (-pair[0], pair[1]),
        )
        return self._hits(order, limit, {document: parts for document, (_, parts) in ranked.items()})

    def _occurrences(self, word: str) -> dict[int, dict[int, float]]:
        """Document -> ordinal of passage -> weighted count."""
        found: dict[int, dict[int, float]] = {}
        rows = self._db.execute("SELECT doc, col FROM places WHERE term = ? LIMIT ?", (word, _READ_PER_TERM))
        for row, column in rows:
            passages = found.setdefault(row >> SHIFT, {})
            ordinal = row & _ORDINAL
            passages[ordinal] = passages.get(ordinal, 0.0) + _COLUMNS[column]
        return found

    def _candidates(
        self, found: dict[str, dict[int, dict[int, float]]], project: str, kinds: Collection[str]
    ) -> dict[int, tuple[Any, ...]]:
        """The documents worth scoring: those that hold the most of the rare words."""
        counted: dict[int, float] = {}
        for rows in found.values():
            worth = 1 / len(rows)
            for document in rows:
                counted[document] = counted.get(document, 0.0) + worth
        chosen = sorted(counted, key=lambda document: -counted[document])
        about: dict[int, tuple[Any, ...]] = {}
        for start in range(0, len(chosen), _BATCH):
            some = chosen[start : start + _BATCH]
            marks = ",".join("?" * len(some))
            stored = self._db.execute(  # only question marks are put into the text
                f"SELECT id, lengths, kind, project, importance, uses FROM documents WHERE id IN ({marks})",  # noqa: S608
                some,
            )
            for document, lengths, kind, belongs, importance, uses in stored:
                if (not project or belongs == project) and (not kinds or kind in kinds):
                    about[document] = (_unpacked(lengths), belongs, importance, uses)
            if len(about) >= _CANDIDATES:
                break
        return about

    def _scope(self, project: str, kinds: Collection[str]) -> ranking.Scope:
        rows = [
            (documents, passages, length)
            for belongs, kind, documents, passages, length in self._db.execute("SELECT * FROM totals")
            if (not project or belongs == project) and (not kinds or kind in kinds)
        ]
        return ranking.Scope(*(sum(column) for column in zip(*rows)) if rows else (0, 0, 0))

    def _hits(self, order: list[tuple[float, int]], limit: int, passages: dict[int, dict[int, float]]) -> list[Hit]:
        hits: list[Hit] = []
        seen: set[str] = set()
        for score, document in order:
            if len(hits) >= limit:
                break
            row = self._current(document)
            if row is None or row[1] in seen:
                continue
            seen.add(row[1])
            texts = self._texts(row[0], passages[document] if row[0] == document else {})
            hits.append(Hit(row[1:9], score, texts))
        return hits

    def _current(self, document: int) -> tuple[Any, ...] | None:
        """The row of a document, or of what supersedes it."""
        columns = f"id, {_ABOUT}, superseded_by"
        row = self._db.execute(f"SELECT {columns} FROM documents WHERE id = ?", (document,)).fetchone()  # noqa: S608
        for _ in range(_SUCCESSIONS):
            if row is None or not row[9]:
                break
            later = self._db.execute(f"SELECT {columns} FROM documents WHERE key = ?", (row[9],)).fetchone()  # noqa: S608
            if later is None:
                break
            row = later
        return row  # type: ignore[no-any-return]

    def _texts(self, document: int, scored: dict[int, float]) -> list[str]:
        """The best passages' texts; of a document that was not scored itself, its first."""
        best = sorted((ordinal for ordinal in scored if ordinal), key=lambda ordinal: (-scored[ordinal], ordinal))[:3]
        rows = (
            self._db.execute("SELECT text FROM passages WHERE id = ?", ((document << SHIFT) + ordinal,)).fetchone()
            for ordinal in best or [1]
        )
        return [row[0] for row in rows if row]


def _standing(about: tuple[Any, ...], prefer: str) -> float:
    """What a document's place in the world adds to its words: project, importance, use."""
    _, project, importance, uses = about
    near = 1.15 if prefer and project == prefer else 1.0
    return near * (0.95 + 0.1 * float(importance)) * (1 + 0.02 * min(int(uses), 5))


def _unpacked(lengths: bytes) -> Sequence[int]:
    from array import array  # noqa: PLC0415 (not needed until there is something to score)

    found = array("H")
    found.frombytes(lengths)
    return found


def _faults() -> tuple[type[Exception], ...]:
    import sqlite3  # noqa: PLC0415 (10 ms that a hook with nothing to search does not pay)

    return (sqlite3.Error,)


def _opened(path: str) -> sqlite3.Connection:
    import sqlite3  # noqa: PLC0415

    try:
        connection = sqlite3.connect("file:" + _quoted(path) + "?mode=ro", uri=True, timeout=1.0)
    except sqlite3.Error as error:
        raise UnreadableError(f"{path}: {error}") from None
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error as error:
        connection.close()
        raise UnreadableError(f"{path}: {error}") from None
    if version != VERSION:
        connection.close()
        raise UnreadableError(f"{path}: version {version}, not {VERSION}")
    return connection


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
