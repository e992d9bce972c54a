"""Keeper: write learned facts, and a person's edits of them, to the daily log and the store.

Every step can be interrupted and repeated: a fact waits in the outbox until its line is in the daily log and its row in
the store. A fact that is known already is counted, and one that replaces another ends it. This module does not know
where facts come from.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import sqlite3
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from memoria.base import invocation, project
from memoria.base.paths import Paths
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import ENTRY, Reference
from memoria.ground import clock, files
from memoria.ground.clock import Zone
from memoria.ground.errors import ExpectedError, MemoryStoreError
from memoria.ground.home import Home
from memoria.ground.printable import amount
from memoria.search import comparison, identifiers
from memoria.statements.claim_check import find_unheard
from memoria.statements.fact import (
    GLOBAL,
    ORIGINS,
    Ending,
    Fact,
    Stamp,
    make_plain,
    new_id,
    said_at,
    yields,
)  # fmt: skip
from memoria.statements.lines import Lines
from memoria.statements.store import Changes, Store

log = logging.getLogger(__name__)

STANDS = "%s stands: it was said again later, or by the user, whose word alone ends it (this end came from: %s)"


class Outbox:
    """A folder of waiting work items, one small file each, oldest first.

    A file is written and synced before the work is attempted, and removed only when the work is done. One that is no
    item is renamed to ``<name>.bak-<time>``, never deleted.
    """

    def __init__(self, folder: Path) -> None:
        """The folder is created by the first ``put``."""
        self.folder = folder
        self._numbers = itertools.count()

    def put(self, body: Mapping[str, Any]) -> Path:
        """Add an item and return its file, which is on disk; raise OSError when it cannot be written."""
        path = self.folder / f"{time.time_ns():020d}-{os.getpid()}-{next(self._numbers):04d}.json"
        files.replace(path, json.dumps({"body": dict(body)}, ensure_ascii=False) + "\n")
        return path

    def items(self) -> dict[Path, dict[str, Any]]:
        """Return the waiting items by their files, oldest first, with those that version 0.2.0 set aside.

        What is no item is renamed. Whoever has done an item removes its file.
        """
        items = {}
        paths = (*self.folder.glob("*.json"), *self.folder.glob("aside/*.json"))
        for path in sorted(paths, key=lambda path: path.name):
            try:
                items[path] = dict(json.loads(path.read_text("utf-8"))["body"])
            except FileNotFoundError:
                continue  # another process has done it meanwhile
            except (ValueError, KeyError, TypeError):
                files.set_aside(path)
        return items


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for some facts: those ``added``, and those known before (``repeated``)."""

    added: list[Fact] = field(default_factory=list)
    repeated: list[Fact] = field(default_factory=list)


class Keeper(AbstractContextManager["Keeper"]):
    """The daily logs, the store and the outbox of one home."""

    def __init__(self, paths: Paths, zone: Zone) -> None:
        self.lines = Lines(DailyLog(paths))
        self.zone = zone
        self.store = Store(paths)
        self.outbox = Outbox(Path(paths.facts_outbox))

    @classmethod
    def at(cls, home: Home) -> Keeper:
        """Return the keeper of a home, with its store brought up to date from the logs."""
        keeper = cls(home.paths, home.zone)
        keeper.refresh()
        return keeper

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.store.db.close()

    def refresh(self) -> None:
        """Read what a person changed in the logs."""
        deleted = self.store.deleted_ids()
        rewritten: list[Fact] = []

        def record(changes: Changes) -> None:
            news = replace(changes, changed=tuple(pair for pair in changes.changed if not _is_older_copy(*pair)))
            rewritten[:] = [self._adopt_by_hand(then, now) for then, now in _find_by_hand(news, deleted)]
            older = [then for then, now in changes.changed if _is_older_copy(then, now)]
            rewritten.extend(older)  # a correction is not taken back by a copy of the log from before it
            self._record(news)
            for fact in rewritten:
                self.lines.change(fact, self.zone.day(fact.time))

        self.store.refresh(self.lines, record)
        if rewritten:  # the lines tell now what the store is to tell
            self.store.refresh(self.lines, record)

    def _adopt_by_hand(self, then: Fact | None, now: Fact) -> Fact:
        """Return a fact whose line a person wrote or put back, with the day of its words and the ones before."""
        moment = clock.now()
        if then is None:
            return replace(now, worded=moment)
        return replace(then.reword(now.content, self.zone.day(moment).isoformat(), moment), kind=now.kind)

    def _record(self, changes: Changes) -> None:
        """Note which facts a person deleted, and which came back."""
        for fact in changes.added:
            self.store.unmark_deleted(fact.id)
        for fact in changes.gone:
            self.store.mark_deleted(fact)

    # -- facts from a model

    def take(self, facts: Iterable[Fact], project: str = "", *, endings: Iterable[Ending] = ()) -> Outcome:
        """Store these facts and end others; all are in the outbox before anything else is attempted.

        ``project``: the project's display name, for the heading. Raise MemoryStoreError when some must wait in the
        outbox.
        """
        for ending in endings:  # first: what remains of a fact is kept, also if another one here replaces the fact
            self.outbox.put(ending.to_dict())
        for fact in facts:
            self.outbox.put({"id": fact.id, "event": fact.to_dict(), "project": project or fact.project})
        return self.drain()

    def drain(self) -> Outcome:
        """Store the facts that wait in the outbox; raise MemoryStoreError when some must wait on."""
        kept, reasons = Outcome(), []
        for path, body in self.outbox.items().items():
            try:
                self._place(body, kept)
            except (OSError, sqlite3.Error) as error:
                reasons.append(str(error))
                continue
            except ExpectedError as error:  # a person has just taken a line out, which the next refresh will find
                log.info("%s waits: %s", path, error)
                continue
            except (ValueError, KeyError, TypeError, AttributeError) as error:  # somebody changed the file
                log.warning("%s is no fact: %s", path, error)
                files.set_aside(path)
                continue
            path.unlink(missing_ok=True)
        if reasons:
            raise MemoryStoreError(
                f"{amount(len(reasons), 'learned fact')} could not be stored ({reasons[0]}). memoria will try again "
                f"later; until then see {self.outbox.folder}."
            )
        return kept

    def waiting_facts(self) -> Iterator[Fact]:
        """Yield the facts that wait in the outbox."""
        for body in self.outbox.items().values():
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                yield Fact.from_dict(body["event"])

    def _place(self, body: Mapping[str, Any], kept: Outcome) -> None:
        if "resumed" in body:
            self._undo(body)
        elif "ended" in body:
            self._end(Ending.from_dict(body))
        elif not self.store.get((fact := Fact.from_dict(body["event"])).id) and (twin := self.find_repeated(fact)):
            known = self._repeat(twin, fact)
            self._replace((old for old in self.store.superseded_facts(fact) if old.id != known.id), fact, known.id)
            kept.repeated.append(known)
        else:
            kept.added.append(self._add(fact, str(body.get("project", ""))))

    def find_repeated(self, fact: Fact) -> Fact | None:
        """Return the known fact that this one says again, with no name in code that the other lacks.

        One of its own project comes first. A fact that says itself that it replaces the other does not repeat it.
        """
        names = set(identifiers.find(fact.content))
        twins = (twin for twin in self.store.twins(fact) if names <= set(identifiers.find(twin.content)))
        twin = min(twins, key=lambda twin: fact.project not in twin.projects, default=None)
        return None if twin and twin.id in fact.supersedes else twin

    def _end(self, end: Ending) -> None:
        """End a fact and its copies, unless it was said again since or only the user's word can end it.

        Of a fact that has ended, only the successor can change.
        """
        fact = self.store.get(end.id)
        if fact is None or not yields(fact, end.time, end.origin):
            log.warning(STANDS, end.id, end.origin)
        elif fact.ended:
            if end.successor not in ("", fact.successor):
                self.write(replace(fact, successor=end.successor))
        elif own := self.narrow(fact, end.projects):
            successor = self._part(own, end.remains, own.projects).id if end.remains else end.successor
            self._finish(own, end.time, successor, repetition=end.repetition)

    def _finish(self, fact: Fact, ended: datetime, successor: str, but: str = "", *, repetition: bool = False) -> None:
        """End a fact with its copies, which are found through it; neither the successor nor the fact ``but``."""
        for copy in (*self.store.copies(fact), fact):
            each = self.narrow(copy, fact.projects)
            if each and each.id not in (successor, but):
                self.write(replace(each, ended=ended, successor=successor, repetition=repetition))

    def narrow(self, fact: Fact, places: Sequence[str]) -> Fact | None:
        """Return a fact as one of these projects alone, None when it is none of theirs; without projects, all of it.

        If others have it too, each of them gets a fact of its own, so that it can end or go on in each, also when other
        machines divide it at the same time; where it was said first, it keeps its id.
        """
        own = tuple(place for place in fact.projects if place in places)
        rest = tuple(place for place in fact.projects if place not in places)
        if not places or not rest or fact.ended or GLOBAL in (*places, *rest):
            return fact
        if not own:  # or it was divided before a kill
            return self.store.get(_part_id(fact, fact.content, places))
        every = (own, *((place,) for place in rest))
        parts = {each: self._part(fact, fact.content, each) for each in every if fact.project not in each}
        (stays,) = set(every) - parts.keys()
        self.write(left := replace(fact, also=stays[1:]))
        return parts.get(own, left)

    def _part(self, fact: Fact, content: str, places: Sequence[str]) -> Fact:
        """Store what of a fact holds on, or holds in these projects, as a fact of the same day with the same proof."""
        ident, (own, *also) = _part_id(fact, content, places), places
        part = replace(fact, id=ident, content=content, project=own, also=tuple(also), history=(), supersedes=())
        if (known := self.store.get(ident)) is None:
            self.adopt(part)
        elif known.ended:  # and was said again since
            self.write(part)
        return part

    def _undo(self, change: Mapping[str, Any]) -> None:
        """Let a fact and its copies hold again, if they ended then and so; what came with the end goes."""
        moment, successor = clock.parse(str(change["resumed"])), str(change.get("successor") or "")
        if fact := self.store.get(str(change["id"])):
            said = comparison.words(fact.content)
            for each in self.store.facts(live=False):
                is_over = each.ended and (each.ended, each.successor) == (moment, successor)
                if is_over and comparison.is_same(said, comparison.words(each.content)):
                    self.write(replace(each, ended=None, successor="", repetition=False))
        if (born := self.store.get(str(change.get("born")))) is not None:
            self.delete(born.id)

    def _repeat(self, known: Fact, fact: Fact) -> Fact:
        """Count a fact that was said again, unless this or a later time was counted already (a repeated run).

        What the user said, only the user says again. What somebody else said first is the user's, of the kind that they
        give it, once the user says it.
        """
        places = tuple(place for place in fact.projects if place not in known.projects and GLOBAL not in known.projects)
        later = fact.time > (known.last or known.time) and (fact.origin == "user" or known.origin != "user")
        if not later and not places:
            return known
        is_own_now = fact.origin == "user" and known.origin != "user"
        is_corrected = fact.kind == "correction" and known.kind == "preference"
        again = replace(
            known,
            seen=1 if is_own_now else known.seen + later,
            last=fact.time if later else known.last,
            also=known.also + places,
            importance=max(known.importance, fact.importance),
            origin=min(known.origin, fact.origin, key=ORIGINS.index),
            kind=fact.kind if is_own_now or is_corrected else known.kind,
            quote=fact.quote if is_own_now else known.quote,
            asked_as=known.asked_as or fact.asked_as,
        )
        self.write(again)
        return again

    def _add(self, fact: Fact, project: str) -> Fact:
        original = fact
        found = self.store.superseded_facts(fact)
        olds = [old for old in found if yields(old, fact.time, fact.origin)]
        outlived = [old for old in found if old not in olds]
        for ident in set(original.supersedes).difference(old.id for old in olds):
            log.warning(STANDS, ident, fact.origin)
        olds = [own for old in olds if (own := self.narrow(old, fact.projects))]
        fact = replace(fact, supersedes=tuple(old.id for old in olds))
        if outlived:  # an old session was read late, or only the user can take back what the user said
            fact = replace(fact, ended=max(fact.time, said_at(outlived[0])), successor=outlived[0].id)
        day = self.zone.day(fact.time)
        local = self.zone.to_local(fact.time)
        added = self.lines.add(fact, day, f"{local:%H:%M}", make_plain(project) or "everywhere")
        if not added and original in self.lines.read(day):  # its entry shows the original, and the log is authoritative
            self.lines.change(fact, day)
        self.store.put(day, fact)
        self.store.unmark_deleted(fact.id)
        self._replace(olds, fact, fact.id)
        return fact

    def _replace(self, olds: Iterable[Fact], fact: Fact, successor: str) -> None:
        """End the facts that yield to this one in its projects, with their copies."""
        for old in olds:
            if yields(old, fact.time, fact.origin) and (own := self.narrow(old, fact.projects)):
                self._finish(own, fact.time, successor, fact.id)

    def sources(self, fact: Fact) -> tuple[str, ...]:
        """Return the entries that a fact is in; those of its session on its day when its line is gone."""
        entries = self.lines.daily.entries(self.store.day(fact.id) or self.zone.day(fact.time))
        holding = [entry.source for entry in entries if any(learned.id == fact.id for learned in entry.learned)]
        return tuple(holding or (entry.source for entry in entries if fact.session and entry.session == fact.session))

    # -- edits by a person

    def ask(self, ident: str, phrases: tuple[str, ...]) -> None:
        """Give a fact that has none the phrases by which it is asked for."""
        fact = self.store.get(ident)
        if fact and not fact.asked_as and fact.ended is None:
            self.write(replace(fact, asked_as=phrases))

    def write(self, fact: Fact) -> None:
        """Write a changed fact to its lines and its row.

        One that only an article of an earlier version tells is written to the log of its day first, where all of it
        can stand.
        """
        day = self.store.day(fact.id)
        if day is None and self.store.get(fact.id):
            self.adopt(fact)
        elif day is None or not self.lines.change(fact, day):
            raise ExpectedError(f"{fact.id} is in no daily log; {invocation.command('learned')} lists the facts.")
        self.store.put(day or self.zone.day(fact.time), fact)

    def edit(self, ident: str, content: str, *, is_users: bool = False) -> Fact:
        """Change a fact's wording.

        ``is_users``: a person chose these words, so that it holds, again if need be, until the user's later word ends
        it. Raise ExpectedError when there is no such fact or the text is empty.
        """
        words = make_plain(content)
        if not words:
            raise ExpectedError(f"a fact needs words; to remove it, run {invocation.command('learned delete')}.")
        known = self.get(ident)
        resumed = replace(known, ended=None, successor="", repetition=False) if is_users else known
        if resumed == known and words == known.content:
            return known
        now = clock.now()
        changed = resumed.reword(words, self.zone.day(now).isoformat(), now) if words != known.content else resumed
        ground = f"{known.quote}\n{known.content}"  # which does not prove another number or name
        if is_users and (known.origin != "user" or known.quote == known.content or find_unheard(words, ground)):
            changed = replace(changed, origin="user", quote=words)
        self.write(changed)
        return changed

    def promote(self, ident: str) -> Fact:
        """Make a fact hold in every project."""
        changed = replace(self.get(ident), project=GLOBAL, also=())
        self.write(changed)
        return changed

    def delete(self, ident: str) -> Fact:
        """Delete a fact: its lines, its row and its queued work. Facts it had ended stay ended."""
        fact = self.get(ident)
        self.store.mark_deleted(fact)  # first: without it, a memory server would bring the fact back
        day = self.store.day(fact.id)
        for path, body in self.outbox.items().items():
            if body.get("id") == fact.id:
                path.unlink(missing_ok=True)
        if day:
            self.lines.remove(fact.id, day)
        self.store.remove(fact.id)
        return fact

    def get(self, ident: str) -> Fact:
        """Return the fact with this id, in any form that a person may give it; raise ExpectedError if there is none."""
        named = Reference.of(ident)
        if named and named.kind == ENTRY:
            raise ExpectedError(f"{ident!r} is an entry; run {invocation.command(f'learned list {named.anchor}')}.")
        anchor = named.anchor if named else "l-" + ident.strip()
        if fact := self.store.get(anchor):
            return fact
        for day in (day for day, lost in self.store.lost_ids().items() if anchor in lost):
            raise ExpectedError(f"{anchor} stood in daily/{day}.md, which was moved or lost; put that back to see it.")
        raise ExpectedError(f"there is no learned fact {ident!r}; {invocation.command('learned')} lists them.")

    def adopt(self, fact: Fact) -> None:
        """Store a fact unchanged, without comparing or counting it."""
        day = self.zone.day(fact.time)
        self.lines.add(fact, day, *self.heading(fact))
        self.store.put(day, fact)

    def heading(self, fact: Fact) -> tuple[str, str]:
        """Return the time and the project in the heading above a fact that is in no entry."""
        name = "everywhere" if fact.project == GLOBAL else project.name_of(fact.project)
        return f"{self.zone.to_local(fact.time):%H:%M}", name

    def take_over(self, fact: Fact, day: date) -> None:
        """Record what the exchange with another machine wrote into a day's log.

        Nobody edited it here, so it is neither compared nor counted.
        """
        self.store.put(day, fact)
        self.store.unmark_deleted(fact.id)


def _part_id(fact: Fact, content: str, places: Sequence[str]) -> str:
    return new_id(fact.kind, content, Stamp(places[0], fact.id, fact.time))  # a server keeps no session


def _is_older_copy(then: Fact, now: Fact) -> bool:
    """Return whether a line holds words from before those that it had; what a person writes has the time of those."""
    return now.content != then.content and now.worded_at < then.worded_at


def _find_by_hand(changes: Changes, deleted: Container[str]) -> list[tuple[Fact | None, Fact]]:
    """Return what a person put back or worded anew, then and now; a copy of a file brings another time of wording."""
    changed = [(then, now) for then, now in changes.changed
               if now.content != then.content and now.worded == then.worded]  # fmt: skip
    return [*((None, fact) for fact in changes.added if fact.id in deleted), *changed]
