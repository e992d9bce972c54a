"""MinHash: which of many texts are nearly the same, without comparing every pair.

Texts are sets of words. Each word's hash falls into one of ``BINS`` bins, and each bin keeps its smallest hash
(one-permutation MinHash: Li, Owen, Zhang 2012). Texts that agree in a band of bins are compared in full. The number of
comparisons per band is capped, so that the work grows linearly with the number of texts. All functions are pure.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache
from typing import TypeVar

from memoria.search.words import jaccard

Key = TypeVar("Key", bound=Hashable)

BINS, BAND = 64, 4  # two texts that share 0.6 of their words agree in one of the 16 bands nine times in ten
NEIGHBOURS = 4  # texts that each text of a crowded band is compared with
_EMPTY = -1


def pairs(texts: Mapping[Key, frozenset[str]], least: float) -> Iterator[tuple[Key, Key, float]]:
    """Yield pairs that share at least ``least`` of all their words, each once, with that share."""
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
