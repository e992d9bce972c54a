"""Tell the hooks anything, and see that they exit with 0, print nothing but the protocol's JSON and lose nothing.

``uv run python tests/bench/fuzz.py --inputs 10000`` starts six hooks (all but those of tools and sub-agents) as the
client does, each with an input that hypothesis made up: bytes, JSON of any shape, recorded payloads with fields of
wrong types, paths that are folders, FIFOs, devices or memoria's own files, cut short or megabytes long. In between, a
real session goes on; in the end every one of its turns stands in the daily logs exactly once, and nothing was written
outside home and state. Short form: tests/test_faults.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests"), str(ROOT / "tests" / "support")]

from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402 (found through the line above)
from hypothesis import strategies as st  # noqa: E402

from bench.faults import HOOKS, SPEAKING, Tally, World  # noqa: E402
from full_disk import Done  # noqa: E402
from memoria.base.paths import safe_name  # noqa: E402

FIELDS = (
    "session_id", "transcript_path", "cwd", "hook_event_name", "source", "reason", "trigger", "prompt",
    "compact_summary", "stop_hook_active", "last_assistant_message",
)  # fmt: skip
PAYLOADS = [json.loads(path.read_bytes()) for path in sorted((ROOT / "tests" / "fixtures" / "payloads").glob("*.json"))]
PATIENCE_S = 20.0
EVERY = 50  # inputs between two exchanges of the real session


@dataclass
class Report:
    """What was said to the hooks, and what was wrong with their answers."""

    inputs: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    trouble: list[str] = field(default_factory=list)


def inputs(world: World) -> st.SearchStrategy[bytes]:
    """Anything that could stand on a hook's stdin; ``world`` names paths that are worth trying."""
    hostile = _paths(world)
    paths = st.sampled_from(hostile) | st.text(max_size=40) | st.text("./\\~ab\0", max_size=30)
    names = st.sampled_from(["", ".", "..", "/", "a/b", "../../x", "a" * 300, "é" * 200, "\0", "con", world.session])
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | paths | names
    values = st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
    )
    strange = st.dictionaries(st.sampled_from(FIELDS), values, max_size=6)
    aimed = st.fixed_dictionaries({}, optional={
        "session_id": names | st.text(max_size=20), "transcript_path": paths, "cwd": paths,
        "prompt": st.text(max_size=200), "compact_summary": st.text(max_size=200), "source": st.sampled_from(
            ["startup", "resume", "clear", "compact", ""]), "hook_event_name": st.sampled_from([*HOOKS, "", "Other"]),
    })  # fmt: skip
    payload = st.builds(lambda known, odd: {**known, **odd}, st.sampled_from(PAYLOADS), strange | aimed)
    text = (payload | strange | aimed | values).map(_dumped)
    cut = st.builds(lambda raw, at: raw[: at % (len(raw) + 1)], text, st.integers(0, 4_000))
    letters = st.sampled_from([b"x", b"\\", b"[", b"\xff"])
    huge = st.builds(
        lambda raw, size, letter: raw[:-1] + b',"x":"' + letter * size + b'"}',
        aimed.map(_dumped), st.integers(100_000, 3_000_000), letters,
    )  # fmt: skip
    windows = text.map(lambda raw: raw.replace(b"/", b"\\"))
    usual = st.binary(max_size=300) | text | text | text | text | cut | windows
    return st.integers(0, 199).flatmap(lambda roll: huge if roll == 0 else usual)


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _paths(world: World) -> list[str]:
    """Places that no transcript should be: made here, below the world's folder, or there on every system."""
    odd = world.base / "odd"
    odd.mkdir(exist_ok=True)
    (odd / "folder.jsonl").mkdir(exist_ok=True)
    (odd / "binary.jsonl").write_bytes(bytes(range(256)) * 40)
    (odd / "long.jsonl").write_bytes(b'{"type":"user","message":{"content":"' + b"x" * 2_000_000 + b'"}}\n')
    if not (odd / "fifo.jsonl").exists():
        os.mkfifo(odd / "fifo.jsonl")
        (odd / "loop.jsonl").symlink_to("loop.jsonl")
    return [
        str(world.transcript(world.session)), *map(str, sorted(odd.iterdir())), world.paths.home, world.paths.ledger,
        world.paths.version, world.paths.spool, str(Path(world.paths.cursors, world.session)), "/dev/zero", "/dev/null",
        "/dev/stdin", "/proc/self/mem", "/proc/self/environ", "/", "//", ".", "..", "~", "~root/x", "a" * 5_000,
        "/" + "a/" * 3_000, "C:\\temp\\new\\r.jsonl", "\\\\server\\share", "/nonexistent/x.jsonl", str(ROOT),
    ]  # fmt: skip


def as_process(world: World, event: str, raw: bytes) -> Done:
    """The hook as the client starts it."""
    try:
        done = subprocess.run(
            [sys.executable, "-S", "-I", str(ROOT / "hooks" / f"{HOOKS[event]}.py")], input=raw, env=world.env,
            cwd=world.project, capture_output=True, check=False, timeout=PATIENCE_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Done(-14, "", "it hung", ())
    return Done(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"), ())


def campaign(
    base: Path, count: int, start: Callable[[World, str, bytes], Done], number: int = 1
) -> tuple[Report, Tally]:
    """So many inputs to all hooks in turn while a session goes on; then settle and count."""
    world, report, tally = World(base, number), Report(), Tally()
    world.env["MEMORIA_SPAWNS_PER_MIN"] = "0"
    world.say(world.session)
    world.fire("SessionEnd", reason="other")
    anything = inputs(world)
    before = _outside(world)

    @seed(number)
    @settings(max_examples=count, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.sampled_from(list(HOOKS)), anything)
    def tell(event: str, raw: bytes) -> None:
        if report.inputs.total() >= count:
            return
        if report.inputs.total() % EVERY == 0:
            world.say(world.session)
            world.fire("Stop")
        began = time.monotonic()
        done = start(world, event, raw)
        report.slowest_s = max(report.slowest_s, time.monotonic() - began)
        report.inputs[event] += 1
        if wrong := _wrong(event, done):
            report.trouble.append(f"{event} {raw[:300]!r}: {wrong}")

    tell()
    report.trouble += sorted(_outside(world) - before)
    world.settle(tally, only=safe_name(world.session))
    return report, tally


def _wrong(event: str, done: Done) -> str:
    """What a hook did that it must not; ``""`` when it did well."""
    if done.status or done.err:
        return f"status {done.status}, {done.err[-500:]!r}"
    if not done.out:
        return ""
    try:
        said = json.loads(done.out)
    except ValueError:
        said = None
    whole = isinstance(said, dict) and set(said) <= {"systemMessage", "hookSpecificOutput"}
    return "" if event in SPEAKING and whole else f"printed {done.out[:200]!r}"


def _outside(world: World) -> set[str]:
    """Every path below the world's folder that is not memoria's own."""
    return {str(path) for path in world.base.rglob("*") if not str(path).startswith(world.paths.home)}


def main() -> int:
    """Run the long form and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="memoria-fuzz-"))
    started = time.monotonic()
    report, tally = campaign(base, args.inputs, as_process, args.seed)
    each = ", ".join(f"{event} {count}" for event, count in sorted(report.inputs.items()))
    print(f"{report.inputs.total()} inputs to real hooks in {time.monotonic() - started:.0f} s ({each}), slowest "
          f"{report.slowest_s:.2f} s: {len(report.trouble)} failed, printed or wrote where they must not")  # fmt: skip
    print(f"{tally.turns} turns said meanwhile: lost {tally.lost}, twice {tally.twice}, stranded {tally.stranded}")
    for line in report.trouble[:20] + tally.trouble:
        print(f"  {line}")
    if report.trouble or not tally.clean:
        print(f"kept for you: {base}")
        return 1
    shutil.rmtree(base, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
