"""Reader: find the documents of the search index that fit a query best, with their best passages.

Opens ``index.db`` read-only; ``indexing`` writes it. A file that is missing, locked, corrupt or of another version
raises ``UnreadableError`` and no other error. docs/recall.md describes the ranking and its measurements.
"""

from __future__ import annotations

from math import log2

from memoria.base import sqlite
from memoria.search import duplicates, phrases, ranking, statements, tokens
from memoria.search.hit import Hit
from memoria.search.statements import Statement

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from memoria.base.visibility import Visibility

VERSION = 10  # of the tables and of how files become documents and terms; an index of another version is rebuilt
SHIFT = 12  # a passage's row is (document << SHIFT) + its ordinal; ordinals 0 and 1 are the title and the names
KINDS = ("article", "entry", "fact", "turn", "memory")
HISTORY = "history"  # what no longer holds: found only by those who ask for it
ASKED = "asked"  # the phrases by which a document is asked for; they lead to it and are not shown
TOOLS = "tools"  # the label of a turn's tool lines, which are no statements

_QUERY_CHARS = 20_000  # characters; only the start of a longer query is read
QUERY_WORDS = 48
_ROWS = 5_000  # documents that the rare words of a query may match, to bound its cost
_CANDIDATES = 80  # documents that are read and scored as a whole; the better half is also scored by passage
_VIEWED = 12  # documents of which statements are taken, and that each part of the question scores
_PASSAGES = 3  # of a document that are shown
_NEAR_BEST = 0.5  # least share of the best statement's evidence
_WORK = ("entry", "turn")  # kinds that record work
_OF_WORK = 2.4  # times the least evidence that an entry, what Claude said and what was pasted need: most is of that day
_NAMED = 2.0  # and what Claude said of an identifier in the question
_TYPED = 1.4  # and what a person typed
_OF_MANY = 3.2  # and an entry or what a person typed, when the question has many topics: any may match by chance
_MANY = 3  # topics
_PASTED_CHARS = 1_000  # a longer passage of a prompt was pasted
_MARKUP = ("```", "**", "\n#", "# ", "| ")  # so was one with markup, such as a plan or a review
_WORDS = 2  # least number of words shared with the question, without those that count less
_ADDED = 1  # least number of words that a record of work adds: the same may only have been asked before
_FEW = 5  # documents that one conversation leaves of a statement: fact, phrases, entry, turns, claim
_NAMING = 0.4  # power of the number of documents; a word that more of them hold, and more than _FEW, names nothing
_ENDING = 5  # most letters of a file name's ending
_MINOR = 0.35  # weight of a word that says what to do and not with what
_BM25 = "bm25(terms, 3.0, 2.0, 1.0, 0.0)"  # title, names, body, scope: chooses the candidates
_SUCCESSIONS = 8  # greatest length of a chain of superseded facts that is followed
_ENTRY = 0.8  # factor for an entry among turns: a short text scores high by few words (docs/recall.md)
_PREFERRED = 1.15  # factor for documents of the project that asks
_FRESH = 0.05  # added to the factor of a document of the newest day; halves every _FRESH_DAYS
_FRESH_DAYS = 30.0


class UnreadableError(Exception):
    """The index cannot answer now; the message says why."""


class _Candidate:
    """A document that is scored by the whole query and by its parts; the best score counts."""

    __slots__ = ("boost", "document", "passages", "score", "text")

    def __init__(self, document: int, text: ranking.Text, boost: float) -> None:
        self.document = document
        self.text = text
        self.boost = boost
        self.score = 0.0
        self.passages: dict[int, float] = {}

    def look(self, words: Sequence[ranking.Word]) -> None:
        """Score the document by these words of the query."""
        found, passages = ranking.score(words, self.text)
        score = found / ranking.attainable(words) * self.boost
        if score > self.score:
            self.score, self.passages = score, passages

    def held(self, words: Mapping[str, ranking.Word]) -> dict[int, set[str]]:
        """Return which of the words each passage holds."""
        found: dict[int, set[str]] = {}
        for term, word in words.items():
            for passage in self.text.held(word).counted:
                found.setdefault(passage, set()).add(term)
        return found


def _is_pasted(passage: str) -> bool:
    return len(passage) > _PASTED_CHARS or any(mark in passage for mark in _MARKUP)


def _is_file(chunk: str) -> bool:
    """Return whether a word of the question is a path or the name of a file, in which many things are done."""
    name, _, ending = chunk.rstrip(".,:;!?)`'\"").rpartition(".")
    return "/" in chunk or (name != "" and ending.isalnum() and ending.islower() and len(ending) <= _ENDING)


class _Asked:
    """A question in topics: its words, their weights, and what a statement must have to answer it.

    ``naming`` are the terms that say what the question is about: few documents hold them. In a question that names
    anything else, the name of a file is none of them, since many things are done in one file.
    """

    __slots__ = ("files", "identifiers", "least", "minor", "names", "naming", "rated", "room", "topics", "weights")

    def __init__(
        self,
        parts: Sequence[str],
        topics: Sequence[list[str]],
        rated: Mapping[str, ranking.Word],
        weights: Mapping[str, float],
        least: float,
        room: int,
    ) -> None:
        chunks = [chunk for part in parts for chunk in part.split() if chunk.isascii()]
        terms = {chunk: tokens.of(chunk) for chunk in reversed(chunks)}
        self.names = {term: chunk for chunk, held in terms.items() for term in held}
        self.identifiers = {max(held, key=len) for held in terms.values() if len(held) > 1}
        self.files = {term for term, chunk in self.names.items() if _is_file(chunk)}
        self.topics = topics
        self.rated = rated
        self.weights = weights
        self.least = least
        self.room = room
        self.minor: Collection[str] = ()
        self.naming = set(rated)

    def leave_out(self, minor: Collection[str], common: Collection[str]) -> None:
        """Take the terms that say what to do and not with what, and those that too many documents hold."""
        self.minor = minor
        naming = self.naming.difference(minor, common)
        self.naming = naming - self.files or naming

    def weight(self, terms: Collection[str]) -> float:
        """Return the weight of shared terms."""
        return sum(self.weights.get(term, 0.0) for term in terms)

    def weight_of_work(self, terms: Collection[str]) -> float:
        """Return the weight of shared terms, of which those of one identifier or path count as its heaviest one."""
        heaviest: dict[str, float] = {}
        for term in terms:
            name = self.names.get(term, term)
            heaviest[name] = max(heaviest.get(name, 0.0), self.weights.get(term, 0.0))
        return sum(heaviest.values())

    def is_answered(self, statement: Statement) -> bool:
        """Return whether a statement has enough evidence; what records work needs more than a fact or an article."""
        own_words = statement.words.difference(self.minor)
        names = {self.names.get(term, term) for term in own_words}
        naming = self.naming.intersection(own_words)
        if statement.hit.kind in _WORK:
            needed = self.least * self._of_work(statement, naming)
            is_named = len(names) >= _WORDS and not naming <= self.files
            return is_named and statement.evidence >= needed and self._adds(statement)
        words = own_words if len(self.topics) < _MANY else names
        return bool(naming) and statement.evidence >= self.least and len(words) >= _WORDS

    def _of_work(self, statement: Statement, naming: Collection[str]) -> float:
        """Return how many times the least evidence a record of work needs."""
        if statement.hit.kind == "turn" and statement.speaker != "user":
            return _OF_WORK if self.identifiers.isdisjoint(naming) else _NAMED
        if len(self.topics) >= _MANY:
            return _OF_MANY
        is_typed = statement.speaker == "user" and not _is_pasted(statement.hit.passages[0])
        return _TYPED if is_typed else _OF_WORK

    def _adds(self, statement: Statement) -> bool:
        """Return whether the sentence that answers says something that the question does not say itself."""
        asked = {term for topic in self.topics for term in topic}
        return len(set(tokens.of(statement.core)) - asked) >= _ADDED

    def promising(self, ranked: Iterable[_Candidate]) -> list[tuple[float, _Candidate, dict[int, float]]]:
        """Return the documents that may have enough evidence, with its bound and those of passages, highest first."""
        found = [(candidate, self._bounds(candidate)) for candidate in ranked]
        rows = [(candidate.score * max(bounds.values()), candidate, bounds) for candidate, bounds in found if bounds]
        return sorted(rows, key=lambda row: -row[0])

    def _bounds(self, candidate: _Candidate) -> dict[int, float]:
        """Return the greatest weight that a statement of each passage can have, of those with enough evidence."""
        found = {}
        for passage, held in candidate.held(self.rated).items():
            weight = max(sum(self.weights[term] for term in topic if term in held) for topic in self.topics)
            is_named = passage >= len(ranking.HEAD) and not self.naming.isdisjoint(held)
            if is_named and weight * candidate.score >= self.least:
                found[passage] = weight
        return found


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
            rated, matching = self._rated(words, project)
            scope = _scope_terms(project, view, (*(kinds or KINDS), ASKED))
            ranked = self._ranked(rated, matching, limit, scope, view)
            found = self._weighed(ranked, kinds or KINDS)
            return self.shown(found, limit, view, is_folded=len(kinds) != 1, kinds=kinds)
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None

    def _weighed(
        self, ranked: Sequence[_Candidate], kinds: Collection[str]
    ) -> list[tuple[float, int, dict[int, float]]]:
        """Return documents with their scores, best first; an entry counts less among turns, one of which it sums up."""
        asked = ", ".join("?" * len(ranked))
        found = self._db.execute(
            f"SELECT id FROM documents WHERE kind = 'entry' AND id IN ({asked})",  # noqa: S608 (question marks)
            [each.document for each in ranked],
        )
        entries = {document for (document,) in found} if "turn" in kinds else ()
        weighed = [
            (each.score * (_ENTRY if each.document in entries else 1.0), each.document, each.passages)
            for each in ranked
        ]
        return sorted(weighed, key=lambda each: (-each[0], each[1]))

    def statements(
        self,
        parts: Sequence[str],
        *,
        least: tuple[float, float],
        room: int,
        view: Visibility | None = None,
        kinds: Collection[str] = (),
        minor: Collection[str] = (),
        session: str = "",
    ) -> list[Statement]:
        """Return the statements that answer one of the ``parts`` of a question, best first; see ``Statement``.

        ``least`` are the lowest evidence, which must also be half of the best one's, and the lowest fit of phrases that
        lead to a statement, whose evidence is then in proportion. A statement is shown with its neighbours in at most
        ``room`` characters. The terms in ``minor`` count less, and what ``session`` said is left out. Raises
        UnreadableError when the file cannot be read.
        """
        topics = [tokens.of_query(part[:_QUERY_CHARS]) for part in parts]
        words = list(dict.fromkeys(word for topic in topics for word in topic))[:QUERY_WORDS]
        if not words:
            return []
        try:
            rated, matching = self._rated(words, "")
            ranked = self._ranked(rated, matching, _VIEWED, _scope_terms("", view, kinds or KINDS), view)[:_VIEWED]
            if len(topics) > 1:
                for candidate in ranked:
                    for topic in topics:
                        candidate.look([rated[word] for word in topic if word in rated])
            documents, total = self._size("")
            unit = log2(max(2, total))
            weights = {term: word.bits / unit * (_MINOR if term in minor else 1.0) for term, word in rated.items()}
            few = max(_FEW, documents**_NAMING)
            common = {term for term, holding in matching.items() if holding > few}
            asked = _Asked(parts, topics, rated, weights, least[0], room)
            asked.leave_out(minor, common)
            found = list(self._asked_for(asked, least[1], matching, view, kinds or KINDS))
            found = [statement for statement in found if not session or session not in statement.sessions]
            for bound, candidate, bounds in asked.promising(ranked):
                if found and bound < _NEAR_BEST * max(statement.evidence for statement in found):
                    break
                said = self._statements(candidate, bounds, asked, view)
                found += [statement for statement in said if not session or session not in statement.sessions]
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None
        found.sort(key=lambda statement: -statement.evidence)
        return [statement for statement in found if statement.evidence >= _NEAR_BEST * found[0].evidence]

    def holding(
        self, terms: Sequence[str], *, view: Visibility, kinds: Collection[str], most: int
    ) -> Iterator[Statement]:
        """Yield the passages, whole, of up to ``most`` documents that hold one of the terms, the newest first.

        A term that more than ``most`` documents hold names nothing in particular and is left out. Raises
        UnreadableError when the file cannot be read.
        """
        try:
            known = {term: self._holding(term, "")[0] for term in terms}
            rare = [term for term, documents in known.items() if 0 < documents <= most]
            scope = _scope_terms("", view, kinds)
            order = f"ORDER BY rowid DESC LIMIT {most}"
            for document in self._match(" OR ".join(map(_phrase, rare)), scope, order) if rare else []:
                yield from self._passages(document, view)
        except sqlite.module().Error as error:
            raise UnreadableError(str(error)) from None

    def _passages(self, document: int, view: Visibility) -> Iterator[Statement]:
        row = self._current(document)
        screen = self._screen(row, view) if row else None
        if row is None or screen is None:
            return
        first = (row[0] << SHIFT) + len(ranking.HEAD)
        last = (row[0] << SHIFT) + (1 << SHIFT) - 1
        asked = "SELECT text, label, own FROM passages WHERE id BETWEEN ? AND ?"
        for text, label, own in self._db.execute(asked, (first, last)).fetchall():
            if text and screen(text):
                hit = Hit(row[1:9], 0.0, [text])
                statement = Statement(hit, text, "user" if own else "")
                statement.label, statement.sessions = label, self._sessions(hit)
                yield statement

    def _asked_for(
        self, asked: _Asked, least: float, matching: dict[str, int], view: Visibility | None, kinds: Collection[str]
    ) -> Iterator[Statement]:
        """Yield the beginnings of the documents whose phrases fit the question, at least as well as ``least``."""
        candidates = self._candidates(matching, _scope_terms("", view, (ASKED,)), self._most)
        for candidate in self._promising(list(asked.rated.values()), candidates, len(candidates), view):
            held = candidate.held(asked.rated)
            if asked.naming.isdisjoint(set().union(*held.values())):
                continue
            found = phrases.fit(asked.topics, held, candidate.text.lengths, asked.weights)
            row = self._current(candidate.document) if found >= least else None
            screen = self._screen(row, view) if row and row[3] in kinds else None
            text, _, own = self._passage(row[0], len(ranking.HEAD)) if row and screen else ("", "", False)
            if row is None or screen is None or not text or not screen(text):
                continue
            hit = Hit(row[1:9], found, [text])
            hit.by = "phrases"
            statement = Statement(hit, statements.best(text, (), asked.weight, asked.room)[0], "user" if own else "")
            statement.evidence, statement.sessions = asked.least * found / least, self._sessions(hit)
            yield statement

    def _statements(
        self, candidate: _Candidate, bounds: Mapping[int, float], asked: _Asked, view: Visibility | None
    ) -> Iterator[Statement]:
        """Yield the best statement of each of a document's best passages that has enough evidence."""
        row = self._current(candidate.document)
        screen = self._screen(row, view) if row else None
        if row is None or screen is None:
            return
        is_successor = row[0] != candidate.document
        numbers = [len(ranking.HEAD)] if is_successor else sorted(bounds, key=lambda number: (-bounds[number], number))
        for number in numbers[:_PASSAGES]:
            text, label, own = self._passage(row[0], number)
            if not text or label == TOOLS or not screen(text):
                continue
            hit = Hit(row[1:9], candidate.score, [text])
            is_of_work, is_told = hit.kind in _WORK, hit.kind == "turn" and not own
            weigh = asked.weight_of_work if is_of_work else asked.weight
            shown, core, weight, words = statements.best(
                text, asked.topics, weigh, asked.room, is_of_work=is_of_work, is_told=is_told
            )
            evidence = candidate.score * (max(bounds.values()) if is_successor else weight)
            statement = Statement(hit, shown, "user" if own else label if hit.kind == "turn" else "")
            statement.core, statement.evidence, statement.words = core, evidence, words
            if is_successor or asked.is_answered(statement):  # what was superseded has passed ``bounds``
                statement.sessions = self._sessions(hit)
                yield statement

    def _rated(self, words: list[str], project: str) -> tuple[dict[str, ranking.Word], dict[str, int]]:
        """Return the words with their information, and the number of documents of those that any holds."""
        _, total = self._size(project)
        known = {word: self._holding(word, project) for word in words}
        rated = {word: ranking.Word(tokens.code(word), passages, total) for word, (_, passages) in known.items()}
        return rated, {word: documents for word, (documents, _) in known.items() if documents}

    def _ranked(
        self,
        rated: Mapping[str, ranking.Word],
        matching: dict[str, int],
        limit: int,
        scope: str,
        view: Visibility | None,
    ) -> list[_Candidate]:
        """Return the documents that fit the words, best first."""
        words = list(rated.values())
        candidates = self._candidates(matching, scope, max(self._most, 2 * limit))
        ranked = self._promising(words, candidates, max(self._most // 2, limit), view)
        for candidate in ranked:
            candidate.look(words)
        ranked.sort(key=_by_score)
        return ranked

    def _promising(
        self, words: list[ranking.Word], candidates: list[int], most: int, view: Visibility | None
    ) -> list[_Candidate]:
        """Return the best of the candidates by a first estimate."""
        newest, own = self._newest(), view.own if view else ""
        asked = ", ".join("?" * len(candidates))
        read = []
        for document, codes, ends, positions, packed, *about in self._db.execute(f"{_READ} ({asked})", candidates):
            small = "H" if len(ends) < len(codes) else "I"
            places = ranking.Places(_numbers(codes, "I"), _numbers(ends, small), _numbers(positions, small))
            lengths, factor = _numbers(packed, "H"), _boost(about, own, newest)
            read.append((ranking.outline(words, places, lengths) * factor, document, places, lengths, factor))
        read.sort(key=lambda item: (-item[0], item[1]))
        return [
            _Candidate(document, ranking.Text(places, lengths), factor)
            for _, document, places, lengths, factor in read[:most]
        ]

    def _size(self, project: str) -> tuple[int, int]:
        """Return the number of documents and of words in everything that is searched."""
        where, values = ("WHERE project = ?", (project,)) if project else ("", ())
        row = self._db.execute(f"SELECT sum(documents), sum(words) FROM totals {where}", values).fetchone()  # noqa: S608 (a constant)
        return row[0] or 0, row[1] or 0

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
            row = self._current(document)
            if row is None or row[1] in seen or (kinds and row[3] not in kinds):
                continue
            seen.add(row[1])
            screen = self._screen(row, view)
            passages = self._texts(row[0], scored if row[0] == document else {}, screen) if screen else []
            if screen is None or not (passages or screen is _shows_all):
                continue
            hit = Hit(row[1:9], score, passages or [row[7] or row[1]])
            if not (is_folded and duplicates.fold(hits, hit, self._sessions(hit))):
                duplicates.add(hits, hit)
        return hits

    def named(self, anchor: str, path: str = "", view: Visibility | None = None) -> list[Hit]:
        """Return the documents with this block id, and the one at ``path``, each with its first passages."""
        where = " WHERE kind NOT IN (?, ?) AND (anchor = ? OR (path = ? AND path <> ''))"
        rows = self._db.execute(_SHOW + where, (HISTORY, ASKED, anchor, path)).fetchall()
        rows = [row for row in rows if view is None or view.shows(row[6])]
        heads = len(ranking.HEAD)
        firsts = dict.fromkeys(range(heads, heads + 3), 1.0)
        return [Hit(row[1:9], 1.0, self._texts(row[0], firsts)) for row in rows]

    def _current(self, document: int) -> tuple[Any, ...] | None:
        """Return the row of a document, or of its successor; None when that was forgotten, so that neither is found."""
        row: tuple[Any, ...] | None = self._db.execute(_SHOW + " WHERE id = ?", (document,)).fetchone()
        for _ in range(_SUCCESSIONS):
            if row is None or not row[9]:
                break
            column, name = ("anchor", row[9][1:]) if row[9].startswith("^") else ("key", row[9])
            row = self._db.execute(f"{_SHOW} WHERE {column} = ?", (name,)).fetchone()
        return row

    def _screen(self, row: tuple[Any, ...], view: Visibility | None) -> Callable[[str], bool] | None:
        """Return which passages of a document may be shown; None when the document may not be.

        Of an article that also rests on entries of hidden projects, only the passages are shown that cite no such
        entries but others.
        """
        if view is None:
            return _shows_all
        if view.hides(row[6]):
            return None
        if row[3] not in ("article", HISTORY):
            return _shows_all
        first = row[0] << SHIFT
        texts = self._db.execute(
            "SELECT text FROM passages WHERE id BETWEEN ? AND ?", (first, first + (1 << SHIFT) - 1)
        ).fetchall()
        cited = {ident for (text,) in texts for ident in entry_ids(text)}
        seen = {ident for ident in cited if not view.hides(self._of_entry(ident, "project"))}
        if seen == cited:
            return _shows_all
        return lambda text: bool(own := entry_ids(text)) and own <= seen

    def _of_entry(self, ident: str, column: str) -> str:
        """Return the project or the session of an entry, ``""`` for an entry that is unknown."""
        row = self._db.execute(f"SELECT {column} FROM documents WHERE anchor = ?", (ident,)).fetchone()  # noqa: S608
        return str(row[0]) if row else ""

    def _sessions(self, hit: Hit) -> frozenset[str]:
        """Return the sessions in which the best passage of a hit was said, as far as they are known."""
        if hit.kind != "article":
            return frozenset((hit.session,) if hit.session else ())
        said = {self._of_entry(ident, "session") for ident in entry_ids(hit.passages[0])}
        return frozenset(said) if "" not in said else frozenset()

    def _texts(
        self, document: int, scored: Mapping[int, float], screen: Callable[[str], bool] | None = None
    ) -> list[str]:
        """Return the texts of the best passages, or of the first one when the document itself was not scored."""
        heads = len(ranking.HEAD)
        best = sorted(
            (ordinal for ordinal in scored if ordinal >= heads), key=lambda ordinal: (-scored[ordinal], ordinal)
        )
        texts: list[str] = []
        for ordinal in best or [heads]:
            text = self._passage(document, ordinal)[0]
            if text and (screen is None or screen(text)):
                texts.append(text)
            if len(texts) == _PASSAGES:
                break
        return texts

    def _passage(self, document: int, ordinal: int) -> tuple[str, str, bool]:
        """Return the text and the label of a passage and whether it is the user's own; empty when there is none."""
        asked = ((document << SHIFT) + ordinal,)
        row = self._db.execute("SELECT text, label, own FROM passages WHERE id = ?", asked).fetchone()
        return (row[0], row[1], bool(row[2])) if row else ("", "", False)


_READ = (
    "SELECT id, codes, ends, places, lengths, project, importance, date"
    " FROM documents JOIN contents USING (id) WHERE id IN"
)
_SHOW = "SELECT id, key, path, kind, anchor, session, project, title, date, superseded_by FROM documents"


def _numbers(packed: bytes, kind: str) -> memoryview[int]:
    """Return the numbers of an array that was stored as bytes; ``array`` would import ``collections``."""
    return memoryview(packed).cast(kind)  # type: ignore[call-overload,no-any-return]


def _shows_all(text: str) -> bool:  # noqa: ARG001 (a screen looks at the text)
    return True


def _by_score(candidate: _Candidate) -> tuple[float, int]:
    return -candidate.score, candidate.document


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
        connection.execute("BEGIN")  # what follows sees one state of the file, and locks it once
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite.module().Error as error:
        if connection is not None:
            connection.close()
        raise UnreadableError(f"{path}: {error}") from None
    if version != VERSION:
        connection.close()
        raise UnreadableError(f"{path}: version {version}, not {VERSION}")
    return connection
