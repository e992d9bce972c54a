"""Ranking: score a document for a query from the positions of the query's words; pure functions without a database.

The score is the sum of one parameter-free formula (DLH13, see ``fit``) over three views of the document: the whole, its
best passages, and its best passages with their neighbours (a question is often answered in the turn after the one that
names its subject). docs/recall.md gives reasons and measurements.
"""

from __future__ import annotations

from itertools import accumulate
from math import log2, pi

try:
    from _bisect import bisect_left, bisect_right  # ``bisect`` is a file around it, which a hook would read
except ImportError:  # pragma: no cover (another Python)
    from bisect import bisect_left, bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HEAD = ("title", "names")  # passages 0 and 1
OWN = 1.2  # weight of a passage in the user's own words: .602 and .771 of commits, without it .607 and .756
WINDOW = ((0, 1.0), (-1, 0.5), (1, 0.5), (-2, 0.25), (2, 0.25))  # weights of a passage and its neighbours
CENTRES = 5  # passages of a document that are scored with their neighbours
BEST = (1.0, 0.5, 0.25)  # weights of the best passages; the others have none
OWN_BIT = 0x8000  # set in a passage's length when it holds the user's own words
PIECE_BIT = 0x4000  # set in a passage's length when it continues the passage before, which was too long for one
MAX_PASSAGE = 0x3FFF  # words


class Word:
    """A word of the query: its code in ``Places``, and its information content in ``bits``."""

    __slots__ = ("bits", "code")

    def __init__(self, code: int, holding: int, words: int) -> None:
        """Count ``holding`` passages with the word (at least half a one) in a collection of ``words`` words."""
        self.code = code
        self.bits = log2(max(words, holding, 1) / (holding or 0.5))


class Places:
    """The positions of the words of a query in a document, counted in words from its beginning.

    ``codes`` are the document's words, ascending; the positions of the i-th are ``places[ends[i-1]:ends[i]]``,
    ascending. ``lengths``: the number of words in each passage, with its bits.
    """

    __slots__ = ("_codes", "_ends", "_places", "lengths")

    def __init__(
        self, codes: Sequence[int], ends: Sequence[int], places: memoryview[int], lengths: memoryview[int]
    ) -> None:
        self._codes = codes
        self._ends = ends
        self._places = places
        self.lengths = lengths

    def held(self, words: Sequence[Word]) -> list[tuple[Word, Sequence[int]]]:
        """Return the words of the query that the document holds, with their positions."""
        present = frozenset([word.code for word in words]).intersection(self._codes)
        return [(word, self._of(word.code)) for word in words if word.code in present]

    def _of(self, code: int) -> Sequence[int]:
        begin, end = self._span(code)
        return self._places[begin:end].tolist()

    def _span(self, code: int) -> tuple[int, int]:
        """Return where the positions of a word that the document holds begin and end."""
        index = bisect_left(self._codes, code)
        return self._ends[index - 1] if index else 0, self._ends[index]

    def __len__(self) -> int:
        """Return the number of words in the document."""
        return len(self._places)


class Candidate:
    """A document with its score: first as a whole, and after ``look`` with its passages, whose scores it keeps."""

    __slots__ = ("_held", "_lengths", "document", "passages", "score")

    def __init__(self, document: int, places: Places, words: Sequence[Word]) -> None:
        self.document = document
        self.passages: dict[int, float] = {}
        self._held = places.held(words)
        self._lengths = places.lengths
        size = len(places)
        self.score = sum(fit(len(found), size, word.bits) for word, found in self._held)

    def look(self) -> None:
        """Add the scores of the best passages, alone and with their neighbours."""
        if not self._held:
            return
        lengths = [length & MAX_PASSAGE for length in self._lengths]
        starts = [0, *accumulate(lengths)]
        counted = [(word.bits, _counts(found, starts)) for word, found in self._held]
        alone = self.passages
        for bits, counts in counted:
            for passage, count in counts.items():
                value = fit(count, lengths[passage], bits)
                alone[passage] = alone.get(passage, 0.0) + value
        for passage in alone:
            if self._lengths[passage] & OWN_BIT:
                alone[passage] *= OWN
        centres = sorted(alone, key=lambda passage: (-alone[passage], passage))[:CENTRES]
        around = max([self._around(centre, counted, lengths) for centre in centres])
        self.score += self._best() + around

    def _best(self) -> float:
        """Return the weighted sum of the best passages, of which one in several pieces is one."""
        wholes = list(accumulate(not length & PIECE_BIT for length in self._lengths))
        best: dict[int, float] = {}
        for passage, value in self.passages.items():
            whole = wholes[passage]
            best[whole] = max(best.get(whole, 0.0), value)
        return sum(share * value for share, value in zip(BEST, sorted(best.values(), reverse=True)))

    def _around(self, centre: int, counted: Sequence[tuple[float, Mapping[int, int]]], lengths: Sequence[int]) -> float:
        """Return the score of a passage with its neighbours; the further away these are, the less they count."""
        window = [(centre + step, share) for step, share in WINDOW if 0 <= centre + step < len(lengths)]
        length = sum([lengths[passage] * share for passage, share in window])
        total = 0.0
        for bits, counts in counted:
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
    return information / (count + 0.5) if information > 0 else 0.0


def _counts(positions: Sequence[int], starts: Sequence[int]) -> dict[int, int]:
    """Return how often each passage holds the word at these positions."""
    counted: dict[int, int] = {}
    passage, end = 0, 0
    for position in positions:
        if position >= end:
            passage = bisect_right(starts, position, passage) - 1
            end = starts[passage + 1]
            counted[passage] = 0
        counted[passage] += 1
    return counted
