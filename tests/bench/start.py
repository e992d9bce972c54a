"""What a verb with nothing to do costs, in processor time, against the bare interpreter in the same run.

``uv run python tests/bench/start.py [--runs 10]`` prints, for each verb, the median of user and system time and its
ratio to ``python -c pass``. The home and the client's folder are new and empty.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

VERBS = (("observe",), ("flush",), ("status",), ("--help",))
GOAL_S = 0.1


def environment(base: Path) -> dict[str, str]:
    """Return the environment of one home under ``base``; nothing of the caller's but where programs lie."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(base),
        "CLAUDE_CONFIG_DIR": str(base / "claude"),
        "XDG_CONFIG_HOME": str(base / "config"),
        "MEMORIA_HOME": str(base / "home"),
        "MEMORIA_MODEL": "offline",
    }


def cost(words: Sequence[str], env: dict[str, str], runs: int) -> float:
    """Return the median processor time of a Python started with these words, in seconds."""
    spent = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], env=env, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(spent)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        env = environment(Path(folder))
        for verb in VERBS:  # the first run makes the home and the bytecode
            subprocess.run([sys.executable, "-m", "memoria", *verb], env=env, stdout=subprocess.DEVNULL, check=True)
        bare = cost(["-c", "pass"], env, runs)
        print(f"{'bare python':<12} {bare * 1000:6.1f} ms")
        for verb in VERBS:
            spent = cost(["-m", "memoria", *verb], env, runs)
            over = "" if spent <= GOAL_S else f"  over {GOAL_S} s"
            print(f"{' '.join(verb):<12} {spent * 1000:6.1f} ms  {spent / bare:5.1f} times{over}")


if __name__ == "__main__":
    main()
