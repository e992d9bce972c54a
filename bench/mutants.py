"""Break memoria line by line, and see whether a test notices.

``uv run python -m bench.mutants`` works through ``mutants.txt``: each mutant is one text of a module replaced by
another, chosen where a wrong line loses, doubles or corrupts something. It is applied to a copy of the tree with an
environment of its own, and the tests named for its module run until the first fails, slow ones last. A mutant that
survives wants a test, or a reason in docs/reliability.md. Arguments select: modules or words of a mutant's name.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PACKAGE = Path("scripts", "memoria")
LIST = Path(__file__).with_suffix(".txt")
PYTEST = ("-x", "-q", "-p", "no:cacheprovider")
FAST, SLOW = ("-m", "not slow"), ("-m", "slow")
NOT_THERE, NOTHING_RAN = 4, 5  # pytest's status when a file is missing, and when the files hold no such test
SURVIVED = "survived"
# Loads what is slow to load, then runs pytest in a child of its own for each line: [output, seconds, argument, ...].
# The status is pytest's; a child that takes too long is killed with all it started, and its status is negative.
SERVER = """
import json, os, signal, sys, time
import pytest, hypothesis.strategies
for line in sys.stdin:
    output, seconds, *arguments = json.loads(line)
    child = os.fork()
    if not child:
        os.setsid()
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        status = pytest.main([*arguments, "-W", "ignore::pytest.PytestAssertRewriteWarning"])
        sys.stdout.flush()
        os._exit(status)
    end = time.monotonic() + seconds
    while not (done := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.02)
    if not done[0]:
        os.killpg(child, signal.SIGKILL)
        done = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(done[1]), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One line broken: ``old``, which stands once in ``module``, a file or folder of the package, becomes ``new``."""

    module: str
    name: str
    old: str
    new: str
    tests: tuple[str, ...]

    def place(self, package: Path) -> Path:
        """Return the file to break; raise LookupError when ``old`` does not stand there exactly once."""
        path = package / self.module
        files = sorted(path.glob("*.py")) if path.is_dir() else [path]
        found = [file for file in files for _ in range(file.read_text(encoding="utf-8").count(self.old))]
        if len(found) != 1:
            raise LookupError(f"stands there {len(found)} times")
        return found[0]


def read(text: str) -> Iterator[Mutant]:
    """Yield the mutants of a list: ``== module: tests``, then for each ``-- name``, the old text, ``=>``, the new."""
    for part in text.split("\n== ")[1:]:
        head, *bodies = part.rstrip("\n").split("\n-- ")
        module, _, tests = head.partition(": ")
        for body in bodies:
            name, _, change = body.partition("\n")
            old, _, new = change.rstrip("\n").partition("\n=>")
            yield Mutant(module, name, old, new.removeprefix("\n"), tuple(tests.split()))


def copy_tree(folder: Path) -> None:
    """Copy what git knows of the tree, with an environment in which the copy is the installed package."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    ).stdout.decode().split("\0")  # fmt: skip
    for name in (*names, "uv.lock"):
        if name and ((ROOT / name).is_file() or (ROOT / name).is_symlink()):  # doctor looks at the plugin's links
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    subprocess.run(["uv", "sync", "--quiet"], cwd=folder, env=environment, check=True)


class Tests:
    """Runs tests in the copy, in children of a process that has pytest and the libraries loaded already."""

    def __init__(self, tree: Path, timeout_s: float) -> None:
        self.tree, self.timeout_s = tree, timeout_s
        programs = tree / ".venv" / "bin"  # on the PATH as ``uv run`` has it: messages name the command as it is found
        self._process = subprocess.Popen(
            [str(programs / "python"), "-c", SERVER], cwd=tree, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "PATH": os.pathsep.join((str(programs), os.environ["PATH"]))},
        )  # fmt: skip

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def verdict(self, tests: Sequence[str]) -> str:
        """Run the module's own tests, then the others, then the slow ones; return the first that failed."""
        for some, which in ((tests[:1], FAST), (tests[1:], FAST), (tests, SLOW)):
            found = self._run([*which, *some]) if some else SURVIVED
            if found != SURVIVED:
                return found
        return SURVIVED

    def _run(self, tests: Sequence[str]) -> str:
        assert self._process.stdin
        assert self._process.stdout
        output = self.tree / "output.txt"
        self._process.stdin.write(json.dumps([str(output), self.timeout_s, *PYTEST, *tests]) + "\n")
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        if status in (0, NOTHING_RAN):
            return SURVIVED
        if status < 0:
            return "timed out"
        lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if status == NOT_THERE:
            return f"stale: {lines[-1]}"
        failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
        return failed[0].split(" - ")[0].partition(" ")[2] if failed else lines[-1]


def try_out(mutant: Mutant, tests: Tests) -> str:
    """Apply one mutant to the copy, run its tests, and put the module back."""
    try:
        path = mutant.place(tests.tree / PACKAGE)
    except LookupError as error:
        return f"stale: {error}"
    whole = path.read_text(encoding="utf-8")
    try:
        put(path, whole.replace(mutant.old, mutant.new))
        return tests.verdict(mutant.tests)
    finally:
        put(path, whole)


def put(path: Path, text: str) -> None:
    """Write a module; its bytecode goes, because Python takes a text of the same second and size for the same."""
    path.write_text(text, encoding="utf-8")
    Path(cache_from_source(path)).unlink(missing_ok=True)


def main() -> int:
    """Try every mutant that was asked for; 1 when one survives or is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutants whose module or name holds one of these")
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds for the tests of one mutant")
    parser.add_argument("--part", default="1/1", help="2/3: only the second of three parts, for runs side by side")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    mutants = list(read(LIST.read_text(encoding="utf-8")))
    chosen = [
        mutant for mutant in mutants
        if not options.words or any(word in f"{mutant.module} {mutant.name}" for word in options.words)
    ][part - 1 :: parts]  # fmt: skip
    total, killed = Counter[str](), Counter[str]()
    bad = 0
    with tempfile.TemporaryDirectory(prefix="memoria-mutants-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        tests = Tests(tree, options.timeout)
        for mutant in chosen:
            found = try_out(mutant, tests)
            lives = found == SURVIVED or found.startswith("stale")
            bad += lives
            total[mutant.module] += 1
            killed[mutant.module] += not lives
            print(f"{mutant.module}: {mutant.name}: {found}", flush=True)
        tests.close()
    print("\n| module | mutants | killed |\n|---|---|---|")
    for module in total:
        print(f"| {module} | {total[module]} | {killed[module]} |")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
