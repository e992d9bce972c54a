"""Round: one exchange of a home with the user's other machines and memory server, from the files to the files.

Scan, meeting, application: what is new here becomes records, the records of all machines come together, and what they
say is written into the files. Each step can be killed and repeated. What was forgotten elsewhere and stands here is
named to the caller, because forgetting reaches further than the files that are exchanged.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memoria import __version__
from memoria.base import project
from memoria.base.atomic import PRIVATE
from memoria.base.paths import Paths
from memoria.base.visibility import Visibility
from memoria.daily.ledger import Ledger
from memoria.exchange import keys
from memoria.exchange.application import apply
from memoria.exchange.carriers import Carrier
from memoria.exchange.meeting import DELETED, Meeting
from memoria.exchange.memory_server import Server
from memoria.exchange.record import ENTRY, FORGET, GONE, STATEMENT, nameless, packed
from memoria.exchange.records import TO_FORGET, Records
from memoria.exchange.rows import SERVER, Rows
from memoria.exchange.scan import Scan
from memoria.exchange.sources import Articles, Days
from memoria.ground import clock, database, files, locks
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.printable import counted
from memoria.ground.swap import Swap
from memoria.pages import refresh
from memoria.statements.keeper import Keeper
from memoria.transcripts.screen import Tombstones, stone_of
from memoria.wiki.folder import Wiki

STONE: Final = "stone"  # a record by which a forgotten text is recognised


@dataclass(slots=True)
class Exchanged:
    """What a round did.

    ``came`` and ``sent`` count entries and statements, the former by the machine that wrote them; ``stored`` counts
    statements that were written to the memory server. ``forgotten``: the ids that are to be forgotten here; ``count``:
    how much was; ``lost``: how many edits, which who forgot it had not seen, went with it. ``held``: how many deletions
    wait for a person. ``failure``: why the other machines, or the server, were not met.
    """

    came: dict[str, Counter[str]] = field(default_factory=dict)
    sent: Counter[str] = field(default_factory=Counter)
    stored: int = 0
    forgotten: list[str] = field(default_factory=list)
    held: int = 0
    count: int = 0
    lost: int = 0
    failure: ExpectedError | None = None

    @property
    def line(self) -> str:
        """What came and went, in one line."""
        parts = [f"{told(counts)} from {name or 'another machine'}" for name, counts in sorted(self.came.items())
                 if told(counts)]  # fmt: skip
        parts += [f"{told(self.sent)} sent"] if told(self.sent) else []
        parts += [f"{counted(self.stored, 'statement')} written to the memory server"] if self.stored else []
        parts += [f"{self.count} forgotten here"] if self.count else []
        parts += [f"{counted(self.lost, 'edit')} of it made here meanwhile"] if self.lost else []
        return ", ".join(parts) or "nothing new"


@dataclass(slots=True)
class Round:
    """The exchange of one home.

    What is missing in the files and waits for a person was meant when it is ``taken``, and is written again when it is
    ``restored``.
    """

    home: Home
    keeper: Keeper
    records: Records
    taken: bool = False
    restored: bool = False

    def run(self, carrier: Carrier | None, server: Server | None = None) -> Exchanged:
        """Swap by what there is. What came is always written."""
        self._begin()
        scan, stones = self.scan(), Tombstones(self.home.paths)
        done = Exchanged(held=len(scan.held))
        if server:
            rows = Rows(self.records, self.keeper, server, self.hides, stones.without)
            rows.meet()
            done.came |= {SERVER: Counter({STATEMENT: rows.came})} if rows.came else {}
            done.stored, done.failure = rows.sent, rows.failure
        try:
            if carrier:
                self._meet(carrier, stones, done)
        except ExpectedError as error:
            done.failure = error
        done.forgotten = self.apply()
        return done

    def _meet(self, carrier: Carrier, stones: Tombstones, done: Exchanged) -> None:
        """Exchange with the other machines; CarrierError when that cannot be now, WrongKeyError with another key."""
        _tell_stones(self.records, stones)
        key = keys.kept(self.home.paths)
        meeting = Meeting(self.records, carrier, key, self.machine, stones.without, self._about)
        meeting.hold()
        done.sent += meeting.sent
        if self._take_stones(stones):
            _look_again(self.records, stones)
            meeting.hold()
        self.records.keep("last", clock.now().isoformat())
        others = {name: told for name, told in meeting.others.items() if told}
        self.records.keep("others", self.records.get("others", {}) | others)  # who is not listed may hold what it held
        done.came |= {name if name != label() else "": counts for name, counts in meeting.came.items()}

    @property
    def machine(self) -> str:
        """The name of this machine's folder; a copy of the state has the same, which does no harm."""
        if not self.records.get("machine"):
            self.records.keep("machine", os.urandom(8).hex())
        return str(self.records.get("machine"))

    @property
    def hides(self) -> Callable[[str], bool]:
        """Whether a project is excluded here."""
        visible, known = Visibility(self.home.settings, self.home.paths), project.known(self.home.paths.projects)
        return lambda key: visible.hides(known.current(key))

    def scan(self) -> Scan:
        """Look at the files; at articles only while no compile is at work. A person's own notes become entries."""
        daily = self.keeper.lines.daily
        daily.take_in_copies()
        self.keeper.refresh()
        if self.home.settings.sync and not self.keeper.store.half_saved_days():
            with closing(Ledger(self.home.paths)) as ledger:
                daily.refresh(ledger)
                if ledger.unmarked_logs():
                    daily.mark_all(ledger)
                    self.keeper.refresh()
        with locks.held(Path(self.home.paths.compile_lock)) as mine:
            if mine and self.home.settings.sync:
                refresh.settle(self.home, self.keeper)
            scan = Scan(self.records, self._sources(mine), label(), self.hides, self.taken, self.restored)
            scan.run()
        return scan

    def apply(self) -> list[str]:
        """Write what is due into the files; return the ids that stand here and were forgotten elsewhere."""
        with locks.held(Path(self.home.paths.compile_lock)) as mine:
            days, *articles = self._sources(mine)
            apply(self.records, (days, *articles))
        return days.forgotten

    def _sources(self, with_articles: bool) -> tuple[Days, *tuple[Articles, ...]]:
        """Return the files that are exchanged; articles only while no compile is at work."""
        given = (self.records, self.keeper, self.hides)
        articles = Articles(*given, Wiki(self.home.paths), Swap(self.home.paths))
        return (Days(*given), articles) if with_articles and self.home.settings.sync else (Days(*given),)

    def _begin(self) -> None:
        """Look at everything again where another version or other exclusions make it necessary."""
        state = [__version__, *Visibility(self.home.settings, self.home.paths).hidden()]
        if self.records.get("state") != state:
            with self.records.transaction():
                self.records.all_due()
                self.records.keep("state", state)

    def _about(self) -> dict[str, Any]:
        met = clock.now().isoformat(timespec="seconds")
        return {"label": label(), "met": met, "gone": count_gone(self.records), "version": __version__}

    def _take_stones(self, stones: Tombstones) -> bool:
        """Take over the texts that were forgotten elsewhere; return whether there are any."""
        new = set(self.records.idents(STONE)) - {f"x-{stone.digest}" for stone in stones.stones}
        for record in filter(None, map(self.records.standing, sorted(new))):
            self.records.keep(TO_FORGET, True)
            with suppress(ValueError, KeyError, TypeError):  # of a newer version
                stones.take(stone_of(json.loads(str(record.text))))
        return bool(new)


def forget(home: Home, gone: Mapping[str, str], files: Collection[str], names: Callable[[str], bool]) -> None:
    """Take what was forgotten here out of the records; ``gone``: the ids, each with the day and turns that stay.

    ``files``: the articles that went with it (``knowledge/concepts/x``): nobody is asked whether that was meant.
    ``names``: whether an article's name is to be forgotten too.

    The next exchange takes it out of every folder.
    """
    if not Path(home.paths.records).exists():
        return
    with Records.of(home.paths) as records:
        with records.transaction():
            for ident, text in gone.items():
                records.scrub_articles(ident)
                for row in records.former(ident):
                    records.put(row.id, row.kind, None, row.dots, machine=label())
                    records.scrub(row.dots)
                if not records.gone(ident):
                    for name in records.beside(ident):
                        records.part(name)
                    records.put(ident, FORGET, text or None, records.dots(ident), machine=label())
                records.unshow(ident)
            for shown in [each for file in files for each in records.shown_in(file).values()]:
                record = records.standing(shown.id)
                if record and record.text is not None:
                    record = records.put(shown.id, record.kind, None, shown.dots, machine=label())
                records.show(shown.id, shown.file, GONE, record.dots if record else ())
            for name in filter(names, records.names()):
                records.put(nameless(name), FORGET, None, (), machine=label())
                records.unshow(name)
                records.settle([name])
            records.db.executemany("DELETE FROM files WHERE name = ?", [(file,) for file in files])
        _tell_stones(records, Tombstones(home.paths))
        records.keep("refused", {})  # a server's reason may quote a statement; the next run asks again
        database.shred(records.db)
    shutil.rmtree(home.paths.exchange_clone, ignore_errors=True)  # it is fetched again


def count_gone(records: Records) -> int:
    """Return how much was forgotten, ids and texts, by which it is seen who has not heard of it."""
    return len(records.forgotten()) + len(records.idents(STONE))


def _tell_stones(records: Records, stones: Tombstones) -> None:
    """Write a record of each forgotten text, and look for the new ones in every folder."""
    known = records.idents(STONE)
    new = [stone for stone in stones.stones if f"x-{stone.digest}" not in known]
    with records.transaction():
        for stone in new:
            text = packed(stone._asdict())
            records.put(f"x-{stone.digest}", STONE, text, (), dot=stone.digest[:16])
    if new:
        _look_again(records, stones)


def _look_again(records: Records, stones: Tombstones) -> None:
    """Take the forgotten texts out of all records, and have every segment searched for them."""
    with records.transaction():
        records.release(records.segments())
        records.clean(stones.without)


def label() -> str:
    """Return what this machine is called."""
    return platform.node().partition(".")[0].casefold() or "a machine"


def note_try(paths: Paths, now: datetime) -> None:
    """Note that an exchange is tried: the hook of the next session's start looks there."""
    files.replace(Path(paths.exchanged), f"{now.timestamp():.0f}", mode=PRIVATE)


def told(counts: Counter[str]) -> str:
    """Return in words how many entries, statements and deletions there are, or that something else changed."""
    names = ((ENTRY, "entry", "entries"), (STATEMENT, "statement", "statements"),
             (DELETED, "deletion", "deletions"))  # fmt: skip
    parts = [f"{counts[kind]:,} {one if counts[kind] == 1 else many}" for kind, one, many in names if counts[kind]]
    return " and ".join(parts) or "changes" * bool(counts.keys() - {FORGET, STONE})
