"""Candidates: the pairs of statements that most likely contradict or repeat each other.

Both statements of a pair belong to the same project, or both to all projects. All functions are pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from memoria.ground.files import sha256
from memoria.search import comparison
from memoria.search.comparison import Words
from memoria.search.words import jaccard, overlap
from memoria.statements.conflicts import said
from memoria.statements.fact import Fact

MIN_SIMILARITY, MIN_OVERLAP = 0.25, 0.5  # share of all their stems, or of the shorter one's, that a pair has in common
MIN_SHARED = 2  # stems that are no numbers
MAX_FOUND = 60  # a stem in more statements of a project than this leads to no pair; rarer ones do
CONFLICT, DIFFERENCE = 1.0, 0.25  # added to the similarity of two that oppose each other, or differ in a number or sign


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements, the older one ``first``, and how likely they contradict or repeat each other."""

    first: Fact
    second: Fact
    score: float

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits for what both statements are and say."""
        joined = sorted(f"{fact.project} {fact.content}" for fact in (self.first, self.second))
        return sha256("\n".join(joined))[:16]


def pairs(facts: Iterable[Fact], known: Collection[str] = ()) -> Iterator[Pair]:
    """Yield the candidates among live statements, in no order; ``known``: digests of pairs that are left out."""
    groups: defaultdict[str, list[tuple[Fact, Words]]] = defaultdict(list)
    for fact in facts:
        groups[fact.project].append((fact, comparison.words(fact.content)))
    for group in groups.values():
        for (one, words), (other, others) in _similar(group):
            if (one.session, one.time) == (other.session, other.time) or comparison.differ_in_subject(words, others):
                continue
            first, second = sorted((one, other), key=lambda fact: (said(fact), fact.id))
            pair = Pair(first, second, _score(words, others))
            if pair.digest not in known:
                yield pair


def _similar(group: Sequence[tuple[Fact, Words]]) -> Iterator[tuple[tuple[Fact, Words], tuple[Fact, Words]]]:
    """Yield the pairs that share enough stems, without comparing every statement with every other."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, (_, words) in enumerate(group):
        for stem in words.stems:
            if not stem[0].isdigit():
                places[stem].append(number)
    for number, (_, words) in enumerate(group):
        shared: Counter[int] = Counter()
        for stem in words.stems:
            if len(found := places.get(stem, ())) <= MAX_FOUND:
                shared.update(place for place in found if place > number)
        for place, count in shared.items():
            stems, others = words.stems, group[place][1].stems
            if count >= MIN_SHARED and (
                jaccard(stems, others) >= MIN_SIMILARITY or overlap(stems, others) >= MIN_OVERLAP
            ):
                yield group[number], group[place]


def _score(one: Words, other: Words) -> float:
    score = jaccard(one.stems, other.stems)
    if comparison.opposed(one, other):
        return score + CONFLICT
    return score + DIFFERENCE * (bool(one.numbers ^ other.numbers) + bool(one.against ^ other.against))
