"""Tell the hooks anything, and see that they exit with 0, print nothing but the protocol's JSON and lose nothing.

``uv run python -m bench.fuzz --inputs 10000`` starts every registered hook as its client does, each with an input
that hypothesis made up: bytes, JSON of any shape, recorded payloads with fields of wrong types, tool inputs that no
tool has, paths that are folders, FIFOs, devices or memoria's own files, text with NULs and lone surrogates, cut short
or megabytes long. A hook must end within the time that its client gives it, and must not have failed inside on an input
that it could read. In between, a real session goes on; in the end every one of its turns stands in the daily logs
exactly once, and nothing was written outside home and state. Short form: tests/test_faults.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bench.faults import MOMENTS, TOOLS, Tally, World, fill
from full_disk import Done
from memoria.base.paths import safe_name
from memoria.capture import hook as hooks
from registered import HOOKS, payloads

ROOT = Path(__file__).resolve().parents[1]

PAYLOADS = payloads()
FIELDS = sorted({name for said in PAYLOADS.values() for payload in said for name in payload})
TEXTS = sorted({name for given in TOOLS.values() for name in given} | {"edits"})  # of a tool's input
MAX_LOGGED = 10_000  # characters of one run of a hook
ODD: tuple[Any, ...] = (
    "", "\0", "/a\0", "~\0/x", "\ud800", "/a\ud800", "~\ud800/x", "a/../../x", "~nobody/x", "x" * 5_000, "/a" * 400_000,
    "a.b/c " * 100_000, None, 7, -1e308, True, ["x"], {"x": 1}, [{"old_string": "aB_ccc", "new_string": None}] * 20_000,
    "make deploy " + "x=1 " * 400, "'make deploy", "cat <<EOF > src/prices.py\n" * 200, "sudo " * 900 + "make deploy",
    "\u202e\u200b\ufeff make deploy", "\\" * 3_999, "..", "/dev/zero", "/proc/self/mem", "C:\\temp\\new\\r.jsonl",
)  # fmt: skip
EVERY = 50  # inputs between two exchanges of the real session


@dataclass
class Report:
    """What was said to the hooks, and what was wrong with their answers."""

    inputs: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)  # inputs to which a hook said something
    slowest_s: float = 0.0
    trouble: list[str] = field(default_factory=list)


def inputs(world: World, name: str) -> st.SearchStrategy[bytes]:
    """Anything that could stand on the stdin of a hook; ``world`` names paths that are worth trying."""
    odd = st.sampled_from(ODD) | st.sampled_from(_paths(world)) | st.text(max_size=40) | st.floats() | st.none()
    values = st.recursive(
        odd, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
    )
    fields = st.dictionaries(st.sampled_from(FIELDS), values, max_size=3)
    tool = st.builds(
        lambda known, odd: {"tool_input": {**known, **odd}}, st.sampled_from(list(TOOLS.values())),
        st.dictionaries(st.sampled_from(TEXTS), values, min_size=1, max_size=2),
    )  # fmt: skip
    payload = st.builds(lambda known, odd: {**known, **odd}, _plausible(world, name), fields | tool)
    text = st.builds(_dumped, payload | payload | values, st.booleans())
    cut = st.builds(lambda raw, at: raw[: at % (len(raw) + 1)], text, st.integers(0, 4_000))
    return text | text | cut | text.map(lambda raw: raw.replace(b"/", b"\\")) | st.binary(max_size=300)


def _each(world: World) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each odd value in each field of what a client says of each event, and in each text of a tool's input."""
    for name, hook in HOOKS.items():
        places = [(False, place) for place in FIELDS] + [(True, place) for place in TEXTS if hook.tools]
        for number, ((is_of_tool, place), value) in enumerate(product(places, ODD)):
            tool = hook.tools[number % len(hook.tools)] if hook.tools else "Bash"
            odd = {"tool_input": {**TOOLS[tool], place: value}} if is_of_tool else {place: value}
            said = {**PAYLOADS[hook.event][0], **MOMENTS.get(hook.event, {}), "cwd": str(world.project)}
            said |= {"session_id": f"{name}-{number}", "tool_name": tool, "tool_input": TOOLS[tool]}
            yield name, {**said, **odd}


def _plausible(world: World, name: str) -> st.SearchStrategy[dict[str, Any]]:
    """What a client says of the event, mostly so that the hook has something to say in a session that is new to it."""
    hook, every = HOOKS[name], [payload for said in PAYLOADS.values() for payload in said]
    tools = [{"tool_name": tool, "tool_input": TOOLS[tool]} for tool in hook.tools] or [{}]
    telling = st.builds(
        lambda known, tool, session: {
            **known, **MOMENTS.get(hook.event, {}), **tool, "cwd": str(world.project), "session_id": session
        },
        st.sampled_from(PAYLOADS[hook.event]), st.sampled_from(tools), st.integers(0, 10**9).map("s{}".format),
    )  # fmt: skip
    return telling | telling | st.sampled_from(every)


def _dumped(value: Any, ascii_only: bool = True) -> bytes:
    """JSON with escapes, by which NULs and lone surrogates reach a hook, or as UTF-8."""
    return json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")


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


def as_process(world: World, name: str, raw: bytes) -> Done:
    """The hook as the client starts it."""
    try:
        done = subprocess.run(
            world.command(name), input=raw, env=world.env, cwd=world.project, capture_output=True, check=False,
            timeout=HOOKS[name].timeout_s,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Done(-14, "", "it hung", ())
    return Done(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"), ())


def campaign(
    base: Path, count: int, start: Callable[[World, str, bytes], Done], number: int = 1, every: int = 1
) -> tuple[Report, Tally]:
    """So many inputs to all hooks in turn while a session goes on, then each odd value in each field; settle and count.

    ``every``: of those odd values, take only one in so many.
    """
    world, report, tally = World(base, number), Report(), Tally()
    world.env["MEMORIA_EXCLUDE"] = "client-*,**/clients/**"
    fill(world)
    log = Path(world.paths.hook_log)
    world.say_to_codex()
    known = {name: st.tuples(st.just(name), inputs(world, name)) for name in HOOKS}
    anything = st.sampled_from(list(HOOKS)).flatmap(known.__getitem__)
    before = _outside(world)

    def say(name: str, raw: bytes) -> None:
        logged = log.stat().st_size
        began = time.monotonic()
        done = start(world, name, raw)
        report.slowest_s = max(report.slowest_s, time.monotonic() - began)
        report.inputs[name] += 1
        report.answers[name] += bool(done.out)
        with log.open("rb") as file:
            file.seek(logged)
            said = file.read().decode("utf-8", "replace")
        if wrong := _wrong(name, done) or _failed(raw, said):
            report.trouble.append(f"{name} {raw[:300]!r} ({len(raw)} bytes): {wrong}")

    @seed(number)
    @settings(max_examples=count, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(anything)
    def tell(chosen: tuple[str, bytes]) -> None:
        name, raw = chosen
        if report.inputs.total() >= count:
            return
        if report.inputs.total() % EVERY == 0:
            world.say(world.session)
            world.fire("Stop")
            world.say_to_codex()
            world.fire("codex Stop")
        say(name, raw)

    tell()
    for name, value in islice(_each(world), 0, None, every):
        say(name, _dumped(value))
    report.trouble += sorted(_outside(world) - before)
    world.settle(tally, only=safe_name(world.session))
    return report, tally


def _failed(raw: bytes, logged: str) -> str:
    """What went wrong inside a hook that could read its input; a line of the log is never longer than it may be."""
    if len(logged) > MAX_LOGGED:
        return f"logged {len(logged)} characters"
    try:
        hooks.read_payload(raw)
    except ValueError:
        return ""
    return next((row for row in logged.splitlines() if " ERROR " in row), "")


def _wrong(name: str, done: Done) -> str:
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
    return "" if HOOKS[name].may_speak and whole else f"printed {done.out[:200]!r}"


def _outside(world: World) -> set[str]:
    """Every path below the world's folder that is not memoria's own."""
    ours = world.paths.home, str(world.base / ".cache")
    return {str(path) for path in world.base.rglob("*") if not str(path).startswith(ours)}


def main() -> int:
    """Run the long form and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="of the odd values in each field, one in so many")
    args = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="memoria-fuzz-"))
    started = time.monotonic()
    report, tally = campaign(base, args.inputs, as_process, args.seed, args.every)
    each = ", ".join(
        f"{name} {count} ({report.answers[name]} answered)" for name, count in sorted(report.inputs.items())
    )
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
