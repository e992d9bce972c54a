"""What a memory server can do to facts, and what an exchange costs: restore, replace, outage, foreign rows, skew, size.

    uv run python -m bench.memory_server [--facts 10000] [--url http://127.0.0.1:8000 --key KEY]

Without ``--url`` against the fake of claude-memory-mcp, with every fault. With it against a real server on loopback
that holds nothing yet: there an outage is a port that nobody listens at, and what needs a hand on the server's disk or
clock is left out. A row is printed for each: facts that changed or went here though nobody asked, rows of other
programs that changed or went there, facts missing there at the end; all are to be 0. Exit status 1 when one is not.
"""

from __future__ import annotations

import argparse
import hashlib
import ipaddress
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from facts import a_fact, keeper
from memoria.exchange.memory_server import Memory, Server
from memoria.exchange.sync import Sync, Synced
from memoria.exchange.wire import named, to_memory
from memoria.statements.keeper import Keeper
from memory_server import KEY, MemoryServer, running

FEW = 40
TIMEOUT = 60.0
Row = tuple[str, str, str, str]


@dataclass
class Stage:
    """A server, two machines, and what another program wrote there."""

    url: str
    key: str
    here: Keeper
    there: Keeper
    fake: MemoryServer | None

    @property
    def client(self) -> Server:
        return Server(self.url, self.key, timeout=TIMEOUT)

    def exchange(self, *homes: Keeper) -> None:
        for home in homes or (self.here, self.there, self.here):
            self.sync(home)

    def sync(self, home: Keeper, server: Server | None = None) -> Synced:
        return Sync(home, server or self.client, home.store.path.with_name("sync.lock")).run(full=True)

    def rows(self) -> list[Memory]:
        return list(self.client.sync().memories)

    def foreign(self) -> set[Row]:
        return {(m.content, m.tags, m.keywords, m.created) for m in self.rows() if not named(m)}


def learned(home: Keeper, size: int, word: str) -> list[str]:
    facts = [a_fact(f"{_name(word, number)} is a name.", "fact", day=number % 300) for number in range(size)]
    home.take(facts)
    return [fact.id for fact in facts]


def _name(word: str, number: int) -> str:
    return hashlib.sha256(f"{word}{number}".encode()).hexdigest()


def said(home: Keeper) -> dict[str, str]:
    return {fact.id: fact.content for fact in home.store.facts()}


def judged(stage: Stage, wanted: dict[str, str], foreign: set[Row]) -> tuple[int, int, int]:
    """Facts of ours changed or gone here, rows of others changed or gone there, facts of ours missing there."""
    wrong = sum(
        said(home).get(ident) != content for home in (stage.here, stage.there) for ident, content in wanted.items()
    )
    there = [memory.content for memory in stage.rows()]
    missing = sum(content not in there for content in wanted.values())
    return wrong, len(foreign - stage.foreign()), missing


# -- what can happen


def _ready(stage: Stage) -> dict[str, str]:
    """Facts on both machines and the server, some edited, some deleted, since a back-up of the server."""
    idents = learned(stage.here, FEW, "a")
    stage.exchange()
    backup = stage.fake.backup() if stage.fake else None
    for ident in idents[:5]:
        stage.here.edit(ident, f"{said(stage.here)[ident][:-1]} indeed.")
    for ident in idents[5:10]:
        stage.here.delete(ident)
    learned(stage.here, 5, "late")
    stage.exchange()
    if stage.fake and backup:
        stage.fake.restore(backup)
    return said(stage.here)


def restore(stage: Stage) -> tuple[int, int, int]:
    wanted = _ready(stage)
    stage.exchange(stage.there, stage.here, stage.there)
    assert not set(said(stage.here)) - set(wanted), "a deletion came back"
    return judged(stage, wanted, set())


def replace(stage: Stage) -> tuple[int, int, int]:
    wanted = _ready(stage)
    assert stage.fake
    stage.fake.replace()
    foreign = _others(stage)
    stage.exchange(stage.there, stage.here, stage.there)
    return judged(stage, wanted, foreign)


def outage(stage: Stage) -> tuple[int, int, int]:
    idents = learned(stage.here, FEW, "a")
    stage.exchange()
    for ident in idents[:5]:
        stage.here.edit(ident, f"{said(stage.here)[ident][:-1]} indeed.")
    stage.here.delete(idents[5])
    wanted = said(stage.here)
    for status in (500, 502, 503, "cut", "junk"):
        if stage.fake:
            stage.fake.fault_for = dict.fromkeys(("POST", "PUT", "DELETE"), status)
            stage.sync(stage.here)
            stage.fake.fault_for = {"GET": status}
        stage.sync(stage.here, None if stage.fake else Server("http://127.0.0.1:9", stage.key))
    if stage.fake:
        stage.fake.fault_for = {}
    assert said(stage.here) == wanted
    stage.exchange()
    assert idents[5] not in said(stage.there), "a deletion was lost"
    return judged(stage, wanted, set())


def _others(stage: Stage) -> set[Row]:
    for number in range(FEW):
        text = f"{_name('a' if number < FEW // 2 else 'b', number)} is a name."
        stage.client.add(Memory(0, text, "facts", "auto-learned,x", f"keyword{number}"))
    return stage.foreign()


def foreign_rows(stage: Stage) -> tuple[int, int, int]:
    rows = _others(stage)
    learned(stage.here, FEW, "a")  # half of them in the same words
    stage.exchange()
    assert len(said(stage.here)) == len(stage.rows()) == FEW + FEW // 2, "one fact stands twice"
    for number, ident in enumerate(list(said(stage.here))):
        if number % 2:
            stage.here.delete(ident)
        else:
            stage.here.edit(ident, f"{said(stage.here)[ident][:-1]} indeed.")
    wanted = said(stage.here)
    stage.exchange(stage.here, stage.here)
    assert said(stage.here) == wanted
    return 0, len(rows - stage.foreign()), sum(c not in {m.content for m in stage.rows()} for c in wanted.values())


def skew(stage: Stage) -> tuple[int, int, int]:
    assert stage.fake
    wrong = [0, 0, 0]
    for hours in (-2, 2):
        stage.fake.row_skew = timedelta(hours=hours)
        idents = learned(stage.here, FEW, f"s{hours}")
        stage.exchange()
        for ident in idents[:5]:
            stage.there.delete(ident)
        stage.exchange(stage.there, stage.here, stage.there, stage.here)
        wanted = said(stage.there)
        assert not set(idents[:5]) & (set(said(stage.here)) | set(wanted)), "a deletion came back"
        wrong = [sum(pair) for pair in zip(wrong, judged(stage, wanted, set()), strict=True)]
    return wrong[0], wrong[1], wrong[2]


SCENES: dict[str, tuple[Callable[[Stage], tuple[int, int, int]], bool]] = {  # and whether only the fake can do it
    "restore": (restore, True),
    "replace": (replace, True),
    "outage": (outage, False),
    "foreign rows": (foreign_rows, False),
    "skew": (skew, True),
}


# -- the run


@contextmanager
def stage(args: argparse.Namespace) -> Iterator[Stage]:
    with (
        tempfile.TemporaryDirectory() as folder,
        running() as fake,
        keeper(Path(folder, "here"), server=True) as here,
        keeper(Path(folder, "there"), server=True) as there,
    ):
        one = Stage(args.url or fake.url, args.key, here, there, None if args.url else fake)
        yield one
        if args.url:
            for memory in one.rows():
                one.client.delete(memory.id)


def costs(args: argparse.Namespace) -> None:
    with stage(args) as one:
        for number in range(args.facts):
            fact = a_fact(f"{_name('c', number)} is a name.", "fact", day=number % 300)
            one.client.add(to_memory(fact)) if args.url else one.fake.store(to_memory(fact).body())  # type: ignore[union-attr]
        for what in ("all of them taken in", "nothing to do, a whole comparison", "nothing to do, again"):
            begun, cpu = time.monotonic(), time.thread_time()
            done = one.sync(one.here)
            print(
                f"{args.facts:,} facts, {what:<34} {time.thread_time() - cpu:6.2f} s CPU, "
                f"{time.monotonic() - begun:6.2f} s  (pulled {done.pulled}, pushed {done.pushed}) {done.problems or ''}"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--url", default="", help="a real server on loopback that holds nothing yet")
    parser.add_argument("--key", default=KEY)
    args = parser.parse_args()
    if args.url:
        host = urlsplit(args.url).hostname or ""
        if not ipaddress.ip_address(host).is_loopback:
            parser.error("only a server on a loopback address")
        if Server(args.url, args.key).sync().memories:
            parser.error("that server holds memories; give an empty one")
    logging.disable(logging.WARNING)
    bad: list[Any] = []
    print(f"{'':14} {'changed here':>12} {'foreign rows changed':>21} {'missing there':>14} {'seconds':>8}")
    for name, (scene, faked) in SCENES.items():
        if faked and args.url:
            print(f"{name:<14} left out: needs the server's disk or clock")
            continue
        with stage(args) as one:
            begun = time.monotonic()
            found = scene(one)
            print(f"{name:<14} {found[0]:>12} {found[1]:>21} {found[2]:>14} {time.monotonic() - begun:>8.1f}")
            bad += filter(None, found)
    costs(args)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
