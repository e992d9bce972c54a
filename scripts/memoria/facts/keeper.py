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
from memoria.facts.fact import GLOBAL, Event, plain
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

    added: tuple[Event, ...] = ()
    repeated: tuple[Event, ...] = ()
    ended: tuple[Event, ...] = ()

    def __add__(self, other: Kept) -> Kept:
        """Both together."""
        return Kept(self.added + other.added, self.repeated + other.repeated, self.ended + other.ended)


class Keeper:
    """Log, store and outboxes of one home."""

    def __init__(self, daily: DailyLog, state: Path, zone: Zone, *, server: bool = False) -> None:
        """``state``: the state folder. ``server``: whether a memory server is to be told of changes."""
        self.lines = Lines(daily)
        self.zone = zone
        self.store = Store(state / "learned.db")
        self.outbox = Outbox(state / "outbox" / "learned")
        self.to_server = Outbox(state / "outbox" / "server")
        self.server = server
        self.fresh: list[Event] = []  # what was added since this keeper was opened

    @classmethod
    def of(cls, paths: Paths, zone: Zone, *, server: bool = False) -> Keeper:
        """The keeper of a home, with its store brought up to what the logs say."""
        state = Path(paths.state)
        keeper = cls(DailyLog(Path(paths.daily), state / "daily.lock"), state, zone, server=server)
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
            for event in (*changes.added, *changes.changed) if known else ():
                self._tell("put", event.id)
            for event in changes.gone:
                self._tell("delete", event.id)

        self.store.refresh(self.lines, tell)
        self.store.set_meta("read", "1")

    # -- facts from a judge

    def take(self, events: Iterable[Event], project: str = "") -> Kept:
        """Keep these facts; they are in the outbox before anything else is tried.

        ``project``: the name people read, for the heading. MemoryStoreError when some have to wait there.
        """
        for event in events:
            self.outbox.put({"id": event.id, "event": event.to_dict(), "project": project or event.project})
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
        event = Event.from_dict(item.body["event"])
        if not self._stands(event):
            twin = self.store.twin(event)
            if twin:
                return Kept(repeated=(self._repeat(twin, event),))
        return self._add(event, str(item.body.get("project", "")))

    def _stands(self, event: Event) -> bool:
        return self.store.get(event.id) is not None or any(
            other.id == event.id for other in self.lines.read(self.zone.day(event.time))
        )

    def _repeat(self, known: Event, event: Event) -> Event:
        """Count a fact that was said again; said no later than it was last counted, nothing changes (a second run)."""
        places = tuple(
            place for place in event.projects if place not in known.projects and GLOBAL not in known.projects
        )
        later = event.time > (known.last or known.time)
        if not later and not places:
            return known
        again = replace(
            known,
            seen=known.seen + later,
            last=event.time if later else known.last,
            also=known.also + places,
            importance=max(known.importance, event.importance),
            kind="correction" if event.kind == "correction" and known.kind == "preference" else known.kind,
        )
        self.write(again)
        return again

    def _add(self, event: Event, project: str) -> Kept:
        told = event
        olds = self._replaced_by(event)
        newer = [old for old in olds if old.time > event.time]
        olds = [old for old in olds if old.time <= event.time]
        event = replace(event, supersedes=olds[0].id if olds else "")
        if newer:  # an old session read late: what was said since holds
            event = replace(event, ended=newer[0].time, successor=newer[0].id)
        day = self.zone.day(event.time)
        local = self.zone.local(event.time)
        added = self.lines.add(event, day, f"{local:%H:%M}", plain(project) or "everywhere")
        if not added and told in self.lines.read(day):  # its entry shows it as it was told, and the log is the truth
            self.lines.change(event, day)
        self.store.set_meta("unshown", "1")
        self.store.put(event, day)
        self._tell("put", event.id)
        self.fresh.append(event)
        ended = tuple(replace(old, ended=event.time, successor=event.id) for old in olds)
        for old in ended:
            self.write(old)
        return Kept(added=(event,), ended=ended)

    def _replaced_by(self, event: Event) -> list[Event]:
        """The live facts that end with this one: the one it names, and those a person's new word contradicts."""
        named = self.store.get(event.supersedes) if event.supersedes.startswith("l-") else None
        if event.supersedes and not named:
            named = self.store.nearest(event.supersedes, event.projects)
        found = [named] if named and named.ended is None and named.id != event.id else []
        if event.origin == "user" and event.kind in _OPINIONS:
            found += [old for old in self.store.rivals(event) if old.kind in _OPINIONS]
        return [old for old in dict.fromkeys(found) if _may_replace(event, old)]

    # -- a person's word

    def write(self, event: Event, *, tell: bool = True) -> None:
        """Write a changed fact to its lines, its row and, with ``tell``, towards the server when there is one."""
        day = self.store.day(event.id)
        if day is None or not self.lines.change(event, day):
            raise ExpectedError(f"{event.id} stands in no daily log; run `memoria learned` to see what there is.")
        self.store.put(event, day)
        if tell:
            self._tell("put", event.id)

    def edit(self, ident: str, content: str) -> Event:
        """Give a fact another wording. ExpectedError when there is no such fact or nothing is left of the text."""
        words = plain(content)
        if not words:
            raise ExpectedError("a fact needs words; to remove it, run `memoria learned delete`.")
        changed = replace(self.known(ident), content=words)
        self.write(changed)
        return changed

    def promote(self, ident: str) -> Event:
        """Let a fact hold in every project."""
        changed = replace(self.known(ident), project=GLOBAL, also=())
        self.write(changed)
        return changed

    def seen_in(self, ident: str, project: str) -> None:
        """A fact stands in another project too, where nobody said it to us; nothing when that is known."""
        event = self.store.get(ident)
        if event and not {project, GLOBAL}.intersection(event.projects):
            self.write(replace(event, also=(*event.also, project)))

    def delete(self, ident: str) -> Event:
        """Forget a fact: its lines, its row, what waits about it; the server is told. What it had ended stays ended."""
        event = self.known(ident)
        self.to_server.forget(event.id)
        self._tell("delete", event.id)  # first: a server that is never told would bring the fact back
        self.forget(event.id)
        return event

    def forget(self, ident: str) -> None:
        """Take a fact out of log and store without telling the server."""
        day = self.store.day(ident)
        self.outbox.forget(ident)
        if day:
            self.lines.remove(ident, day)
        self.store.remove(ident)

    def known(self, ident: str) -> Event:
        """The fact with this id, ``l-`` or ``^`` before it or not. ExpectedError when there is none."""
        name = "l-" + ident.strip().removeprefix("^").removeprefix("l-")
        event = self.store.get(name)
        if event is None:
            raise ExpectedError(f"there is no learned fact {ident!r}; `memoria learned` lists them.")
        return event

    def offered(self) -> list[Event]:
        """Facts that returned in a second project and could hold everywhere."""
        return [event for event in self.store.facts() if event.also and event.project != GLOBAL]

    def adopt(self, event: Event, heading: str) -> None:
        """Keep a fact that another machine learned, as it is: judged there, so neither compared nor counted here."""
        day = self.zone.day(event.time)
        self.lines.add(event, day, f"{self.zone.local(event.time):%H:%M}", plain(heading) or "everywhere")
        self.store.put(event, day)

    def _tell(self, operation: str, ident: str) -> None:
        if self.server:
            self.to_server.put({"op": operation, "id": ident, "server": self._server_number(ident)})

    def _server_number(self, ident: str) -> int:
        link = self.store.links().get(ident)
        return link.server if link else 0


def _may_replace(event: Event, old: Event) -> bool:
    """What a person said is replaced only by what a person said."""
    return event.origin == "user" or old.origin != "user"
