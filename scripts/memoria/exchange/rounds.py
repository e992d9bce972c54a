"""Round: one exchange of a home with the user's other machines and memory server, from the files to the files.

Scan, meeting, application: what is new here becomes records, the records of all machines come together, and what they
say is written into the files. Each step can be killed and repeated. What was forgotten elsewhere and stands here is
named to the caller, because forgetting reaches further than the files that are exchanged.

The records hold the *last known state*: of each id, the digest of the text that a file held, and the dots of the
records that this text stood for. A scan reads the files that have changed since and compares, id by id:

- The text is the one that was shown: nothing happened.
- It is the text of a live record: what stands there is known already. So it is after a kill between the writing of a
  file and the note about it, and so on a machine that meets others with files of its own.
- A live record has replaced it, and no file here ever showed it, or its words say that they are the older: an old copy
  of the file. It is no news, and the application brings it up to date. No file's time is asked.
- Otherwise it is an edit, by a person or by memoria: a record that replaces the dots that were *shown*, not those that
  have come since. Of two edits of one text neither is chosen.

**Absence is never a deletion.** What is gone from its file and in no other becomes a record without a text, unless too
much is missing at once, or a whole day, or the whole wiki: then it is held, and a person is asked. The application
writes an id only where its file still holds what was last seen there, so that nobody who saves in this moment is
overwritten.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from memoria import __version__
from memoria.base import project
from memoria.base.atomic import PRIVATE
from memoria.base.paths import Paths
from memoria.base.visibility import Visibility
from memoria.daily.ledger import Ledger
from memoria.exchange import keys
from memoria.exchange.carriers import Carrier
from memoria.exchange.meeting import DELETED, Meeting
from memoria.exchange.memory_server import Server
from memoria.exchange.record import ENTRY, FORGET, GONE, STATEMENT, Piece, Record, digest_in, nameless_id, pack
from memoria.exchange.records import HELD, TO_FORGET, Records, Shown
from memoria.exchange.rows import SERVER, Rows
from memoria.exchange.sources import Articles, Days, Source, folder_of
from memoria.ground import clock, database, files, locks
from memoria.ground.errors import ExpectedError, FileBusyError, SavedMeanwhileError
from memoria.ground.home import Home
from memoria.ground.printable import amount
from memoria.ground.swap import Swap
from memoria.pages import refresh
from memoria.statements.keeper import Keeper
from memoria.transcripts.screen import Tombstones, stone_of
from memoria.wiki.folder import Wiki
from memoria.wiki.settle import MANY, SHARE

STONE: Final = "stone"  # a record by which a forgotten text is recognised


@dataclass(slots=True)
class Exchanged:
    """What a round did."""

    came: dict[str, Counter[str]] = field(default_factory=dict)  # records by their kinds, by who wrote them
    sent: Counter[str] = field(default_factory=Counter)
    stored: int = 0  # statements, on the memory server
    forgotten: list[str] = field(default_factory=list)  # ids that are to be forgotten here
    held: int = 0  # deletions that wait for a person
    count: int = 0  # how much was forgotten here
    lost: int = 0  # edits that went with it, which who forgot it had not seen
    failure: ExpectedError | None = None  # why the other machines, or the server, were not met

    @property
    def line(self) -> str:
        """What came and went, in one line."""
        parts = [f"{tell_counts(counts)} from {name or 'another machine'}" for name, counts in sorted(self.came.items())
                 if tell_counts(counts)]  # fmt: skip
        parts += [f"{tell_counts(self.sent)} sent"] if tell_counts(self.sent) else []
        parts += [f"{amount(self.stored, 'statement')} written to the memory server"] if self.stored else []
        parts += [f"{self.count} forgotten here"] if self.count else []
        parts += [f"{amount(self.lost, 'edit')} of it made here meanwhile"] if self.lost else []
        return ", ".join(parts) or "nothing new"


@dataclass
class Round:
    """The exchange of one home.

    What is missing in the files and waits for a person (``_held``) was meant when it is ``taken``, and is written again
    when it is ``restored``.
    """

    home: Home
    keeper: Keeper
    records: Records
    taken: bool = False
    restored: bool = False
    _held: list[Shown] = field(default_factory=list)

    def run(self, carrier: Carrier | None, server: Server | None = None) -> Exchanged:
        """Swap by what there is. What came is always written."""
        state = [__version__, *Visibility(self.home.settings, self.home.paths).hidden_keys()]
        if self.records.get("state") != state:  # another version, or other exclusions
            with self.records.transaction():
                self.records.all_due()
                self.records.keep("state", state)
        self.scan()
        done, stones = Exchanged(held=len(self._held)), Tombstones(self.home.paths)
        if server:
            rows = Rows(self.records, self.keeper, server, self.hides, stones.purge)
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
        key = keys.read_key(self.home.paths)
        meeting = Meeting(self.records, carrier, key, self.machine, stones.purge, self._context)
        meeting.hold()
        done.sent += meeting.sent
        known = {f"x-{stone.digest}" for stone in stones.stones}
        if new := sorted(set(self.records.idents(STONE)) - known):  # texts that were forgotten elsewhere
            self.records.keep(TO_FORGET, True)
            for record in filter(None, map(self.records.standing, new)):
                with suppress(ValueError, KeyError, TypeError):  # of a newer version
                    stones.take(stone_of(json.loads(str(record.text))))
            _look_again(self.records, stones)
            meeting.hold()
        self.records.keep("last", clock.now().isoformat())
        done.came |= {name if name != label() else "": counts for name, counts in meeting.came.items()}

    @property
    def machine(self) -> str:
        """The name of this machine's folder; a copy of the state has the same, which does no harm."""
        if not self.records.get("machine"):
            self.records.keep("machine", os.urandom(8).hex())
        return str(self.records.get("machine"))

    @cached_property
    def hides(self) -> Callable[[str], bool]:
        """Whether a project is excluded here."""
        visible, known = Visibility(self.home.settings, self.home.paths), project.read(self.home.paths.projects)
        return lambda key: visible.hides(known.current(key))

    def scan(self) -> None:
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
        with locks.take(Path(self.home.paths.compile_lock)) as mine:
            if mine and self.home.settings.sync:
                refresh.settle(self.home, self.keeper)
            with self.records.transaction():
                for source in self._sources(mine):
                    self._look(source)
                while self.restored and self._held:
                    ident = self._held.pop().id
                    self.records.unshow(ident)
                    self.records.be_due([ident])
                self.records.keep("held", len(self._held))

    def _look(self, source: Source) -> None:
        query = "SELECT name, stamp FROM files WHERE name GLOB ?"
        known = dict(self.records.db.execute(query, (f"{source.folder}*",)))
        stamps = source.stamps()
        found: dict[str, tuple[Piece, str]] = {}
        texts: dict[str, str] = {}
        for name in [name for name, stamp in stamps.items() if known.get(name) != stamp]:
            try:
                text = source.text(name)
                pieces = list(source.pieces(name, text))
            except (OSError, ValueError):
                continue  # it is as unknown as before
            texts[name] = text
            for piece in pieces:
                shown = self.records.view(piece.id)
                there = shown.file if shown and shown.digest != GONE else name
                if there != name and known.get(there) == stamps.get(there, ""):
                    continue  # a second copy: the first stands where it stood
                if piece.id not in found or (shown and shown.file == name):
                    found[piece.id] = (piece, name)
        vanished = known.keys() - stamps.keys()
        asked = {name for name, stamp in known.items() if stamp == HELD}
        asked |= set() if source.may_vanish and stamps else vanished
        asked |= {name for name in texts if not source.may_vanish and self._is_lost(name, texts[name], found)}
        # first, while it is known what stands beside what
        self._miss(source, found, texts | dict.fromkeys(sorted(vanished), ""), set() if self.taken else asked)
        for piece, name in found.values():
            self._compare(piece, name)
        left = {shown.file for shown in self._held}
        for name in {*texts, *left}:
            self.records.read(name, HELD if name in left else stamps[name])
        self.records.db.executemany("DELETE FROM files WHERE name = ?", [(name,) for name in vanished - left])

    def _is_lost(self, name: str, text: str, found: Mapping[str, tuple[Piece, str]]) -> bool:
        """Return whether a log is empty or begun anew: it has no entry that it held, and no text or new ones."""
        entries = {ident for ident in self.records.view_digests(name) if ident.startswith("e-")}
        if not entries or any(ident in found for ident in entries):
            return False
        return not text.strip() or name in (file for _, file in found.values())

    def _compare(self, piece: Piece, name: str) -> None:
        if piece.kind == FORGET:
            if not self.records.grave(piece.id):
                self.records.put(piece.id, FORGET, piece.text, (), machine=label())
            return
        if self.hides(piece.project):
            return
        digest, shown, live = self.records.digest(piece), self.records.view(piece.id), self.records.standing(piece.id)
        if shown and shown.digest == digest:
            if shown.file != name:
                self.records.show(piece.id, name, digest, shown.dots)
            return
        is_known = digest == self.records.target(piece.id)
        is_old = (shown is None or _stamp(piece) < _stamp(live)) and self.records.is_former(piece.id, piece.digest)
        if is_known or is_old or self.records.grave(piece.id):
            self.records.show(piece.id, name, digest, self.records.dots(piece.id) if is_known else ())
            self.records.be_due([] if is_known else [piece.id])
            return
        text, said = piece.text, shown.dots if shown else ()
        if piece.kind == STATEMENT and said and digest_in(said[0]) != piece.digest:
            # after a kill the statements' store does not know what was said before
            text = pack({"worded": clock.now().isoformat(), **json.loads(text)})
            self.records.be_due([piece.id])
        over = self.records.replaces(piece.id, said)
        record = self.records.put(piece.id, piece.kind, text, over, project=piece.project, machine=label())
        self.records.show(piece.id, name, digest, record.dots)

    def _miss(self, source: Source, found: Mapping[str, object], texts: Mapping[str, str], asked: set[str]) -> None:
        """Turn what a person deleted into records; hold what is missing in files about which a person is ``asked``."""
        missing = []
        for name, text in texts.items():
            for ident, shown in self.records.views(name).items():
                whole = ident.partition("#")[0]  # a formatter may have made its line unreadable
                is_garbled = f"^{whole}" in text and whole not in found
                missing += [shown] if shown.digest != GONE and ident not in found and not is_garbled else []
        count = len([shown for shown in missing if "#" not in shown.id and shown.file not in asked])
        if count > MANY and not self.taken:
            query = "SELECT count(*) FROM shown WHERE digest <> ? AND file GLOB ? AND instr(id, '#') = 0"
            (held,) = self.records.db.execute(query, (GONE, f"{source.folder}*")).fetchone()
            asked |= {shown.file for shown in missing} if count > SHARE * held else set()
        self._held += [shown for shown in missing if shown.file in asked]
        if gone := [shown for shown in missing if shown.file not in asked]:
            self.records.miss(gone, label())
            self.keeper.store.drop({shown.id for shown in gone})

    def apply(self) -> list[str]:
        """Write what is due into the files that can be written now; what cannot be written now stays due.

        Return the ids that stand here and were forgotten elsewhere.
        """
        with self.records.transaction():
            self.records.spread()
        left = {ident.partition("#")[0] for ident in self.records.due_ids()}
        with locks.take(Path(self.home.paths.compile_lock)) as mine:
            sources = self._sources(mine)
            for source in sources:
                plan: dict[tuple[bool, str], list[str]] = {}
                for whole in sorted(whole for whole in left if folder_of(whole) == source.folder):
                    left.remove(whole)
                    for number, file in enumerate(names := source.files(whole), 1):
                        plan.setdefault((number == len(names), file), []).append(whole)
                if plan:
                    self.keeper.refresh()  # new statements, which the articles link
                for (_, file), idents in sorted(plan.items()):
                    left |= set(idents) - self._write_file(source, file, idents) | source.waiting
        with self.records.transaction():
            self.records.settle(ident for ident in self.records.due_ids() if ident.partition("#")[0] not in left)
        return sources[0].forgotten

    def _write_file(self, source: Source, file: str, idents: Sequence[str]) -> set[str]:
        """Write these ids into a file, or out of it; return those that stand there now as in the records."""
        done: set[str] = set()
        text: str | None = None

        def change(before: str | None) -> str | None:
            nonlocal done, text
            held = self._pieces(source, file, before)
            parts = {part for whole in idents for part in (whole, *self.records.parts(whole))}
            parts |= {ident for ident in held if ident.partition("#")[0] in idents}
            wanted, seen = {part: self.records.target(part) for part in sorted(parts)}, self.records.view_digests(file)
            taken = {part.partition("#")[0] for part, digest in wanted.items()
                     if held.get(part, GONE) not in (seen.get(part, GONE), digest)}  # fmt: skip
            done = set(idents) - taken
            wrong = [part for part, digest in wanted.items() if part.partition("#")[0] in done
                     and (held.get(part, GONE) != digest or self.records.grave(part))]  # fmt: skip
            with self.records.transaction():
                text = source.compose(file, before, wrong) if wrong or before else before
                for part in set(wrong) - held.keys():  # who edits what a kill leaves here replaces it
                    shown = self.records.view(part)
                    if shown is None or shown.digest == GONE:
                        self.records.show(part, file, GONE, self.records.dots(part))
            return text

        try:
            source.rewrite(file, change)
            held = self._pieces(source, file, text)
        except (FileBusyError, SavedMeanwhileError, OSError, ValueError, KeyError, TypeError):  # or of another version
            return set()
        stamp = source.mark(file, text)
        with self.records.transaction():
            self.records.note(file, stamp, done, held)
            source.tell(file, text, stamp, done)
        return done

    def _pieces(self, source: Source, file: str, text: str | None) -> dict[str, str]:
        pieces = source.pieces(file, text) if text is not None else ()
        return {piece.id: self.records.digest(piece) for piece in pieces if piece.kind != FORGET}

    def _sources(self, with_articles: bool) -> tuple[Days, *tuple[Articles, ...]]:
        """Return the files that are exchanged; articles only while no compile is at work."""
        given = (self.records, self.keeper, self.hides)
        articles = Articles(*given, Wiki(self.home.paths), Swap(self.home.paths))
        return (Days(*given), articles) if with_articles and self.home.settings.sync else (Days(*given),)

    def _context(self) -> dict[str, Any]:
        met = clock.now().isoformat(timespec="seconds")
        return {"label": label(), "met": met, "gone": count_gone(self.records), "version": __version__}


def _stamp(said: Piece | Record | None) -> str:
    """Return since when a statement has its words, as it says itself; ``""`` for what is none."""
    told = json.loads(said.text) if said and said.text and said.kind == STATEMENT else {}
    return str(told.get("worded") or told.get("time", ""))


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
                records.forget_rows(ident, label())
                if not records.grave(ident):
                    for name in records.beside(ident):
                        records.part(name)
                    records.put(ident, FORGET, text or None, records.dots(ident), machine=label())
                records.unshow(ident)
            records.miss([each for file in files for each in records.views(file).values()], label())
            for name in filter(names, records.names()):
                records.put(nameless_id(name), FORGET, None, (), machine=label())
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
            text = pack(stone._asdict())
            records.put(f"x-{stone.digest}", STONE, text, (), dot=stone.digest[:16])
    if new:
        _look_again(records, stones)


def _look_again(records: Records, stones: Tombstones) -> None:
    """Take the forgotten texts out of all records, and have every segment searched for them."""
    with records.transaction():
        records.release(records.segments())
        for (line,) in records.db.execute("SELECT line FROM records WHERE kind <> ?", (STONE,)).fetchall():
            records.clean(Record.parse(line), stones.purge)


def label() -> str:
    """Return what this machine is called."""
    return platform.node().partition(".")[0].casefold() or "a machine"


def note_try(paths: Paths, now: datetime) -> None:
    """Note that an exchange is tried: the hook of the next session's start looks there."""
    files.replace(Path(paths.exchanged), f"{now.timestamp():.0f}", mode=PRIVATE)


def tell_counts(counts: Counter[str]) -> str:
    """Return in words how many entries, statements and deletions there are, or that something else changed."""
    names = ((ENTRY, "entry", "entries"), (STATEMENT, "statement", "statements"),
             (DELETED, "deletion", "deletions"))  # fmt: skip
    parts = [f"{counts[kind]:,} {one if counts[kind] == 1 else many}" for kind, one, many in names if counts[kind]]
    return " and ".join(parts) or "changes" * bool(counts.keys() - {FORGET, STONE})
