"""Records: what machines exchange, and how what several of them wrote becomes one state.

A record is one line of JSON: an id, a kind, a text (none when it was deleted), a random *dot*, and the dots that it
replaces with all that those replaced. The state is the union of all records ever read: a record lives until one that
replaces it is known, and ``forget`` beats every other record of its id. Neither a clock nor the name of a machine takes
part, and order and repetition do not matter. A dot ends in a digest of its text, so that a text which another has
replaced is recognised wherever it turns up again, such as in an old copy of a file.

An id may have parts (``l-7f3a#end``), which live by themselves and are forgotten together. A record that this version
does not understand is carried on as it came.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memoria.base.paths import Paths
from memoria.ground import database
from memoria.ground.errors import ExpectedError
from memoria.ground.files import sha256

FORGET: Final = "forget"
BY_WORDS: Final = ("article",)  # kinds of which nothing but what their dots tell is compared
GONE: Final = "-"  # the digest of no text
_RANDOM: Final = 16  # digits of a dot before the digest
_ESCAPE: Final = re.compile(r"\\(?=[^0-9A-Za-z\s])")
_FORM: Final = re.compile(r"(?m)^\s*[-*+]\s+|\s+|(?<!\w)[*_]+|[*_]+(?!\w)")
_KEYS: Final = {"id": "i", "kind": "k", "dot": "d", "over": "o", "text": "t", "project": "p", "machine": "m"}
_MIGRATIONS: Final = (
    """
    CREATE TABLE records (
        dot TEXT PRIMARY KEY, id TEXT NOT NULL, kind TEXT NOT NULL, line TEXT NOT NULL, mine INTEGER NOT NULL
    );
    CREATE INDEX records_of ON records (id);
    CREATE INDEX records_kind ON records (kind);
    CREATE TABLE replaced (dot TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE gone (dot TEXT NOT NULL, id TEXT PRIMARY KEY, line TEXT NOT NULL, mine INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE due (id TEXT PRIMARY KEY) WITHOUT ROWID;  -- may stand otherwise in the files than in the records
    CREATE TABLE shown (  -- what the files held when they were last looked at: the last known state
        id TEXT PRIMARY KEY, file TEXT NOT NULL, digest TEXT NOT NULL, dots TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX shown_in ON shown (file);
    CREATE TABLE files (name TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE held (  -- which record is in which segment of which machine
        machine TEXT NOT NULL, name TEXT NOT NULL, dot TEXT NOT NULL, id TEXT NOT NULL, forgotten INTEGER NOT NULL,
        PRIMARY KEY (machine, name, dot)
    ) WITHOUT ROWID;
    CREATE INDEX held_dot ON held (dot);
    CREATE INDEX held_of ON held (id);
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    """,
    """
    CREATE TABLE rows (  -- of memory servers, each with what both sides last held
        home TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, named TEXT NOT NULL, digest TEXT NOT NULL,
        created TEXT NOT NULL, updated TEXT NOT NULL, adopted INTEGER NOT NULL, is_sent INTEGER NOT NULL,
        dots TEXT NOT NULL, PRIMARY KEY (home, number)
    ) WITHOUT ROWID;
    CREATE INDEX rows_of ON rows (id);
    """,
)


@dataclass(frozen=True, slots=True)
class Record:
    """One record; ``line`` is its JSON as it came, which is how it is carried on."""

    id: str
    kind: str
    dot: str
    over: tuple[str, ...] = ()
    text: str | None = None
    project: str = ""
    machine: str = ""
    line: str = ""

    @classmethod
    def parse(cls, line: str) -> Record:
        """Return the record of a line; raise ValueError when it is none."""
        found = json.loads(line)
        if not isinstance(found, dict) or not all(isinstance(found.get(key), str) for key in "ikd"):
            raise ValueError("no record")
        over, text = found.get("o", ()), found.get("t")
        if not isinstance(over, list | tuple) or not (text is None or isinstance(text, str)):
            raise ValueError("no record")
        project, machine = (str(found.get(key, "")) for key in "pm")
        return cls(found["i"], found["k"], found["d"], tuple(map(str, over)), text, project, machine, line)

    def written(self) -> Record:
        """Return the record with its line."""
        pairs = ((key, getattr(self, name)) for name, key in _KEYS.items())
        line = json.dumps({key: value for key, value in pairs if value}, ensure_ascii=False, separators=(",", ":"))
        return Record(self.id, self.kind, self.dot, self.over, self.text, self.project, self.machine, line)

    @property
    def digest(self) -> str:
        """The digest of what its text says, by which an old copy is recognised."""
        return digest_in(self.dot)

    @property
    def full(self) -> str:
        """The digest by which it is compared with what a file holds."""
        return self.digest if self.kind in BY_WORDS else digest_of(self.text)

    @property
    def whole(self) -> str:
        """The id without its part."""
        return self.id.partition("#")[0]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a file held of an id: the ``digest`` of its text, and the dots of the records that this text stood for."""

    id: str
    file: str
    digest: str
    dots: tuple[str, ...] = ()


class NewerExchangeError(ExpectedError):
    """The records were written by a newer memoria."""


def digest_of(text: str | None) -> str:
    """Return the eight digits by which a text is compared; ``GONE`` for none.

    What a formatter changes does not count: white space, the signs of lists and emphasis, and escapes.
    """
    return GONE if text is None else sha256(_FORM.sub("", _ESCAPE.sub("", text)))[:8]


def beside(ident: str, digest: str) -> str:
    """Return the id under which words of this digest stand beside the first wording."""
    return ident[:2] + sha256(f"{ident} {digest}")[:8]


def digest_in(dot: str) -> str:
    """Return the digest that a dot ends in."""
    return dot[_RANDOM:]


def _random() -> str:
    return os.urandom(_RANDOM // 2).hex()


class Records:
    """The records that one home knows."""

    def __init__(self, path: Path, random: Callable[[], str] = _random) -> None:
        """Open or create the file; one that cannot be read is set aside, and the next exchange fills a new one."""
        self.random = random
        self._known: dict[str, list[Record]] = {}  # by id, as they were last read
        self.db: sqlite3.Connection = database.open_or_replace(
            path, lambda: database.open_(path, _MIGRATIONS, newer=NewerExchangeError)
        )

    @classmethod
    def of(cls, paths: Paths) -> Records:
        """Return the records of these paths."""
        return cls(Path(paths.records))

    def __enter__(self) -> Records:
        """Return the records."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit everything the block does, or roll it back when the block raises."""
        try:
            with database.transaction(self.db):
                yield
        except BaseException:
            self._known.clear()
            raise

    # -- the merge

    def add(self, record: Record, *, mine: bool = False) -> bool:
        """Take in a record; return whether it is new and lives.

        ``mine``: this home wrote it, and sends it until it stands in its own folder.
        """
        if record.kind == FORGET:
            return self._forget(record, mine=mine)
        if self.is_gone(record.whole):
            return False
        run = self.db.execute
        self._known.pop(record.id, None)
        for dot in record.over:
            if run("INSERT OR IGNORE INTO replaced VALUES (?)", (dot,)).rowcount > 0:
                run("DELETE FROM records WHERE dot = ?", (dot,))
        is_new = run("SELECT 1 FROM replaced WHERE dot = ?", (record.dot,)).fetchone() is None
        if is_new:
            row = (record.dot, record.id, record.kind, record.line, mine)
            is_new = run("INSERT OR IGNORE INTO records VALUES (?, ?, ?, ?, ?)", row).rowcount > 0
        count = run("SELECT count(*) FROM records WHERE id = ?", (record.id,)).fetchone()[0] if mine else 0
        if not mine or count > 1:  # what a scan found stands in the files
            self.be_due([record.id])
        return is_new

    def _forget(self, record: Record, *, mine: bool) -> bool:
        known = self.gone(record.id)
        if known and known.dot <= record.dot:
            return False
        row = (record.dot, record.id, record.line, mine)
        self.db.execute("INSERT OR REPLACE INTO gone VALUES (?, ?, ?, ?)", row)
        self._known.clear()
        for part in (record.id, *self.parts(record.id)):
            self.db.execute("DELETE FROM records WHERE id = ?", (part,))
        self.be_due([record.id])
        return known is None

    def put(self, ident: str, kind: str, text: str | None, over: Iterable[str], **about: str) -> Record:
        """Write a record that replaces these dots.

        ``about``: its project and machine; ``words``, what of the text tells an old copy of it from a new wording; and
        ``dot``, where several machines must come to the same record.
        """
        dot = (about.pop("dot", "") or self.random()) + digest_of(about.pop("words", text))
        record = Record(ident, kind, dot, tuple(sorted(set(over))), text, **about).written()
        self.add(record, mine=True)
        return record

    def clean(self, clean: Callable[[str], str]) -> None:
        """Replace each text by what ``clean`` leaves of it."""
        for (line,) in self.db.execute("SELECT line FROM records WHERE kind <> 'stone'").fetchall():
            self.cleaned(Record.parse(line), clean)

    def cleaned(self, record: Record, clean: Callable[[str], str]) -> bool:
        """Replace a record by one with what ``clean`` leaves of its text, if that is less; return whether it is.

        The record that replaces it is the same on all machines.
        """
        left = clean(record.text) if record.text and record.kind != FORGET else record.text
        if left == record.text:
            return False
        self.put(record.id, record.kind, left or None, (record.dot, *record.over), dot=sha256(record.dot)[:16],
                 project=record.project, machine=record.machine)  # fmt: skip
        return True

    def gone(self, ident: str) -> Record | None:
        """Return the record by which an id was forgotten."""
        row = self.db.execute("SELECT line FROM gone WHERE id = ?", (ident,)).fetchone()
        return Record.parse(row[0]) if row else None

    def count_gone(self) -> int:
        """Return how much was forgotten."""
        return int(self.db.execute("SELECT count(*) FROM gone").fetchone()[0])

    def is_gone(self, ident: str) -> bool:
        """Return whether an id was forgotten."""
        return self.db.execute("SELECT 1 FROM gone WHERE id = ?", (ident,)).fetchone() is not None

    def of_kind(self, kind: str) -> list[Record]:
        """Return the records of a kind."""
        rows = self.db.execute("SELECT line FROM records WHERE kind = ? ORDER BY dot", (kind,))
        return [Record.parse(line) for (line,) in rows]

    def written_elsewhere(self, kind: str) -> set[str]:
        """Return the ids of a kind of which this machine wrote no record."""
        return {ident for (ident,) in self.db.execute(
            "SELECT id FROM records WHERE kind = ? GROUP BY id HAVING max(mine) = 0", (kind,))}  # fmt: skip

    def known(self, ident: str) -> list[Record]:
        """Return the records of an id that no known record replaces, in an order that is the same on all machines."""
        if ident not in self._known:
            rows = self.db.execute("SELECT line FROM records WHERE id = ? ORDER BY dot", (ident,))
            self._known[ident] = [Record.parse(line) for (line,) in rows]
        return self._known[ident]

    def live(self, ident: str) -> list[Record]:
        """Return the records of an id whose texts stand, one for each text.

        A text that another of them has replaced before is an old copy, and a text stands above having been deleted.
        """
        found = self.known(ident)
        if len(found) < 2:
            return found
        former = {record.dot: set(self._former(record)) for record in found}
        left = [
            record for record in found
            if not any(record.digest in former[other.dot] and other.digest not in former[record.dot]
                       for other in found if other.digest != record.digest)
        ]  # fmt: skip
        distinct = {record.digest: record for record in reversed(left)}
        texts = [record for record in left if distinct[record.digest] is record and record.text is not None]
        return texts or left[:1]

    def _former(self, record: Record) -> Iterator[str]:
        """Yield the digests of the texts that a record has replaced; a merge lets some stand beside its own instead."""
        for digest in set(map(digest_in, record.over)):
            if record.machine or not self.known(beside(record.id, digest)):
                yield digest

    def is_former(self, ident: str, digest: str) -> bool:
        """Return whether live records replaced a text of this digest by another."""
        known = self.known(ident)
        former = {digest_in(dot) for record in known for dot in record.over}
        return digest in former - {record.digest for record in known}

    def dots(self, ident: str, digest: str = "") -> tuple[str, ...]:
        """Return the dots of an id's records with all that they replaced.

        ``digest``: of the text of one; those whose other text stands beside it are left out.
        """
        others = {record.dot for record in self.live(ident) if digest and record.full != digest}
        behind = (record for record in self.known(ident) if record.dot not in others)
        return tuple(sorted({dot for record in behind for dot in (record.dot, *record.over)}))

    def parts(self, ident: str) -> list[str]:
        """Return the parts of an id of which there are records."""
        query = "SELECT DISTINCT id FROM records WHERE id > ? AND id < ? ORDER BY id"
        return [part for (part,) in self.db.execute(query, (f"{ident}#", f"{ident}$"))]  # "$" follows "#"

    def be_due(self, idents: Iterable[str]) -> None:
        """Record that these ids may stand otherwise in the files."""
        self.db.executemany("INSERT OR IGNORE INTO due VALUES (?)", [(ident,) for ident in idents])

    def all_due(self) -> None:
        """Record that everything may stand otherwise in the files."""
        self.db.execute("INSERT OR IGNORE INTO due SELECT DISTINCT id FROM records")

    def due(self) -> list[str]:
        """Return the ids that may stand otherwise in the files than in the records."""
        return [ident for (ident,) in self.db.execute("SELECT id FROM due ORDER BY id")]

    def settle(self, idents: Iterable[str]) -> None:
        """Record that these ids stand in the files as in the records."""
        self.db.executemany("DELETE FROM due WHERE id = ?", [(ident,) for ident in idents])

    # -- what the files held

    def shown(self, ident: str) -> Shown | None:
        """Return what a file held of an id when it was last looked at."""
        row = self.db.execute("SELECT * FROM shown WHERE id = ?", (ident,)).fetchone()
        return _shown(row) if row else None

    def shown_in(self, file: str) -> dict[str, Shown]:
        """Return what a file held when it was last looked at, by id."""
        return {row[0]: _shown(row) for row in self.db.execute("SELECT * FROM shown WHERE file = ?", (file,))}

    def shown_parts(self, ident: str) -> list[str]:
        """Return the parts of an id that a file held."""
        rows = self.db.execute("SELECT id FROM shown WHERE id > ? AND id < ?", (f"{ident}#", f"{ident}$"))
        return [part for (part,) in rows]

    def show(self, ident: str, file: str, digest: str, dots: Iterable[str]) -> None:
        """Record what a file holds of an id."""
        self.db.execute("INSERT OR REPLACE INTO shown VALUES (?, ?, ?, ?)", (ident, file, digest, " ".join(dots)))

    def read(self, file: str, stamp: str) -> None:
        """Record that a file was looked at."""
        self.db.execute("INSERT OR REPLACE INTO files VALUES (?, ?)", (file, stamp))

    def unshow(self, ident: str) -> None:
        """Record that no file was ever seen to hold an id."""
        self.db.execute("DELETE FROM shown WHERE id = ?", (ident,))

    def count_shown(self, folder: str) -> int:
        """Return how many ids the files of a folder held, without their parts."""
        query = "SELECT count(*) FROM shown WHERE digest <> ? AND file GLOB ? AND instr(id, '#') = 0"
        return int(self.db.execute(query, (GONE, f"{folder}*")).fetchone()[0])

    # -- segments

    def segments(self) -> set[tuple[str, str]]:
        """Return the segments that were read, by machine and name."""
        return {(machine, name) for machine, name in self.db.execute("SELECT DISTINCT machine, name FROM held")}

    def hold(self, machine: str, name: str, records: Iterable[Record], forgotten: Container[str] = ()) -> None:
        """Record that a machine's folder has a segment of these records; ``forgotten``: the dots of those to go."""
        rows = [(machine, name, record.dot, record.whole, record.dot in forgotten) for record in records]
        self.db.executemany("INSERT OR IGNORE INTO held VALUES (?, ?, ?, ?, ?)", rows)

    def release(self, machine: str, name: str) -> None:
        """Record that a segment is there no more."""
        self.db.execute("DELETE FROM held WHERE machine = ? AND name = ?", (machine, name))

    def unsent(self, machine: str) -> list[str]:
        """Return the lines of live records that this machine must write: its own, and those that no other one holds."""
        query = (
            "SELECT line FROM {0} WHERE NOT EXISTS (SELECT 1 FROM held WHERE held.dot = {0}.dot AND machine = ?1) "
            "AND (mine OR NOT EXISTS (SELECT 1 FROM held WHERE held.dot = {0}.dot))"
        )
        union = f"{query.format('records')} UNION ALL {query.format('gone')}"
        return [line for (line,) in self.db.execute(union, (machine,))]

    def release_all(self) -> None:
        """Record that no segment was read, so that all are read again."""
        self.db.execute("DELETE FROM held")

    def alive(self, machine: str, name: str) -> list[str]:
        """Return the lines of a segment's records that live."""
        query = "SELECT line FROM held JOIN {0} USING (dot) WHERE machine = ?1 AND name = ?2"
        union = f"{query.format('records')} UNION ALL {query.format('gone')}"
        return [line for (line,) in self.db.execute(union, (machine, name))]

    def measure(self, machine: str, name: str) -> tuple[int, int, int]:
        """Return how many records a segment has, how many of them live, and their size."""
        lines = self.alive(machine, name)
        count = self.db.execute("SELECT count(*) FROM held WHERE machine = ? AND name = ?", (machine, name))
        return int(count.fetchone()[0]), len(lines), sum(map(len, lines))

    def forgotten_in(self) -> set[tuple[str, str]]:
        """Return the segments that hold what was forgotten."""
        query = (
            "SELECT machine, name FROM held JOIN gone USING (id) WHERE held.dot <> gone.dot "
            "UNION SELECT machine, name FROM held WHERE forgotten"
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


def _shown(row: tuple[str, str, str, str]) -> Shown:
    ident, file, digest, dots = row
    return Shown(ident, file, digest, tuple(dots.split()))
