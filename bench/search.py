"""How fast is the search index, and how large? Over 1,000, 10,000 and 100,000 made-up documents.

    uv run python -m bench.search [COUNT ...]

Words are drawn by Zipf's law (the n-th most frequent of 60,000 has a share in proportion to 1/n), 20 to 200 a document
in three to six passages; queries take two to eight words: half drawn like the text (so common words are common),
half from a document (so that something fits). Times are processor time of this process, with the file cache warm.
"""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from memoria.search.reader import Finder

WORDS = 60_000
QUERIES = 400
_LETTERS = "bcdfghklmnprstvw"
_VOWELS = "aeiou"


def main() -> int:
    """Print one row a size."""
    counts = [int(word) for word in sys.argv[1:]] or [1_000, 10_000, 100_000]
    print("documents  index s      MB  text MB  p50 ms  p95 ms  max ms update ms")
    for count in counts:
        print(_row(count), flush=True)
    return 0


def _row(count: int) -> str:
    chance = random.Random(7)
    made = list(_documents(count, chance))
    text = sum(len(passage.text) for document in made for passage in document.passages)
    queries = [_query(made, chance) for _ in range(QUERIES)]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "index.db")
        with Index(path) as index:
            start = time.process_time()
            index.add(made)
            took = time.process_time() - start
            updates = [_timed(index.add, [_changed(document)]) for document in chance.sample(made, 20)]
        size = path.stat().st_size
        with Finder(str(path)) as finder:
            times = sorted(_timed(finder.search, query) for query in queries)
    p50, p95 = times[QUERIES // 2], times[int(QUERIES * 0.95)]
    return (
        f"{count:9} {took:8.1f} {size / 1e6:7.1f} {text / 1e6:8.1f} {p50:7.1f} {p95:7.1f} {times[-1]:7.1f}"
        f" {sorted(updates)[len(updates) // 2]:9.1f}"
    )


def _timed(work: Callable[[Any], object], given: object) -> float:
    """Milliseconds of processor time that a call takes."""
    start = time.process_time()
    work(given)
    return 1000 * (time.process_time() - start)


def _vocabulary() -> list[str]:
    chance = random.Random(1)
    words: dict[str, None] = {}
    while len(words) < WORDS:
        words["".join(chance.choice(_LETTERS) + chance.choice(_VOWELS) for _ in range(chance.randint(2, 4)))] = None
    return list(words)


_WORDS = _vocabulary()
_SHARES = list(itertools.accumulate(1 / (rank + 1) for rank in range(WORDS)))


def _drawn(count: int, chance: random.Random) -> list[str]:
    return chance.choices(_WORDS, cum_weights=_SHARES, k=count)


def _documents(count: int, chance: random.Random) -> Iterator[Document]:
    for number in range(count):
        passages = tuple(
            Passage(" ".join(_drawn(chance.randint(7, 35), chance)), own=chance.random() < 0.3)
            for _ in range(chance.randint(3, 6))
        )
        yield Document(
            path=f"knowledge/concepts/a{number}.md", kind="article", title=" ".join(_drawn(4, chance)),
            tags=tuple(_drawn(2, chance)), project=f"project-{number % 7}", passages=passages,
            date=f"2026-{1 + number % 12:02}-{1 + number % 28:02}",
        )  # fmt: skip


def _query(made: list[Document], chance: random.Random) -> str:
    count = chance.randint(2, 8)
    if chance.random() < 0.5:
        return " ".join(_drawn(count, chance))
    words = chance.choice(chance.choice(made).passages).text.split()
    return " ".join(chance.sample(words, min(count, len(words))))


def _changed(document: Document) -> Document:
    return Document(
        path=document.path, kind=document.kind, title=document.title + " anew", tags=document.tags,
        project=document.project, passages=document.passages[1:], date=document.date,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
