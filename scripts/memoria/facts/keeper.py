"""Keeper: write learned facts, and a person's edits of them, to the daily log and the store.

Every step can be interrupted and repeated: a fact waits in the outbox until its line is in the daily log and its row in
the store. A fact that is known already is counted, and one that replaces another ends it. This module does not know
where facts come from. Changes are queued for a memory server when there is one (``server``).
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from memoria.base.paths import Paths
from memoria.daily import reference
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.facts.fact import GLOBAL, Fact, plain
from memoria.facts.lines import Lines
from memoria.facts.outbox import Item, Outbox
from memoria.facts.store import Changes, Store
from memoria.ground.clock import Zone
from memoria.ground.errors import ExpectedError, MemoryStoreError
from memoria.ground.home import Home
from memoria.ground.printable import counted

log = logging.getLogger(__name__)

_OPINIONS: Final = ("correction", "preference", "decision", "fact", "operational")  # a later statement replaces these


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for some facts: those ``added``, those known before (``repeated``), those replaced (``ended``)."""

    added: tuple[Fact, ...] = ()
    repeated: tuple[Fact, ...] = ()
    ended: tuple[Fact, ...] = ()

    def __add__(self, other: Outcome) -> Outcome:
        """Return the sum of both outcomes."""
        return Outcome(self.added + other.added, self.repeated + other.repeated, self.ended + other.ended)


class Keeper:
    """The daily logs, the store and the outboxes of one home."""

    def __init__(self, paths: Paths, zone: Zone, *, server: bool = False) -> None:
        """``server``: whether changes are queued for a memory server."""
        self.lines = Lines(DailyLog.of(paths))
        self.zone = zone
        self.store = Store.of(paths)
        self.outbox = Outbox(Path(paths.facts_outbox))
        self.to_server = Outbox(Path(paths.server_outbox))
        self.server = server
        self.fresh: list[Fact] = []  # the facts added since this keeper was opened

    @classmethod
    def of(cls, paths: Paths, zone: Zone, *, server: bool = False) -> Keeper:
        """Return the keeper of a home, with its store brought up to date from the logs."""
        keeper = cls(paths, zone, server=server)
        keeper.refresh()
        return keeper

    @classmethod
    def at(cls, home: Home) -> Keeper:
        """Return the keeper of a home, with a memory server if the settings name one."""
        return cls.of(home.paths, home.zone, server=bool(home.settings.memory_api_url))

    def __enter__(self) -> Keeper:
        """Return the keeper itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.store.db.close()

    @property
    def denied(self) -> bool:
        """Whether the memory server refused the key when it was last asked."""
        return bool(self.store.meta().get("denied"))

    def refresh(self) -> None:
        """Read what a person changed in the logs, and queue the changes for the server."""
        known = bool(self.store.meta().get("read"))

        def record(changes: Changes) -> None:
            if changes.added or changes.changed or changes.gone:
                self.store.set_meta("unshown", "1")  # the next worker prepares the pages
            for fact in (*changes.added, *changes.changed) if known else ():
                self._queue_for_server("put", fact.id)
            for fact in changes.added:
                self.store.unmark_deleted(fact.id)
            for fact in changes.gone:
                self.store.mark_deleted(fact.id)
                self._queue_for_server("delete", fact.id)

        self.store.refresh(self.lines, record)
        self.store.set_meta("read", "1")

    # -- facts from a judge

    def take(self, facts: Iterable[Fact], project: str = "") -> Outcome:
        """Store these facts; they are in the outbox before anything else is attempted.

        ``project``: the project's display name, for the heading. Raise MemoryStoreError when some facts must wait in
        the outbox.
        """
        for fact in facts:
            self.outbox.put({"id": fact.id, "event": fact.to_dict(), "project": project or fact.project})
        return self.drain()

    def drain(self) -> Outcome:
        """Store the facts that wait in the outbox; raise MemoryStoreError when some must wait on."""
        kept, reasons = Outcome(), []
        for item in self.outbox.waiting():
            try:
                kept += self._place(item)
            except (OSError, sqlite3.Error) as error:
                reasons.append(str(error))
                continue
            except (ValueError, KeyError, TypeError) as error:  # somebody changed the file
                self.outbox.failed(item, f"not a fact: {error}")
                continue
            self.outbox.done(item)
        if reasons:
            raise MemoryStoreError(
                f"{counted(len(reasons), 'learned fact')} could not be stored ({reasons[0]}). memoria will try again "
                f"later; until then see {self.outbox.folder}."
            )
        return kept

    def _place(self, item: Item) -> Outcome:
        fact = Fact.from_dict(item.body["event"])
        if not self._is_recorded(fact):
            twin = self.store.twin(fact)
            if twin:
                return Outcome(repeated=(self._repeat(twin, fact),))
        return self._add(fact, str(item.body.get("project", "")))

    def _is_recorded(self, fact: Fact) -> bool:
        return self.store.get(fact.id) is not None or any(
            other.id == fact.id for other in self.lines.read(self.zone.day(fact.time))
        )

    def _repeat(self, known: Fact, fact: Fact) -> Fact:
        """Count a fact that was said again, unless this or a later time was counted already (a repeated run)."""
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

    def _add(self, fact: Fact, project: str) -> Outcome:
        original = fact
        olds = self._replaced_by(fact)
        newer = [old for old in olds if old.time > fact.time]
        olds = [old for old in olds if old.time <= fact.time]
        fact = replace(fact, supersedes=olds[0].id if olds else "")
        if newer:  # an old session was read late, and what was said since holds
            fact = replace(fact, ended=newer[0].time, successor=newer[0].id)
        day = self.zone.day(fact.time)
        local = self.zone.local(fact.time)
        added = self.lines.add(fact, day, f"{local:%H:%M}", plain(project) or "everywhere")
        if not added and original in self.lines.read(day):  # its entry shows the original, and the log is authoritative
            self.lines.change(fact, day)
        self.store.set_meta("unshown", "1")
        self.store.put(fact, day)
        self.store.unmark_deleted(fact.id)
        self._queue_for_server("put", fact.id)
        self.fresh.append(fact)
        ended = tuple(replace(old, ended=fact.time, successor=fact.id) for old in olds)
        for old in ended:
            self.write(old)
        return Outcome(added=(fact,), ended=ended)

    def _replaced_by(self, fact: Fact) -> list[Fact]:
        """Return the live facts that this one ends: the one it names, and those that the user contradicts with it."""
        named = self.store.get(fact.supersedes) if fact.supersedes.startswith("l-") else None
        if fact.supersedes and not named:
            named = self.store.nearest(fact.supersedes, fact.projects)
        found = [named] if named and named.ended is None and named.id != fact.id else []
        if fact.origin == "user" and fact.kind in _OPINIONS:
            found += [old for old in self.store.rivals(fact) if old.kind in _OPINIONS]
        return [old for old in dict.fromkeys(found) if _may_replace(fact, old)]

    # -- edits by a person

    def write(self, fact: Fact) -> None:
        """Write a changed fact to its lines and its row, and queue it for the server."""
        day = self.store.day(fact.id)
        if day is None or not self.lines.change(fact, day):
            raise ExpectedError(f"{fact.id} is in no daily log; run `memoria learned` to list the learned facts.")
        self.store.put(fact, day)
        self._queue_for_server("put", fact.id)

    def rewrite(self, known: Fact, fact: Fact) -> bool:
        """Write another machine's change of a fact; return False when the fact no longer reads as ``known``."""
        day = self.store.day(known.id)
        if day is None or not self.lines.change(fact, day, known=known):
            return False
        self.store.put(fact, day)
        return True

    def edit(self, ident: str, content: str) -> Fact:
        """Change a fact's wording; raise ExpectedError when there is no such fact or the text is empty."""
        words = plain(content)
        if not words:
            raise ExpectedError("a fact needs words; to remove it, run `memoria learned delete`.")
        changed = replace(self.known(ident), content=words)
        self.write(changed)
        return changed

    def promote(self, ident: str) -> Fact:
        """Make a fact hold in every project."""
        changed = replace(self.known(ident), project=GLOBAL, also=())
        self.write(changed)
        return changed

    def add_project(self, ident: str, project: str) -> None:
        """Record that a fact also occurs in another project; do nothing when it is known to hold there."""
        fact = self.store.get(ident)
        if fact and not {project, GLOBAL}.intersection(fact.projects):
            self.write(replace(fact, also=(*fact.also, project)))

    def delete(self, ident: str) -> Fact:
        """Delete a fact: its lines, its row and its queued work; queue the deletion. Facts it had ended stay ended."""
        fact = self.known(ident)
        self.to_server.forget(fact.id)
        self.store.mark_deleted(fact.id)
        self._queue_for_server("delete", fact.id)  # first: without it, the server would bring the fact back
        self.forget(fact.id)
        return fact

    def forget(self, ident: str) -> None:
        """Remove a fact from log and store, but not from the server."""
        day = self.store.day(ident)
        self.outbox.forget(ident)
        if day:
            self.lines.remove(ident, day)
        self.store.remove(ident)

    def known(self, ident: str) -> Fact:
        """Return the fact with this id, in any form that a person may give it; raise ExpectedError if there is none."""
        named = reference.parse(ident)
        if named and named.kind == reference.ENTRY:
            raise ExpectedError(f"{ident!r} is an entry; `memoria learned list {named.anchor}` lists its facts.")
        fact = self.store.get(named.anchor if named else "l-" + ident.strip())
        if fact is None:
            raise ExpectedError(f"there is no learned fact {ident!r}; `memoria learned` lists them.")
        return fact

    def entry_of(self, fact: Fact) -> Entry | None:
        """Return the entry that the fact is in, or None while it waits for its session's entry."""
        days = [self.zone.day(fact.time), *reversed(self.lines.daily.days())]
        entries = (entry for day in dict.fromkeys(days) for entry in self.lines.daily.entries(day))
        return next((entry for entry in entries if any(learned.id == fact.id for learned in entry.learned)), None)

    def offered(self) -> list[Fact]:
        """Return the facts that came up in a second project and could hold in every project."""
        return [fact for fact in self.store.facts() if fact.also and fact.project != GLOBAL]

    def adopt(self, fact: Fact, heading: str) -> None:
        """Store a fact of another machine unchanged: it was judged there, so it is neither compared nor counted."""
        day = self.zone.day(fact.time)
        self.lines.add(fact, day, f"{self.zone.local(fact.time):%H:%M}", plain(heading) or "everywhere")
        self.store.put(fact, day)

    def _queue_for_server(self, operation: str, ident: str) -> None:
        if self.server:
            self.to_server.put({"op": operation, "id": ident})


def _may_replace(fact: Fact, old: Fact) -> bool:
    """Return whether ``fact`` may replace ``old``: only the user's words can replace the user's words."""
    return fact.origin == "user" or old.origin != "user"
