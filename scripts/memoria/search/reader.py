"""Reader: find the documents of the search index that fit a query best, with their best passages.

Opens ``index.db`` read-only; ``indexing`` writes it. A file that is missing, locked, corrupt or of another version
raises ``UnreadableError`` and no other error. docs/recall.md describes the ranking and its measurements.
"""

from __future__ import annotations

from memoria.base import sqlite
from memoria.base.visibility import EVERYWHERE
from memoria.search import duplicates, layout, matching, ranking, statements, tokens
from memoria.search.hit import FIELDS, Hit
from memoria.search.statements import Statement
from memoria.search.stored import SHOW, Stored, shows_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from memoria.base.visibility import Visibility

_QUERY_CHARS = 20_000  # characters; only the start of a longer query is read
QUERY_WORDS = 48  # terms of a query that are looked up; the others are ignored
_CANDIDATES = 80  # documents that are read and scored as a whole; the better half is also scored by passage
_WRITTEN = 0.8  # factor for what was written of a session, among turns: a short text scores high by few words


class UnreadableError(Exception):
    """The index cannot answer now; the message says why."""


class Finder:
    """An open index. Use it as a context manager, or ``close()`` it."""

    def __init__(
        self,
        path: str,
        connection: sqlite3.Connection | None = None,
        candidates: int = _CANDIDATES,
    ) -> None:
        """Open the index, or use a ``connection`` that is open already. Raises UnreadableError.

        ``candidates`` is the number of documents that a search scores as a whole, the better half also by passage. A
        lower number is faster.
        """
        self._own = connection is None
        self._db = _opened(path) if connection is None else connection
        self._matching = matching.Matching(self._db, candidates)
        self._stored = Stored(self._db)

    def __enter__(self) -> Finder:
        """Return the finder itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file, unless the caller opened it."""
        if self._own:
            self._db.close()

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        project: str = "",
        view: Visibility | None = None,
        kinds: Collection[str] = (),
        is_folded: bool = True,
    ) -> list[Hit]:
        """Return the documents that fit ``query`` best, best first; of several about one session, only the best one.

        ``project`` and ``kinds`` (by default all but ``HISTORY``) exclude everything else; with a single kind, or
        unless ``is_folded``, all documents of a session are returned. ``view`` excludes what may not be shown to the
        project that asks, also passages of articles. Any text is a valid query. Raises UnreadableError when the file
        cannot be read.
        """
        words = tokens.of_query(query[:_QUERY_CHARS])[:QUERY_WORDS]
        if not words or limit < 1:
            return []
        try:
            rated, known = self._matching.rated(words, project)
            scope = matching.scope(project, view, kinds or layout.KINDS)
            ranked = self._matching.ranked(rated, known, limit, scope)
            found = self._weighed(ranked, kinds or layout.KINDS)
            return self.shown(found, limit, view, is_folded=is_folded and len(kinds) != 1, kinds=kinds)
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None

    def _weighed(
        self, ranked: Sequence[ranking.Candidate], kinds: Collection[str]
    ) -> list[tuple[float, int, dict[int, float]]]:
        """Return documents with their scores, best first; what was written of a session counts less among its turns."""
        written = self._written([each.document for each in ranked]) if "turn" in kinds else ()
        weighed = [
            (each.score * (_WRITTEN if each.document in written else 1.0), each.document, each.passages)
            for each in ranked
        ]
        return sorted(weighed, key=lambda each: (-each[0], each[1]))

    def _written(self, documents: Sequence[int]) -> set[int]:
        """Return the entries and facts among documents."""
        asked = ", ".join("?" * len(documents))
        rows = self._db.execute(
            f"SELECT id FROM documents WHERE kind IN (?, ?) AND id IN ({asked})",  # noqa: S608 (question marks)
            ("entry", "fact", *documents),
        )
        return {document for (document,) in rows}

    def notes(
        self,
        query: str,
        *,
        limit: int,
        room: int,
        view: Visibility | None = None,
        kinds: Collection[str] = (),
        session: str = "",
    ) -> list[Statement]:
        """Return the best passages of the documents that ``search`` finds, best first, cut to ``room`` characters.

        What ``session`` said is left out. Raises UnreadableError when the file cannot be read.
        """
        words = tokens.of_query(query[:_QUERY_CHARS])[:QUERY_WORDS]
        hits = self.search(query, limit=limit, view=view, kinds=kinds, is_folded=False)
        try:
            rated, _ = self._matching.rated(words, self._own_project(view))
            bits = {term: word.bits for term, word in rated.items()}
            found = (self._noted(hit, bits, room) for hit in hits)
            return [each for each in found if each and not (session and session in each.sessions)]
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None

    def _noted(self, hit: Hit, bits: Mapping[str, float], room: int) -> Statement | None:
        """Return the best passage of a document as a note, None when it only lists what tools were asked to do."""
        for passage in hit.passages:
            label, own = self._stored.about(hit.key, passage)
            if label == layout.TOOLS:
                continue
            best = Hit([getattr(hit, name) for name in FIELDS], hit.score, [passage])
            said = self._stored.sessions(best)
            found = Statement(best, statements.around(passage, bits, room), label, is_own=own, sessions=said)
            phrases = self._stored.phrases(hit.key)
            found.words = frozenset(tokens.of("\n".join((found.text, *phrases)))).intersection(bits)
            found.share = sum(bits[term] for term in found.words) / (sum(bits.values()) or 1.0)
            return found
        return None

    def _own_project(self, view: Visibility | None) -> str:
        """Return the project that asks, in which words are weighed; ``""``, the whole home, when it has no documents.

        Among many projects the words of one project's own subject are rare, and yet they name nothing in it.
        """
        return view.own if view and self._matching.size(view.own)[0] else ""

    def holding(
        self, terms: Sequence[str], *, view: Visibility, kinds: Collection[str], most: int
    ) -> Iterator[Statement]:
        """Yield the passages, whole, of up to ``most`` documents that hold one of the terms, the newest first.

        A term that more than ``most`` documents hold names nothing in particular and is left out. Raises
        UnreadableError when the file cannot be read.
        """
        try:
            known = self._matching.holding(terms, "")
            rare = [term for term in terms if 0 < known.get(term, matching.NOWHERE)[0] <= most]
            scope = matching.scope("", view, kinds)
            order = f"ORDER BY rowid DESC LIMIT {most}"
            for document in self._matching.match(" OR ".join(map(matching.phrase, rare)), scope, order) if rare else []:
                yield from self._passages(document, view)
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None

    def worthiest(self, labels: Collection[str] = (), *, view: Visibility, most: int) -> list[Statement]:
        """Return up to ``most`` facts of the own project and of all, the most important and then the newest first.

        ``labels``: of these kinds, by default of all. Raises UnreadableError when the file cannot be read.
        """
        try:
            places = {view.own, *EVERYWHERE}
            found = [row for place in places for row in self._stored.worthiest(place, labels, most)]
            best = sorted(found, reverse=True)[:most]
            return [statement for _, document in best for statement in self._passages(document, view)]
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None

    def _passages(self, document: int, view: Visibility) -> Iterator[Statement]:
        row = self._stored.current(document)
        screen = self._stored.screen(row, view) if row else None
        if row is None or screen is None:
            return
        first = (row[0] << layout.SHIFT) + len(ranking.HEAD)
        last = (row[0] << layout.SHIFT) + (1 << layout.SHIFT) - 1
        asked = "SELECT text, label, own FROM passages WHERE id BETWEEN ? AND ?"
        for text, label, own in self._db.execute(asked, (first, last)).fetchall():
            if text and label != layout.ASKED and screen(text):
                hit = Hit(row[1:9], 0.0, [text])
                yield Statement(hit, text, label, is_own=bool(own), sessions=self._stored.sessions(hit))

    def shown(
        self,
        ranked: Sequence[tuple[float, int, dict[int, float]]],
        limit: int,
        view: Visibility | None = None,
        *,
        is_folded: bool = True,
        kinds: Collection[str] = (),
    ) -> list[Hit]:
        """Return hits for ranked documents (score, id in the index, scores of its passages by ordinal).

        ``is_folded``: whether of several hits about one session only the best one is returned. ``kinds``: those of the
        hits, by default all.
        """
        hits: list[Hit] = []
        seen: set[str] = set()
        for score, document, scored in ranked:
            if len(hits) >= limit:
                break
            row = self._stored.current(document)
            if row is None or row[1] in seen or (kinds and row[3] not in kinds):
                continue
            seen.add(row[1])
            screen = self._stored.screen(row, view)
            passages = self._stored.texts(row[0], scored if row[0] == document else {}, screen) if screen else []
            if screen is None or not (passages or screen is shows_all):
                continue
            hit = Hit(row[1:9], score, passages or [row[7] or row[1]])
            if not (is_folded and duplicates.fold(hits, hit, self._stored.sessions(hit))):
                duplicates.add(hits, hit)
        return hits

    def named(self, anchor: str, path: str = "", view: Visibility | None = None) -> list[Hit]:
        """Return the documents with this block id, and the one at ``path``, each with its first passages."""
        where = " WHERE kind <> ? AND (anchor = ? OR (path = ? AND path <> ''))"
        rows = self._db.execute(SHOW + where, (layout.HISTORY, anchor, path)).fetchall()
        rows = [row for row in rows if view is None or view.shows(row[6])]
        heads = len(ranking.HEAD)
        firsts = dict.fromkeys(range(heads, heads + 3), 1.0)
        return [Hit(row[1:9], 1.0, self._stored.texts(row[0], firsts)) for row in rows]

    def digests(self, keys: Collection[str]) -> dict[str, str]:
        """Return the digest of each document with one of these keys, which any change of it changes."""
        wanted = ", ".join("?" * len(keys))
        asked = f"SELECT key, digest FROM documents WHERE key IN ({wanted})"  # noqa: S608 (question marks)
        try:
            return dict(self._db.execute(asked, tuple(keys)).fetchall())
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None

    def at(self, key: str, view: Visibility | None = None) -> Hit | None:
        """Return the document with this key, or its successor, with its first passage; None when none is shown."""
        row = self._db.execute(SHOW + " WHERE key = ?", (key,)).fetchone()
        hits = self.shown([(1.0, row[0], {})], 1, view) if row else []
        return hits[0] if hits else None


def _opened(path: str) -> sqlite3.Connection:
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite.read_only(path)
        connection.execute("BEGIN")  # what follows sees one state of the file, and locks it once
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite.module().Error as error:
        if connection is not None:
            connection.close()
        raise UnreadableError(f"{path}: {error}") from None
    if version != layout.VERSION:
        connection.close()
        raise UnreadableError(f"{path}: version {version}, not {layout.VERSION}")
    return connection
