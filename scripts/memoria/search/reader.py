"""Reader: find the documents of the search index that fit a query best, with their best passages.

Opens ``index.db`` read-only; ``indexing`` writes it. A file that is missing, locked, corrupt or of another version
raises ``UnreadableError`` and no other error. docs/recall.md describes the ranking and its measurements.
"""

from __future__ import annotations

from memoria.base import sqlite
from memoria.search import duplicates, ranking, tokens
from memoria.search.hit import Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from memoria.base.visibility import Visibility

VERSION = 7  # of the tables and of how files become documents and terms; an index of another version is rebuilt
SHIFT = 12  # a passage's row is (document << SHIFT) + its ordinal; ordinals 0 and 1 are the title and the names
KINDS = ("article", "entry", "fact", "turn", "memory")
HISTORY = "history"  # what no longer holds: found only by those who ask for it

_QUERY_CHARS = 20_000  # characters; only the start of a longer query is read
QUERY_WORDS = 48
USUAL_WORDS = 6  # words of a usual query; longer ones cover several topics, which lowers every score
_ROWS = 5_000  # documents that the rare words of a query may match, to bound its cost
_CANDIDATES = 80  # documents that are read and scored as a whole; the better half is also scored by passage
_VIEWED = 12  # documents that are also scored by each part of the query
_BM25 = "bm25(terms, 3.0, 2.0, 1.0, 0.0)"  # title, names, body, scope: chooses the candidates
_SUCCESSIONS = 8  # greatest length of a chain of superseded facts that is followed
_PREFERRED = 1.15  # factor for documents of the project that asks
_FRESH = 0.05  # added to the factor of a document of the newest day; halves every _FRESH_DAYS
_FRESH_DAYS = 30.0


class UnreadableError(Exception):
    """The index cannot answer now; the message says why."""


class _Candidate:
    """A document that is scored by the whole query and by its parts; the best score counts."""

    __slots__ = ("boost", "document", "fit", "passages", "score", "text")

    def __init__(self, document: int, text: ranking.Text, boost: float) -> None:
        self.document = document
        self.text = text
        self.boost = boost
        self.fit = self.score = 0.0
        self.passages: dict[int, float] = {}

    def look(self, words: Sequence[ranking.Word]) -> None:
        """Score the document by these words of the query."""
        found, passages = ranking.score(words, self.text)
        score = found / ranking.attainable(words) * self.boost
        fit = score * max(1.0, len(words) / USUAL_WORDS)
        if fit > self.fit:
            self.fit, self.score, self.passages = fit, score, passages


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
        self._most = candidates

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
        parts: Sequence[str] = (),
    ) -> list[Hit]:
        """Return the documents that fit ``query`` best, best first.

        Give the ``parts`` of a query that covers several topics: the best documents for the whole query are then ranked
        by the part that they fit best, or by the whole where that is better. A hit's ``fit`` is its score normalised to
        a query of the usual length, so that one threshold suits long and short queries.

        ``project`` and ``kinds`` (by default all but ``HISTORY``) exclude everything else. ``view`` excludes what may
        not be shown to the project that asks, also passages of articles; documents of that project rank higher.
        Any text is a valid query. Raises UnreadableError when the file cannot be read.
        """
        words = tokens.of_query(query[:_QUERY_CHARS])[:QUERY_WORDS]
        if not words or limit < 1:
            return []
        topics = [tokens.of_query(part) for part in parts]
        try:
            scope = _scope_terms(project, view, kinds or KINDS)
            ranked = self._ranked(words, topics, limit, project, scope, view)
            fits = {candidate.document: candidate.fit for candidate in ranked}
            return self.shown([(found.score, found.document, found.passages) for found in ranked], limit, view, fits)
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None

    def _ranked(
        self,
        words: list[str],
        topics: Sequence[list[str]],
        limit: int,
        project: str,
        scope: str,
        view: Visibility | None,
    ) -> list[_Candidate]:
        """Return the documents that fit the words, or those of a topic, best first."""
        total = self._words(project)
        known = {word: self._holding(word, project) for word in words}
        rated = {word: ranking.Word(tokens.code(word), passages, total) for word, (_, passages) in known.items()}
        matching = {word: documents for word, (documents, _) in known.items() if documents}
        candidates = self._candidates(matching, scope, max(self._most, 2 * limit))
        ranked = self._promising(list(rated.values()), candidates, max(self._most // 2, limit), view)
        for candidate in ranked:
            candidate.look(list(rated.values()))
        ranked.sort(key=_by_fit)
        if topics:
            ranked = ranked[: max(limit, _VIEWED)]
            for topic in topics:
                found = [rated[word] for word in topic if word in rated]
                for candidate in ranked if found else ():
                    candidate.look(found)
            ranked.sort(key=_by_fit)
        return ranked

    def _promising(
        self, words: list[ranking.Word], candidates: list[int], most: int, view: Visibility | None
    ) -> list[_Candidate]:
        """Return the best of the candidates by a first estimate."""
        from array import array  # noqa: PLC0415 (not needed until there is something to score)

        newest, own = self._newest(), view.own if view else ""
        asked = ", ".join("?" * len(candidates))
        read = []
        for document, codes, ends, positions, packed, *about in self._db.execute(f"{_READ} ({asked})", candidates):
            small = "H" if len(ends) < len(codes) else "I"
            places = ranking.Places(array("I", codes), array(small, ends), array(small, positions))
            lengths, factor = array("H", packed), _boost(about, own, newest)
            read.append((ranking.outline(words, places, lengths) * factor, document, places, lengths, factor))
        read.sort(key=lambda item: (-item[0], item[1]))
        return [
            _Candidate(document, ranking.Text(places, lengths), factor)
            for _, document, places, lengths, factor in read[:most]
        ]

    def _words(self, project: str) -> int:
        """Return the number of words in everything that is searched."""
        where, values = ("WHERE project = ?", (project,)) if project else ("", ())
        row = self._db.execute(f"SELECT sum(words) FROM totals {where}", values).fetchone()  # noqa: S608 (a constant)
        return row[0] or 0

    def _holding(self, word: str, project: str) -> tuple[int, int]:
        """Return the number of documents and of passages that hold the word."""
        where, values = (" AND project = ?", (word, project)) if project else ("", (word,))
        row = self._db.execute(
            f"SELECT sum(documents), sum(passages) FROM vocabulary WHERE term = ?{where}",  # noqa: S608 (a constant)
            values,
        ).fetchone()
        return row[0] or 0, row[1] or 0

    def _candidates(self, matching: dict[str, int], scope: str, most: int) -> list[int]:
        """Return the documents to score: the best matches of rare words, then the newest matches of common ones."""
        rare: list[str] = []
        rows = 0
        by_rarity = sorted(matching, key=lambda word: (matching[word], word))
        for word in by_rarity:
            rows += matching[word]
            if rows > _ROWS:
                break
            rare.append(word)
        found: list[int] = []
        if rare:
            found = self._match(" OR ".join(map(_phrase, rare)), scope, f"ORDER BY {_BM25} LIMIT {most}")
        common = [word for word in by_rarity if word not in rare]
        if common and len(found) < most:
            together = " AND ".join(map(_phrase, common[:3]))
            for expression in (together, _phrase(common[0])):
                more = self._match(expression, scope, f"ORDER BY rowid DESC LIMIT {most}")
                found = list(dict.fromkeys(found + more))[:most]
        return found

    def _match(self, words: str, scope: str, order: str) -> list[int]:
        expression = "{title names body} : (" + words + ")" + scope
        rows = self._db.execute(f"SELECT rowid FROM terms WHERE terms MATCH ? {order}", (expression,))  # noqa: S608
        return [row[0] for row in rows]

    def _newest(self) -> float:
        return _days(self._db.execute("SELECT max(date) FROM documents").fetchone()[0] or "")

    def shown(
        self,
        ranked: Sequence[tuple[float, int, dict[int, float]]],
        limit: int,
        view: Visibility | None = None,
        fits: Mapping[int, float] | None = None,
    ) -> list[Hit]:
        """Return hits for ranked documents (score, id in the index, scores of its passages by ordinal).

        ``fits`` gives the ``fit`` of documents where it differs from the score.
        """
        hits: list[Hit] = []
        seen: set[str] = set()
        for score, document, scored in ranked:
            if len(hits) >= limit:
                break
            row = self._current(document)
            if row is None or row[1] in seen:
                continue
            seen.add(row[1])
            scores = scored if row[0] == document else {}
            passages = self._visible(row, scores, view) if view else self._texts(row[0], scores)
            if passages is None:
                continue
            duplicates.add(hits, Hit(row[1:9], score, passages, fits.get(document, score) if fits else score))
        return hits

    def named(self, anchor: str, path: str = "", view: Visibility | None = None) -> list[Hit]:
        """Return the documents with this block id, and the one at ``path``, each with its first passages."""
        where = " WHERE kind <> ? AND (anchor = ? OR (path = ? AND path <> ''))"
        rows = self._db.execute(_SHOW + where, (HISTORY, anchor, path)).fetchall()
        rows = [row for row in rows if view is None or view.shows(row[6])]
        heads = len(ranking.HEAD)
        firsts = dict.fromkeys(range(heads, heads + 3), 1.0)
        return [Hit(row[1:9], 1.0, self._texts(row[0], firsts), 1.0) for row in rows]

    def _current(self, document: int) -> tuple[Any, ...] | None:
        """Return the row of a document, or of its successor; None when that was forgotten, so that neither is found."""
        row: tuple[Any, ...] | None = self._db.execute(_SHOW + " WHERE id = ?", (document,)).fetchone()
        for _ in range(_SUCCESSIONS):
            if row is None or not row[9]:
                break
            column, name = ("anchor", row[9][1:]) if row[9].startswith("^") else ("key", row[9])
            row = self._db.execute(f"{_SHOW} WHERE {column} = ?", (name,)).fetchone()
        return row

    def _visible(self, row: tuple[Any, ...], scored: dict[int, float], visible: Visibility) -> list[str] | None:
        """Return the best passages that may be shown, None when the document may not be.

        Of an article that also rests on entries of hidden projects, only the passages are shown that cite no such
        entries but others.
        """
        if visible.hides(row[6]):
            return None
        if row[3] not in ("article", HISTORY):
            return self._texts(row[0], scored)
        first = row[0] << SHIFT
        texts = self._db.execute(
            "SELECT text FROM passages WHERE id BETWEEN ? AND ?", (first, first + (1 << SHIFT) - 1)
        ).fetchall()
        cited = {ident for (text,) in texts for ident in entry_ids(text)}
        seen = {ident for ident in cited if not visible.hides(self._project(ident))}
        if seen == cited:
            return self._texts(row[0], scored)
        best = self._texts(row[0], scored, most=len(texts))
        return [text for text in best if (own := entry_ids(text)) and own <= seen][:3] or None

    def _project(self, ident: str) -> str:
        """Return the project of an entry, ``""`` for an entry that is unknown."""
        row = self._db.execute("SELECT project FROM documents WHERE anchor = ?", (ident,)).fetchone()
        return str(row[0]) if row else ""

    def _texts(self, document: int, scored: dict[int, float], most: int = 3) -> list[str]:
        """Return the texts of the best passages, or of the first one when the document itself was not scored."""
        heads = len(ranking.HEAD)
        best = sorted(
            (ordinal for ordinal in scored if ordinal >= heads), key=lambda ordinal: (-scored[ordinal], ordinal)
        )
        numbers = [(document << SHIFT) + ordinal for ordinal in best[:most] or [heads]]
        rows = [self._db.execute("SELECT text FROM passages WHERE id = ?", (number,)).fetchone() for number in numbers]
        return [row[0] for row in rows if row]


_READ = (
    "SELECT id, codes, ends, places, lengths, project, importance, date"
    " FROM documents JOIN contents USING (id) WHERE id IN"
)
_SHOW = "SELECT id, key, path, kind, anchor, session, project, title, date, superseded_by FROM documents"


def _by_fit(candidate: _Candidate) -> tuple[float, int]:
    return -candidate.fit, candidate.document


def _boost(about: Sequence[Any], own: str, newest: float) -> float:
    """Return the factor of a document's score for its project, importance and age."""
    project, importance, date = about
    boost = _PREFERRED if own and project == own else 1.0
    boost *= 0.95 + 0.1 * float(importance)
    if date:
        boost *= 1 + _FRESH * 2 ** (-max(newest - _days(date), 0.0) / _FRESH_DAYS)
    return boost


def _days(date: str) -> float:
    """Return about how many days lie between year 0 and an ISO date; 0 for anything else."""
    try:
        return int(date[:4]) * 365.25 + int(date[5:7]) * 30.4 + int(date[8:10])
    except ValueError:
        return 0.0


def scope_terms(project: str, kind: str) -> tuple[str, str]:
    """Return the terms of the index's ``scope`` column, by which a match is limited to a project and a kind."""
    return f"p{tokens.code(project):08x}", "k" + kind


def entry_ids(text: str) -> set[str]:
    """Return the block ids (``e-01k9x2``) of the entries that a text cites."""
    found = set()
    for part in text.split("#^e-")[1:]:
        length = next((place for place, letter in enumerate(part) if not letter.isalnum()), len(part))
        found.add("e-" + part[:length])
    return found


def _scope_terms(project: str, view: Visibility | None, kinds: Collection[str]) -> str:
    expression = ""
    if view and view.is_apart:
        expression += f" AND scope : ({scope_terms(view.own, '')[0]} OR {scope_terms('', '')[0]})"
    if project:
        expression += f" AND scope : {scope_terms(project, '')[0]}"
    if kinds:
        wanted = " OR ".join(_phrase(scope_terms("", kind)[1]) for kind in sorted(kinds))
        expression += f" AND scope : ({wanted})"
    return expression


def _phrase(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _opened(path: str) -> sqlite3.Connection:
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite.read_only(path)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite.module().Error as error:
        if connection is not None:
            connection.close()
        raise UnreadableError(f"{path}: {error}") from None
    if version != VERSION:
        connection.close()
        raise UnreadableError(f"{path}: version {version}, not {VERSION}")
    return connection
