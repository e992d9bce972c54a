"""Matching: the documents that hold a query's words, and the best of them by score.

Full-text search chooses the candidates, which are then scored from the positions of the words (``ranking``).
"""

from __future__ import annotations

from memoria.search import layout, ranking, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Mapping, Sequence

    from memoria.base.visibility import Visibility

_ROWS = 62.5  # documents for each candidate that the rare words of a query may match, to bound its cost
_BM25 = "bm25(terms, 1.0, 0.0)"  # words, scope: chooses the candidates
NOWHERE = (0, 0)
_READ = "SELECT id, codes, ends, places, lengths FROM contents WHERE id IN"


class Matching:
    """The search for documents by their words in an open index."""

    __slots__ = ("_db", "_most", "_sizes")

    def __init__(self, connection: sqlite3.Connection, candidates: int) -> None:
        """``candidates`` is the number of documents that are scored as a whole, the better half also by passage."""
        self._db = connection
        self._most = candidates
        self._sizes: dict[str, tuple[int, int]] = {}

    def rated(self, words: list[str], project: str) -> tuple[dict[str, ranking.Word], dict[str, int]]:
        """Return the words with their information content, and how many documents hold each that any holds."""
        known = self.holding(words, project)
        _, total = self.size(project)
        rated = {word: ranking.Word(tokens.code(word), known.get(word, NOWHERE)[1], total) for word in words}
        return rated, {word: known[word][0] for word in words if known.get(word, NOWHERE)[0]}

    def ranked(
        self, rated: Mapping[str, ranking.Word], matching: dict[str, int], limit: int, scope: str
    ) -> list[ranking.Candidate]:
        """Return the documents that fit the words, best first."""
        words = list(rated.values())
        found = self.candidates(matching, scope, max(self._most, 2 * limit))
        asked = ", ".join("?" * len(found))
        candidates = []
        for document, *packed in self._db.execute(f"{_READ} ({asked})", found):
            candidates.append(ranking.Candidate(document, _places(*packed), words))
        best = sorted(candidates, key=_by_score)[: max(self._most // 2, limit)]
        for candidate in best:
            candidate.look()
        return sorted(best, key=_by_score)

    def size(self, project: str) -> tuple[int, int]:
        """Return the number of documents and of words in a project, or in the whole home for ``""``."""
        if project not in self._sizes:
            where, values = ("WHERE project = ?", (project,)) if project else ("", ())
            asked = f"SELECT sum(documents), sum(words) FROM totals {where}"  # noqa: S608 (a constant)
            documents, words = self._db.execute(asked, values).fetchone()
            self._sizes[project] = documents or 0, words or 0
        return self._sizes[project]

    def holding(self, words: Sequence[str], project: str) -> dict[str, tuple[int, int]]:
        """Return the number of documents and of passages that hold each word, without the words that none holds."""
        asked = ", ".join("?" * len(words))
        words_of = {tokens.code(word): word for word in words}
        where = " AND project = (SELECT number FROM totals WHERE project = ?)" if project else ""
        values = [*map(tokens.code, words), *([project] if project else [])]
        rows = self._db.execute(
            "SELECT code, sum(documents), sum(passages) FROM vocabulary"  # noqa: S608 (question marks)
            f" WHERE code IN ({asked}){where} GROUP BY code",
            values,
        )
        return {words_of[code]: (documents, passages) for code, documents, passages in rows}

    def candidates(self, matching: dict[str, int], scope: str, most: int = 0) -> list[int]:
        """Return the documents to score: the best matches of rare words, then the newest matches of common ones."""
        most = most or self._most
        rare: list[str] = []
        rows = 0
        by_rarity = sorted(matching, key=lambda word: (matching[word], word))
        for word in by_rarity:
            rows += matching[word]
            if rows > _ROWS * self._most:
                break
            rare.append(word)
        found: list[int] = []
        if rare:
            found = self.match(" OR ".join(map(phrase, rare)), scope, f"ORDER BY {_BM25} LIMIT {most}")
        common = [word for word in by_rarity if word not in rare]
        if common and len(found) < most:
            together = " AND ".join(map(phrase, common[:3]))
            for expression in (together, phrase(common[0])):
                more = self.match(expression, scope, f"ORDER BY rowid DESC LIMIT {most}")
                found = list(dict.fromkeys(found + more))[:most]
        return found

    def match(self, words: str, scope: str, order: str) -> list[int]:
        """Return the documents that match an expression of the full-text search."""
        expression = "words : (" + words + ")" + scope
        rows = self._db.execute(f"SELECT rowid FROM terms WHERE terms MATCH ? {order}", (expression,))  # noqa: S608
        return [row[0] for row in rows]


def _places(codes: bytes, ends: bytes, places: bytes, lengths: bytes) -> ranking.Places:
    """Return the positions of a document's words from its row in the index."""
    if codes and not ends:
        from memoria.search.packing import PackedPlaces  # noqa: PLC0415 (not for a hook)

        return PackedPlaces(codes, _numbers(lengths, "H"))
    small = {1: "B", 2: "H", 4: "I"}[4 * len(ends) // len(codes) if codes else 4]
    return ranking.Places(_numbers(codes, "I"), _numbers(ends, small), _numbers(places, small), _numbers(lengths, "H"))


def _numbers(packed: bytes, kind: str) -> memoryview[int]:
    """Return the numbers of an array that was stored as bytes; ``array`` would import ``collections``."""
    return memoryview(packed).cast(kind)  # type: ignore[call-overload,no-any-return]


def _by_score(candidate: ranking.Candidate) -> tuple[float, int]:
    return -candidate.score, candidate.document


def scope(project: str, view: Visibility | None, kinds: Collection[str]) -> str:
    """Return what a match must also hold to be of a project, of those kinds, and of what the view shows."""
    expression = ""
    if view and view.is_apart:
        expression += f" AND scope : ({layout.scope_terms(view.own, '')[0]} OR {layout.scope_terms('', '')[0]})"
    if project:
        expression += f" AND scope : {layout.scope_terms(project, '')[0]}"
    if set(layout.KINDS).issubset(kinds):  # bm25 looks at each document of a kind that the expression names
        former = layout.scope_terms("", layout.HISTORY)[1]
        return expression if layout.HISTORY in kinds else f"{expression} NOT scope : {former}"
    if kinds:
        wanted = " OR ".join(phrase(layout.scope_terms("", kind)[1]) for kind in sorted(kinds))
        expression += f" AND scope : ({wanted})"
    return expression


def phrase(word: str) -> str:
    """Return a word as the full-text search reads it."""
    return '"' + word.replace('"', '""') + '"'
