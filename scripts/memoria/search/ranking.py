"""Ranking: how well one document fits a query, from where the query's words stand in it. Pure; knows no database.

One formula without constants (DLH13, see ``fit``) over four views of the document, added up: all of it, its best
passages, its best passages with their neighbours (a question is often answered in the turn after the one that names its
subject), and pairs of the query's words that stand close together. Why these, and what each is worth: docs/recall.md.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from math import log2, pi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Found = Sequence[tuple["Word", Mapping[int, float]]]  # the query's words with their counts by passage

HEAD = (3.0, 2.0)  # what a word counts in the title (passage 0) and among the names (passage 1), as against the text
OWN = 1.2  # what a passage in the user's own words counts, as against anyone else's
WINDOW = ((0, 1.0), (-1, 0.5), (1, 0.5), (-2, 0.25), (2, 0.25))  # a passage, and what its neighbours' words count
CENTRES = 5  # passages of a document whose neighbours are looked at
BEST = (1.0, 0.5, 0.25)  # what the best passages count; further ones count nothing
PAIRS = 0.3  # what closeness counts, as against the words themselves
NEAR = 8  # words further apart than this are no pair
OWN_BIT = 0x8000  # set in a passage's length when it holds the user's own words
MAX_PASSAGE = 0x7FFF  # words


class Word:
    """A word of the query: the code it has in ``Text``, and how much it says."""

    __slots__ = ("bits", "code")

    def __init__(self, code: int, holding: int, words: int) -> None:
        """``holding`` passages of a collection of ``words`` words hold it; of one that none holds, half a passage."""
        self.code = code
        self.bits = log2(max(words, holding, 1) / (holding or 0.5))


class Places:
    """Where the words of a document stand, counted in words from its beginning.

    ``codes`` are its words, ascending; the i-th stands at ``places[ends[i-1]:ends[i]]``, ascending.
    """

    __slots__ = ("codes", "ends", "places")

    def __init__(self, codes: Sequence[int], ends: Sequence[int], places: Sequence[int]) -> None:
        self.codes = codes
        self.ends = ends
        self.places = places

    def __len__(self) -> int:
        """How many words the document has."""
        return len(self.places)

    def of(self, code: int) -> Sequence[int]:
        """Where one word stands."""
        index = bisect_left(self.codes, code)
        if index == len(self.codes) or self.codes[index] != code:
            return ()
        return self.places[self.ends[index - 1] if index else 0 : self.ends[index]]


class Text:
    """A document as the ranking sees it: where its words stand, and how its passages divide them."""

    __slots__ = ("lengths", "own", "places", "starts")

    def __init__(self, places: Places, lengths: Sequence[int]) -> None:
        """``lengths``: words in each passage, with ``OWN_BIT`` set in those that the user said."""
        self.places = places
        self.own = [bool(length & OWN_BIT) for length in lengths]
        self.lengths = [length & MAX_PASSAGE for length in lengths]
        self.starts = [0, *accumulate(self.lengths)]

    def counts(self, positions: Sequence[int]) -> dict[int, float]:
        """Passage -> how often the word stands in it; weighted in the title and among the names."""
        counted: dict[int, float] = {}
        passage, end = 0, 0
        for position in positions:
            if position >= end:
                passage = bisect_right(self.starts, position, passage) - 1
                end = self.starts[passage + 1]
                counted[passage] = 0.0
            counted[passage] += 1.0
        for passage, weight in enumerate(HEAD):
            if passage in counted:
                counted[passage] *= weight
        return counted


def fit(count: float, length: float, bits: float) -> float:
    """What ``count`` occurrences among ``length`` words say about them, in bits; at least 0.

    DLH13, the hypergeometric model of Amati, "Frequentist and Bayesian approach to information retrieval" (ECIR 2006),
    as in the search engine Terrier. ``bits``: see ``Word``. A word's passages stand for its occurrences: what one text
    repeats is no commoner in all others for it. One more word in the text keeps a text of one word finite.
    """
    length = max(length, count)  # words of the title and of the names count several times
    rest = 1.0 - count / (length + 1.0)
    said = count * (bits + log2(count / length)) + 0.5 * log2(2.0 * pi * count * rest)
    return said / (count + 0.5) if said > 0 else 0.0


def attainable(words: Sequence[Word]) -> float:
    """About the most a document can score for these words: what makes scores of different queries comparable."""
    return sum(3 * word.bits for word in words) or 1.0


def outline(words: Sequence[Word], places: Places, lengths: Sequence[int]) -> float:
    """The score of the whole document alone: tells quickly which documents are worth a closer look."""
    title = lengths[0] & MAX_PASSAGE
    names = title + (lengths[1] & MAX_PASSAGE)
    total = 0.0
    for word in words:
        standing = places.of(word.code)
        if standing:
            count = float(len(standing))
            if standing[0] < names:
                in_title = bisect_left(standing, title)
                count += (HEAD[0] - 1) * in_title + (HEAD[1] - 1) * (bisect_left(standing, names) - in_title)
            total += fit(count, len(places), word.bits)
    return total


def score(words: Sequence[Word], text: Text) -> tuple[float, dict[int, float]]:
    """The document's score, and the score of each of its passages that holds a word of the query."""
    places = [text.places.of(word.code) for word in words]
    found = [(word, text.counts(positions)) for word, positions in zip(words, places) if positions]
    alone = _passages(found, text.lengths)
    for passage in alone:
        if text.own[passage]:
            alone[passage] *= OWN
    best = sorted(alone, key=lambda passage: (-alone[passage], passage))[:CENTRES]
    around = max((_around(centre, found, text.lengths) for centre in best), default=0.0)
    close = _closeness(words, places, text)
    return _whole(found, text) + _best(alone) + around + PAIRS * _best(close), alone


def _whole(found: Found, text: Text) -> float:
    length = len(text.places)
    return sum(fit(sum(counted.values()), length, word.bits) for word, counted in found)


def _passages(found: Found, lengths: Sequence[int]) -> dict[int, float]:
    """The score of each passage that holds a word of the query."""
    scored: dict[int, float] = {}
    for word, counted in found:
        for passage, count in counted.items():
            scored[passage] = scored.get(passage, 0.0) + fit(count, lengths[passage], word.bits)
    return scored


def _best(scored: Mapping[int, float]) -> float:
    return sum(share * value for share, value in zip(BEST, sorted(scored.values(), reverse=True)))


def _around(centre: int, found: Found, lengths: Sequence[int]) -> float:
    """The score of a passage together with its neighbours, which count the less the further away they are."""
    window = [(centre + step, share) for step, share in WINDOW if 0 <= centre + step < len(lengths)]
    length = sum([lengths[passage] * share for passage, share in window])
    total = 0.0
    for word, counted in found:
        count = 0.0
        for passage, share in window:
            if passage in counted:
                count += counted[passage] * share
        if count:
            total += fit(count, length, word.bits)
    return total


def _closeness(words: Sequence[Word], places: Sequence[Sequence[int]], text: Text) -> dict[int, float]:
    """Per passage, what its pairs of words that follow one another in the query and stand close together are worth."""
    scored: dict[int, float] = {}
    for first, second in zip(range(len(words)), range(1, len(words))):
        bits = max(words[first].bits, words[second].bits)
        for passage, count in _pairs(places[first], places[second], text).items():
            scored[passage] = scored.get(passage, 0.0) + fit(count, text.lengths[passage], bits)
    return scored


def _pairs(firsts: Sequence[int], seconds: Sequence[int], text: Text) -> dict[int, float]:
    """Passage -> how often the second word stands near the first, nearer ones counting more."""
    counted: dict[int, float] = {}
    if not seconds:
        return counted
    last = len(seconds) - 1
    right = 0
    for position in firsts:
        while right < last and seconds[right] < position:
            right += 1
        nearest = seconds[right]
        if right and position - seconds[right - 1] <= abs(nearest - position):
            nearest = seconds[right - 1]
        distance = abs(nearest - position)
        if 0 < distance <= NEAR:
            passage = bisect_right(text.starts, position) - 1
            if text.starts[passage] <= nearest < text.starts[passage + 1]:
                counted[passage] = counted.get(passage, 0.0) + 1 / distance
    return counted
