"""Candidates: the pairs of live facts and current claims that most likely contradict or repeat each other.

Both statements of a pair belong to the same project, or both to all projects. Statements about different things that
look alike are no pair, nor is a fact and the claim that was made of it. All functions are pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from memoria.ground.files import sha256
from memoria.search import comparison
from memoria.search.comparison import Words
from memoria.search.words import jaccard, overlap
from memoria.statements.fact import Fact
from memoria.wiki.article import Claim

MIN_SIMILARITY, MIN_OVERLAP = 0.25, 0.5  # share of all their stems, or of the shorter one's, that a pair has in common
MIN_SHARED = 2  # stems that are no numbers
MAX_FOUND = 60  # a stem in more statements of a project than this leads to no pair; rarer ones do
CONFLICT, DIFFERENCE = 1.0, 0.25  # added to the similarity of two that oppose each other, or differ in a number or sign


@dataclass(frozen=True, slots=True)
class Statement:
    """A live fact or a current claim.

    ``name``: ``fact l-…``, or ``claim`` with its article and its number there. ``scope``: the key of its project,
    ``GLOBAL`` for all. ``day``: ISO day on which it was last said. Either ``fact`` or ``claim``, with its ``slug``, is
    set.
    """

    name: str
    text: str
    scope: str
    day: str
    fact: Fact | None = None
    claim: Claim | None = None
    slug: str = ""
    words: Words = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Split the text into words once, because it is compared often."""
        object.__setattr__(self, "words", comparison.words(self.text))

    @property
    def sources(self) -> frozenset[str]:
        """The entries that a claim cites."""
        return frozenset(self.claim.sources if self.claim else ())


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements, the older one ``first``, and how likely they contradict or repeat each other."""

    first: Statement
    second: Statement
    score: float

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits for both statements."""
        return digest(self.first, self.second)


def digest(one: Statement, other: Statement) -> str:
    """Return sixteen hexadecimal digits for what both statements are and say, in any order."""
    joined = "\n".join(sorted(f"{each.name[:1]} {each.scope} {each.text}" for each in (one, other)))
    return sha256(joined)[:16]


def pairs(found: Iterable[Statement], known: Collection[str] = ()) -> Iterator[Pair]:
    """Yield the candidates among statements, in no order; ``known``: digests of pairs that are left out."""
    groups: defaultdict[str, list[Statement]] = defaultdict(list)
    for statement in found:
        groups[statement.scope].append(statement)
    for group in groups.values():
        for one, other in _similar(group):
            if is_candidate(one, other) and digest(one, other) not in known:
                first, second = sorted((one, other), key=lambda each: (each.day, each.name))
                yield Pair(first, second, _score(one.words, other.words))


def _similar(group: Sequence[Statement]) -> Iterator[tuple[Statement, Statement]]:
    """Yield the pairs that share enough stems, without comparing every statement with every other."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, statement in enumerate(group):
        for stem in statement.words.stems:
            if not stem[0].isdigit():
                places[stem].append(number)
    for number, statement in enumerate(group):
        shared: Counter[int] = Counter()
        for stem in statement.words.stems:
            if len(found := places.get(stem, ())) <= MAX_FOUND:
                shared.update(place for place in found if place > number)
        for place, count in shared.items():
            stems, others = statement.words.stems, group[place].words.stems
            if count >= MIN_SHARED and (
                jaccard(stems, others) >= MIN_SIMILARITY or overlap(stems, others) >= MIN_OVERLAP
            ):
                yield statement, group[place]


def is_candidate(one: Statement, other: Statement) -> bool:
    """Return whether it is worth asking which of two similar statements holds."""
    if comparison.differ_in_subject(one.words, other.words):
        return False
    if one.fact and other.fact:
        return (one.fact.session, one.fact.time) != (other.fact.session, other.fact.time)
    if one.claim and other.claim:
        return one.sources != other.sources
    return not comparison.same(one.words, other.words)


def _score(one: Words, other: Words) -> float:
    score = jaccard(one.stems, other.stems)
    if comparison.opposed(one, other):
        return score + CONFLICT
    return score + DIFFERENCE * (bool(one.numbers ^ other.numbers) + bool(one.against ^ other.against))
