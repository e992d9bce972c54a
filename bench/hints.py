"""How long does a prompt wait for its notes? The UserPromptSubmit hook as the client starts it, over 10,000 articles.

    uv run python -m bench.hints [--articles N] [--rounds N]

Started as hooks.json says, the payload on stdin, turn about with a bare interpreter and with the same hook switched
off, so that all see the same machine. Articles and prompts are those of
search.py; prompts are five to twelve words out of an article, and long ones of six sentences of eight words out of six
articles, each in a session of its own. "To weigh": where a model chooses the notes, until the client goes on; the
process that would ask the model ends at once.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bench import hooks, search
from memoria.base import state
from memoria.base.paths import Paths
from memoria.capture.hook import ENTRYPOINT
from memoria.index.documents import Document
from memoria.index.index import Index


def main() -> int:
    """Print p50 and p95 of each way, and the ratio of the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--base", type=Path, help=argparse.SUPPRESS)  # the scratch folder: this is the second process
    args = parser.parse_args()
    if args.base:
        _measure(args.articles, args.rounds, str(args.base))
        return 0
    scratch = tempfile.mkdtemp(prefix="memoria-hints-")
    try:  # once more, in the place of the client, from which a hook takes the user's variables
        words = [sys.executable, "-m", "bench.hints", *sys.argv[1:], "--base", scratch]
        nobody = {"MEMORIA_MODEL": "claude:haiku", "MEMORIA_PYTHON": "/bin/true", "MEMORIA_LIMIT_SPAWNS_PER_MIN": "0"}
        return subprocess.run(words, env=hooks.environment(Path(scratch)) | nobody, check=False).returncode
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _measure(articles: int, rounds: int, scratch: str) -> None:
    paths = Paths(os.environ["MEMORIA_HOME"])
    state.open_state(paths)
    chance = random.Random(7)
    made = [replace(document, project="") for document in search._documents(articles, chance)]
    with Index(paths.index) as index:
        index.add(made)
    handler = json.loads(Path(hooks.ROOT, "hooks", "hooks.json").read_text("utf-8"))["hooks"]["UserPromptSubmit"]
    declared = handler[0]["hooks"][0]["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(hooks.ROOT))
    named = declared.replace(
        '/run"', f'/run" {hooks.interpreter()}'
    )  # as where a session's start noted the interpreter
    hook = ["/bin/sh", "-c", named]
    env = {**os.environ, "CLAUDECODE": "1", "CLAUDE_PID": str(os.getpid())}
    off = {**os.environ, "MEMORIA_NOTES": "none"}  # outside a session, where the variable is the user's
    taken: dict[str, list[float]] = {
        "bare interpreter": [],
        "hook, switched off": [],
        "hook": [],
        "hook, long prompt": [],
        "hook, to weigh": [],
        "long, to weigh": [],
    }
    weigh = env | {ENTRYPOINT: "cli"}
    given = handed = 0
    for number in range(rounds):
        short = _some(made, chance, chance.randint(5, 12))
        raw = _payload(number, scratch, short)
        long = " ".join(f"{_some(made, chance, 8)}." for _ in range(6))
        taken["bare interpreter"].append(_timed([hooks.interpreter(), "-S", "-I", "-c", "pass"], env, raw)[0])
        taken["hook, switched off"].append(_timed(hook, off, raw)[0])
        took, said = _timed(hook, env, raw)
        taken["hook"].append(took)
        given += bool(said)
        taken["hook, long prompt"].append(_timed(hook, env, _payload(f"{number}-long", scratch, long))[0])
        took, said = _timed(hook, weigh, _payload(f"{number}-weigh", scratch, short))
        taken["hook, to weigh"].append(took)
        handed += b'"async"' in said
        taken["long, to weigh"].append(_timed(hook, weigh, _payload(f"{number}-both", scratch, long))[0])
    bare = statistics.median(taken["bare interpreter"])
    for name, times in taken.items():
        cuts = statistics.quantiles(times, n=20)
        middle = statistics.median(times)
        print(f"{name:20} p50 {middle:6.1f} ms   p95 {cuts[18]:6.1f} ms   {middle / bare:.2f} x bare")
    print(f"{given} of {rounds} prompts were given notes, {handed} had notes to weigh, {articles} articles")


def _some(made: list[Document], chance: random.Random, words: int) -> str:
    """The first words of a passage."""
    return " ".join(chance.choice(chance.choice(made).passages).text.split()[:words])


def _payload(session: object, cwd: str, prompt: str) -> bytes:
    given = {"session_id": f"s{session}", "cwd": cwd, "hook_event_name": "UserPromptSubmit", "prompt": prompt}
    return json.dumps(given | {"permission_mode": "default"}).encode()


def _timed(words: list[str], env: Mapping[str, str], payload: bytes) -> tuple[float, bytes]:
    """Milliseconds until the process has printed a line or is gone, and what it said."""
    start = time.perf_counter()
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=env, stdin=pipe, stdout=pipe, stderr=pipe) as run:
        assert run.stdin
        assert run.stdout
        run.stdin.write(payload)
        run.stdin.close()
        said = run.stdout.readline()
        if not said.endswith(b"\n"):
            run.wait()
        took = 1000 * (time.perf_counter() - start)
    assert run.returncode == 0
    return took, said


if __name__ == "__main__":
    sys.exit(main())
