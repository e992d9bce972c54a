"""What a hook costs, as the client starts it, against the bare interpreter in the same run.

``uv run python -m bench.hooks [--runs 40] [--sizes 10000,1000000]`` prints a table: the time that a hook takes,
and its processor time without the worker's as a multiple of the interpreter's, the least and the median.
``--against FOLDER`` has the hooks of another checkout take turns with these. The interpreter is the one that the client
would find: the first ``python3`` on PATH outside any virtual environment or version manager's shims (``--python`` names
another). The worker is replaced by ``/bin/true``, so that only the hook is measured. The hooks of prompts and of tool
uses, which read no transcript, are measured over an index of 3,000 facts: with nothing to say, with a note, and with
notes that a model is to weigh.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median, quantiles

from memoria.base import project, state
from memoria.base.paths import Paths
from memoria.capture.hook import ENTRYPOINT
from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from memoria.recall import naming_notes
from memoria.search.tokens import word_set

ROOT = Path(__file__).resolve().parents[1]


SIZES = (10_000, 1_000_000, 100_000_000, 1_000_000_000)
EVENTS = ("Stop", "PreCompact", "SessionEnd", "SessionStart")
FACTS = 3_000
NOUNS = sorted(
    word_set(
        """anchor bakery canyon dolphin engine falcon garden harbour island jacket kettle ladder market needle orchard
    pencil quarry ribbon saddle table umbrella valley window yellow zipper acorn bridge candle desert ember
    forest glacier hammer ivory jungle kernel lantern meadow nectar oyster pebble quartz river summit tunnel
    uniform velvet willow xenon yogurt zephyr rule target"""
    )
)
RULE = "Use tabs in Makefiles, never spaces; the linker cannot find libzebra without ldconfig."
PROMPT = "Why does the linker say that it cannot find libzebra, and what about the table?"
DECISIONS: dict[str, tuple[str, dict[str, object]]] = {  # label -> the event, what the client says of it
    "PreToolUse, reading": ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "git status"}}),
    "PreToolUse, Bash": ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "npm run build"}}),
    "PreToolUse, Edit": ("PreToolUse", {"tool_name": "Edit", "tool_input": {"file_path": "/x/part_7/other.py",
                         "old_string": "tide_table = fetch(harmonics)", "new_string": "tideTable = fetch()"}}),
    "PreToolUse, a note": ("PreToolUse", {"tool_name": "Write", "tool_input": {"file_path": "/x/Makefile"}}),
    "Failure": ("PostToolUseFailure", {"error": "Exit code 2\nmake: *** No rule to make target 'table'.  Stop."}),
    "Failure, a note": ("PostToolUseFailure", {"error": "Exit code 1\nld: linker cannot find libzebra"}),
    "SubagentStart": ("SubagentStart", {"agent_id": "a1", "agent_type": "Explore"}),
    "Prompt, a note": ("UserPromptSubmit", {"prompt": PROMPT}),
    "Prompt, to weigh": ("UserPromptSubmit", {"prompt": "Let the linker find libzebra.", "permission_mode": "default"}),
}  # fmt: skip
ANSWER = b'{"type":"assistant","uuid":"%08d-0000-4000-8000-000000000000","sessionId":"s","message":{"role":"assistant",'
ANSWER += b'"content":[{"type":"text","text":"' + b"word " * 300 + b'"}]}}\n'


def interpreter() -> str:
    """The python3 a client started from a desktop or shell finds, version managers' shell shims apart."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = Path(folder, "python3")
        if path.exists() and "shims" not in path.parts and ".venv" not in path.parts:
            return str(path)
    return sys.executable


Cost = tuple[float, float]  # milliseconds of a process: from its start to its end, and of processors


class Bench:
    """One home, one transcript per size, and a stop-watch."""

    def __init__(self, base: Path, python: str, root: Path = ROOT) -> None:
        self.base = base
        self.python = python
        self.count = 0
        self.said = b""
        registered = json.loads((root / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
        self.words = {event: self._words(given[0]["hooks"][0], root) for event, given in registered.items()}
        link = base / ".cache" / "memoria" / "python3"  # as the first session's start leaves it
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(Path(python).resolve())
        # this process stands for the client, the hook's parent: hooks take their settings from its environment
        self.env = {**os.environ, "CLAUDECODE": "1", "CLAUDE_PID": str(os.getpid())}

    def _words(self, handler: dict[str, str], root: Path) -> list[str]:
        """What the client starts for a hook, in shell form, or in exec form as until 0.2."""
        words = [self.python, *handler["args"]] if "args" in handler else ["/bin/sh", "-c", handler["command"]]
        return [word.replace("${CLAUDE_PLUGIN_ROOT}", str(root)) for word in words]

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

    def time(self, words: list[str], payload: bytes = b"", **more: str) -> Cost:
        """The cost of one process; what it starts in the background is not waited for and not counted."""
        begin, before = time.perf_counter(), _processor_s()
        done = subprocess.run(words, input=payload, env=self.env | more, capture_output=True, check=True)
        elapsed, used = time.perf_counter() - begin, _processor_s() - before
        self.said = done.stdout
        may_speak = re.search(r"(set |hooks/)(session-start|user|pre-tool|post-tool|subagent)", " ".join(words))
        assert may_speak or not done.stdout, done.stdout
        return elapsed * 1000, used * 1000

    def bare(self) -> Cost:
        """The interpreter alone."""
        return self.time([self.python, "-S", "-I", "-c", "pass"])

    def hook(self, event: str, session: str, path: Path) -> Cost:
        """One hook after one more answer of the client."""
        with path.open("ab") as file:
            file.write(self._line())
        payload = {"session_id": session, "transcript_path": str(path), "cwd": str(self.base), "hook_event_name": event}
        return self.time(self.words[event], json.dumps(payload).encode())

    def remember(self) -> None:
        """Fill the index with facts of the folder's project, one of which names what is touched."""
        paths = Paths(str(self.base / "home"))
        state.open_state(paths)
        own = project.key_of_path(str(self.base))
        texts = [
            f"{NOUNS[number % 53]} {number} in part_{number % 61}: {NOUNS[number % 47]}." for number in range(FACTS)
        ]
        with Index(paths.index) as index:
            index.add(
                Document("daily/2026-11-20.md", "fact", f"l-{number:08d}", "before", own,
                         passages=(Passage(text, "correction"),))
                for number, text in enumerate([*texts, RULE])
            )  # fmt: skip
            index.prepare(naming_notes.LEVELS, lambda said: Path(paths.named).write_text(naming_notes.names_in(said)))

    def decide(self, label: str) -> Cost:
        """One hook of a prompt or a tool use, in a session of its own."""
        self.count += 1
        event, about = DECISIONS[label]
        said = {"session_id": f"tool-{id(self)}-{self.count}", "cwd": str(self.base), "hook_event_name": event, **about}
        more: dict[str, str] = {ENTRYPOINT: "cli"} if label.endswith("to weigh") else {}
        elapsed = self.time(self.words[event], json.dumps(said).encode(), **more)
        assert bool(self.said) is label.endswith(("a note", "to weigh")), self.said
        assert (b'"async"' in self.said) is label.endswith("to weigh"), self.said
        return elapsed

    def first(self, path: Path) -> Cost:
        """The first hook of a session: there is no cursor, and up to 8 MiB are copied."""
        return self.hook("Stop", f"new-{self.count}", path)

    def clear(self) -> None:
        """Nothing waits: as after a worker's run."""
        for job in Path(self.base, "home", ".memoria", "spool", "new").glob("*.job"):
            job.unlink()


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(bench: Bench, runs: int, sizes: list[int], other: Bench | None) -> None:
    """Print the table, hooks and the bare interpreter taking turns."""
    print(f"{bench.python} ({platform.machine()}); {runs} runs each, interleaved with the bare interpreter; ms")
    print(f"{'hook':<32}{'bytes or facts':>15}{'p50':>8}{'p95':>8}{'ratio':>7}{'processor: least':>18}{'median':>8}")
    medians: dict[tuple[str, int], float] = {}
    both = [bench, other] if other else [bench]
    for size in sizes:
        paths = [each.transcript(size) for each in both]
        for event in EVENTS:
            hooks = [
                partial(each.hook, event, f"{each.base.name}-{size}", path)
                for each, path in zip(both, paths, strict=True)
            ]
            for hook in hooks:
                hook()
            rows = _rows(both, runs, hooks)
            medians[event, size] = _say(event, size, *rows[0])
            for row in rows[1:]:
                _say(f"{event}, the other's", size, *row)
        first = _rows(both[:1], max(5, runs // 4), [partial(bench.first, paths[0])])
        _say("Stop, first of session", size, *first[0])
        for path in paths:
            path.unlink()
    bench.remember()
    for each in both:  # hooks take their home from the environment of this process: it is one
        each.base = bench.base
    for label in DECISIONS:
        hooks = [partial(each.decide, label) for each in both]
        for hook in hooks:
            hook()
        rows = _rows(both, runs, hooks)
        _say(label, FACTS, *rows[0])
        for row in rows[1:]:
            _say(f"{label}, the other's", FACTS, *row)
    for event in EVENTS:
        growth = medians[event, sizes[-1]] / medians[event, sizes[0]]
        print(f"{event}: a transcript of {sizes[-1]:,} bytes costs {growth:.2f} times one of {sizes[0]:,}")


def _rows(
    benches: Sequence[Bench], runs: int, hooks: Sequence[Callable[[], Cost]]
) -> list[tuple[list[Cost], list[Cost]]]:
    bare: list[Cost] = []
    taken: list[list[Cost]] = [[] for _ in hooks]
    for _ in range(runs):
        bare.append(benches[0].bare())
        for number, hook in enumerate(hooks):
            taken[number].append(hook())
            benches[number].clear()
    return [(ours, bare) for ours in taken]


def _say(label: str, size: int, ours: list[Cost], bare: list[Cost]) -> float:
    wall, used = ([cost[kind] for cost in ours] for kind in (0, 1))
    bare_wall, bare_used = ([cost[kind] for cost in bare] for kind in (0, 1))
    middle = median(wall)
    print(
        f"{label:<32}{size:>15,}{middle:>8.1f}{quantiles(wall, n=20)[-1]:>8.1f}{middle / median(bare_wall):>7.2f}"
        f"{min(used) / min(bare_used):>18.2f}{median(used) / median(bare_used):>8.2f}",
        flush=True,
    )
    return middle


def environment(base: Path) -> dict[str, str]:
    """The environment of a client whose user keeps the memory below ``base``."""
    return {
        "PATH": os.environ.get("PATH", os.defpath), "HOME": str(base), "MEMORIA_HOME": str(base / "home"),
        "MEMORIA_PYTHON": "/bin/true",
    }  # fmt: skip


def main() -> int:
    """Measure in a scratch folder and remove it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--python", default=interpreter())
    parser.add_argument("--against", type=Path, help="another checkout")
    parser.add_argument("--base", type=Path, help=argparse.SUPPRESS)  # the scratch folder: this is the second process
    args = parser.parse_args()
    if args.base:
        bench, other = Bench(args.base, args.python), None
        if args.against:
            other = Bench(args.base / "other", args.python, args.against.resolve())
            other.base.mkdir(exist_ok=True)
            other.env["MEMORIA_HOME"] = str(other.base / "home")
        measure(bench, args.runs, [int(size) for size in args.sizes.split(",")], other)
        return 0
    base = Path(tempfile.mkdtemp(prefix="memoria-hooks-"))
    try:
        words = [sys.executable, "-m", "bench.hooks", "--python", args.python, *sys.argv[1:], "--base", str(base)]
        return subprocess.run(words, env=environment(base), check=False).returncode
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
