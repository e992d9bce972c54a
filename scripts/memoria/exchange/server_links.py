"""Server links: what is known of the rows of one memory server and user, and whether a row is still the one we knew.

A row's number is its address and proves nothing: a server that was restored or replaced gives it to another row. The
row is the same when it carries the fact id that we knew it by and was created at the same moment.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cached_property

from memoria.exchange.memory_server import Memory
from memoria.exchange.wire import named, words_digest
from memoria.statements.fact import Fact
from memoria.statements.store import Link, Store


class ServerLinks:
    """The links of one server and user, by number and by fact; every change goes to the store at once."""

    def __init__(self, store: Store, home: str) -> None:
        """``home``: the server and user."""
        self.store = store
        self.home = home
        self.voided = 0  # rows that turned out to be others than those we knew
        self.by_number = {link.number: link for link in store.links(home)}
        self.by_fact: dict[str, dict[int, Link]] = defaultdict(dict)
        for link in self.by_number.values():
            self.by_fact[link.id][link.number] = link

    @cached_property
    def _elsewhere(self) -> dict[int, list[Link]]:
        links: dict[int, list[Link]] = defaultdict(list)
        for link in self.store.other_links(self.home):
            links[link.number].append(link)
        return links

    def of_row(self, memory: Memory) -> Link | None:
        """Return what is known of this row. What was known of another row under its number is void."""
        link = self.by_number.get(memory.id)
        if link is None or (link.created and (link.created, link.updated) == (memory.created, memory.updated)):
            return link
        if is_row(link, memory):
            return link
        self.drop(link)
        self.voided += 1
        return None

    def from_elsewhere(self, memory: Memory) -> Link | None:
        """Return what was known of this very row when the server had another address."""
        known = (link for link in self._elsewhere.get(memory.id, ()) if link.created and is_row(link, memory))
        return next(known, None)

    def is_elsewheres(self, fact: Fact) -> bool:
        """Return whether a fact is nothing but a row of another program on another server: it stays there."""
        return (fact.id, words_digest(fact.content)) in self._adopted_elsewhere

    @cached_property
    def _adopted_elsewhere(self) -> set[tuple[str, str]]:
        links = (link for rows in self._elsewhere.values() for link in rows)
        return {(link.id, link.digest) for link in links if link.adopted}

    def own(self, ident: str) -> list[Link]:
        """Return the rows that memoria wrote for a fact, lowest number first; the first counts."""
        return sorted((link for link in self._of(ident) if link.named), key=lambda link: link.number)

    def foreign(self, ident: str) -> list[Link]:
        """Return the rows of other programs that stand for a fact."""
        return [link for link in self._of(ident) if not link.named]

    def _of(self, ident: str) -> list[Link]:
        return list(self.by_fact[ident].values()) if ident in self.by_fact else []

    def doubled(self) -> list[str]:
        """Return the facts for which memoria wrote more than one row."""
        return [ident for ident, links in self.by_fact.items() if len(links) > 1 and len(self.own(ident)) > 1]

    def put(self, link: Link) -> None:
        """Remember a row."""
        before = self.by_number.get(link.number)
        if before == link:
            return
        if before:
            self.by_fact[before.id].pop(link.number, None)
        self.by_number[link.number] = self.by_fact[link.id][link.number] = link
        self.store.link(link)

    def seen(self, link: Link, memory: Memory, digest: str) -> None:
        """Remember a row as it was just read, and what both sides held of it."""
        self.put(replace(link, digest=digest, created=memory.created, updated=memory.updated, pushed=False))

    def drop(self, link: Link) -> None:
        """Forget a row."""
        self.by_number.pop(link.number, None)
        self.by_fact[link.id].pop(link.number, None)
        self.store.unlink(link)


def is_row(link: Link, memory: Memory) -> bool:
    """Return whether this is the row that the link is about, whatever it now says."""
    return named(memory) == link.named and (not link.created or link.created == memory.created)
