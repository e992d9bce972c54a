"""Phrases: how well a question fits the phrases by which a document is likely to be asked for.

A model writes them beside what it learned, in the words of somebody who does not know it: "add a column to the invoice
table" for "we bill in whole cents". They lead to the document and are never shown. Pure functions without a database.
"""

from __future__ import annotations

from math import sqrt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


def fit(
    topics: Sequence[Collection[str]],
    phrases: Mapping[int, Collection[str]],
    lengths: Sequence[int],
    weights: Mapping[str, float],
) -> float:
    """Return how well the best of the topics fits the phrases of a document.

    It is the weight of all words that the topic shares with any of them, times the root of the largest share of one
    phrase that the topic holds. ``phrases``: the words of the question that each phrase holds, by its number;
    ``lengths``: the number of words of each.
    """
    best = 0.0
    for topic in topics:
        shared = {number: set(held).intersection(topic) for number, held in phrases.items()}
        whole = max((len(held) / max(1, lengths[number]) for number, held in shared.items()), default=0.0)
        held_by_any = set().union(*shared.values())
        best = max(best, sum(weights.get(word, 0.0) for word in topic if word in held_by_any) * sqrt(whole))
    return best
