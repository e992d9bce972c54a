"""Ranking: score a document for a query from the positions of the query's words; pure functions without a database.

The score is the sum of one parameter-free formula (DLH13, see ``fit``) over four views of the document: the whole, its
best passages, its best passages with their neighbours (a question is often answered in the turn after the one that
names its subject), and pairs of query words close to each other. docs/recall.md gives reasons and measurements.
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
    from collections.abc import Iterable, Mapping, Sequence

    Found = Sequence["Held"]  # the query's words that a document holds

HEAD = (3.0, 2.0)  # weight of a word in the title (passage 0) and the names (passage 1); 1 in the text
OWN = 1.2  # weight of a passage in the user's own words
WINDOW = ((0, 1.0), (-1, 0.5), (1, 0.5), (-2, 0.25), (2, 0.25))  # weights of a passage and its neighbours
CENTRES = 5  # passages of a document that are scored with their neighbours
BEST = (1.0, 0.5, 0.25)  # weights of the best passages; the others have none
PAIRS = 0.3  # weight of word pairs
NEAR = 8  # greatest distance of the two words of a pair
OWN_BIT = 0x8000  # set in a passage's length when it holds the user's own words
PIECE_BIT = 0x4000  # set in a passage's length when it continues the passage before, which was too long for one
MAX_PASSAGE = 0x3FFF  # words
MAX_FIT = 0.9  # most that ``fit`` exceeds the bits of its word
ROUNDING = 1e-9  # more than sums of some dozens of numbers can lose


class Word:
    """A word of the query: its code in ``Text``, and its information content in ``bits``."""

    __slots__ = ("bits", "code")

    def __init__(self, code: int, holding: int, words: int) -> None:
        """Count ``holding`` passages with the word (at least half a one) in a collection of ``words`` words."""
        self.code = code
        self.bits = log2(max(words, holding, 1) / (holding or 0.5))


class Places:
    """The positions of the words of a query in a document, counted in words from its beginning.

    ``codes`` are the document's words, ascending; the positions of the i-th are ``places[ends[i-1]:ends[i]]``,
    ascending. ``held`` are those that the query asks for.
    """

    __slots__ = ("codes", "ends", "held", "places")

    def __init__(
        self, codes: memoryview[int], ends: memoryview[int], places: memoryview[int], asked: frozenset[int]
    ) -> None:
        self.codes = codes
        self.ends = ends
        self.places = places
        self.held = asked.intersection(codes)

    def __len__(self) -> int:
        """Return the number of words in the document."""
        return len(self.places)

    def of(self, code: int) -> Sequence[int]:
        """Return the positions of a word of the query."""
        if code not in self.held:
            return ()
        index = bisect_left(self.codes, code)
        return self.places[self.ends[index - 1] if index else 0 : self.ends[index]].tolist()


class Held:
    """A word of the query in a document: its ``positions``, its counts and its scores by passage, and the whole score.

    None of it depends on the other words, so that it is worked out once for all parts of a question. Counts and scores
    by passage are there after ``divide``.
    """

    __slots__ = ("bits", "counted", "positions", "scored", "whole")

    def __init__(self, bits: float, positions: Sequence[int], whole: float) -> None:
        self.bits = bits
        self.positions = positions
        self.whole = whole
        self.counted: dict[int, float] = {}
        self.scored: dict[int, float] = {}

    def divide(self, text: Text) -> None:
        """Count and score the word in each passage."""
        bits, lengths = self.bits, text.lengths
        self.counted = counted = text.counts(self.positions)
        self.scored = {passage: fit(count, lengths[passage], bits) for passage, count in counted.items()}


class Text:
    """A document for ranking: the words of the query that it holds, and where its passages begin and end."""

    __slots__ = ("_held", "lengths", "own", "starts", "wholes")

    def __init__(self, held: Mapping[int, Held], lengths: Sequence[int]) -> None:
        """Take the words that it holds as ``held``, by code, and the number of words in each passage as ``lengths``.

        ``OWN_BIT`` and ``PIECE_BIT`` are set in the lengths.
        """
        self.own = [bool(length & OWN_BIT) for length in lengths]
        self.lengths = [length & MAX_PASSAGE for length in lengths]
        self.starts = [0, *accumulate(self.lengths)]
        self.wholes = list(accumulate(not length & PIECE_BIT for length in lengths))  # the same number for all pieces
        self._held = held
        for word in held.values():
            word.divide(self)

    def held(self, words: Iterable[Word]) -> list[Held | None]:
        """Return what the document holds of each of these words of the query."""
        known = self._held
        return [known.get(word.code) for word in words]

    def counts(self, positions: Sequence[int]) -> dict[int, float]:
        """Return how often each passage holds the word; occurrences in title and names are weighted."""
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


class Candidate:
    """A document that is scored by the whole query and by its parts; the best score counts."""

    __slots__ = ("boost", "document", "passages", "score", "text")

    def __init__(self, document: int, text: Text, boost: float) -> None:
        self.document = document
        self.text = text
        self.boost = boost
        self.score = 0.0
        self.passages: dict[int, float] = {}

    def look(self, words: Sequence[Word]) -> None:
        """Score the document by these words of the query."""
        view = View(words, self.text, self.boost)
        found = view.score() if view.found else 0.0
        if found > self.score:
            self.score, self.passages = found, view.alone

    def look_at_parts(self, parts: Iterable[Sequence[Word]], least: float) -> None:
        """Score the document by each part of the query; of equal scores that of the first part counts.

        A part that cannot reach ``least``, or what another one has reached, is not scored to the end.
        """
        views = [View(words, self.text, self.boost) for words in parts]
        bounded = [(view.bound(), number) for number, view in enumerate(views) if view.found]
        best = -1
        for bound, number in sorted(bounded, key=_highest):
            if bound < max(self.score, least):
                break
            found = views[number].score()
            if found > self.score or (found == self.score and number < best):
                self.score, self.passages, best = found, views[number].alone, number

    def held(self, words: Mapping[str, Word]) -> dict[int, set[str]]:
        """Return which of the words each passage holds."""
        found: dict[int, set[str]] = {}
        for term, held in zip(words, self.text.held(words.values())):
            for passage in held.counted if held else ():
                found.setdefault(passage, set()).add(term)
        return found


def fit(count: float, length: float, bits: float) -> float:
    """Return the score in bits of ``count`` occurrences of a word among ``length`` words; at least 0.

    DLH13, the hypergeometric model of Amati, "Frequentist and Bayesian approach to information retrieval" (ECIR 2006),
    as in the search engine Terrier. ``bits`` (see ``Word``) is based on passages instead of occurrences, because a word
    that one text repeats is not more common elsewhere. Adding 1 to the length keeps a text of one word finite.
    """
    if count > length:  # noqa: PLR1730 (``max`` takes twice as long; weighted occurrences can exceed the length)
        length = count
    rest = 1.0 - count / (length + 1.0)
    information = count * (bits + log2(count / length)) + 0.5 * log2(2.0 * pi * count * rest)
    return information / (count + 0.5) if information > 0 else 0.0


def attainable(words: Sequence[Word]) -> float:
    """Return about the highest possible score for these words, by which scores of different queries can be compared."""
    return sum(3 * word.bits for word in words) or 1.0


def outline(words: Sequence[Word], places: Places, lengths: Sequence[int]) -> tuple[float, dict[int, Held]]:
    """Return the score of the document as a whole, a fast first estimate, and the words that it holds, by code."""
    title = lengths[0] & MAX_PASSAGE
    names = title + (lengths[1] & MAX_PASSAGE)
    total, size, here = 0.0, len(places), places.held
    found: dict[int, Held] = {}
    for word in words:
        if word.code in here:
            positions = places.of(word.code)
            count = float(len(positions))
            if positions[0] < names:
                in_title = bisect_left(positions, title)
                count += (HEAD[0] - 1) * in_title + (HEAD[1] - 1) * (bisect_left(positions, names) - in_title)
            whole = fit(count, size, word.bits)
            total += whole
            if word.code not in found:
                found[word.code] = Held(word.bits, positions, whole)
    return total, found


def _highest(bounded: tuple[float, int]) -> tuple[float, int]:
    return -bounded[0], bounded[1]


class View:
    """A document seen by some words of the query: those that it holds, and the score of each passage ``alone``."""

    __slots__ = ("_asked", "_begun", "_factor", "_reach", "_text", "alone", "found")

    def __init__(self, words: Sequence[Word], text: Text, boost: float) -> None:
        self._text = text
        self._asked = text.held(words)
        self._reach = attainable(words)
        self._factor = boost
        self._begun = 0.0
        self.found = [held for held in self._asked if held]
        self.alone: dict[int, float] = {}
        if self.found:
            self._begin()

    def _begin(self) -> None:
        """Score the passages each by itself, and begin the score of the document."""
        alone, own = self.alone, self._text.own
        for held in self.found:
            for passage, value in held.scored.items():
                alone[passage] = alone.get(passage, 0.0) + value
        for passage in alone:
            if own[passage]:
                alone[passage] *= OWN
        self._begun = sum([held.whole for held in self.found]) + _best(alone, self._text)

    def bound(self) -> float:
        """Return what the score does not exceed."""
        single = sum([held.bits + MAX_FIT for held in self.found])
        return (self._begun + single * (1.0 + PAIRS * sum(BEST))) / self._reach * self._factor * (1.0 + ROUNDING)

    def score(self) -> float:
        """Return the score of the document; it must hold a word of the query."""
        alone, text = self.alone, self._text
        best = sorted(alone, key=lambda passage: (-alone[passage], passage))[:CENTRES]
        around = max([_around(centre, self.found, text.lengths) for centre in best])
        found = self._begun + around + PAIRS * _best(_closeness(self._asked, text), text)
        return found / self._reach * self._factor


def _best(scored: Mapping[int, float], text: Text) -> float:
    """Return the weighted sum of the best scores, of which a passage in several pieces has one."""
    best: dict[int, float] = {}
    for passage, value in scored.items():
        whole = text.wholes[passage]
        best[whole] = max(best.get(whole, 0.0), value)
    return sum(share * value for share, value in zip(BEST, sorted(best.values(), reverse=True)))


def _around(centre: int, found: Found, lengths: Sequence[int]) -> float:
    """Return the score of a passage with its neighbours; the further away these are, the less they count."""
    window = [(centre + step, share) for step, share in WINDOW if 0 <= centre + step < len(lengths)]
    length = sum([lengths[passage] * share for passage, share in window])
    total = 0.0
    for held in found:
        counted = held.counted
        count = 0.0
        for passage, share in window:
            if passage in counted:
                count += counted[passage] * share
        if count:
            total += fit(count, length, held.bits)
    return total


def _closeness(asked: Sequence[Held | None], text: Text) -> dict[int, float]:
    """Return each passage's score for pairs of neighbouring query words that it holds close to each other."""
    scored: dict[int, float] = {}
    for first, second in zip(asked, asked[1:]):
        if first and second:
            bits = max(first.bits, second.bits)
            for passage, count in _pairs(first.positions, second.positions, text).items():
                scored[passage] = scored.get(passage, 0.0) + fit(count, text.lengths[passage], bits)
    return scored


def _pairs(firsts: Sequence[int], seconds: Sequence[int], text: Text) -> dict[int, float]:
    """Return how often each passage holds the second word near the first; nearer pairs count more."""
    counted: dict[int, float] = {}
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
