"""Consolidation: a second look at statements that stand near to each other, with the first compile of a day.

A compile shows each new statement beside the lines nearest to it, as far as they find room. What was placed without a
model, by an upgrade or on another machine was never shown beside anything. So the first compile of a day asks about a
few statements once more, each beside the older one that is nearest to it, those first that seem to contradict it. It
costs no call of its own, a statement is asked about again once, and the answer ends what it may by the compile's rules.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from memoria.ground import clock
from memoria.search import comparison
from memoria.search.comparison import Words
from memoria.search.words import jaccard
from memoria.statements.fact import Fact, said
from memoria.worker.compiler import Batch, Compile

DAY: Final = "last_consolidation"  # in the ledger: the user's day of the last look
KNOWN: Final = "looked_again"  # in the ledger: the ids of the live statements that were asked about again
MAX_PAIRS: Final = 5  # of one call, so that the new statements stay its matter
NEAR: Final = 0.25  # least share of all their stems that two have in common
COMMON: Final = 60  # a stem in more statements than this leads to no pair; rarer ones do


def with_pairs(compile_: Compile, batches: Sequence[Batch]) -> list[Batch]:
    """Return the batches, with pairs in the first of each project when nothing was looked at again today."""
    today = compile_.home.zone.day(clock.now()).isoformat()
    if compile_.model.model.name == "offline" or compile_.ledger.get(DAY) == today:
        return list(batches)
    placed = compile_.keeper.store.placed()
    live = [fact for fact in compile_.keeper.store.facts() if fact.id in placed]
    known = frozenset(compile_.ledger.get(KNOWN) or ())
    found = list(batches)
    firsts = {batch.key: place for place, batch in reversed(list(enumerate(batches))) if batch.facts}
    for key, place in firsts.items():
        pairs = near_pairs([fact for fact in live if fact.project == key], known)
        found[place] = replace(batches[place], pairs=tuple(pairs))
    return found


def looked(compile_: Compile, batches: Iterable[Batch]) -> None:
    """Record that these batches were compiled, so that nothing in them is asked about again."""
    pairs = [pair for batch in batches for pair in batch.pairs]
    if pairs:
        live = {fact.id for fact in compile_.keeper.store.facts()}
        known = {*(compile_.ledger.get(KNOWN) or ()), *(newer.id for newer, _ in pairs)}
        compile_.ledger.put(KNOWN, sorted(known & live))
        compile_.ledger.put(DAY, compile_.home.zone.day(clock.now()).isoformat())


def near_pairs(facts: Iterable[Fact], known: Collection[str]) -> list[tuple[Fact, Fact]]:
    """Return the likeliest pairs among statements of one project, each with the newer one first.

    ``known``: ids of newer ones that are left out.
    """
    likely = heapq.nlargest(MAX_PAIRS, _pairs(facts, known), key=lambda pair: (pair[0], pair[1].id))
    return [(newer, older) for _, newer, older in likely]


def _pairs(facts: Iterable[Fact], known: Collection[str]) -> Iterator[tuple[tuple[bool, float], Fact, Fact]]:
    """Yield each statement with the older one nearest to it, after whether they seem opposed and how near they are."""
    holders: defaultdict[str, list[str]] = defaultdict(list)  # the older statements that hold a stem
    older: dict[str, tuple[Fact, Words]] = {}
    for fact in sorted(facts, key=lambda fact: (said(fact), fact.id)):
        words = comparison.words(fact.content)
        if fact.id not in known:
            rare = (holders[stem] for stem in words.stems if len(holders[stem]) <= COMMON)
            near = (older[ident] for ident in dict.fromkeys(chain.from_iterable(rare)))
            rated = [(_nearness(words, others), other) for other, others in near if not _one_answer(fact, other)]
            rated = [(rate, other) for rate, other in rated if rate[1] >= NEAR]
            if rated:
                rate, other = max(rated, key=lambda pair: (pair[0], pair[1].id))
                yield rate, fact, other
        older[fact.id] = (fact, words)
        for stem in words.stems:
            holders[stem].append(fact.id)


def _nearness(one: Words, other: Words) -> tuple[bool, float]:
    return comparison.opposed(one, other), jaccard(one.stems, other.stems)


def _one_answer(one: Fact, other: Fact) -> bool:
    """Return whether one answer of a model made both, which saw them together."""
    return (one.session, one.time) == (other.session, other.time)
