"""Reading speed: `uv run python -m bench.ingest [DIR] [--made MEGABYTES]`.

Reads every *.jsonl under DIR (default: the real transcripts beside the repository, or in ``$MEMORIA_SHARED``), and then
a made-up file of current proportions, from disk (in the page cache): once with `json.loads` on every line, once as
`memoria verify` does, and `memoria ingest` before it asks (turns with their text), and once as the worker does (turns
with a line for each tool use). Prints MB/s of each (CPU time, best of several rounds, in turn, so that a busy machine
slows all of them) and how many times as fast as `json.loads` that is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from memoria.transcripts import client_files
from memoria.transcripts.turn_reader import Reader

ROUNDS = 7
Paths = Sequence[Path]


def parse_all(paths: Paths) -> None:
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                try:
                    json.loads(line)
                except (ValueError, RecursionError):  # glued, broken or too deep
                    continue


def read_all(paths: Paths, *, describing: bool = True) -> tuple[int, int]:
    turns = chars = 0
    for path in paths:
        reader = Reader(describing=describing)
        with client_files.open_lines(path) as file:
            for turn in (*reader.read(file), *reader.settle()):
                turns, chars = turns + 1, chars + turn.size
    return turns, chars


WAYS: dict[str, Callable[[Paths], object]] = {
    "json.loads on every line": parse_all,
    "turns (verify, before asking)": lambda paths: read_all(paths, describing=False),
    "turns and tool lines (worker)": read_all,
}


def measure(title: str, paths: Paths) -> None:
    size = sum(path.stat().st_size for path in paths) / 1e6
    best = dict.fromkeys(WAYS, float("inf"))
    for _ in range(ROUNDS):
        for name, way in WAYS.items():
            start = time.process_time()
            way(paths)
            best[name] = min(best[name], time.process_time() - start)
    turns, chars = read_all(paths)
    print(f"{title}: {len(paths)} files, {size:.1f} MB, {turns:,} turns, {chars:,} characters")
    for name, seconds in best.items():
        print(
            f"  {name:<30}{size / seconds:6.0f} MB/s   {best['json.loads on every line'] / seconds:4.1f} times as fast"
        )


def made(path: Path, size: int) -> None:
    """A transcript in the proportions counted over 741 real ones (632 MB; client 1.0 to 2.1.219).

    For one prompt four texts, four thoughts, nine tool uses with their results, and fourteen lines of progress. A
    result has 278 characters in the median and 28,000 at the most, stands twice on its line, and comes with the file
    that was read, so that a user's line has about 9 KB.
    """
    dice = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in _exchange(dice))


def _exchange(dice: random.Random) -> Iterator[dict[str, Any]]:
    yield _line(dice, "user", "Have a look at the shuttle's retries, please, and see why the third one waits so long.")
    for number in range(9):
        if number % 2 == 0:
            yield _line(dice, "assistant", [{"type": "thinking", "thinking": _text(dice, 450), "signature": "x" * 400}])
            yield _line(dice, "assistant", [{"type": "text", "text": _text(dice, 320)}])
        use = {"type": "tool_use", "id": f"toolu_{dice.getrandbits(80):x}", **_used(dice, number)}
        yield _line(dice, "assistant", [use])
        for _ in range(number % 2 + 1):
            yield _line(
                dice, "progress", data={"type": "bash_progress", "output": _text(dice, 700), "full": _text(dice, 900)}
            )
        output = _text(dice, dice.choice((80, 200, 278, 300, 900, 4500, 9000, 28000)))
        result = {"tool_use_id": use["id"], "type": "tool_result", "content": output}
        yield _line(dice, "user", [result], toolUseResult={"stdout": output, "stderr": "", "interrupted": False})


def _used(dice: random.Random, number: int) -> dict[str, Any]:
    if number % 3:
        return {"name": "Bash", "input": {"command": _text(dice, 60), "description": "Looks"}}
    given = {"file_path": "/src/shuttle.py", "old_string": _text(dice, 250), "new_string": _text(dice, 330)}
    return {"name": "Edit", "input": given}


def _line(dice: random.Random, kind: str, content: Any = None, **more: Any) -> dict[str, Any]:
    line: dict[str, Any] = {
        "parentUuid": str(uuid.UUID(int=dice.getrandbits(128))), "isSidechain": False, "userType": "external",
        "cwd": "/home/ana/loom", "sessionId": "0b5c1a1e-0000-4000-8000-000000000001", "version": "2.1.80",
        "gitBranch": "main", "type": kind,
    }  # fmt: skip
    if kind != "progress":
        line["message"] = {"role": kind, "content": content}
    return {
        **line, **more, "uuid": str(uuid.UUID(int=dice.getrandbits(128))), "timestamp": "2026-03-01T09:00:00.123Z",
    }  # fmt: skip


_WORDS = [
    "def retry(self, limit: int) -> None:\n", "    the \"shuttle\" waits\n", "return  ", "# /loom.py:41\n", "again; ",
]  # fmt: skip


def _text(dice: random.Random, size: int) -> str:
    return "".join(dice.choices(_WORDS, k=size // 22 + 1))[:size]


def main() -> None:
    parser = argparse.ArgumentParser()
    shared = Path(os.environ.get("MEMORIA_SHARED") or Path(__file__).parents[2] / "shared") / "transcripts"
    parser.add_argument("folder", nargs="?", type=Path, default=shared)
    parser.add_argument("--made", type=int, default=100, help="megabytes of the made-up file; 0: none")
    args = parser.parse_args()
    if args.folder.is_dir():
        measure(str(args.folder), sorted(args.folder.rglob("*.jsonl")))
    if args.made:
        with tempfile.TemporaryDirectory() as scratch:
            made(path := Path(scratch, "made.jsonl"), args.made * 1_000_000)
            measure("made up", [path])


if __name__ == "__main__":
    main()
