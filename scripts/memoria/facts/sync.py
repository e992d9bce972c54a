"""Sync: the facts of this machine and of a memory server, kept the same.

Pull and push are independent: each runs when the other fails. What is to be pushed waits in an outbox of files. Order
and age are the server's clock alone. A fact carries its id, kind, project and the rest of its particulars in the
memory's tags, so that another machine reads the very same fact. Deletions travel as tombstones (a sync with ``since``
tells of them); a fact that the server merely lacks is pushed again, never dropped here. Knows no prompt and no model.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memoria.facts.fact import GLOBAL, Fact
from memoria.facts.keeper import Keeper
from memoria.facts.memory_server import Memory, Page, Server
from memoria.facts.outbox import Item
from memoria.facts.store import Link
from memoria.facts.wire import digest, particulars, same_words, to_fact, to_memory
from memoria.ground import clock, locks
from memoria.ground.errors import MemoryServerDeniedError, MemoryServerError, MemoryServerUnavailableError

log = logging.getLogger(__name__)

EVERYTHING: Final = "1970-01-01T00:00:00+00:00"  # the ``since`` that also brings every tombstone
FULL_EVERY_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Synced:
    """What a run did: operations pushed, memories taken in, facts forgotten, and what went wrong in words."""

    pushed: int = 0
    pulled: int = 0
    forgotten: int = 0
    problems: tuple[str, ...] = field(default=())


# -- the run


class Sync:
    """Keeps one home and one server the same."""

    def __init__(self, keeper: Keeper, server: Server, lock: Path, *, now: Callable[[], datetime] = clock.now) -> None:
        """``lock``: one run at a time. ``now``: this machine's clock, used for nothing but "ten minutes ago"."""
        self.keeper = keeper
        self.store = keeper.store
        self.outbox = keeper.to_server
        self.server = server
        self.lock = lock
        self.now = now
        self.forgotten = 0

    def run(self, *, full: bool = False) -> Synced:
        """Pull, then push; a whole comparison first when ``full`` or ten minutes old. Raises nothing of the network."""
        with locks.held(self.lock) as mine:
            if not mine:
                return Synced(problems=("another sync is running",))
            if self._still_denied():
                return Synced(problems=("the memory server refuses the key; facts stay on this machine",))
            return self._run(full or self._full_is_due())

    def _run(self, full: bool) -> Synced:
        self.forgotten = pulled = pushed = 0
        problems: list[str] = []
        fresh = False
        try:
            pulled = self._pull(full)
            fresh = True
        except MemoryServerError as error:
            self._failed("pull", error, problems)
        try:
            pushed = self._push(fresh)
        except MemoryServerError as error:
            self._failed("push", error, problems)
        if not problems and self.keeper.denied:
            self.store.set_meta("denied", "")
            log.info("the memory server takes the key again")
        return Synced(pushed, pulled, self.forgotten, tuple(problems))

    def _still_denied(self) -> bool:
        if not self.keeper.denied:
            return False
        try:
            self.server.check()
        except MemoryServerDeniedError:
            return True
        except MemoryServerError:
            return False
        return False

    def _failed(self, what: str, error: MemoryServerError, problems: list[str]) -> None:
        problems.append(f"{what}: {error}")
        if isinstance(error, MemoryServerDeniedError):
            if not self.keeper.denied:
                self.store.set_meta("denied", "1")
                log.warning("%s Facts stay on this machine until it does.", error)
        else:
            log.info("memory server, %s: %s", what, error)

    def _full_is_due(self) -> bool:
        last = clock.parse(self.store.meta().get("full"))
        return last is None or abs((self.now() - last).total_seconds()) >= FULL_EVERY_S

    # -- pull

    def _pull(self, full: bool) -> int:
        whole = self.server.sync() if full else None
        page = self.server.sync(self.store.meta().get("since") or EVERYTHING)
        taken = sum([self._apply(memory) for memory in (*page.memories, *(whole.memories if whole else ()))])
        if page.server_time:
            self.store.set_meta("since", page.server_time)
        if whole:
            self._reconcile(whole, page)
            self.store.set_meta("full", self.now().isoformat())
        return taken

    def _apply(self, memory: Memory) -> bool:
        """Take one memory in; whether anything changed here."""
        ident = self._linked(memory.id)
        if memory.deleted:
            return self._bury(memory, ident)
        theirs = to_fact(memory)
        if theirs is None or memory.sensitive or self._waits("delete", memory.id):
            return False
        if self._waits("delete", theirs.id):  # deleted here while its number was not known: now it is
            self._link(theirs.id, memory.id, theirs)
            return False
        mine = self.store.get(ident) if ident else self.store.get(theirs.id)
        if mine is None:
            return self._adopt(memory, theirs)
        return self._settle(mine, theirs, memory)

    def _bury(self, memory: Memory, ident: str) -> bool:
        """A tombstone: the fact that has this number, or, when numbers were lost, the one that it names."""
        named = str(particulars(memory.tags)[0].get("id", ""))
        found = ident or (named if named and named not in self.store.links() else "")
        if not found:
            return False
        self.store.unlink(found)
        if self.store.get(found) is None:
            return False
        self.outbox.forget(found)
        self.keeper.forget(found)
        self.forgotten += 1
        return True

    def _adopt(self, memory: Memory, theirs: Fact) -> bool:
        """A fact unknown here: the same words as one of ours make it ours, else it is added."""
        twin = next((mine for mine in self._alike(theirs) if same_words(mine, theirs)), None)
        if twin is None:
            self.keeper.adopt(theirs, theirs.project.rsplit("-", 1)[0] if theirs.project != GLOBAL else "everywhere")
            self._link(theirs.id, memory.id, theirs)
            return True
        return self._settle(twin, theirs, memory)

    def _alike(self, theirs: Fact) -> list[Fact]:
        return [mine for mine in self.store.facts() if mine.project == theirs.project and mine.kind == theirs.kind]

    def _settle(self, mine: Fact, theirs: Fact, memory: Memory) -> bool:
        """A fact known here: the server's version counts, unless a change of ours is still on its way."""
        self._choose(mine, theirs, memory.id)
        merged = replace(
            mine
            if self._waits("put", mine.id)
            else replace(theirs, id=mine.id, session=mine.session, quote=mine.quote),
            ended=mine.ended or theirs.ended,
            successor=mine.successor or theirs.successor,
            seen=max(mine.seen, theirs.seen),
            also=tuple(dict.fromkeys((*theirs.also, *mine.also))) if theirs.project != GLOBAL else (),
        )
        if digest(merged) == digest(mine):
            return False
        self.keeper.write(merged, tell=False)
        return True

    def _choose(self, mine: Fact, theirs: Fact, number: int) -> None:
        """Of two memories that are one fact of ours the older stays; both machines choose alike."""
        link = self.store.links().get(mine.id)
        if link is None or link.server >= number:
            self._link(mine.id, number, theirs)
        if link is None or link.server == number:
            return
        extra = max(link.server, number)
        if not self._waits("delete", extra):
            self.outbox.put({"op": "delete", "id": "", "server": extra})

    def _reconcile(self, whole: Page, page: Page) -> None:
        """Push what the server lacks: never pushed, or lost there (a deletion would have come as a tombstone)."""
        there = {memory.id for memory in (*whole.memories, *page.memories) if not memory.deleted}
        links = self.store.links()
        busy = {item.body.get("id") for item in (*self.outbox.waiting(), *self.outbox.set_aside())}
        for fact in self.store.facts(live=False):
            link = links.get(fact.id)
            if link and link.server not in there:
                self.store.unlink(fact.id)
                link = None
            if fact.id not in busy and (link is None or link.digest != digest(fact)):
                self.outbox.put({"op": "put", "id": fact.id, "server": link.server if link else 0})

    # -- push

    def _push(self, fresh: bool) -> int:
        """Do what waits, in order. ``fresh``: whether the pull before it told what the server has."""
        count = 0
        for item in self.outbox.waiting():
            if not fresh and self._needs_a_look(item):
                continue
            try:
                count += self._do(item)
            except (MemoryServerUnavailableError, MemoryServerDeniedError):
                raise
            except MemoryServerError as error:
                self.outbox.failed(item, str(error))
                continue
            self.outbox.done(item)
        return count

    def _needs_a_look(self, item: Item) -> bool:
        """Whether only a pull can tell what is to be done.

        What may have arrived would stand there twice; what is to be deleted and has no number may have one.
        """
        if item.body.get("op") == "delete":
            return not item.body.get("server") and item.body.get("id") not in self.store.links()
        return bool(item.body.get("tried"))

    def _do(self, item: Item) -> bool:
        ident, number = str(item.body.get("id", "")), int(item.body.get("server") or 0)
        link = self.store.links().get(ident)
        if item.body.get("op") == "delete":
            number = number or (link.server if link else 0)
            if number:
                self.server.delete(number)
                self.store.unlink(ident)
            return bool(number)
        fact = self.store.get(ident)
        if fact is None:
            return False
        return self._change(fact, link) if link else self._add(fact, item)

    def _add(self, fact: Fact, item: Item) -> bool:
        self.outbox.update(item, {**item.body, "tried": True})
        memory = to_memory(fact)
        number = self.server.add(memory)
        self._link(fact.id, number, fact)
        return True

    def _change(self, fact: Fact, link: Link) -> bool:
        if digest(fact) == link.digest:
            return False
        memory = to_memory(fact, link.server)
        try:
            self.server.change(memory)
        except MemoryServerError as error:
            if error.status != 404:
                raise
            self.store.unlink(fact.id)  # deleted elsewhere: the next pull brings the tombstone, or it is added again
            return False
        self._link(fact.id, link.server, fact)
        return True

    # -- links

    def _link(self, ident: str, number: int, fact: Fact) -> None:
        """Remember a fact's number and what of it the server has (by our reading: what another program wrote stays)."""
        self.store.link(Link(ident, number, digest(fact)))

    def _linked(self, number: int) -> str:
        return next((link.id for link in self.store.links().values() if link.server == number), "")

    def _waits(self, operation: str, of: str | int) -> bool:
        """Whether an operation on a fact (its id) or a memory (its number) is still to be pushed."""
        return any(of in (body.get("id"), body.get("server")) for body in self._bodies(operation))

    def _bodies(self, operation: str) -> Iterator[dict[str, Any]]:
        for item in self.outbox.waiting():
            if item.body.get("op") == operation:
                yield item.body


def state_of(keeper: Keeper) -> dict[str, int]:
    """How many facts the server has as they are, how many changes wait, how many were set aside."""
    links = keeper.store.links()
    facts = keeper.store.facts(live=False)
    synced = sum(fact.id in links and links[fact.id].digest == digest(fact) for fact in facts)
    return {
        "synced": synced,
        "local": len(facts) - synced,
        "waiting": len(keeper.to_server.waiting()),
        "set aside": len(keeper.to_server.set_aside()),
    }
