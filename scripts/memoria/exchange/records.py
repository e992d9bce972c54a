"""Records: what one home knows of what machines exchange, and how that becomes one state.

The state is the union of all records ever read: a record lives until one that replaces it is known, and ``forget``
beats every other record of its id. Neither a clock nor the name of a machine takes part, and order and repetition do
not matter. A record that this version does not understand is carried on as it came. What stands of several that live is
worked out whenever it is asked (``wordings``), until somebody changes or deletes one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from memoria.base.paths import Paths
from memoria.exchange.record import (
    END,
    FORGET,
    GONE,
    ITEM,
    PLACE,
    RANDOM,
    STATEMENT,
    Piece,
    Record,
    clean_text,
    digest_of,
    nameless_id,
    wording,
    wordings,
)
from memoria.ground import database
from memoria.ground.errors import ExpectedError
from memoria.ground.files import sha256

LOST: Final = "lost"  # how much was edited here that another machine forgot without having seen that
HELD: Final = "held"  # the stamp of a file of which something is missing that a person is asked about
TO_FORGET: Final = "to forget"  # whether something that other machines forgot is not forgotten in the files here yet
_ROWS: Final = """
    DROP TABLE IF EXISTS rows;
    CREATE TABLE rows (  -- of memory servers: ``mark``, how it was listed, ``dots``, of what both sides said then
        home TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, named TEXT NOT NULL, created TEXT NOT NULL,
        mark TEXT NOT NULL, adopted INTEGER NOT NULL, dots TEXT NOT NULL, PRIMARY KEY (home, number)
    ) WITHOUT ROWID;
    CREATE INDEX rows_of ON rows (id);
    """
_MIGRATIONS: Final = (
    """
    CREATE TABLE records (
        dot TEXT PRIMARY KEY, id TEXT NOT NULL, kind TEXT NOT NULL, line TEXT NOT NULL, mine INTEGER NOT NULL
    );
    CREATE INDEX records_of ON records (id);
    CREATE INDEX records_kind ON records (kind);
    CREATE TABLE replaced (dot TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE gone (dot TEXT NOT NULL, id TEXT PRIMARY KEY, line TEXT NOT NULL, mine INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE scrubbed (dot TEXT PRIMARY KEY) WITHOUT ROWID;  -- records that leave every segment
    CREATE TABLE beside (name TEXT, id TEXT, PRIMARY KEY (name, id)) WITHOUT ROWID;  -- ids of second wordings
    CREATE TABLE due (id TEXT PRIMARY KEY) WITHOUT ROWID;  -- may stand otherwise in the files than in the records
    CREATE TABLE shown (  -- what the files held when they were last looked at: the last known state
        id TEXT PRIMARY KEY, file TEXT NOT NULL, digest TEXT NOT NULL, dots TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX shown_in ON shown (file);
    CREATE TABLE files (name TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE held (  -- which record is in which segment of which machine
        machine TEXT NOT NULL, name TEXT NOT NULL, dot TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (machine, name, dot)
    ) WITHOUT ROWID;
    CREATE INDEX held_dot ON held (dot);
    CREATE INDEX held_of ON held (id);
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    """,
    _ROWS,
    "", "", _ROWS,  # the third and fourth of November 2026 made what the first makes now, and other rows
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shown:
    """What a file held of an id: the ``digest`` of its text, and the dots of the records that this text stood for."""

    id: str
    file: str
    digest: str
    dots: tuple[str, ...] = ()


class Records(AbstractContextManager["Records"]):
    """The records that one home knows."""

    def __init__(self, path: Path, random: Callable[[], str] = lambda: os.urandom(RANDOM // 2).hex()) -> None:
        """Open or create the file; one that cannot be read is set aside, and the next exchange fills a new one."""
        self.random = random
        self.db = database.open_or_replace(path, lambda: database.open_(path, _MIGRATIONS, newer=ExpectedError))

    @classmethod
    def of(cls, paths: Paths) -> Records:
        """Return the records of these paths."""
        return cls(Path(paths.records))

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.db.close()

    def transaction(self) -> AbstractContextManager[None]:
        """Commit everything the block does, or roll it back when the block raises."""
        return database.transaction(self.db)

    # -- the merge

    def add(self, record: Record, *, mine: bool = False) -> bool:
        """Take in a record; return whether it is new and lives.

        ``mine``: this home wrote it.
        """
        if record.kind == FORGET:
            return self._forget(record, mine=mine)
        if known := self.grave(record.root):
            self.scrub([record.dot])
            self._forget(replace(known, over=record.over), mine=mine)  # other ids may hold what it replaced
            return False
        self._replace(record)
        row = (record.dot, record.id, record.kind, record.line, mine, record.dot[:RANDOM])
        unless = "NOT EXISTS (SELECT 1 FROM replaced WHERE dot IN (?1, ?6))"
        new = f"INSERT OR IGNORE INTO records SELECT ?1, ?2, ?3, ?4, ?5 WHERE {unless}"
        is_new = self.db.execute(new, row).rowcount > 0
        if not mine or len(self.current(record.id)) > 1 or self.beside(record.root):  # else a scan found it in a file
            self.be_due([record.id])
        return is_new

    def _replace(self, record: Record) -> None:
        """Let no record live any more that this one replaces."""
        run = self.db.execute
        for dot in (*record.over, *map(made_prefix, record.over)):
            if record.dot.startswith(dot):
                continue
            if run("INSERT OR IGNORE INTO replaced VALUES (?)", (dot,)).rowcount > 0:
                these = "FROM records WHERE dot >= ?1 AND dot < ?1 || '~'"  # whatever its digest
                run(f"INSERT OR IGNORE INTO due SELECT id {these} AND id <> ?2", (dot, record.id))
                run(f"DELETE {these}", (dot,))

    def _forget(self, record: Record, *, mine: bool) -> bool:
        """Forget an id. All that is said of that is one record, which replaces what any record that goes replaced."""
        known = self.grave(record.id)
        said = [record, known] if known else [record]
        over = tuple(sorted({dot for each in (*said, *self.under(record.id)) for dot in each.over}))
        text = max(each.text or "" for each in said)
        dot = sha256("\n".join([record.id, text, *over]))[:RANDOM]
        if known and known.dot == dot:
            return False
        record = replace(record, dot=dot, over=over, text=text or None).with_line()
        self._replace(record)
        self.scrub(over)
        self.db.execute("INSERT OR REPLACE INTO gone VALUES (?, ?, ?, ?)", (dot, record.id, record.line, mine))
        if known:
            return False
        if not mine:
            self.keep(TO_FORGET, True)
            self._forget_edits(record.id)
        named = [name for name in self.names() if nameless_id(name) == record.id] if record.id.startswith("n-") else []
        for ident in (record.id, *named):
            self.db.execute("DELETE FROM records WHERE id = ?1 OR (id > ?1 || '#' AND id < ?1 || '$')", (ident,))
            self.db.execute("INSERT OR IGNORE INTO scrubbed SELECT dot FROM held WHERE id = ?", (ident,))
        self.be_due([record.id, *named])
        return True

    def _forget_edits(self, ident: str) -> None:
        """Count what was edited here unseen by others; forget a line by which a person replaced it in an article."""
        mine = "SELECT line FROM records WHERE id = ? AND mine"
        own = [Record.parse(line) for (line,) in self.db.execute(mine, (ident,)).fetchall()]
        unsent = mine + " AND id NOT IN (SELECT id FROM held)"  # noqa: S608 (constants)
        edits = [ident]
        for edit in edits:  # which grows: a line is reworded more than once
            end = self.standing(f"{edit}#{END}")
            after = json.loads(end.text).get("successor", "") if end and end.text else ""
            lines = self.db.execute(unsent, (after,)).fetchall() if after not in edits else ()
            if any(not json.loads(Record.parse(line).text or "{}").get("session") for (line,) in lines):
                edits.append(after)
        for edit in edits[1:]:
            self.put(edit, FORGET, None, self.dots(edit))
        self.keep(LOST, self.get(LOST, 0) + any(record.over for record in own) + len(edits) - 1)

    def names(self) -> set[str]:
        """Return the ids of all articles of which anything is known."""
        every = self.db.execute("SELECT id FROM records UNION SELECT id FROM held UNION SELECT id FROM shown")
        return {ident.partition("#")[0] for (ident,) in every if "/" in ident}

    def scrub(self, dots: Iterable[str]) -> None:
        """Let these records leave every segment, as soon as they live no more."""
        self.db.executemany("INSERT OR IGNORE INTO scrubbed VALUES (?)", [(dot,) for dot in dots])

    def put(self, ident: str, kind: str, text: str | None, over: Iterable[str], **about: str) -> Record:
        """Write a record that replaces these dots.

        ``about``: its project and machine; and ``dot``, where several machines must come to the same record.
        """
        dot = (about.pop("dot", "") or self.random()) + wording(kind, text)
        record = Record(ident, kind, dot, tuple(sorted(set(over))), text, **about).with_line()
        self.add(record, mine=True)
        return record

    def clean(self, record: Record, clean: Callable[[str], str]) -> bool:
        """Replace a record by one with what ``clean`` leaves of its text, if that is less; return whether it is.

        The record that replaces it is the same on all machines.
        """
        if not record.text or record.kind == FORGET or clean(record.text) == record.text:
            return False
        ident, left = clean_text(record, clean)
        made = self.put(ident, record.kind, left or None, record.dots, dot=made_prefix(record.dot),
                        project=record.project, machine=record.machine)  # fmt: skip
        shown = self.view(record.id)
        if shown and record.dot in shown.dots:  # what the file holds without the text replaces this one too
            self.show(record.id, shown.file, shown.digest, (*shown.dots, made.dot))
        else:
            self.be_due([record.id])
        if ident != record.id:
            self.be_due([ident])
        return True

    def grave(self, ident: str) -> Record | None:
        """Return the record by which an id, or the name of an article, was forgotten."""
        row = self.db.execute("SELECT line FROM gone WHERE id IN (?, ?)", (ident, nameless_id(ident))).fetchone()
        return Record.parse(row[0]) if row else None

    def forgotten(self) -> list[str]:
        """Return the ids that were forgotten."""
        return [ident for (ident,) in self.db.execute("SELECT id FROM gone")]

    def forget_rows(self, ident: str, machine: str) -> None:
        """Let what articles held that show or showed a statement leave every segment: a summary may have told it.

        Rows of histories that tell its former wordings end.
        """
        query = "SELECT line FROM records WHERE kind = ? AND (id GLOB ? OR instr(line, ?))"
        for each in (ident, *self.firsts(ident)):
            for (line,) in self.db.execute(query, (PLACE, f"*#{each}", f"#^{each}|")).fetchall():
                row = Record.parse(line)
                self.db.execute("INSERT OR IGNORE INTO scrubbed SELECT dot FROM held WHERE id = ?", (row.root,))
                if each == ident and "#h-" in row.id:
                    self.put(row.id, row.kind, None, row.dots, machine=machine)
                    self.scrub(row.dots)

    def idents(self, kind: str) -> list[str]:
        """Return the ids under which something of a kind may stand."""
        query = "SELECT {} FROM {} WHERE kind = ?1"
        query = f"{query.format('id', 'records')} UNION {query.format('name', 'beside JOIN records USING (id)')}"
        return [ident for (ident,) in self.db.execute(query, (kind,))]

    def writer(self, ident: str) -> str:
        """Return the machine that wrote a record, ``""`` when this one did or none is known."""
        query = "SELECT line FROM records WHERE id = ? GROUP BY id HAVING max(mine) = 0"
        return next((Record.parse(line).machine for (line,) in self.db.execute(query, (ident,))), "")

    def current(self, ident: str) -> list[Record]:
        """Return the records of an id that no known record replaces, in an order that is the same on all machines.

        Those whose wording stands there beside that of another id are among them.
        """
        whole, _, part = ident.partition("#")
        others = [record for first in self.firsts(ident) for record in self.wordings(first)[1:] if record.id == ident]
        for first in self._boxed_entries(whole) if part else ():
            others += [replace(record, id=ident) for record in self.current(f"{first}#{part}")]
        return sorted([*self.under(ident), *others], key=lambda record: record.dot)

    def under(self, ident: str) -> list[Record]:
        """Return the records that were written under an id itself."""
        rows = self.db.execute("SELECT line FROM records WHERE id = ?", (ident,))
        return [Record.parse(line) for (line,) in rows]

    def wordings(self, ident: str) -> list[Record]:
        """Return what stands of an id: under it first, then beside it."""
        known = self.current(ident)
        return known if len(known) < 2 else wordings(ident, known)

    def standing(self, ident: str) -> Record | None:
        """Return what stands under an id; it has no text when it was deleted."""
        return next(iter(self.wordings(ident)), None)

    def dots(self, ident: str) -> tuple[str, ...]:
        """Return the dots of what stands under an id with all that it replaced."""
        found = self.standing(ident)
        return found.dots if found else ()

    def is_former(self, ident: str, digest: str) -> bool:
        """Return whether live records replaced a text of this digest by another, also those that stand beside it."""
        known = [record for each in (ident, *self.beside(ident)) for record in self.current(each)]
        former = {dot[RANDOM:] for record in known for dot in record.over}
        return digest in former - {record.digest for record in known}

    def spread(self) -> None:
        """Note under which ids wordings stand beside those of the ids that are due; they are due as well."""
        queue = self.due_ids()
        for ident in queue:
            for record in self.wordings(ident)[1:]:
                if self.db.execute("INSERT OR IGNORE INTO beside VALUES (?, ?)", (record.id, ident)).rowcount > 0:
                    self.be_due([record.id])
                    queue.append(record.id)  # again, if need be: before, it was not known to stand there
            both = {ident, ident.partition("#")[0]}  # a box of an entry is one of each of its wordings
            fresh = [name for each in sorted(both) for name in self.beside(each) if name not in queue]
            self.be_due(fresh)
            queue += fresh

    def beside(self, ident: str) -> list[str]:
        """Return the ids under which wordings stand, or stood, beside that of an id."""
        return [name for (name,) in self.db.execute("SELECT name FROM beside WHERE id = ? ORDER BY name", (ident,))]

    def pairs(self) -> Iterator[tuple[Record, Record]]:
        """Yield what stands of an id, and what stands beside it."""
        for name, ident in self.db.execute("SELECT name, id FROM beside ORDER BY id, name").fetchall():
            first, second = self.standing(ident), self.standing(name)
            if first and second and first.text is not None and second.text is not None:
                yield first, second

    def firsts(self, name: str) -> list[str]:
        """Return the ids beside which a wording stands under this one."""
        return [ident for (ident,) in self.db.execute("SELECT id FROM beside WHERE name = ? ORDER BY id", (name,))]

    def part(self, ident: str) -> bool:
        """Let a wording that stands beside another one be a record of its own, with boxes of its own; return if so."""
        found = self.standing(ident)
        if not found or found.text is None or len(self.current(ident)) == len(self.under(ident)):
            return False
        for box in filter(None, map(self.standing, self.parts(ident) if self._boxed_entries(ident) else ())):
            if not self.under(box.id):
                self.put(box.id, box.kind, box.text, (), project=box.project, machine=box.machine)
        self.add(replace(found, dot=made_prefix(found.dot) + found.digest, over=found.dots).with_line(), mine=True)
        return True

    def replaces(self, ident: str, dots: tuple[str, ...]) -> tuple[str, ...]:
        """Return what an edit replaces: in a wording that stood beside another, no box of that one."""
        whole, _, part = ident.partition("#")
        return self.dots(ident) if self.part(whole) and part else dots

    def parts(self, ident: str) -> list[str]:
        """Return the parts of an id of which there are records; the boxes of an entry are those of each wording."""
        query = "SELECT {0} FROM {1} WHERE {0} > ?1 AND {0} < ?2"
        union = f"{query.format('id', 'records')} UNION {query.format('name', 'beside')} ORDER BY 1"
        found = {part for (part,) in self.db.execute(union, (f"{ident}#", f"{ident}$"))}  # "$" follows "#"
        boxes = (part.partition("#")[2] for first in self._boxed_entries(ident) for part in self.parts(first))
        return sorted(found | {f"{ident}#{box}" for box in boxes})

    def _boxed_entries(self, ident: str) -> list[str]:
        """Return the entries whose boxes another wording has as well, until it is a record of its own."""
        return self.firsts(ident) if ident.startswith("e-") and self.current(ident) and not self.under(ident) else []

    def be_due(self, idents: Iterable[str]) -> None:
        """Record that these ids may stand otherwise in the files."""
        self.db.executemany("INSERT OR IGNORE INTO due VALUES (?)", [(ident,) for ident in idents])

    def all_due(self) -> None:
        """Record that everything may stand otherwise in the files, each of which is read again."""
        self.db.execute("UPDATE files SET stamp = '-' WHERE stamp <> ?", (HELD,))
        self.db.execute("INSERT OR IGNORE INTO due SELECT DISTINCT id FROM records")

    def due_ids(self) -> list[str]:
        """Return the ids that may stand otherwise in the files than in the records."""
        return [ident for (ident,) in self.db.execute("SELECT id FROM due ORDER BY id")]

    def settle(self, idents: Iterable[str]) -> None:
        """Record that these ids stand in the files as in the records."""
        self.db.executemany("DELETE FROM due WHERE id = ?", [(ident,) for ident in idents])

    # -- what the files held

    def view(self, ident: str) -> Shown | None:
        """Return what a file held of an id when it was last looked at."""
        row = self.db.execute("SELECT * FROM shown WHERE id = ?", (ident,)).fetchone()
        return Shown(row[0], row[1], row[2], tuple(row[3].split())) if row else None

    def views(self, file: str) -> dict[str, Shown]:
        """Return what a file held when it was last looked at, by id."""
        rows = self.db.execute("SELECT * FROM shown WHERE file = ?", (file,))
        return {row[0]: Shown(row[0], row[1], row[2], tuple(row[3].split())) for row in rows}

    def show(self, ident: str, file: str, digest: str, dots: Iterable[str]) -> None:
        """Record what a file holds of an id."""
        self.db.execute("INSERT OR REPLACE INTO shown VALUES (?, ?, ?, ?)", (ident, file, digest, " ".join(dots)))

    def target(self, ident: str) -> str:
        """Return the digest of what the files are to hold of an id."""
        found = self.standing(ident)
        return GONE if found is None else digest_of(found.text) if found.kind == STATEMENT else found.digest

    def digest(self, piece: Piece) -> str:
        """Return the digest of what a file holds of an id: that of its record where memoria moved it."""
        if not piece.follows:
            return piece.full_digest
        shown, wanted = self.view(piece.id), self.target(piece.id)
        return wanted if wanted != GONE else shown.digest if shown else piece.full_digest

    def view_digests(self, file: str) -> dict[str, str]:
        """Return the digests of what a file held when it was last looked at, by id."""
        return {ident: each.digest for ident, each in self.views(file).items() if each.digest != GONE}

    def note(self, file: str, stamp: str, wholes: Collection[str], held: Mapping[str, str]) -> None:
        """Record what a file holds, in which these ids were written with their parts; ``stamp``: if nobody else did."""
        for ident in {*self.views(file), *held}:
            if ident.partition("#")[0] in wholes:
                if ident in held or not self.grave(ident.partition("#")[0]):
                    self.show(ident, file, held.get(ident, GONE), self.dots(ident))
                else:
                    self.unshow(ident)
        if stamp and held == self.view_digests(file):
            self.read(file, stamp)

    def read(self, file: str, stamp: str) -> None:
        """Record that a file was looked at."""
        self.db.execute("INSERT OR REPLACE INTO files VALUES (?, ?)", (file, stamp))

    def miss(self, gone: Sequence[Shown], machine: str) -> None:
        """Record that files hold these ids no more, which are deleted."""
        for shown, record in [(shown, self.standing(shown.id)) for shown in gone]:  # before others stand under an id
            last = record
            if record and record.text is not None:
                over = self.replaces(shown.id, shown.dots) if record.kind == ITEM else shown.dots
                last = self.put(shown.id, record.kind, None, over, machine=machine)
            self.show(shown.id, shown.file, GONE, last.dots if last else ())

    def unshow(self, ident: str) -> None:
        """Record that no file was ever seen to hold an id, or a part of it."""
        self.db.execute("DELETE FROM shown WHERE id = ? OR (id > ? AND id < ?)", (ident, f"{ident}#", f"{ident}$"))

    # -- segments

    def segments(self) -> dict[tuple[str, str], int]:
        """Return the segments that were read, by machine and name, each with the number of its records."""
        rows = self.db.execute("SELECT machine, name, count(*) FROM held GROUP BY machine, name")
        return {(machine, name): count for machine, name, count in rows}

    def hold(self, machine: str, name: str, records: Iterable[Record]) -> None:
        """Record that a machine's folder has a segment of these records."""
        rows = [(machine, name, record.dot, record.root) for record in records]
        self.db.executemany("INSERT OR IGNORE INTO held VALUES (?, ?, ?, ?)", rows)

    def release(self, places: Iterable[tuple[str, str]]) -> None:
        """Record that segments are there no more, or are to be read again."""
        self.db.executemany("DELETE FROM held WHERE machine = ? AND name = ?", list(places))

    def unsent_lines(self) -> list[str]:
        """Return the lines of live records that no segment holds."""
        query = "SELECT line FROM {0} WHERE dot IN (SELECT dot FROM {0} WHERE dot NOT IN (SELECT dot FROM held))"
        union = f"{query.format('records')} UNION ALL {query.format('gone')}"
        return [line for (line,) in self.db.execute(union)]

    def live_lines(self, machine: str, name: str) -> list[str]:
        """Return the lines of a segment's records that live."""
        query = "SELECT line FROM held JOIN {} USING (dot) WHERE machine = ?1 AND name = ?2"
        union = f"{query.format('records')} UNION ALL {query.format('gone')}"
        return [line for (line,) in self.db.execute(union, (machine, name))]

    def forgotten_in(self) -> set[tuple[str, str]]:
        """Return the segments that hold what was forgotten."""
        query = (
            "SELECT machine, name FROM gone CROSS JOIN held USING (id) WHERE held.dot <> gone.dot "
            "UNION SELECT machine, name FROM scrubbed JOIN held USING (dot) WHERE dot NOT IN (SELECT dot FROM records)"
        )
        return {(machine, name) for machine, name in self.db.execute(query)}

    # -- small values

    def get(self, key: str, default: Any = None) -> Any:
        """Return one of the small values."""
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else default

    def keep(self, key: str, value: Any) -> None:
        """Store one of the small values."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value, ensure_ascii=False)))


def heard_on(paths: Paths, entry: str) -> str:
    """Return the other machine that wrote an entry and may keep its turns, ``""`` for none."""
    if not Path(paths.records).exists():
        return ""
    with Records.of(paths) as records:
        return records.writer(f"e-{entry}")


def made_prefix(dot: str) -> str:
    """Return how the dot of what any machine makes of a record begins; who replaces the one replaces the other.

    That is a wording with an id of its own now, or what a forgetting left.
    """
    return sha256(dot[:RANDOM])[:RANDOM]
