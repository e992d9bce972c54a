"""What a hook costs, as the client starts it, against the bare interpreter in the same run.

``uv run python tests/bench/hooks.py [--runs 40] [--sizes 10000,1000000]`` prints a table. The interpreter is the one
that the client would find: the first ``python3`` on PATH outside any virtual environment or version manager's shims
(``--python`` names another). The worker is replaced by ``/bin/true``, so that only the hook is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parents[2]
SIZES = (10_000, 1_000_000, 100_000_000, 1_000_000_000)
EVENTS = ("Stop", "PreCompact", "SessionEnd", "SessionStart")
ANSWER = b'{"type":"assistant","uuid":"%08d-0000-4000-8000-000000000000","sessionId":"s","message":{"role":"assistant",'
ANSWER += b'"content":[{"type":"text","text":"' + b"word " * 300 + b'"}]}}\n'


def interpreter() -> str:
    """The python3 a client started from a desktop or shell finds, version managers' shell shims apart."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = Path(folder, "python3")
        if path.exists() and "shims" not in path.parts and ".venv" not in path.parts:
            return str(path)
    return sys.executable


class Bench:
    """One home, one transcript per size, and a stop-watch."""

    def __init__(self, base: Path, python: str) -> None:
        self.base = base
        self.python = python
        self.count = 0
        registered = json.loads((ROOT / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
        self.words = {
            event: [
                word.replace("${CLAUDE_PLUGIN_ROOT}", str(ROOT)) for word in registered[event][0]["hooks"][0]["args"]
            ]
            for event in EVENTS
        }
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": str(base), "MEMORIA_HOME": str(base / "home"),
            "MEMORIA_PYTHON": "/bin/true", "MEMORIA_SPAWNS_PER_MIN": "1000000", "CLAUDECODE": "1",
            "CLAUDE_PID": str(os.getpid()),  # this process stands for the client, which is the hook's parent
        }  # fmt: skip

    def transcript(self, size: int) -> Path:
        """A transcript of ``size`` bytes, sparse but for its last lines."""
        path = self.base / f"{size}.jsonl"
        with path.open("wb") as file:
            file.seek(max(0, size - 12_000))
            file.write(b"\n")
            while file.tell() < size:
                file.write(self._line())
        return path

    def _line(self) -> bytes:
        self.count += 1
        return ANSWER % self.count

    def time(self, words: list[str], payload: bytes = b"") -> float:
        """Milliseconds of one process, from its start to its end."""
        begin = time.perf_counter()
        done = subprocess.run(words, input=payload, env=self.env, capture_output=True, check=True)
        elapsed = time.perf_counter() - begin
        assert not done.stdout or words[-1].endswith("session-start.py"), done.stdout
        return elapsed * 1000

    def bare(self) -> float:
        """The interpreter alone."""
        return self.time([self.python, "-S", "-I", "-c", "pass"])

    def hook(self, event: str, session: str, path: Path) -> float:
        """One hook after one more answer of the client."""
        with path.open("ab") as file:
            file.write(self._line())
        payload = {"session_id": session, "transcript_path": str(path), "cwd": str(self.base), "hook_event_name": event}
        return self.time([self.python, *self.words[event]], json.dumps(payload).encode())

    def first(self, path: Path) -> float:
        """The first hook of a session: there is no cursor, and up to 8 MiB are copied."""
        return self.hook("Stop", f"new-{self.count}", path)

    def clear(self) -> None:
        """Nothing waits: as after a worker's run."""
        for job in Path(self.base, "home", ".memoria", "spool", "new").glob("*.job"):
            job.unlink()


def measure(bench: Bench, runs: int, sizes: list[int]) -> None:
    """Print the table, hooks and the bare interpreter taking turns."""
    print(f"{bench.python} ({platform.machine()}); {runs} runs each, interleaved with the bare interpreter; ms")
    print(f"{'hook':<24}{'transcript':>14}{'p50':>8}{'p95':>8}{'bare p50':>10}{'ratio':>7}")
    medians: dict[tuple[str, int], float] = {}
    for size in sizes:
        path = bench.transcript(size)
        for event in EVENTS:
            bench.hook(event, f"warm-{size}", path)
            row = _row(bench, runs, partial(bench.hook, event, f"warm-{size}", path))
            medians[event, size] = _say(event, size, *row)
        first = _row(bench, max(5, runs // 4), partial(bench.first, path))
        _say("Stop, first of session", size, *first)
        path.unlink()
    for event in EVENTS:
        growth = medians[event, sizes[-1]] / medians[event, sizes[0]]
        print(f"{event}: a transcript of {sizes[-1]:,} bytes costs {growth:.2f} times one of {sizes[0]:,}")


def _row(bench: Bench, runs: int, hook: Callable[[], float]) -> tuple[list[float], list[float]]:
    bare, ours = [], []
    for _ in range(runs):
        bare.append(bench.bare())
        ours.append(hook())
        bench.clear()
    return ours, bare


def _say(label: str, size: int, ours: list[float], bare: list[float]) -> float:
    middle, ground = median(ours), median(bare)
    worst = quantiles(ours, n=20)[-1]
    print(f"{label:<24}{size:>14,}{middle:>8.1f}{worst:>8.1f}{ground:>10.1f}{middle / ground:>7.2f}", flush=True)
    return middle


def main() -> int:
    """Measure in a scratch folder and remove it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--python", default=interpreter())
    args = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="memoria-hooks-"))
    try:
        measure(Bench(base, args.python), args.runs, [int(size) for size in args.sizes.split(",")])
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
