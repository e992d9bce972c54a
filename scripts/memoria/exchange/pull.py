"""Pull: take in what a memory server says, without losing what this machine knows.

A row of ours is compared three ways: with the fact here and with what both sides last held. Changed on one side, that
side counts; on both, the later by the server's clock, and the other wording is kept in the fact's history. A row of
another program is taken in as a fact and never becomes ours. What was deleted does not come back.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cached_property

from memoria.exchange.memory_server import Memory, Page
from memoria.exchange.server_links import ServerLinks
from memoria.exchange.wire import digest, edited_at, named, to_fact, words_digest
from memoria.ground import clock
from memoria.statements.fact import GLOBAL, MAX_HISTORY, Fact
from memoria.statements.keeper import Keeper
from memoria.statements.outbox import Outbox
from memoria.statements.store import Link

log = logging.getLogger(__name__)


class Waiting:
    """Which facts are on their way to the server, and which of them the server refused."""

    def __init__(self, outbox: Outbox) -> None:
        """Read once: a run asks about every fact."""
        self.outbox = outbox
        refused = outbox.set_aside()
        items = [*refused, *outbox.waiting()]
        self.deleting = {str(item.body.get("id")) for item in items if item.body.get("op") == "delete"}
        self.putting = {str(item.body.get("id")): item.moment for item in items if item.body.get("op") == "put"}
        self.refused = {str(item.body.get("id")) for item in refused}

    def put(self, ident: str) -> None:
        """Send a fact, unless it is on its way or was refused."""
        if ident not in self.putting:
            self.putting[ident] = self.outbox.put({"op": "put", "id": ident}).moment

    def delete(self, ident: str) -> None:
        """Send a deletion, unless it is on its way or was refused."""
        if ident not in self.deleting:
            self.deleting.add(ident)
            self.outbox.put({"op": "delete", "id": ident})


class Pull:
    """One taking in of what a server lists."""

    def __init__(self, keeper: Keeper, links: ServerLinks, waiting: Waiting, page: Page) -> None:
        """``links``: of this server and user. ``page``: what it listed."""
        self.page = page
        self.keeper = keeper
        self.store = keeper.store
        self.links = links
        self.waiting = waiting
        self.gone = keeper.store.gone()
        self.taken = 0
        self.forgotten = 0

    def take(self) -> None:
        """Take in the rows, live ones first: a tombstone counts only when no live row stands for its fact."""
        for memory in sorted(self.page.memories, key=lambda memory: (memory.deleted, memory.id)):
            if memory.deleted:
                self._bury(memory)
            else:
                self._live(memory)
        if self.links.voided:
            log.warning(
                "%d rows of the memory server are not those we knew: it was restored or replaced", self.links.voided
            )

    # -- live rows

    def _live(self, memory: Memory) -> None:
        link = self.links.of_row(memory)
        if link and link.updated == memory.updated and memory.updated and not link.pushed:
            if link.id in self.gone:
                self._still_there(link)
            return
        theirs = to_fact(memory)
        if theirs is None:
            return
        if memory.sensitive:
            self._redacted(memory, link)
            return
        link = link or self._recognised(memory, theirs)
        mine = self.store.get(link.id) if link else None
        if link and mine:
            (self._own if link.named else self._foreign)(mine, theirs, memory, link)
        elif link and self._deleted_here(link.id):
            self.links.seen(link, memory, link.digest)
            self._still_there(link)
        else:
            self._adopt(memory, theirs)

    def _redacted(self, memory: Memory, link: Link | None) -> None:
        """Leave the words of a row that the server hid; remember that a row of ours is there."""
        mine = self.store.get(link.id if link else named(memory))
        if mine and named(memory):
            link = link or Link(self.links.home, memory.id, mine.id, named(memory), digest(mine))
            self.links.seen(link, memory, digest(mine))

    def _deleted_here(self, ident: str) -> bool:
        return ident in self.gone or ident in self.waiting.deleting

    def _still_there(self, link: Link) -> None:
        """A deleted fact has a row again or still: one of ours is deleted, another program's is left alone."""
        if link.named and self.store.get(link.id) is None:
            self.waiting.delete(link.id)

    def _recognised(self, memory: Memory, theirs: Fact) -> Link | None:
        """Return a link for a row that is new to us when it stands for a fact that we know."""
        old = self.links.from_elsewhere(memory)
        mark = named(memory)
        known = self.store.get(theirs.id) is not None or self._deleted_here(theirs.id)
        ident = old.id if old else theirs.id if known else self._equal(theirs, mark)
        if not ident:
            return None
        if mark:
            return Link(self.links.home, memory.id, ident, mark, old.digest if old else "")
        adopted = old.adopted if old else ident == theirs.id
        return Link(self.links.home, memory.id, ident, "", words_digest(theirs.content), adopted=adopted)

    def _equal(self, theirs: Fact, mark: str) -> str:
        """Return the fact here that has the same words; a row of ours also has a kind and a project."""
        for mine in self._by_words.get(words_digest(theirs.content), ()):
            if not mark or (mine.project, mine.kind) == (theirs.project, theirs.kind):
                return mine.id
        return ""

    @cached_property
    def _by_words(self) -> dict[str, list[Fact]]:
        found: dict[str, list[Fact]] = {}
        for fact in self.store.facts(live=False):
            found.setdefault(words_digest(fact.content), []).append(fact)
        return found

    def _adopt(self, memory: Memory, theirs: Fact) -> None:
        self.keeper.adopt(theirs, theirs.project.rsplit("-", 1)[0] if theirs.project != GLOBAL else "everywhere")
        self._by_words.setdefault(words_digest(theirs.content), []).append(theirs)
        mark = named(memory)
        held = digest(theirs) if mark else words_digest(theirs.content)
        self.links.seen(Link(self.links.home, memory.id, theirs.id, mark, held, adopted=not mark), memory, held)
        self.taken += 1

    def _own(self, mine: Fact, theirs: Fact, memory: Memory, link: Link) -> None:
        """Bring a fact and the row that memoria wrote for it together."""
        told, held = digest(theirs), digest(mine)
        if told == held:
            result = mine
        elif _went_back(memory, link):
            result = _merged(mine, mine, theirs, memory.updated)
        elif told == link.digest:
            result = mine
        elif held == link.digest or self._theirs_counts(mine, theirs, memory, link):
            result = _merged(replace(theirs, worded=edited_at(memory)), mine, theirs, memory.updated)
        else:
            result = _merged(mine, mine, theirs, memory.updated)
        if self._write(mine, result):
            self.links.seen(link, memory, told)
            if digest(result) != told:
                self.waiting.put(mine.id)

    def _foreign(self, mine: Fact, theirs: Fact, memory: Memory, link: Link) -> None:
        """Follow a row of another program only while the fact is nothing but that row."""
        words = words_digest(theirs.content)
        if words == link.digest or _went_back(memory, link):
            self.links.seen(link, memory, link.digest)
        elif link.adopted and words_digest(mine.content) == link.digest and not self.links.own(mine.id):
            follows = replace(mine, content=theirs.content, worded=edited_at(memory))
            if self._write(mine, _with_history(follows, mine.content, memory.updated)):
                self.links.seen(link, memory, words)
        else:
            self.links.drop(link)
            known = self._equal(theirs, "")
            if known:
                self.links.seen(Link(self.links.home, memory.id, known, "", words), memory, words)
            else:
                self._adopt(memory, theirs)

    def _write(self, mine: Fact, result: Fact) -> bool:
        """Write what came of a comparison; False when a person just changed the line: it is compared later."""
        if result == mine:
            return True
        written = self.keeper.rewrite(mine, result)
        self.taken += written
        return written

    def _theirs_counts(self, mine: Fact, theirs: Fact, memory: Memory, link: Link) -> bool:
        """Return whether the row counts where both sides changed, or nobody knows who did."""
        if words_digest(mine.content) == words_digest(theirs.content):
            return not link.digest
        return self._theirs_is_later(mine, memory)

    def _theirs_is_later(self, mine: Fact, memory: Memory) -> bool:
        """Compare two edits by the server's clock; what the server refused to take stays as it is here."""
        theirs = clock.parse(memory.updated) if memory.deleted else edited_at(memory)
        ours = self.page.moment(mine.worded_at.timestamp())
        if mine.id in self.waiting.refused or theirs is None or ours is None:
            return False
        return theirs > ours

    # -- deleted rows

    def _bury(self, memory: Memory) -> None:
        """Forget the fact of a deleted row when the row was that fact, proved by our id or by the very row."""
        link = self.links.of_row(memory)
        if link:
            self.links.drop(link)
        link = link or self.links.from_elsewhere(memory)
        ident = link.id if link else named(memory)
        mine = self.store.get(ident) if ident else None
        if mine is None or self.links.own(ident):
            return
        if named(memory):
            if link is None and self._put_back(mine, memory):
                return
        elif not (link and link.adopted and words_digest(mine.content) == link.digest):
            self.waiting.put(ident)  # another program's memory went; ours stays
            return
        self.waiting.outbox.forget(ident)
        self.store.mark_deleted(ident)
        self.keeper.forget(ident)
        self.forgotten += 1

    def _put_back(self, mine: Fact, memory: Memory) -> bool:
        """Return whether a person wrote a deleted fact's line again."""
        return mine.id in self.waiting.putting and not self._theirs_is_later(mine, memory)


def _went_back(memory: Memory, link: Link) -> bool:
    """Return whether the row is older than what we saw or wrote: the server was restored from a back-up."""
    now, before = clock.parse(memory.updated), clock.parse(link.updated)
    return bool(now and before and (now < before or (link.pushed and now == before)))


def _merged(winner: Fact, mine: Fact, theirs: Fact, moment: str) -> Fact:
    """Return the winner's words with what both counted; two machines that merge the same two come to the same."""
    ends = ((fact.ended, fact.successor, fact.repetition) for fact in (mine, theirs) if fact.ended)
    ended, successor, repetition = min(ends, default=(None, "", False))
    lasts = [fact.last for fact in (mine, theirs) if fact.last]
    also = tuple(dict.fromkeys((*theirs.also, *mine.also)))
    merged = replace(
        winner,
        id=mine.id,
        session=mine.session,
        quote=mine.quote,
        asked_as=mine.asked_as,
        history=mine.history,
        ended=ended,
        successor=successor,
        repetition=repetition,
        seen=max(mine.seen, theirs.seen),
        last=max(lasts, default=None),
        also=() if winner.project == GLOBAL else tuple(place for place in also if place != winner.project),
    )
    return _with_history(merged, (theirs if winner is mine else mine).content, moment)


def _with_history(fact: Fact, wording: str, moment: str) -> Fact:
    """Return the fact with a wording that it no longer has in its history, after the day it was replaced on."""
    known = {words_digest(line.partition(" ")[2]) for line in fact.history} | {words_digest(fact.content)}
    if words_digest(wording) in known:
        return fact
    return replace(fact, history=(*fact.history, f"{moment[:10]} {wording}")[-MAX_HISTORY:])
