"""Nearness: which of many texts say nearly the same, without comparing each with each.

Texts are sets of words. One hash a word falls into one of ``BINS`` bins, whose smallest hash is kept (one-permutation
minhash: Li, Owen, Zhang 2012); texts that agree in a band of bins are compared in full. What a band holds is capped, so
that the work grows with the texts and not with their square. Pure.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache
from typing import TypeVar

from memoria.language.similarity import jaccard

Key = TypeVar("Key", bound=Hashable)

BINS, BAND = 64, 4  # two texts at 0.6 of shared words meet in one of the 16 bands nine times in ten
NEIGHBOURS = 4  # in a crowded band each text meets only so many
_EMPTY = -1


def pairs(texts: Mapping[Key, frozenset[str]], least: float) -> Iterator[tuple[Key, Key, float]]:
    """Pairs whose shared words are at least ``least`` of all their words, with that share; each pair once."""
    buckets: defaultdict[tuple[int, ...], list[Key]] = defaultdict(list)
    for key, words in texts.items():
        signature = _signature(words)
        for start in range(0, BINS, BAND):
            band = signature[start : start + BAND]
            if any(value != _EMPTY for value in band):
                buckets[start, *band].append(key)
    seen: set[tuple[Key, Key]] = set()
    for keys in buckets.values():
        for place, one in enumerate(keys):
            for other in keys[place + 1 : place + 1 + NEIGHBOURS]:
                if (one, other) in seen:
                    continue
                seen.add((one, other))
                share = jaccard(texts[one], texts[other])
                if share >= least:
                    yield one, other, share


def _signature(words: frozenset[str]) -> list[int]:
    signature = [_EMPTY] * BINS
    for word in words:
        place, value = _hash(word)
        if signature[place] == _EMPTY or value < signature[place]:
            signature[place] = value
    return signature


@lru_cache(maxsize=200_000)
def _hash(word: str) -> tuple[int, int]:
    value = zlib.crc32(word.encode("utf-8", "replace"))
    return value % BINS, value // BINS
