"""What code made of recorded material before: a test that compares all of it notices whatever changes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import AnyStr
from zlib import crc32

from places import TESTS


def same(name: str, rows: Iterable[object]) -> None:
    """Fail when the rows are not those of ``fixtures/<name>``, which is written when it is missing, for you to read."""
    path, found = TESTS / "fixtures" / name, "".join(f"{row}\n" for row in rows)
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, "utf-8")
        raise AssertionError(f"{name} is new")
    assert found == path.read_text("utf-8")


def digest(rows: Iterable[object]) -> int:
    """Return a number in place of many rows."""
    return crc32("\n".join(map(str, rows)).encode("utf-8", "replace"))


def bent(rows: Sequence[AnyStr], times: int) -> Iterator[list[AnyStr]]:
    """Yield the rows with up to four of them lost, doubled, moved or shortened, in the same ways each time."""
    draw = random.Random(26)
    for _ in range(times):
        made = list(rows)
        for _ in range(draw.randint(1, min(4, len(rows)))):
            at, to = draw.randrange(len(made)), draw.randrange(len(made))
            row = made.pop(at)
            cut = draw.randrange(len(row) + 1)
            short = row[:cut] + row[cut + draw.choice((1, 5)) :]
            at = draw.choice((at, to))
            made[at:at] = draw.choice(([], [row, row], [row], [short], [short]))
        yield made or list(rows)
