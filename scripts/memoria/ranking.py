"""Ranking: how well one document fits a query, from where the query's words stand in it. Pure; knows no database.

BM25 over four views of the document, added up: all of it, its best passages, its best passages with their neighbours (a
question is often answered in the turn after the one that names its subject), and pairs of the query's words that stand
close together. Why these, and what each is worth: docs/recall.md.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

from bisect import bisect_right
from math import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Found = Sequence[tuple["Word", Mapping[int, float]]]  # the query's words with their counts by passage

K1 = 1.2  # saturation of repeated words and strength of length normalisation: Robertson's values
B = 0.75
HEAD = (3.0, 2.0)  # what a word counts in the title (passage 0) and among the names (passage 1), as against the text
OWN = 1.2  # what a passage in the user's own words counts, as against anyone else's
WINDOW = ((0, 1.0), (-1, 0.5), (1, 0.5), (-2, 0.25), (2, 0.25))  # a passage, and what its neighbours' words count
_WINDOW_SHARES = sum(share for _, share in WINDOW)
CENTRES = 5  # passages of a document whose neighbours are looked at
BEST = (1.0, 0.5, 0.25)  # what the best passages count; further ones count nothing
PAIRS = 0.3  # what closeness counts, as against the words themselves
NEAR = 8  # words further apart than this are no pair
WORD_BYTES = 4  # of one word in a document's ``words``
OWN_BIT = 0x8000  # set in a passage's length when it holds the user's own words
LONGEST_PASSAGE = 0x7FFF  # words


class Word:
    """A word of the query: how it is written in ``Text.words``, and how rare it is among documents and passages."""

    __slots__ = ("in_documents", "in_passages", "pattern")

    def __init__(self, pattern: bytes, in_documents: float, in_passages: float) -> None:
        """The rarities are inverse frequencies, see ``rarity``."""
        self.pattern = pattern
        self.in_documents = in_documents
        self.in_passages = in_passages


class Scope:
    """How much there is to search through: documents, passages, and words in all of them."""

    __slots__ = ("document_length", "documents", "passage_length", "passages")

    def __init__(self, documents: int, passages: int, words: int) -> None:
        """Averages of nothing are 1, so that an empty scope divides by no zero."""
        self.documents = documents
        self.passages = passages
        self.document_length = words / documents if documents > 0 < words else 1.0
        self.passage_length = words / passages if passages > 0 < words else 1.0


class Text:
    """A document as the ranking sees it: its words as codes of four bytes in a row, and the length of each passage."""

    __slots__ = ("lengths", "own", "starts", "words")

    def __init__(self, words: bytes, lengths: Sequence[int]) -> None:
        """``lengths``: words in each passage, with ``OWN_BIT`` set in those that the user said."""
        self.words = words
        self.own = [bool(length & OWN_BIT) for length in lengths]
        self.lengths = [length & LONGEST_PASSAGE for length in lengths]
        self.starts: list[int] = []
        position = 0
        for length in self.lengths:
            self.starts.append(position)
            position += length

    def positions(self, pattern: bytes) -> list[int]:
        """Where a word stands, counted in words from the beginning."""
        found = []
        at = self.words.find(pattern)
        while at >= 0:
            if at % WORD_BYTES:
                at = self.words.find(pattern, at + 1)
                continue
            found.append(at // WORD_BYTES)
            at = self.words.find(pattern, at + WORD_BYTES)
        return found

    def counts(self, positions: Sequence[int]) -> dict[int, float]:
        """Passage -> how often the word stands in it; weighted in the title and among the names."""
        counted: dict[int, float] = {}
        for position in positions:
            passage = bisect_right(self.starts, position) - 1
            counted[passage] = counted.get(passage, 0.0) + (HEAD[passage] if passage < len(HEAD) else 1.0)
        return counted


def rarity(holding: int, total: int) -> float:
    """Inverse document frequency, never negative, of a word that ``holding`` of ``total`` hold."""
    return log(1 + (max(total, holding) - holding + 0.5) / (holding + 0.5))


def attainable(words: Sequence[Word]) -> float:
    """About the most a document can score for these words: what makes scores of different queries comparable."""
    return sum((K1 + 1) * (word.in_documents + 2 * word.in_passages) for word in words) or 1.0


def score(words: Sequence[Word], text: Text, scope: Scope) -> tuple[float, dict[int, float]]:
    """The document's score, and the score of each of its passages that holds a word of the query."""
    places = [text.positions(word.pattern) for word in words]
    found = [(word, text.counts(positions)) for word, positions in zip(words, places) if positions]
    norms = _Norms(text.lengths, scope.passage_length)
    alone = _passages(found, norms)
    for passage in alone:
        if text.own[passage]:
            alone[passage] *= OWN
    best = sorted(alone, key=lambda passage: (-alone[passage], passage))[:CENTRES]
    around = max((_around(centre, found, text.lengths, scope) for centre in best), default=0.0)
    close = _closeness(words, places, text, norms)
    return _whole(found, text, scope) + _best(alone) + around + PAIRS * _best(close), alone


def _whole(found: Found, text: Text, scope: Scope) -> float:
    """BM25 of the whole document."""
    norm = _norm(sum(text.lengths) / scope.document_length)
    return sum(word.in_documents * _saturated(sum(counted.values()), norm) for word, counted in found)


def _passages(found: Found, norms: _Norms) -> dict[int, float]:
    """BM25 of each passage that holds a word of the query."""
    scored: dict[int, float] = {}
    for word, counted in found:
        for passage, count in counted.items():
            scored[passage] = scored.get(passage, 0.0) + word.in_passages * _saturated(count, norms[passage])
    return scored


class _Norms(dict):  # type: ignore[type-arg]
    """Passage -> its length's part in BM25, worked out when it is asked for."""

    def __init__(self, lengths: Sequence[int], average: float) -> None:
        super().__init__()
        self.lengths = lengths
        self.average = average

    def __missing__(self, passage: int) -> float:
        norm = self[passage] = _norm(self.lengths[passage] / self.average)
        return norm


def _norm(relative_length: float) -> float:
    return K1 * (1 - B + B * relative_length)


def _saturated(count: float, norm: float) -> float:
    return count * (K1 + 1) / (count + norm)


def _best(scored: Mapping[int, float]) -> float:
    return sum(share * value for share, value in zip(BEST, sorted(scored.values(), reverse=True)))


def _around(centre: int, found: Found, lengths: Sequence[int], scope: Scope) -> float:
    """BM25 of a passage together with its neighbours, which count the less the further away they are."""
    window = [(centre + step, share) for step, share in WINDOW if 0 <= centre + step < len(lengths)]
    length = sum([lengths[passage] * share for passage, share in window])
    norm = _norm(length / (scope.passage_length * _WINDOW_SHARES))
    total = 0.0
    for word, counted in found:
        count = 0.0
        for passage, share in window:
            if passage in counted:
                count += counted[passage] * share
        total += word.in_passages * _saturated(count, norm)
    return total


def _closeness(words: Sequence[Word], places: Sequence[Sequence[int]], text: Text, norms: _Norms) -> dict[int, float]:
    """Per passage, what its pairs of words that follow one another in the query and stand close together are worth."""
    scored: dict[int, float] = {}
    for first, second in zip(range(len(words)), range(1, len(words))):
        pairs = _pairs(places[first], places[second], text)
        weight = max(words[first].in_passages, words[second].in_passages)
        for passage, count in pairs.items():
            gain = weight * _saturated(count, norms[passage])
            scored[passage] = scored.get(passage, 0.0) + gain
    return scored


def _pairs(firsts: Sequence[int], seconds: Sequence[int], text: Text) -> dict[int, float]:
    """Passage -> how often the second word stands near the first, nearer ones counting more."""
    counted: dict[int, float] = {}
    if not firsts or not seconds:
        return counted
    for position in firsts:
        right = bisect_right(seconds, position)
        beside = seconds[max(right - 1, 0) : right + 1]
        nearest = min(beside, key=lambda other: abs(other - position))
        distance = abs(nearest - position)
        if 0 < distance <= NEAR:
            passage = bisect_right(text.starts, position) - 1
            if bisect_right(text.starts, nearest) - 1 == passage:
                counted[passage] = counted.get(passage, 0.0) + 1 / distance
    return counted
