"""Similarity: measures of how many words two texts share."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set
    from typing import Any


def jaccard(one: Set[Any], other: Set[Any]) -> float:
    """Return the share of all members that both sets hold, 0 to 1; 0 when both are empty."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def overlap(one: Set[Any], other: Set[Any]) -> float:
    """Return the share of the smaller set's members that the larger one holds, 0 to 1; 0 when one is empty."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def coverage(claim: Set[Any], text: Set[Any]) -> float:
    """Return the share of ``claim`` that ``text`` holds, 0 to 1; 0 when ``claim`` is empty."""
    return len(claim & text) / len(claim) if claim else 0.0


def bigrams(words: list[str]) -> set[tuple[str, str]]:
    """Return each pair of neighbouring words."""
    return set(zip(words, words[1:]))
