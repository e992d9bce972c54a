"""Reader: find the documents of the search index that fit a query best, with their best passages.

Opens ``index.db`` read-only; ``index`` writes it. A file that is missing, locked, corrupt or of another version raises
``UnreadableError`` and no other error.
"""

from __future__ import annotations

from memoria.base import sqlite
from memoria.base.visibility import EVERYWHERE
from memoria.search import duplicates, layout, ranking, stored, tokens
from memoria.search.hit import Hit, Statement, around

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Any

    from memoria.base.visibility import Visibility

_QUERY_CHARS = 20_000  # characters; only the start of a longer query is read
QUERY_WORDS = 48  # terms of a query that are looked up; the others are ignored


class UnreadableError(Exception):
    """The index cannot answer now; the message says why."""


class Finder:
    """An open index. Use it as a context manager, or ``close()`` it."""

    def __init__(
        self,
        path: str,
        connection: sqlite3.Connection | None = None,
        *,
        candidates: int = ranking.CANDIDATES,
        turns: stored.Turns = stored.no_turns,
    ) -> None:
        """Open the index, or use a ``connection`` that is open already. Raises UnreadableError.

        ``candidates`` is the number of documents that a search scores; a lower number is faster. ``turns`` reads the
        texts of archived conversations.
        """
        self._own = connection is None
        self._db = _opened(path) if connection is None else connection
        self._ranking = ranking.Ranking(self._db, candidates)
        self._stored = stored.Stored(self._db, turns)

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
        return self._found(query, limit, project, view, kinds, is_folded=is_folded and len(kinds) != 1)[0]

    def _found(
        self,
        query: str,
        limit: int,
        project: str,
        view: Visibility | None,
        kinds: Collection[str],
        *,
        is_folded: bool,
    ) -> tuple[list[Hit], dict[str, float]]:
        """Return the hits of a search, and the information in each word of the query."""
        words = tokens.of_query(query[:_QUERY_CHARS])[:QUERY_WORDS]
        if not words or limit < 1:
            return [], {}
        try:
            scope = ranking.Scope(self._db, project, view, kinds or layout.KINDS)
            ranked, bits = self._ranking.best(words, scope, limit)
            rows = ((each.score, each.document, each.passages) for each in ranked)
            return self._shown(rows, limit, view, is_folded=is_folded, kinds=kinds), bits
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None

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

        A line of an article stands for the statement that it shows, and each statement is returned once. What
        ``session`` said is left out. Raises UnreadableError when the file cannot be read.
        """
        hits, bits = self._found(query, limit, "", view, kinds, is_folded=False)
        found: dict[str, Statement] = {}
        try:
            for each in filter(None, (self._noted(hit, bits, room, view) for hit in hits)):
                if not (session and session in each.sessions):
                    found.setdefault(each.hit.key, each)
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None
        return list(found.values())

    def _noted(self, hit: Hit, bits: Mapping[str, float], room: int, view: Visibility | None) -> Statement | None:
        """Return the best passage of a document as a note; None when it only sums up, or lists uses of tools."""
        for passage in hit.passages:
            label, own = hit.about.get(passage, ("", False))
            found = None if label in layout.NO_NOTES else self._stated(hit.of(passage), label, is_own=own, view=view)
            if found:
                found.text = around(found.text, bits, room)
                found.words = frozenset(tokens.of("\n".join((found.text, *found.hit.phrases)))).intersection(bits)
                found.share = sum(bits[term] for term in found.words) / (sum(bits.values()) or 1.0)
                return found
        return None

    def _stated(self, hit: Hit, label: str, *, is_own: bool, view: Visibility | None) -> Statement | None:
        """Return a passage as a statement; a line of an article as the one that it shows, None when that has ended."""
        shown = [ident for ident in layout.block_ids(hit.passages[0]) if ident.startswith("l-")]
        if hit.kind == "article" and len(shown) == 1:  # a line that cites two statements connects them
            row = self._stored.of_block(shown[0])
            if row is None or self._stored.screen(row, view) is None:
                return None
            text, label, is_own = self._stored.parts(row)[layout.HEADS]
            hit = Hit(row[1:9], hit.score, [text])
            hit.phrases = self._stored.phrases(row)
        return Statement(hit, hit.passages[0], label, is_own=is_own, sessions=self._stored.sessions(hit))

    def holding(
        self, terms: Sequence[str], *, view: Visibility, kinds: Collection[str], most: int
    ) -> Iterator[Statement]:
        """Yield the passages that hold one of the terms, the newest first; of each term up to ``most``.

        A term that more passages hold names nothing in particular and is left out. Raises UnreadableError when the
        file cannot be read.
        """
        try:
            scope = ranking.Scope(self._db, "", view, kinds)
            sizes, held = self._ranking.holding(terms, scope, most * len(terms))
            rows = {row for term in held if sizes[term] <= most for row in held[term]}
            for row in sorted(rows, reverse=True):
                yield from self._passages(row >> layout.SHIFT, view, row & layout.LAST)
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None

    def worthiest(self, labels: Sequence[str] = (), *, view: Visibility, most: int) -> list[Statement]:
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

    def _passages(self, document: int, view: Visibility, only: int = 0) -> Iterator[Statement]:
        """Yield what may be shown of a document or of its passage ``only``, whole."""
        row = self._stored.current(document)
        screen = self._stored.screen(row, view) if row else None
        if row is None or screen is None:
            return
        for ordinal, (text, label, own) in self._stored.parts(row).items():
            is_wanted = not only or only == ordinal or row[0] != document
            if is_wanted and text and label != layout.ASKED and screen(text):
                found = self._stated(Hit(row[1:9], 0.0, [text]), label, is_own=own, view=view)
                if found:
                    yield found

    def _shown(
        self,
        ranked: Iterator[tuple[float, int, Mapping[int, float]]],
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
            hit = self._hit(row, score, scored if row[0] == document else {}, view)
            if hit and not (is_folded and duplicates.fold(hits, hit, self._stored.sessions(hit))):
                duplicates.add(hits, hit)
        return hits

    def _hit(
        self, row: tuple[Any, ...], score: float, scored: Mapping[int, float], view: Visibility | None = None
    ) -> Hit | None:
        """Return what may be shown of a document, with its best passages; None when nothing may."""
        screen = self._stored.screen(row, view)
        parts = self._stored.shown(row, scored, screen) if screen else []
        if screen is None or not (parts or screen is stored.shows_all):
            return None
        hit = Hit(row[1:9], score, [text for text, _, _ in parts] or [row[7] or row[1]])
        hit.about = {text: (label, own) for text, label, own in parts}
        hit.phrases = self._stored.phrases(row)
        return hit

    def named(self, anchor: str, path: str = "", view: Visibility | None = None) -> list[Hit]:
        """Return the documents with this block id, and the one at ``path``, each with its first passages."""
        where = " WHERE kind <> ? AND (anchor = ? OR (path = ? AND path <> ''))"
        rows = self._db.execute(stored.SHOW + where, (layout.HISTORY, anchor, path)).fetchall()
        firsts = dict.fromkeys(range(layout.HEADS, layout.HEADS + stored.PASSAGES), 1.0)
        hits = [self._hit(row, 1.0, firsts) for row in rows if view is None or view.shows(row[6])]
        return [hit for hit in hits if hit]

    def digests(self, keys: Collection[str]) -> dict[str, str]:
        """Return the digest of each document with one of these keys, which any change of it changes."""
        wanted = ", ".join("?" * len(keys))
        asked = f"SELECT key, digest FROM documents WHERE key IN ({wanted})"  # noqa: S608 (question marks)
        try:
            return dict(self._db.execute(asked, tuple(keys)).fetchall())
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None

    def made_again(self, key: str) -> bool:
        """Return whether a document is a correction that the user had to make more than once."""
        try:
            row = self._db.execute("SELECT importance FROM documents WHERE key = ?", (key,)).fetchone()
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None
        return bool(row) and row[0] > layout.AGAIN

    def at(self, key: str, view: Visibility | None = None) -> Hit | None:
        """Return the document with this key, or its successor, with its first passage; None when none is shown."""
        row = self._db.execute(stored.SHOW + " WHERE key = ?", (key,)).fetchone()
        hits = self._shown(iter([(1.0, row[0], {})]), 1, view) if row else []
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
