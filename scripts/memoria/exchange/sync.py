"""Sync: the facts of this machine and of a memory server, kept the same.

A run asks who the key belongs to, takes in what the server lists, and brings what waits. Nothing is written to a server
that could not say what it has. What is to be brought waits in an outbox of files. Order and age are the server's clock
alone; absence counts only when the server was asked about the very row. Knows no prompt and no model.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from memoria.exchange.memory_server import EVERYTHING, Page, Server
from memoria.exchange.pull import Pull, Waiting
from memoria.exchange.push import Push, Rows
from memoria.exchange.server_links import ServerLinks
from memoria.exchange.wire import digest, words_digest
from memoria.ground import clock, locks
from memoria.ground.errors import MemoryServerDeniedError, MemoryServerError, MemoryServerUnavailableError
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.statements.store import Link

log = logging.getLogger(__name__)

FULL_EVERY_SECONDS: Final = 600.0
MAX_PUSH_SECONDS: Final = 120.0  # of a run that nobody waits for
MAX_BACKOFF_SECONDS: Final = 3600.0
OVERLAP: Final = timedelta(minutes=5)  # listed again: a row's time is when its transaction began
MAX_ASKED: Final = 20  # missing rows that are asked about, one by one, before a listing is believed


@dataclass(frozen=True, slots=True)
class Synced:
    """What a run did: operations pushed, memories taken in, facts forgotten, and what went wrong in words."""

    pushed: int = 0
    pulled: int = 0
    forgotten: int = 0
    problems: tuple[str, ...] = field(default=())


class Sync:
    """Keeps one home and one server the same."""

    def __init__(self, keeper: Keeper, server: Server, lock: Path, *, now: Callable[[], datetime] = clock.now) -> None:
        """``lock``: one run at a time. ``now``: this machine's clock, to tell how long ago something was."""
        self.keeper = keeper
        self.store = keeper.store
        self.server = server
        self.lock = lock
        self.now = now

    def waits(self) -> bool:
        """Return whether the server failed so lately that nobody should ask it again on their own account."""
        until = clock.parse(self.store.meta().get("server_wait"))
        return until is not None and clock.is_waiting(until.timestamp(), self.now().timestamp())

    def run(self, *, full: bool = False) -> Synced:
        """Take in, then bring; a whole comparison when ``full`` or ten minutes old. Raises nothing of the network."""
        with locks.held(self.lock) as mine:
            if not mine:
                return Synced(problems=("another sync is running",))
            run = _Run(self)
            try:
                run.do(full)
            except MemoryServerError as error:
                run.problem = error
            self._remember(run)
            problems = (str(run.problem),) if run.problem else ()
            return Synced(run.pushed, run.taken, run.forgotten, problems)

    def full_is_due(self, home: str) -> bool:
        """Return whether the last whole comparison is old, or was with another server or user."""
        meta = self.store.meta()
        last = clock.parse(meta.get("full"))
        return (
            last is None or meta.get("home") != home or abs((self.now() - last).total_seconds()) >= FULL_EVERY_SECONDS
        )

    def _remember(self, run: _Run) -> None:
        """Keep what ``status`` shows, and how long to wait after a failure."""
        error = run.problem
        denied = isinstance(error, MemoryServerDeniedError)
        if denied and not self.keeper.denied:
            log.warning("%s Facts stay on this machine until it does.", error)
        elif error:
            log.info("memory server: %s", error)
        elif self.keeper.denied:
            log.info("the memory server takes the key again")
        self.store.set_meta("denied", "1" if denied else "")
        self.store.set_meta("server_problem", str(error or ""))
        failures = 0
        if isinstance(error, MemoryServerUnavailableError) and not run.pushed:
            failures = int(self.store.meta().get("server_failures") or 0) + 1
        self.store.set_meta("server_failures", str(failures))
        wait = clock.backoff(failures, random.random(), max_s=MAX_BACKOFF_SECONDS) if failures else 0  # noqa: S311
        self.store.set_meta("server_wait", (self.now() + timedelta(seconds=wait)).isoformat() if wait else "")


class _Run:
    """One exchange with one server and user."""

    def __init__(self, sync: Sync) -> None:
        self.sync = sync
        self.store = sync.store
        self.taken = self.pushed = self.forgotten = 0
        self.problem: MemoryServerError | None = None

    def do(self, full: bool) -> None:
        """Take in and bring. MemoryServerError when the server cannot or may not be used."""
        user = self.sync.server.user()
        home = f"{self.sync.server.address} {user}"
        meta = self.store.meta()
        since = meta.get("since", "") if meta.get("home") == home else ""
        seconds = float("inf") if full else MAX_PUSH_SECONDS
        if since:  # first what changed and what waits: a long list of everything may not come
            self._exchange(user, home, since, seconds)
        if full or not since or self.sync.full_is_due(home):
            self._exchange(user, home, EVERYTHING, seconds)

    def _exchange(self, user: str, home: str, since: str, seconds: float) -> None:
        """Take in what changed since then, and bring what waits."""
        sync, whole = self.sync, since == EVERYTHING
        page = sync.server.sync(since)
        links = ServerLinks(self.store, home)
        waiting = Waiting(sync.keeper.to_server)
        rows = Rows(sync.server, user, page)
        self._take(Pull(sync.keeper, links, waiting, page))
        self.store.set_meta("home", home)
        self.store.set_meta("since", _cursor(page) or ("" if whole else since))
        if whole:
            self._reconcile(page, links, waiting, rows)
            self.store.set_meta("full", sync.now().isoformat())
        push = Push(sync.keeper, links, rows, seconds)
        try:
            push.run()
        finally:
            self.pushed += push.pushed
        self.problem = push.problem

    def _take(self, pull: Pull) -> None:
        try:
            pull.take()
        finally:
            self.taken += pull.taken
            self.forgotten += pull.forgotten

    def _reconcile(self, page: Page, links: ServerLinks, waiting: Waiting, rows: Rows) -> None:
        """Send what the server lacks: never sent, or lost there (a deletion would have come as a tombstone)."""
        listed = {memory.id for memory in page.memories}
        missing = [link for number, link in links.by_number.items() if number not in listed]
        if missing and page.whole and self._are_absent(missing, rows):
            for link in missing:
                links.drop(link)
        for fact in self.store.facts(live=False):
            if fact.id not in waiting.putting and not is_current(fact, links) and not links.is_elsewheres(fact):
                waiting.put(fact.id)

    def _are_absent(self, missing: list[Link], rows: Rows) -> bool:
        """Ask about rows that a listing does not show; one that is there proves that the listing is not whole."""
        asked = missing[:: -(-len(missing) // MAX_ASKED)]
        if any(rows.proves(link) for link in asked):
            log.warning("the memory server's listing is not whole: it lacks rows that are there")
            return False
        return True


def _cursor(page: Page) -> str:
    """Return the next ``since``: the latest row's own time; ``server_time`` may be read from another clock."""
    times = [moment for moment in (clock.parse(memory.updated) for memory in page.memories) if moment]
    if not times:
        return ""
    told = clock.parse(page.server_time)
    return (min(max(times), told or max(times)) - OVERLAP).isoformat()


def is_current(fact: Fact, links: ServerLinks) -> bool:
    """Return whether a row there holds the fact as it is here."""
    own = links.own(fact.id)
    if own:
        return own[0].digest == digest(fact)
    foreign = links.foreign(fact.id)
    return bool(foreign) and any(link.digest == words_digest(fact.content) for link in foreign)


def state_of(keeper: Keeper) -> dict[str, int]:
    """Return how many facts the server has as they are, how many changes wait, how many were set aside."""
    links = ServerLinks(keeper.store, keeper.store.meta().get("home", ""))
    facts = keeper.store.facts(live=False)
    synced = sum(is_current(fact, links) for fact in facts)
    return {
        "synced": synced,
        "local": len(facts) - synced,
        "waiting": len(keeper.to_server.waiting()),
        "set aside": len(keeper.to_server.set_aside()),
    }
