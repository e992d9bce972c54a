"""Reader: find the documents of the search index that fit a query best, with their best passages.

Opens ``index.db`` read-only; ``indexing`` writes it. A file that is missing, locked, corrupt or of another version
raises ``UnreadableError`` and no other error. docs/recall.md describes the ranking and its measurements.
"""

from __future__ import annotations

from memoria.base import sqlite
from memoria.base.visibility import EVERYWHERE
from memoria.search import duplicates, evidence, layout, matching, ranking, statements, tokens
from memoria.search.hit import Hit
from memoria.search.statements import Statement
from memoria.search.stored import PASSAGES, SHOW, Stored, shows_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from memoria.base.visibility import Visibility

_QUERY_CHARS = 20_000  # characters; only the start of a longer query is read
QUERY_WORDS = 48  # terms of a query that are looked up; the others are ignored
_CANDIDATES = 80  # documents that are read and scored as a whole; the better half is also scored by passage
_VIEWED = 12  # documents of which statements are taken, and that each part of the question scores
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
    ) -> list[Hit]:
        """Return the documents that fit ``query`` best, best first; of several about one session, only the best one.

        ``project`` and ``kinds`` (by default all but ``HISTORY``) exclude everything else; with a single kind, all
        documents of a session are returned. ``view`` excludes what may not be shown to the project that asks, also
        passages of articles; documents of that project rank higher. Any text is a valid query. Raises UnreadableError
        when the file cannot be read.
        """
        words = tokens.of_query(query[:_QUERY_CHARS])[:QUERY_WORDS]
        if not words or limit < 1:
            return []
        try:
            rated, known = self._matching.rated(words, project)
            scope = matching.scope(project, view, (*(kinds or layout.KINDS), layout.ASKED))
            ranked = self._matching.ranked(rated, known, limit, scope, view)
            found = self._weighed(ranked, kinds or layout.KINDS)
            return self.shown(found, limit, view, is_folded=len(kinds) != 1, kinds=kinds)
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
        """Return the entries and facts among documents, and the phrases that lead to facts and articles."""
        asked = ", ".join("?" * len(documents))
        rows = self._db.execute(
            f"SELECT id FROM documents WHERE kind IN (?, ?, ?) AND id IN ({asked})",  # noqa: S608 (question marks)
            ("entry", "fact", layout.ASKED, *documents),
        )
        return {document for (document,) in rows}

    def statements(
        self,
        parts: Sequence[str],
        *,
        least: evidence.Least,
        room: int,
        view: Visibility | None = None,
        kinds: Collection[str] = (),
        minor: Collection[str] = (),
        session: str = "",
    ) -> list[Statement]:
        """Return the statements that answer one of the ``parts`` of a question, best first; see ``Statement``.

        A statement must reach ``least``. What phrases lead to has evidence in proportion to their fit. A statement is
        shown with its neighbours in at most ``room`` characters. The terms in ``minor`` count less, and what
        ``session`` said is left out. Raises UnreadableError when the file cannot be read.
        """
        topics = [tokens.of_query(part[:_QUERY_CHARS]) for part in parts]
        words = list(dict.fromkeys(word for topic in topics for word in topic))[:QUERY_WORDS]
        if not words:
            return []
        try:
            rated, known = self._matching.rated(words, "")
            own = self._own_project(view)
            here, held = self._matching.rated(words, own) if own else (rated, known)
            asked = evidence.Asked(parts, topics, here, least, room)
            asked.weigh(minor, held, *self._matching.size(own))
            if repeated := asked.repeated(held):
                asked.name_facts(self._matching.counted(repeated, matching.scope("", view, ("fact",))))
            if asked.naming_facts.isdisjoint(known):  # no document holds what the question is about
                return []
            scope = matching.scope("", view, kinds or layout.KINDS)
            ranked = self._matching.ranked(rated, known, _VIEWED, scope, view)[:_VIEWED]
            leads = asked.leading(ranked)
            if len(topics) > 1:
                asked_for = [[rated[word] for word in topic if word in rated] for topic in topics]
                for lead in leads:
                    lead.candidate.look_at_parts(asked_for, lead.needed(least.evidence))
            found = list(self._asked_for(asked, known, view, kinds or layout.KINDS))
            found = [statement for statement in found if not session or session not in statement.sessions]
            for lead in asked.promising(leads):
                if found and lead.bound() < least.of_best * max(statement.evidence for statement in found):
                    break
                said = self._statements(lead.candidate, lead.bounds, asked, view)
                found += [statement for statement in said if not session or session not in statement.sessions]
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None
        found.sort(key=lambda statement: -statement.evidence)
        return [statement for statement in found if statement.evidence >= least.of_best * found[0].evidence]

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

    def worthiest(self, labels: Collection[str], *, view: Visibility, most: int) -> list[Statement]:
        """Return up to ``most`` facts of the own project and of all, of the kinds ``labels``, the most important first.

        Raises UnreadableError when the file cannot be read.
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
            if text and screen(text):
                hit = Hit(row[1:9], 0.0, [text])
                statement = Statement(hit, text, "user" if own else "")
                statement.label, statement.sessions = label, self._stored.sessions(hit)
                yield statement

    def _asked_for(
        self,
        asked: evidence.Asked,
        known: dict[str, int],
        view: Visibility | None,
        kinds: Collection[str],
    ) -> Iterator[Statement]:
        """Yield the beginnings of the documents that matter and whose phrases fit the question well enough."""
        if not self._matching.has_kind(layout.ASKED):
            return
        from memoria.search import phrases  # noqa: PLC0415 (most homes hold none)

        candidates = self._matching.candidates(known, matching.scope("", view, (layout.ASKED,)))
        for candidate in self._matching.promising(list(asked.rated.values()), candidates, len(candidates), view):
            held = candidate.held(asked.rated)
            if asked.naming_facts.isdisjoint(set().union(*held.values())):
                continue
            found = phrases.fit(asked.topics, held, candidate.text.lengths, asked.weights)
            row = self._stored.current(candidate.document) if found >= asked.least.phrases else None
            screen = self._stored.screen(row, view) if row and row[3] in kinds else None
            text, _, own = self._stored.passage(row[0], len(ranking.HEAD)) if row and screen else ("", "", False)
            if row is None or screen is None or not text or not screen(text) or row[10] < asked.least.matters:
                continue
            hit = Hit(row[1:9], found, [text])
            hit.by = "phrases"
            statement = Statement(hit, statements.best(text, (), asked.weight, asked.room)[0], "user" if own else "")
            statement.evidence = asked.least.evidence * found / asked.least.phrases
            statement.margin = found / asked.least.phrases if row[10] >= evidence.MATTERS else 1.0
            statement.sessions = self._stored.sessions(hit)
            yield statement

    def _statements(
        self, candidate: ranking.Candidate, bounds: Mapping[int, float], asked: evidence.Asked, view: Visibility | None
    ) -> Iterator[Statement]:
        """Yield the best statement of each of a document's best passages that has enough evidence."""
        row = self._stored.current(candidate.document)
        screen = self._stored.screen(row, view) if row else None
        if row is None or screen is None:
            return
        is_successor = row[0] != candidate.document
        numbers = [len(ranking.HEAD)] if is_successor else sorted(bounds, key=lambda number: (-bounds[number], number))
        for number in numbers[:PASSAGES]:
            text, label, own = self._stored.passage(row[0], number)
            if not text or label == layout.TOOLS or not screen(text):
                continue
            hit = Hit(row[1:9], candidate.score, [text])
            is_of_work, is_told = hit.kind in evidence.WORK, hit.kind == "turn" and not own
            weigh = asked.weight_of_work if is_of_work else asked.weight
            shown, core, weight, words = statements.best(
                text, asked.topics, weigh, asked.room, is_of_work=is_of_work, is_told=is_told
            )
            found = candidate.score * (max(bounds.values()) if is_successor else weight)
            statement = Statement(hit, shown, "user" if own else label if hit.kind == "turn" else "")
            statement.core, statement.evidence, statement.words = core, found, words
            statement.is_noted = hit.kind == "turn" and row[10] <= layout.NOTED
            statement.margin = asked.margin(statement) or float(is_successor)  # what it supersedes passed ``bounds``
            if statement.margin:
                statement.sessions = self._stored.sessions(hit)
                yield statement

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
        where = " WHERE kind NOT IN (?, ?) AND (anchor = ? OR (path = ? AND path <> ''))"
        rows = self._db.execute(SHOW + where, (layout.HISTORY, layout.ASKED, anchor, path)).fetchall()
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
