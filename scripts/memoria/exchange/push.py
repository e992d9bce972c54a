"""Push: bring what waits to a memory server, and write only to rows that are proved to be ours.

Before a row is changed or deleted it must have been seen in this run, with our fact's id in it. What the server cannot
do now waits; what it refuses for what it is, is set aside.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import datetime
from typing import Final

from memoria.exchange.memory_server import Memory, Page, Server
from memoria.exchange.server_links import ServerLinks, is_row
from memoria.exchange.wire import digest, to_memory, words_digest
from memoria.ground.errors import MemoryServerDeniedError, MemoryServerError, MemoryServerUnavailableError
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.statements.outbox import Item
from memoria.statements.store import Link

log = logging.getLogger(__name__)

MAX_FAILURES: Final = 3  # operations that the server could not do now, after which a run asks no more
_NO_SUCH_QUESTION: Final = (405, 501)


class Rows:
    """Whether a row stands on the server, as it was listed in this run or asked for."""

    def __init__(self, server: Server, user: str, page: Page) -> None:
        """``page``: what this run listed."""
        self.server = server
        self.user = user
        self.page = page
        self.seen: dict[int, Memory | None] = {memory.id: memory for memory in page.memories}
        self.listed = False

    def proves(self, link: Link) -> bool:
        """Return whether the link's row stands there, live and with the id that we know it by."""
        memory = self._at(link.number)
        return memory is not None and not memory.deleted and is_row(link, memory) and memory.owner in ("", self.user)

    def _at(self, number: int) -> Memory | None:
        if number not in self.seen and not self.listed:
            try:
                self.seen[number] = self.server.get(number)
            except MemoryServerError as error:
                if error.status not in _NO_SUCH_QUESTION:
                    raise
                self.listed = True
                self.seen |= {memory.id: memory for memory in self.server.sync().memories}
        return self.seen.get(number)


class Push:
    """One bringing of what waits."""

    def __init__(self, keeper: Keeper, links: ServerLinks, rows: Rows, seconds: float) -> None:
        """``seconds``: after which no further operation is begun."""
        self.keeper = keeper
        self.outbox = keeper.to_server
        self.server = rows.server
        self.links = links
        self.rows = rows
        self.deadline = time.monotonic() + seconds
        self.pushed = 0
        self.problem: MemoryServerError | None = None

    def run(self) -> None:
        """Do what waits, oldest first. MemoryServerError when the server cannot or may not be used at all."""
        failures = 0
        for item in self.outbox.waiting():
            if time.monotonic() > self.deadline:
                return
            try:
                self._one(item)
            except MemoryServerUnavailableError as error:
                failures += 1
                self.problem = error
                if not error.status or failures >= MAX_FAILURES:
                    raise
        for ident in self.links.doubled():
            self._delete_double(ident)

    def _one(self, item: Item) -> None:
        ident = str(item.body.get("id") or "")
        try:
            done = self._delete(ident) if item.body.get("op") == "delete" else self._put(ident)
        except MemoryServerUnavailableError:
            raise
        except MemoryServerDeniedError as error:
            if error.status != 403 or not self.links.own(ident):
                raise
            self.outbox.refuse(item, str(error))
            return
        except MemoryServerError as error:
            self.outbox.refuse(item, str(error))
            return
        self.pushed += done
        self.outbox.done(item)
        self.outbox.settle(ident)

    def _delete(self, ident: str) -> bool:
        rows = self.links.own(ident)
        deleted = False
        for link in rows:
            if self.rows.proves(link):
                self.server.delete(link.number)
                self.keeper.store.mark_deleted(link.named)
                deleted = True
            self.links.drop(link)
        return deleted

    def _delete_double(self, ident: str) -> None:
        """Delete all but the oldest of the rows that memoria wrote for one fact; every machine chooses alike."""
        first, *others = self.links.own(ident)
        if not self.rows.proves(first):
            self.links.drop(first)
            return
        for link in others:
            try:
                if self.rows.proves(link):
                    self.server.delete(link.number)
            except (MemoryServerUnavailableError, MemoryServerDeniedError) as error:
                log.info("the memory server keeps a second row of %s: %s", ident, error)
                return
            self.links.drop(link)

    def _put(self, ident: str) -> bool:
        fact = self.keeper.store.get(ident)
        if fact is None:
            return False
        edited = self.rows.page.moment(fact.worded_at.timestamp())
        own = self.links.own(ident)
        if own and own[0].digest == digest(fact):
            return False
        if own:
            return self._change(fact, own[0], edited) or self._put(ident)
        if any(link.digest == words_digest(fact.content) for link in self.links.foreign(ident)):
            return False  # another program keeps these very words there
        number = self.server.add(to_memory(fact, edited=edited))
        self.links.put(Link(self.links.home, number, fact.id, fact.id, digest(fact), pushed=True))
        return True

    def _change(self, fact: Fact, link: Link, edited: datetime | None) -> bool:
        """Change a fact's row; False when the row is not there any more or is another."""
        try:
            if self.rows.proves(link):
                self.server.change(to_memory(replace(fact, id=link.named), link.number, edited))
                self.links.put(replace(link, digest=digest(fact), pushed=True))
                return True
        except MemoryServerError as error:
            if error.status != 404:
                raise
        self.links.drop(link)
        return False
