"""Packing: the compressed form in which the index holds archived turns, which are most of it.

Only a search among turns reads it, and no hook does, so what it imports is imported late.
"""

from __future__ import annotations

import sys
from itertools import accumulate

from memoria.search import ranking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

SHORT = 0xFFFFFF  # the part of a word's code that is kept: a document's words are few
_BYTES = range(4) if sys.byteorder == "little" else range(3, -1, -1)  # of a number, the least significant first


class PackedPlaces(ranking.Places):
    """The positions of the words of a query in a document that is packed."""

    __slots__ = ()

    def __init__(self, packed: bytes, lengths: memoryview[int]) -> None:
        """Read what ``pack`` returned of the short codes, ascending, of how often each occurs, and of the steps.

        A step is the distance of an occurrence from the one before, or from the beginning.
        """
        codes, counts, steps = _unpacked(packed)
        super().__init__(codes, list(accumulate(counts)), steps, lengths)

    def held(self, words: Sequence[ranking.Word]) -> list[tuple[ranking.Word, Sequence[int]]]:
        """Return the words of the query that the document holds, with their positions."""
        present = frozenset([word.code & SHORT for word in words]).intersection(self._codes)
        return [(word, self._of(word.code & SHORT)) for word in words if word.code & SHORT in present]

    def _of(self, code: int) -> Sequence[int]:
        begin, end = self._span(code)
        return list(accumulate(self._places[begin:end]))


def pack(*numbers: array[int]) -> bytes:
    """Return arrays of 32-bit numbers, compressed.

    Of each array the bytes of each significance follow one another: those of the higher ones are nearly all alike.
    """
    import zlib  # noqa: PLC0415 (not for a hook)

    parts = []
    for each in numbers:
        raw = each.tobytes()
        parts += [len(each).to_bytes(4, "little"), *(raw[place::4] for place in _BYTES)]
    return zlib.compress(b"".join(parts), 9)


def _unpacked(packed: bytes) -> list[memoryview[int]]:
    import zlib  # noqa: PLC0415 (as above)

    told = zlib.decompress(packed)
    numbers, start = [], 0
    while start < len(told):
        count = int.from_bytes(told[start : start + 4], "little")
        raw = bytearray(4 * count)
        start += 4
        for place in _BYTES:
            raw[place::4] = told[start : start + count]
            start += count
        numbers.append(memoryview(raw).cast("I"))
    return numbers


def parts(packed: bytes) -> list[tuple[str, str, bool]]:
    """Return text, label and whether it is the user's own of each passage of a document."""
    import json  # noqa: PLC0415 (as above)
    import zlib  # noqa: PLC0415 (as above)

    return [(text, label, own) for text, label, own in json.loads(zlib.decompress(packed))]
