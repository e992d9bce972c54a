"""Reading speed and size: `uv run python tests/bench/turns.py DIR`.

Reads every *.jsonl under DIR, once with `json.loads` on every line and once into turns, in the same process with
the files in memory, and prints MB for each second of CPU time for both, how much is kept, and how much longer an edit
eight times as long takes to describe: eight times when every pattern is linear, sixty-four times when one is quadratic.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from memoria.transcripts.tool_lines import describe
from memoria.transcripts.turn import Turn, exchanges
from memoria.transcripts.turn_reader import Reader

ROUNDS = 5
PARTS = ("a_", "a-", ":a", ".a-", "{{ ", "(a-", "a?", "a: ", "TABLE ", "def ", "@", "_?", "'a-")  # hard for patterns


def parse_all(files: list[list[bytes]]) -> int:
    count = 0
    for lines in files:
        for line in lines:
            try:
                json.loads(line)
                count += 1
            except (
                ValueError,
                RecursionError,
            ):  # glued, broken or too deep; the reader survives them, the yardstick only counts
                continue
    return count


def read_all(files: list[list[bytes]]) -> list[list[Turn]]:
    turns = []
    for lines in files:
        reader = Reader()
        turns.append([*reader.read(lines), *reader.settle()])
    return turns


def best(work: Callable[[list[list[bytes]]], object], files: list[list[bytes]]) -> float:
    spans = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work(files)
        spans.append(time.process_time() - start)
    return min(spans)


def growth(part: str) -> float:
    """Return how much longer eight times the edit takes."""
    small, large = (
        best(lambda _, text=part * times: describe("Edit", {"new_string": text}), [])  # type: ignore[misc]
        for times in (5_000, 40_000)
    )
    return large / max(small, 0.001)


def main(folder: str) -> None:
    files = [path.read_bytes().splitlines(keepends=True) for path in sorted(Path(folder).rglob("*.jsonl"))]
    size = sum(len(line) for lines in files for line in lines)
    parsed, read = best(parse_all, files), best(read_all, files)
    turns = [turn for found in read_all(files) for turn in found]
    said = sum(len(turn.text) for turn in turns if turn.role in ("user", "assistant"))
    tools = sum(len(line) for turn in turns for line in turn.tools)
    given = sum(part.size for part in exchanges(turns))
    print(f"{len(files)} files, {size / 1e6:.1f} MB, {len(turns)} turns")
    print(f"json.loads on every line  {size / 1e6 / parsed:8.0f} MB/s")
    print(f"Reader                    {size / 1e6 / read:8.0f} MB/s   {parsed / read:.1f} times as fast")
    print(f"said {said:,} characters, tool lines {tools:,}, given to the model {given:,} ({given / max(size, 1):.1%})")
    ratios = {part: growth(part) for part in PARTS}
    worst = max(PARTS, key=lambda part: ratios[part])
    print(f"an edit eight times as long takes at most {ratios[worst]:.1f} times as long ({worst!r})")


if __name__ == "__main__":
    main(sys.argv[1])
