"""Save files while memoria writes them, and count the saves that no file holds afterwards.

``uv run python -m bench.races --saves 10000`` starts a process that appends to a daily log, or compiles, and
saves the same file from this one at a random moment of each write, in the ways of four kinds of editor. ``--slow 10``
makes the writer's disk slow by hand: it sleeps up to so many milliseconds before and after each sync and each rename.
``--folder`` chooses the file system. A save counts as lost when neither the file nor a conflict copy that the person is
told of contains it once both processes are done. Short form: tests/commands/test_racing_saves.py.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from editors import EDITORS
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry, Learned
from memoria.ground import swap
from memoria.ground.errors import FileBusyError, SavedMeanwhileError
from memoria.ground.home import Home
from memoria.ground.replaced import conflict_copies
from memoria.ground.swap import Swap
from memoria.pages import housekeeping
from memoria.wiki.transaction import ChangedError, Transactions
from places import ROOT
from wiki_home import WikiHome

SAME_DAY = 100  # writes to one daily log before the next, so that files have a usual size
FIRST_DAY = date(2020, 1, 1)
SLUG = "concepts/shop"
WAYS = (*EDITORS, "in place, slowly")


@dataclass
class Tally:
    """What became of the saves."""

    saves: Counter[str] = field(default_factory=Counter)
    met: int = 0
    refused: int = 0
    copies: int = 0
    lost: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        ways = ", ".join(f"{count} {way}" for way, count in self.saves.items())
        return (
            f"{self.saves.total()} racing saves ({ways}) in {self.seconds:.0f} s: {self.met} came within a write and "
            f"were noticed, {self.copies} are in a conflict copy, {self.lost} lost; {self.refused} writes refused"
        )


# -- the process that writes


def write_until_told(kind: str, slow_ms: float) -> None:
    """Make one write for each line of standard input; answer with its path first, then with what came of it."""
    home = Home.open()
    wiki = WikiHome()
    daily = DailyLog(home.paths)
    with slow_disk(slow_ms / 1000), counted() as met:
        for number, _ in enumerate(sys.stdin):
            one = _entry(number, kind)
            if kind == "compile":
                wiki.log(one)
            path = daily.path(one.day) if kind == "append" else Path(home.paths.knowledge, f"{SLUG}.md")
            print(path, flush=True)
            sys.stdin.readline()
            met.clear()
            try:
                if kind == "append":
                    daily.append(one)
                else:
                    with patch("sys.stdout"):
                        wiki.compile(lambda _: {"places": []})
            except FileBusyError:
                print("refused", flush=True)
            else:
                print(len(met), flush=True)


def _entry(number: int, kind: str) -> Entry:
    day = FIRST_DAY + timedelta(number // SAME_DAY if kind == "append" else number)
    text = f"Fact {number} of the port, because it is {number * 7919}."
    return Entry(
        f"e{number:06d}", day, "09:00", "s-1", "shop", "shop-1a2b3c", "A session",
        learned=(Learned("fact", text, f"l-e{number:06d}"),), turns=(f"t{number}",),
    )  # fmt: skip


@contextmanager
def counted() -> Iterator[list[int]]:
    """Collect a number for each time that a save was noticed."""
    met: list[int] = []
    replace = Swap.replace

    def replacing(self: Swap, *given: Any) -> None:
        try:
            replace(self, *given)
        except SavedMeanwhileError:
            met.append(1)
            raise

    commit = Transactions.commit

    def committing(self: Transactions, *given: Any, **named: Any) -> str:
        try:
            return commit(self, *given, **named)
        except ChangedError:
            met.append(1)
            raise

    with patch.object(Swap, "replace", replacing), patch.object(Transactions, "commit", committing):
        yield met


@contextmanager
def slow_disk(most_s: float) -> Iterator[None]:
    """Make syncs and renames take up to ``most_s`` longer, before and after."""
    if not most_s:
        yield
        return

    def slowed(call: Callable[..., Any]) -> Callable[..., Any]:
        def calling(*given: Any) -> Any:
            time.sleep(random.uniform(0, most_s))
            try:
                return call(*given)
            finally:
                time.sleep(random.uniform(0, most_s))

        return calling

    with (
        patch.object(os, "fsync", slowed(os.fsync)),
        patch.object(os, "replace", slowed(os.replace)),
        patch.object(swap, "exchange_names", slowed(swap.exchange_names)),
        patch.object(swap, "put_new", slowed(swap.put_new)),
    ):
        yield


# -- the person


def save_slowly(path: Path, data: bytes) -> None:
    """Save in place in two pieces, with pauses, as over a network."""
    with path.open("r+b", buffering=0) as file:
        time.sleep(random.uniform(0, 0.003))
        file.truncate(0)
        for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
            time.sleep(random.uniform(0, 0.003))
            file.write(piece)
        time.sleep(random.uniform(0, 0.003))


def race(kind: str, saves: int, folder: Path, slow_ms: float = 0, seed: int = 0) -> Tally:
    """Save as often as told while another process writes."""
    dice = random.Random(seed)
    tally = Tally()
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "MEMORIA_HOME": str(folder / "memoria"),
           "MEMORIA_MODEL": "offline", "MEMORIA_TZ": "UTC"}  # fmt: skip
    command = [sys.executable, "-m", "bench.races", "--writer", kind, "--slow", str(slow_ms)]
    begun = time.monotonic()
    usual = 0.01
    with (
        patch.dict(os.environ, env, clear=True),
        subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        ) as writer,
    ):
        assert writer.stdin
        assert writer.stdout
        home = Home.open()
        number = 0
        while tally.saves.total() < saves:
            writer.stdin.write("next\n")
            path = Path(writer.stdout.readline().strip())
            writer.stdin.write("go\n")
            started = time.monotonic()
            token, way = f"Saved by hand, number {number}.", WAYS[number % len(WAYS)]
            number += 1
            is_saved = path.exists()
            if is_saved:
                _await_the_write(home, kind, usual, dice)
                is_saved = _save(path, token, way)
            answer = writer.stdout.readline().strip()
            usual = 0.9 * usual + 0.1 * (time.monotonic() - started)
            if not answer:
                raise RuntimeError("the writer died")
            if is_saved:
                tally.saves[way] += 1
                tally.refused += answer == "refused"
                tally.met += answer not in ("0", "refused")
                _count(home, path, token, tally)
        writer.stdin.close()
    tally.seconds = time.monotonic() - begun
    return tally


def _await_the_write(home: Home, kind: str, usual: float, dice: random.Random) -> None:
    """Wait for a random moment of the write; of a compile, for one around its swap, which is the shortest part."""
    if kind == "append":
        time.sleep(dice.uniform(0, usual))
        return
    undo = Path(home.paths.undo)
    steps = len(list(undo.glob("*")))
    end = time.monotonic() + 30
    while len(list(undo.glob("*"))) == steps and time.monotonic() < end:
        time.sleep(0.0005)
    time.sleep(dice.choice((0.0, 0.01, 0.05)) * dice.random())


def _save(path: Path, token: str, way: str) -> bool:
    """Save the file with one more line; return False when it has no name at the moment (some systems)."""
    try:
        data = path.read_bytes() + f"\n{token}\n".encode()
        EDITORS.get(way, save_slowly)(path, data)
    except FileNotFoundError:
        return False
    return True


def _count(home: Home, path: Path, token: str, tally: Tally) -> None:
    if token in path.read_text("utf-8", "replace"):
        return
    housekeeping.find_late_saves(home.paths)
    copies = conflict_copies(Path(home.paths.daily), Path(home.paths.knowledge))
    if any(token in copy.read_text("utf-8", "replace") for copy in copies):
        tally.copies += 1
    else:
        tally.lost += 1


def main() -> int:
    """Race as told; return 1 when a save was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("append", "compile"), default="append")
    parser.add_argument("--saves", type=int, default=1000)
    parser.add_argument("--slow", type=float, default=0, metavar="MS")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--writer", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.writer:
        write_until_told(given.writer, given.slow)
        return 0
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        tally = race(given.kind, given.saves, Path(folder), given.slow, given.seed)
    print(f"{given.kind}: {tally}")
    return 1 if tally.lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
