"""Keep: the way of a fact into log and store, and of a person's edits.

Every step can be killed and repeated: a fact waits in the outbox until its line is in the daily log and its row in the
store. A fact that was known is counted, one that replaces another ends it. Knows log, store and outbox; does not know
where facts come from, and of a memory server only that it wants to be told (``server``).
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from memoria.base.paths import Paths
from memoria.daily.daily_log import DailyLog
from memoria.facts.fact import GLOBAL, Fact, plain
from memoria.facts.lines import Lines
from memoria.facts.outbox import Item, Outbox
from memoria.facts.store import Changes, Store
from memoria.ground.clock import Zone
from memoria.ground.errors import ExpectedError, MemoryStoreError
from memoria.ground.home import Home

log = logging.getLogger(__name__)

_OPINIONS: Final = ("correction", "preference", "decision", "fact", "operational")  # what a later word replaces


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of facts: ``added`` and ``repeated`` hold the facts as they now stand, ``ended`` those replaced."""

    added: tuple[Fact, ...] = ()
    repeated: tuple[Fact, ...] = ()
    ended: tuple[Fact, ...] = ()

    def __add__(self, other: Kept) -> Kept:
        """Both together."""
        return Kept(self.added + other.added, self.repeated + other.repeated, self.ended + other.ended)


class Keeper:
    """Log, store and outboxes of one home."""

    def __init__(self, paths: Paths, zone: Zone, *, server: bool = False) -> None:
        """``server``: whether a memory server is to be told of changes."""
        self.lines = Lines(DailyLog.of(paths))
        self.zone = zone
        self.store = Store.of(paths)
        self.outbox = Outbox(Path(paths.facts_outbox))
        self.to_server = Outbox(Path(paths.server_outbox))
        self.server = server
        self.fresh: list[Fact] = []  # what was added since this keeper was opened

    @classmethod
    def of(cls, paths: Paths, zone: Zone, *, server: bool = False) -> Keeper:
        """The keeper of a home, with its store brought up to what the logs say."""
        keeper = cls(paths, zone, server=server)
        keeper.refresh()
        return keeper

    @classmethod
    def at(cls, home: Home) -> Keeper:
        """The same, as the home's settings have it: with a memory server when one is named."""
        return cls.of(home.paths, home.zone, server=bool(home.settings.memory_api_url))

    def __enter__(self) -> Keeper:
        """The keeper itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.store.db.close()

    @property
    def denied(self) -> bool:
        """Whether the memory server refused the key when it was last asked."""
        return bool(self.store.meta().get("denied"))

    def refresh(self) -> None:
        """Read what a person changed in the logs; the server is told."""
        known = bool(self.store.meta().get("read"))

        def tell(changes: Changes) -> None:
            if changes.added or changes.changed or changes.gone:
                self.store.set_meta("unshown", "1")  # whoever opened the store, the pages are the next worker's
            for fact in (*changes.added, *changes.changed) if known else ():
                self._tell("put", fact.id)
            for fact in changes.added:
                self.store.unbury(fact.id)
            for fact in changes.gone:
                self.store.bury(fact.id)
                self._tell("delete", fact.id)

        self.store.refresh(self.lines, tell)
        self.store.set_meta("read", "1")

    # -- facts from a judge

    def take(self, facts: Iterable[Fact], project: str = "") -> Kept:
        """Keep these facts; they are in the outbox before anything else is tried.

        ``project``: the name people read, for the heading. MemoryStoreError when some have to wait there.
        """
        for fact in facts:
            self.outbox.put({"id": fact.id, "event": fact.to_dict(), "project": project or fact.project})
        return self.drain()

    def drain(self) -> Kept:
        """Bring what waits in the outbox into log and store. MemoryStoreError when something must wait on."""
        kept, reasons = Kept(), []
        for item in self.outbox.waiting():
            try:
                kept += self._place(item)
            except (OSError, sqlite3.Error) as error:
                reasons.append(str(error))
                continue
            except (ValueError, KeyError, TypeError) as error:  # a file that somebody changed
                self.outbox.failed(item, f"not a fact: {error}")
                continue
            self.outbox.done(item)
        if reasons:
            raise MemoryStoreError(
                f"{len(reasons)} learned facts wait in {self.outbox.folder}: {reasons[0]}. They are tried again later."
            )
        return kept

    def _place(self, item: Item) -> Kept:
        fact = Fact.from_dict(item.body["event"])
        if not self._stands(fact):
            twin = self.store.twin(fact)
            if twin:
                return Kept(repeated=(self._repeat(twin, fact),))
        return self._add(fact, str(item.body.get("project", "")))

    def _stands(self, fact: Fact) -> bool:
        return self.store.get(fact.id) is not None or any(
            other.id == fact.id for other in self.lines.read(self.zone.day(fact.time))
        )

    def _repeat(self, known: Fact, fact: Fact) -> Fact:
        """Count a fact that was said again; said no later than it was last counted, nothing changes (a second run)."""
        places = tuple(place for place in fact.projects if place not in known.projects and GLOBAL not in known.projects)
        later = fact.time > (known.last or known.time)
        if not later and not places:
            return known
        again = replace(
            known,
            seen=known.seen + later,
            last=fact.time if later else known.last,
            also=known.also + places,
            importance=max(known.importance, fact.importance),
            kind="correction" if fact.kind == "correction" and known.kind == "preference" else known.kind,
        )
        self.write(again)
        return again

    def _add(self, fact: Fact, project: str) -> Kept:
        told = fact
        olds = self._replaced_by(fact)
        newer = [old for old in olds if old.time > fact.time]
        olds = [old for old in olds if old.time <= fact.time]
        fact = replace(fact, supersedes=olds[0].id if olds else "")
        if newer:  # an old session read late: what was said since holds
            fact = replace(fact, ended=newer[0].time, successor=newer[0].id)
        day = self.zone.day(fact.time)
        local = self.zone.local(fact.time)
        added = self.lines.add(fact, day, f"{local:%H:%M}", plain(project) or "everywhere")
        if not added and told in self.lines.read(day):  # its entry shows it as it was told, and the log is the truth
            self.lines.change(fact, day)
        self.store.set_meta("unshown", "1")
        self.store.put(fact, day)
        self.store.unbury(fact.id)
        self._tell("put", fact.id)
        self.fresh.append(fact)
        ended = tuple(replace(old, ended=fact.time, successor=fact.id) for old in olds)
        for old in ended:
            self.write(old)
        return Kept(added=(fact,), ended=ended)

    def _replaced_by(self, fact: Fact) -> list[Fact]:
        """The live facts that end with this one: the one it names, and those a person's new word contradicts."""
        named = self.store.get(fact.supersedes) if fact.supersedes.startswith("l-") else None
        if fact.supersedes and not named:
            named = self.store.nearest(fact.supersedes, fact.projects)
        found = [named] if named and named.ended is None and named.id != fact.id else []
        if fact.origin == "user" and fact.kind in _OPINIONS:
            found += [old for old in self.store.rivals(fact) if old.kind in _OPINIONS]
        return [old for old in dict.fromkeys(found) if _may_replace(fact, old)]

    # -- a person's word

    def write(self, fact: Fact) -> None:
        """Write a changed fact to its lines, its row and towards the server when there is one."""
        day = self.store.day(fact.id)
        if day is None or not self.lines.change(fact, day):
            raise ExpectedError(f"{fact.id} stands in no daily log; run `memoria learned` to see what there is.")
        self.store.put(fact, day)
        self._tell("put", fact.id)

    def rewrite(self, known: Fact, fact: Fact) -> bool:
        """Write what another machine changed over a fact that still reads as ``known``; False when it does not."""
        day = self.store.day(known.id)
        if day is None or not self.lines.change(fact, day, known=known):
            return False
        self.store.put(fact, day)
        return True

    def edit(self, ident: str, content: str) -> Fact:
        """Give a fact another wording. ExpectedError when there is no such fact or nothing is left of the text."""
        words = plain(content)
        if not words:
            raise ExpectedError("a fact needs words; to remove it, run `memoria learned delete`.")
        changed = replace(self.known(ident), content=words)
        self.write(changed)
        return changed

    def promote(self, ident: str) -> Fact:
        """Let a fact hold in every project."""
        changed = replace(self.known(ident), project=GLOBAL, also=())
        self.write(changed)
        return changed

    def seen_in(self, ident: str, project: str) -> None:
        """A fact stands in another project too, where nobody said it to us; nothing when that is known."""
        fact = self.store.get(ident)
        if fact and not {project, GLOBAL}.intersection(fact.projects):
            self.write(replace(fact, also=(*fact.also, project)))

    def delete(self, ident: str) -> Fact:
        """Forget a fact: its lines, its row, what waits about it; the server is told. What it had ended stays ended."""
        fact = self.known(ident)
        self.to_server.forget(fact.id)
        self.store.bury(fact.id)
        self._tell("delete", fact.id)  # first: a server that is never told would bring the fact back
        self.forget(fact.id)
        return fact

    def forget(self, ident: str) -> None:
        """Take a fact out of log and store without telling the server."""
        day = self.store.day(ident)
        self.outbox.forget(ident)
        if day:
            self.lines.remove(ident, day)
        self.store.remove(ident)

    def known(self, ident: str) -> Fact:
        """The fact with this id, ``l-`` or ``^`` before it or not. ExpectedError when there is none."""
        name = "l-" + ident.strip().removeprefix("^").removeprefix("l-")
        fact = self.store.get(name)
        if fact is None:
            raise ExpectedError(f"there is no learned fact {ident!r}; `memoria learned` lists them.")
        return fact

    def offered(self) -> list[Fact]:
        """Facts that returned in a second project and could hold everywhere."""
        return [fact for fact in self.store.facts() if fact.also and fact.project != GLOBAL]

    def adopt(self, fact: Fact, heading: str) -> None:
        """Keep a fact that another machine learned, as it is: judged there, so neither compared nor counted here."""
        day = self.zone.day(fact.time)
        self.lines.add(fact, day, f"{self.zone.local(fact.time):%H:%M}", plain(heading) or "everywhere")
        self.store.put(fact, day)

    def _tell(self, operation: str, ident: str) -> None:
        if self.server:
            self.to_server.put({"op": operation, "id": ident})


def _may_replace(fact: Fact, old: Fact) -> bool:
    """What a person said is replaced only by what a person said."""
    return fact.origin == "user" or old.origin != "user"
