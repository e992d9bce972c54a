"""Scan: from the Markdown of a home to records. People, editors, formatters and sync programs write these files too.

The records hold the *last known state*: of each id, the digest of the text that a file held, and the dots of the
records that this text stood for. A scan reads the files that have changed since and compares, id by id:

- The text is the one that was shown: nothing happened.
- It is the text of a live record: what stands there is known already. So it is after a kill between the writing of a
  file and the note about it, and so on a machine that meets others with files of its own.
- No file here ever showed it, and a live record has replaced it: an old copy of the file. It is no news, and the
  application brings it up to date. No time is asked, neither the file's nor a clock's.
- Otherwise it is an edit, by a person or by memoria: a record that replaces the dots that were *shown*, not those that
  have come since. Of two edits of one text neither is chosen.

**Absence is never a deletion.** An id that still stands anywhere in its file is there, though a formatter may have made
its line unreadable. One that is gone from its file and in no other becomes a record without a text, unless too much is
missing at once, or a whole day, or the whole wiki: then it is held, nothing is sent of it, and a person is asked. What
changes is taken where it stands; the files are not written here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from memoria.exchange.forms import reworded
from memoria.exchange.record import FORGET, GONE, ITEM, STATEMENT, Piece, Record, digest_in
from memoria.exchange.records import HELD, Records, Shown
from memoria.exchange.sources import Source
from memoria.wiki.settle import MANY, SHARE


def _is_older(piece: Piece, live: Record | None) -> bool:
    """Return whether a statement says itself that its words are from before those of its records."""
    text = live.text if live and piece.kind == STATEMENT else None
    return text is not None and _worded(piece.text) < _worded(text)


def _worded(text: str) -> str:
    told = json.loads(text)
    return str(told.get("worded") or told.get("time", ""))


@dataclass(slots=True)
class Scan:
    """One look at the files of a home.

    ``machine`` is its label in what it writes, ``hides`` says whether a project is not exchanged. ``taken``: what is
    missing was meant, however much it is; ``restored``: it is to be written again. ``held``: what is missing and waits
    for a person.
    """

    records: Records
    sources: Iterable[Source]
    machine: str
    hides: Callable[[str], bool] = lambda _: False
    taken: bool = False
    restored: bool = False
    held: list[Shown] = field(default_factory=list)

    def run(self) -> None:
        """Turn what changed into records, in one transaction."""
        with self.records.transaction():
            for source in self.sources:
                self._look(source)
            while self.restored and self.held:
                ident = self.held.pop().id
                self.records.unshow(ident)
                self.records.be_due([ident])
            self.records.keep("held", len(self.held))

    def _look(self, source: Source) -> None:
        known = {name: stamp for name, stamp in self.records.db.execute("SELECT name, stamp FROM files")
                 if name.startswith(source.folder)}  # fmt: skip
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
                shown = self.records.shown(piece.id)
                there = shown.file if shown and shown.digest != GONE else name
                if there != name and known.get(there) == stamps.get(there, ""):
                    continue  # a second copy: the first stands where it stood
                if piece.id not in found or (shown and shown.file == name):
                    found[piece.id] = (piece, name)
        for piece, name in found.values():
            self._compare(piece, name)
        vanished = known.keys() - stamps.keys()
        asked = {name for name, stamp in known.items() if stamp == HELD}
        asked |= set() if source.may_vanish and stamps else vanished
        asked |= {name for name in texts if not source.may_vanish and self._is_lost(name, texts[name], found)}
        self._miss(source, found, texts | dict.fromkeys(sorted(vanished), ""), set() if self.taken else asked)
        left = {shown.file for shown in self.held}
        for name in {*texts, *left}:
            self.records.read(name, HELD if name in left else stamps[name])
        self.records.db.executemany("DELETE FROM files WHERE name = ?", [(name,) for name in vanished - left])

    def _is_lost(self, name: str, text: str, found: Mapping[str, tuple[Piece, str]]) -> bool:
        """Return whether a log is empty or begun anew: it has no entry that it held, and no text or new ones."""
        shown = self.records.shown_in(name).items()
        entries = {ident for ident, each in shown if each.digest != GONE and ident.startswith("e-")}
        if not entries or any(ident in found for ident in entries):
            return False
        return not text.strip() or name in (file for _, file in found.values())

    def _compare(self, piece: Piece, name: str) -> None:
        if piece.kind == FORGET:
            if not self.records.gone(piece.id):
                self.records.put(piece.id, FORGET, piece.text, (), machine=self.machine)
            return
        if self.hides(piece.project):
            return
        digest, shown, live = self.records.held(piece), self.records.shown(piece.id), self.records.standing(piece.id)
        if shown and shown.digest == digest:
            if shown.file != name:
                self.records.show(piece.id, name, digest, shown.dots)
            return
        is_known = digest == self.records.wanted(piece.id)
        is_old = (shown is None or _is_older(piece, live)) and self.records.is_former(piece.id, piece.digest)
        if is_known or is_old or self.records.gone(piece.id):
            self.records.show(piece.id, name, digest, self.records.dots(piece.id) if is_known else ())
            self.records.be_due([] if is_known else [piece.id])
            return
        text, said = piece.text, shown.dots if shown else ()
        if piece.kind == STATEMENT and said and digest_in(said[0]) != piece.digest:
            text = reworded(text)  # after a kill the statements' store does not know what was said before
            self.records.be_due([piece.id])
        over = self._over(piece.id, said)
        record = self.records.put(piece.id, piece.kind, text, over, project=piece.project, machine=self.machine)
        self.records.show(piece.id, name, digest, record.dots)

    def _over(self, ident: str, dots: tuple[str, ...]) -> tuple[str, ...]:
        """Return what an edit replaces: in a wording that stood beside another, no box of that one."""
        whole, _, part = ident.partition("#")
        return self.records.dots(ident) if self.records.part(whole) and part else dots

    def _miss(self, source: Source, found: Mapping[str, object], texts: Mapping[str, str], asked: set[str]) -> None:
        """Turn what a person deleted into records; hold what is missing in files about which a person is ``asked``."""
        missing = [shown for name, text in texts.items() for shown in self._gone_from(name, found, text)]
        most = max(MANY, SHARE * self.records.count_shown(source.folder))
        count = len([shown for shown in missing if "#" not in shown.id and shown.file not in asked])
        asked |= {shown.file for shown in missing} if count > most and not self.taken else set()
        self.held += [shown for shown in missing if shown.file in asked]
        for shown in missing:
            if shown.file in asked:
                continue
            record = self.records.standing(shown.id)
            if record and record.text is not None:
                over = self._over(shown.id, shown.dots) if record.kind == ITEM else shown.dots
                record = self.records.put(shown.id, record.kind, None, over, machine=self.machine)
            self.records.show(shown.id, shown.file, GONE, record.dots if record else ())

    def _gone_from(self, name: str, found: Mapping[str, object], text: str) -> Iterator[Shown]:
        for ident, shown in self.records.shown_in(name).items():
            whole = ident.partition("#")[0]
            is_garbled = f"^{whole}" in text and whole not in found
            if shown.digest != GONE and ident not in found and not is_garbled:
                yield shown
