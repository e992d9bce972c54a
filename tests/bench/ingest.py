"""Reading speed before an ingest: `uv run python tests/bench/ingest.py DIR`.

Reads every *.jsonl under DIR from disk (in the page cache) once with `json.loads` on every line, once as `memoria
ingest` reads it before it asks (head and census), and once as the worker reads it (turns); prints MB/s of each (CPU
time, best of several rounds), how many times as fast as `json.loads` that is, and how near the census comes to the
exact count.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memoria import census, shelf
from memoria.turn import Reader

ROUNDS = 7


def parse_all(paths: Sequence[Path]) -> None:
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                try:
                    json.loads(line)
                except (ValueError, RecursionError):  # glued, broken or too deep
                    continue


def count_all(paths: Sequence[Path]) -> census.Census:
    total = census.Census()
    for path in paths:
        shelf.head(path)
        total += census.count(path)
    return total


def read_all(paths: Sequence[Path]) -> tuple[int, int]:
    turns = chars = 0
    for path in paths:
        reader = Reader()
        with path.open("rb") as file:
            for turn in (*reader.read(file), *reader.settle()):
                turns, chars = turns + 1, chars + turn.size
    return turns, chars


def best(work: Callable[[Sequence[Path]], object], paths: Sequence[Path]) -> float:
    spans = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work(paths)
        spans.append(time.process_time() - start)
    return min(spans)


def main(folder: str) -> None:
    paths = sorted(Path(folder).rglob("*.jsonl"))
    size = sum(path.stat().st_size for path in paths) / 1e6
    parsed, counted, read = best(parse_all, paths), best(count_all, paths), best(read_all, paths)
    found, (turns, chars) = count_all(paths), read_all(paths)
    print(f"{len(paths)} files, {size:.1f} MB, {found.lines:,} lines")
    print(f"json.loads on every line  {size / parsed:8.0f} MB/s")
    print(f"census (before asking)    {size / counted:8.0f} MB/s   {parsed / counted:.1f} times as fast")
    print(f"turns (the worker)        {size / read:8.0f} MB/s   {parsed / read:.1f} times as fast")
    print(f"census: {found.turns:,} turns ({found.turns / max(turns, 1) - 1:+.1%}), "
          f"{found.chars:,} characters ({found.chars / max(chars, 1) - 1:+.1%})")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
