"""Room: divide a page among its sections, so that what is worth most comes first and no room is left unused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memoria.base import fence

MAX_SKIPPED = 20  # rows too long for the remaining room after which a section counts as full


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its rows, the best first, and the ``share`` of the page that it may take at first."""

    heading: str
    rows: Sequence[str]
    share: float


def divided(sections: Sequence[Section], room: int) -> list[str]:
    """Return the sections' texts within ``room`` characters, in their order, without empty ones.

    Each section takes up to its share. What is left over then goes to the first section that can use it.
    """
    limits = [int(section.share * room) for section in sections]
    texts = [_fitted(section, limit) for section, limit in zip(sections, limits, strict=True)]
    left = room - sum(map(_size, texts))
    for place, section in enumerate(sections):
        text = _fitted(section, _size(texts[place]) + left - _BETWEEN)
        if len(text) > len(texts[place]):
            left -= _size(text) - _size(texts[place])
            texts[place] = text
    return list(filter(None, texts))


_BETWEEN = 2  # characters between two sections


def _size(text: str) -> int:
    return len(text) + _BETWEEN if text else 0


def _fitted(section: Section, room: int) -> str:
    """Return the heading and as many whole rows as fit; ``""`` when no row fits."""
    kept = [section.heading]
    room -= len(section.heading)
    skipped = 0
    for row in section.rows:
        size = len(fence.neutral(row)) + 1
        if size <= room:
            kept.append(row)
            room -= size
        else:
            skipped += 1
            if skipped == MAX_SKIPPED:
                break
    return "\n".join(kept) if len(kept) > 1 else ""
