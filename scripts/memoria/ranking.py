"""Ranking: from where a query's terms occur to how well each document fits. Pure functions; knows no database.

BM25 three times, added up: over the whole document, over its best passage, and over its best passage with its
neighbours (a question is often answered in the turn after the one that names its subject).

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

from math import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Occurrences = Mapping[int, Mapping[int, float]]  # document -> ordinal of passage -> weighted count

K1 = 1.2  # saturation of repeated terms and strength of length normalisation: the values of Robertson 1994
B = 0.75
NEIGHBOURS = (0.5, 0.25)  # what a term counts in the passage next to it, and next but one


class Scope:
    """How much there is to search through: documents, passages, and terms in all of them."""

    __slots__ = ("document_length", "documents", "passage_length")

    def __init__(self, documents: int, passages: int, length: int) -> None:
        """Averages of nothing are 1, so that an empty scope divides by no zero."""
        self.documents = documents
        self.document_length = length / documents if length else 1.0
        self.passage_length = length / passages if length else 1.0


def rarity(documents: int, total: int) -> float:
    """Inverse document frequency, never negative: a term that ``documents`` of ``total`` hold."""
    return log(1 + (max(total, documents) - documents + 0.5) / (documents + 0.5))


def scores(
    found: Mapping[str, Occurrences], weights: Mapping[str, float], lengths: Mapping[int, Sequence[int]], scope: Scope
) -> dict[int, tuple[float, dict[int, float]]]:
    """Each document's score and the scores of its passages.

    ``found``: where each term occurs; ``weights``: what each term is worth; ``lengths``: terms in each passage of each
    document.
    """
    gathered: dict[int, list[tuple[float, Mapping[int, float]]]] = {}
    for term, occurrences in found.items():
        for document, counts in occurrences.items():
            if document in lengths:
                gathered.setdefault(document, []).append((weights[term], counts))
    return {document: _score(parts, lengths[document], scope) for document, parts in gathered.items()}


def _score(
    parts: list[tuple[float, Mapping[int, float]]], lengths: Sequence[int], scope: Scope
) -> tuple[float, dict[int, float]]:
    norm = K1 * (1 - B + B * sum(lengths) / scope.document_length)
    whole = 0.0
    alone: dict[int, float] = {}
    around: dict[int, float] = {}
    for weight, counts in parts:
        total = sum(counts.values())
        whole += weight * total * (K1 + 1) / (total + norm)
        for ordinal, count in counts.items():
            short = K1 * (1 - B + B * lengths[ordinal] / scope.passage_length)
            alone[ordinal] = alone.get(ordinal, 0.0) + weight * count * (K1 + 1) / (count + short)
        for ordinal, count in _spread(counts, len(lengths)).items():
            wide = K1 * (1 - B + B * _around(lengths, ordinal) / (2 * scope.passage_length))
            around[ordinal] = around.get(ordinal, 0.0) + weight * count * (K1 + 1) / (count + wide)
    best = max(around.values(), default=0.0) + max(alone.values(), default=0.0)
    return whole + best, {ordinal: alone[ordinal] + around[ordinal] for ordinal in alone}


def _spread(counts: Mapping[int, float], passages: int) -> dict[int, float]:
    """The counts with a share of each given to the passages beside it."""
    spread: dict[int, float] = dict(counts)
    for ordinal, count in counts.items():
        for distance, share in enumerate(NEIGHBOURS, 1):
            for beside in (ordinal - distance, ordinal + distance):
                if 0 <= beside < passages:
                    spread[beside] = spread.get(beside, 0.0) + count * share
    return spread


def _around(lengths: Sequence[int], ordinal: int) -> float:
    length = float(lengths[ordinal])
    for distance, share in enumerate(NEIGHBOURS, 1):
        if ordinal >= distance:
            length += lengths[ordinal - distance] * share
        if ordinal + distance < len(lengths):
            length += lengths[ordinal + distance] * share
    return length
