"""Ranking: the documents of an open index that fit the words of a query best.

Everything rests on one table, which holds for each term the passages in which it occurs and how often. A document's
score is the sum of one formula without parameters (DLH13, see ``fit``) over three views: the whole document, its best
passages, and its best passage with its neighbours, since a question is often answered in the turn after the one that
names its subject. docs/experiments/ranking.md has the figure of each rule.
"""

from __future__ import annotations

from math import log2, pi

from memoria.search import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Mapping, Sequence

    from memoria.base.visibility import Visibility

CANDIDATES = 80  # documents that are scored; a lower number is faster
POSTINGS = 100  # for each candidate, the passages that are read to find candidates, to bound the cost of a query
BEST = (1.0, 0.5, 0.25)  # weights of the best passages; the others have none
AROUND = ((0, 1.0), (-1, 0.5), (1, 0.5), (-2, 0.25), (2, 0.25))  # weights of a passage and its neighbours
CENTRES = 5  # passages of a document that are scored with their neighbours
OWN = 1.2  # weight of a passage in the user's own words
WRITTEN = 0.8  # weight of what was written of a session beside its turns: a short text scores high by few words

Counts = dict[int, int]  # how often a word occurs in the passages that hold it, by their ordinals


class Found:
    """A document with its score, its kind, and the scores of its passages by their ordinals."""

    __slots__ = ("document", "kind", "passages", "score")

    def __init__(self, document: int, kind: str, score: float, passages: Mapping[int, float]) -> None:
        self.document = document
        self.kind = kind
        self.score = score
        self.passages = passages


class Scope:
    """What is searched: the expression that limits a match to it, and the number of words that it holds."""

    __slots__ = ("expression", "is_mixed", "words")

    def __init__(self, db: sqlite3.Connection, project: str, view: Visibility | None, kinds: Collection[str]) -> None:
        """Limit a search to the kinds, to one ``project`` unless it is empty, and to what a view shows."""
        places = [project] if project else []
        if view and view.own:
            places = [place for place in (view.own, "") if place in places or not places]
        self.expression = ""
        self.is_mixed = "turn" in kinds
        if places or (view and view.own):
            self.expression += _one_of([layout.project_term(place) for place in places])
        if not set(layout.KINDS).issubset(kinds):
            self.expression += _one_of([layout.kind_term(kind) for kind in sorted(kinds)])
        asked = f"SELECT sum(words) FROM totals WHERE kind IN ({_marks(kinds)})"  # noqa: S608 (question marks)
        if places:
            asked += f" AND project IN ({_marks(places)})"
        self.words: int = db.execute(asked, (*kinds, *places)).fetchone()[0] or 0


class Ranking:
    """The ranking of the documents in an open index."""

    __slots__ = ("_db", "_most")

    def __init__(self, connection: sqlite3.Connection, candidates: int = CANDIDATES) -> None:
        self._db = connection
        self._most = candidates

    def best(self, words: Sequence[str], scope: Scope, limit: int) -> tuple[list[Found], dict[str, float]]:
        """Return the documents of the scope that fit the words, best first, and the information in each word."""
        sizes, held = self.count_words(words, scope, POSTINGS * self._most)
        bits = {word: information(len(held[word]) if word in held else sizes[word], scope.words) for word in words}
        by_document: dict[int, list[tuple[float, Counts]]] = {}
        for word, rows in held.items():
            of_word: dict[int, Counts] = {}
            for row, count in rows.items():
                of_word.setdefault(row >> layout.SHIFT, {})[row & layout.LAST] = count
            for document, counts in of_word.items():
                by_document.setdefault(document, []).append((bits[word], counts))
        likely = sorted(by_document, key=lambda document: (-_likelihood(by_document[document]), -document))
        asked = likely[: max(self._most, 2 * limit)]
        for word in (word for word in words if sizes[word] and word not in held):
            for document in asked:
                if counts := self._count_within(word, document):
                    by_document[document].append((bits[word], counts))
        found = []
        for document, kind, packed in self._db.execute(
            f"SELECT id, kind, lengths FROM documents WHERE id IN ({_marks(asked)})",  # noqa: S608 (question marks)
            asked,
        ):
            score, passages = rate(by_document[document], memoryview(packed).cast("H"))
            is_written = scope.is_mixed and kind in ("entry", "fact")
            found.append(Found(document, kind, score * (WRITTEN if is_written else 1.0), passages))
        return sorted(found, key=lambda each: (-each.score, each.document)), bits

    def count_words(self, words: Sequence[str], scope: Scope, most: int) -> tuple[dict[str, int], dict[str, Counts]]:
        """Return how many passages of the index hold each word, and how often those of the scope do, by their rows.

        At most ``most`` passages are read, for the rarest words first; the words that these are not enough for are left
        out, but of the rarest the newest are read.
        """
        variants = [word + mark for word in words for mark, _ in layout.MARKS]
        asked = f"SELECT term, doc FROM vocabulary WHERE term IN ({_marks(variants)})"  # noqa: S608 (question marks)
        known = dict(self._db.execute(asked, variants).fetchall())
        sizes = {word: sum(known.get(word + mark, 0) for mark, _ in layout.MARKS) for word in words}
        found: dict[str, Counts] = {}
        for word in sorted(filter(sizes.get, words), key=lambda word: sizes[word]):
            rows: Counts = {}
            for mark, count in layout.MARKS:
                if word + mark in known:
                    rows.update(dict.fromkeys(self._match(_quote(word + mark), scope, most - len(rows)), count))
            if found and len(rows) >= most:
                break
            most -= len(rows)
            found[word] = rows
        return sizes, found

    def _count_within(self, word: str, document: int) -> Counts:
        """Return how often a word occurs in which passages of one document."""
        span = (document << layout.SHIFT, (document << layout.SHIFT) + layout.LAST)
        asked = "SELECT rowid FROM terms WHERE terms MATCH ? AND rowid BETWEEN ? AND ?"
        return {
            row & layout.LAST: count
            for mark, count in layout.MARKS
            for (row,) in self._db.execute(asked, (_quote(word + mark), *span))
        }

    def _match(self, expression: str, scope: Scope, most: int) -> list[int]:
        """Return the newest passages that match an expression of the full-text search, by their rows."""
        asked = "SELECT rowid FROM terms WHERE terms MATCH ? ORDER BY rowid DESC LIMIT ?"
        return [row for (row,) in self._db.execute(asked, (f"({expression}){scope.expression}", most))]


def information(holding: int, words: int) -> float:
    """Return the bits of information in a word that ``holding`` passages hold, in a collection of ``words`` words."""
    return log2(max(words, holding, 1) / (holding or 0.5))


def _likelihood(held: Sequence[tuple[float, Counts]]) -> float:
    """Return an estimate of a document's score without the lengths of its passages, by which it becomes a candidate."""
    total = 0.0
    passages: dict[int, float] = {}
    for bits, counts in held:
        count = sum(counts.values())
        total += bits * count / (count + 1)
        for passage in counts:
            passages[passage] = passages.get(passage, 0.0) + bits
    return total + max(passages.values())


def rate(held: Sequence[tuple[float, Counts]], packed: Sequence[int]) -> tuple[float, dict[int, float]]:
    """Return the score of a document and of its passages.

    ``held``: of each word of the query the information in it, and how often it occurs in which passages. ``packed``:
    the number of words in each passage of the document, with ``layout.OWN_BIT`` where they are the user's own.
    """
    lengths = [length & ~layout.OWN_BIT for length in packed]
    whole = sum(lengths)
    score = sum(fit(sum(counts.values()), whole, bits) for bits, counts in held)
    passages: dict[int, float] = {}
    for bits, counts in held:
        for passage, count in counts.items():
            passages[passage] = passages.get(passage, 0.0) + fit(count, lengths[passage], bits)
    for passage in passages:
        if packed[passage] & layout.OWN_BIT:
            passages[passage] *= OWN
    ranked = sorted(passages, key=lambda passage: (-passages[passage], passage))
    score += sum(share * passages[passage] for share, passage in zip(BEST, ranked))
    return score + max(_score_around(centre, held, lengths) for centre in ranked[:CENTRES]), passages


def _score_around(centre: int, held: Sequence[tuple[float, Counts]], lengths: Sequence[int]) -> float:
    """Return the score of a passage with its neighbours; the further away these are, the less they count."""
    window = [(centre + step, share) for step, share in AROUND if 0 <= centre + step < len(lengths)]
    length = sum([lengths[passage] * share for passage, share in window])
    total = 0.0
    for bits, counts in held:
        count = sum([counts[passage] * share for passage, share in window if passage in counts])
        if count:
            total += fit(count, length, bits)
    return total


def fit(count: float, length: float, bits: float) -> float:
    """Return the score in bits of ``count`` occurrences of a word among ``length`` words; at least 0.

    DLH13, the hypergeometric model of Amati, "Frequentist and Bayesian approach to information retrieval" (ECIR 2006),
    as in the search engine Terrier. Adding 1 to the length keeps a text of one word finite.
    """
    rest = 1.0 - count / (length + 1.0)
    information = count * (bits + log2(count / length)) + 0.5 * log2(2.0 * pi * count * rest)
    return max(information, 0.0) / (count + 0.5)


def _one_of(terms: Sequence[str]) -> str:
    """Return the part of an expression that demands one of these terms; nothing matches where there is none."""
    return f" AND ({' OR '.join(map(_quote, terms or [layout.NOWHERE]))})"


def _quote(term: str) -> str:
    """Return a term as the full-text search reads it."""
    return '"' + term.replace('"', '""') + '"'


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))
