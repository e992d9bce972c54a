"""Index: the writing side of the search index, a cache of everything that can be found, in ``.memoria/index.db``.

It is one SQLite file. ``documents`` and ``passages`` hold what is shown, but for the texts of archived conversations,
which stand in the archive; ``terms`` (FTS5, contentless, filled with the output of ``tokens.terms``) maps terms to
passages, and ``vocabulary`` and ``instances`` look into it; ``totals`` counts what there is; ``sources`` lists the
files that were read; ``kept_1`` caches what other modules computed from a file. Markdown is the source of truth: a file
of another version is emptied, a corrupt one is moved aside, and ``sync`` fills it again. Readers continue while one
writer writes (WAL). This module knows documents and files, but not the ranking.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import time
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from memoria.base.project import digest_of
from memoria.base.visibility import Visibility
from memoria.daily.entry import Reference
from memoria.ground import database, home_files
from memoria.index import documents
from memoria.index.documents import Document, Passage, Stamp
from memoria.index.ended import NOTHING, Ended
from memoria.search import layout, reader, tokens
from memoria.search.hit import Hit

log = logging.getLogger(__name__)

Source = Callable[[], Iterable[Document]]
Stamped = tuple[Stamp, Source]

_BATCH_S = 1.0  # of reading files between two commits; searches see what was committed, and a killed sync keeps it
_MANY, _SHARE = 500, 10  # changed documents, at least a tenth of all, after which segments are merged
_SCHEMA = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, source TEXT NOT NULL, path TEXT NOT NULL,
    kind TEXT NOT NULL, anchor TEXT NOT NULL, session TEXT NOT NULL, project TEXT NOT NULL, title TEXT NOT NULL,
    date TEXT NOT NULL, importance REAL NOT NULL, superseded_by TEXT NOT NULL, hidden TEXT NOT NULL,
    lengths BLOB NOT NULL, digest TEXT NOT NULL);
CREATE INDEX documents_source ON documents (source);
CREATE INDEX documents_anchor ON documents (anchor);
CREATE INDEX documents_facts ON documents (project, importance) WHERE kind = 'fact';
CREATE TABLE passages (id INTEGER PRIMARY KEY, text TEXT NOT NULL, label TEXT NOT NULL, own INTEGER NOT NULL);
CREATE VIRTUAL TABLE terms USING fts5 (words, content='', detail=none, columnsize=0, tokenize='ascii');
INSERT INTO terms (terms, rank) VALUES ('pgsz', 1000);  -- a list is read by the page: a quarter of the file's
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (terms, row);
CREATE VIRTUAL TABLE instances USING fts5vocab (terms, instance);
CREATE TABLE sources (name TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL);
CREATE TABLE totals (
    project TEXT NOT NULL, kind TEXT NOT NULL, documents INTEGER NOT NULL, passages INTEGER NOT NULL,
    words INTEGER NOT NULL, PRIMARY KEY (project, kind)) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
_KEPT = """
CREATE TABLE IF NOT EXISTS kept_1 (
    kind TEXT NOT NULL, name TEXT NOT NULL, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (kind, name)) WITHOUT ROWID"""  # not emptied with the others, because it depends on the files alone
_TABLES = ("vocabulary", "instances", "terms", "documents", "passages", "sources", "totals", "facts")
_FORMER_TABLES = ("contents", "packed", "vectors")  # of earlier versions


class About(NamedTuple):
    """The fields of an entry's document."""

    session: str
    project: str
    title: str
    date: str


class Index(AbstractContextManager["Index"]):
    """The index file, open for writing (and for searching through ``finder``). Use as a context manager."""

    def __init__(self, path: Path | str, *, is_fixed: bool = False) -> None:
        """Open ``path``, anew if corrupt or of another version; ``is_fixed``: as it is. OSError without access."""
        self.path = Path(path)
        self.aliases: Mapping[str, str] = {}  # former keys of projects and the present ones
        self.is_whole = True  # no ``sync`` has left out files so far
        self._db = self._open(is_fixed=is_fixed)

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @property
    def finder(self) -> reader.Finder:
        """The reading side over this connection."""
        return reader.Finder(str(self.path), self._db, turns=documents.reading(self.path.parent))

    def __len__(self) -> int:
        """Return the number of documents."""
        return int(self._db.execute("SELECT count(*) FROM documents").fetchone()[0])

    def entries(self) -> dict[str, About]:
        """Return the fields of every daily entry, by its id."""
        rows = self._db.execute(
            "SELECT anchor, session, project, title, date FROM documents WHERE kind = 'entry' AND anchor LIKE 'e-%'"
        )
        return {anchor.removeprefix("e-"): About(*about) for anchor, *about in rows}

    def projects(self) -> set[str]:
        """Return the keys of the projects that documents belong to."""
        rows = self._db.execute("SELECT DISTINCT project FROM totals WHERE documents > 0 AND project <> ''")
        return {key for (key,) in rows}

    def resolve(self, aliases: Mapping[str, str]) -> None:
        """Use these present keys of projects; when they have changed, the next ``sync`` reads every file again."""
        self.aliases = aliases

        def work() -> None:
            digest = digest_of(aliases)
            if (digest,) == self._db.execute("SELECT value FROM facts WHERE name = 'aliases'").fetchone():
                return
            with self._transaction():
                self._db.execute("UPDATE sources SET mtime_ns = -1")
                self._db.execute("INSERT OR REPLACE INTO facts VALUES ('aliases', ?)", (digest,))

        self._guard(work)

    def add(self, new: Iterable[Document], source: str = "") -> int:
        """Add or update documents; unchanged ones cost one query. Return how many were written."""
        with self._transaction():
            return sum(self._rows.put(document, source) for document in new)

    def sync(
        self,
        home: Path | str,
        more: Mapping[str, Stamped] | None = None,
        *,
        ended: Ended = NOTHING,
        until: float = math.inf,
    ) -> int:
        """Bring the index up to date with a home's Markdown and ``more`` sources; return how many documents changed.

        A file is read when its time or size has changed, so that an unchanged one costs one ``stat``. Each source in
        ``more`` is read when its stamp has changed; None leaves such sources as they are. ``until``: when to leave the
        rest for the next time (``time.monotonic()``). No error of the index itself is raised: a corrupt index is
        created again, and one that another process has locked is left for the next time.
        """
        return self._guard(lambda: self._sync(Path(home), more, ended, until))

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        project: str = "",
        view: Visibility | None = None,
        kinds: Collection[str] = (),
    ) -> list[Hit]:
        """Return what ``Finder.search`` finds; log a warning and return nothing when the file cannot be read.

        The id of an entry or a fact (``e-01k9x2``, ``l-7f3a``) finds just what it names.
        """
        try:
            if known := Reference.of(query):
                named = self.finder.find_named(known.anchor, f"archive/{known.id}", view)
                if named := [hit for hit in named if not kinds or hit.kind in kinds]:
                    return named[:limit]
            return self.finder.search(query, limit=limit, project=project, view=view, kinds=kinds)
        except sqlite3.Error as error:
            log.warning("search: nothing was found, because %s", error)
            return []

    def prepare(self, labels: Collection[str], write: Callable[[list[str]], object]) -> None:
        """Have ``write`` write what stands under these labels, unless that was done since a document changed."""

        def work() -> None:
            if self._db.execute("SELECT 1 FROM facts WHERE name = ?", (layout.PREPARED,)).fetchone():
                return
            rows = self._db.execute(
                "SELECT text FROM documents JOIN passages ON passages.id BETWEEN documents.id << ?"  # noqa: S608
                " AND ((documents.id + 1) << ?) - 1 WHERE kind IN ('fact', 'article') AND label IN"
                f" ({', '.join('?' * len(labels))})",
                (layout.SHIFT, layout.SHIFT, *labels),
            )
            write([text for (text,) in rows])
            with self._transaction():
                self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, '')", (layout.PREPARED,))

        try:
            self._guard(work)
        except OSError as error:
            log.warning("search: what rules name was not written: %s", error)

    # --- what other modules compute from a file -----------------------------------------------------------------

    def cache(self, kind: str, found: Mapping[str, Stamp], read: Callable[[str], str]) -> dict[str, str]:
        """Return what ``read`` computes from each file in ``found`` (name and stamp), again only if its stamp changed.

        ``kind`` identifies the caller. The rows survive when the index is rebuilt or emptied. No error of the index
        itself is raised: what cannot be stored is computed.
        """
        cached: dict[str, str] = {}

        def work() -> None:
            query = "SELECT name, mtime_ns, size, text FROM kept_1 WHERE kind = ?"
            rows = self._db.execute(query, (kind,)).fetchall()
            cached.update({name: text for name, mtime, size, text in rows if found.get(name) == (mtime, size)})
            fresh = {name: read(name) for name in found if name not in cached}
            cached.update(fresh)
            gone = [(kind, name) for name, *_ in rows if name not in found]
            if fresh or gone:
                with self._transaction():
                    new = [(kind, name, *found[name], text) for name, text in fresh.items()]
                    self._db.executemany("INSERT OR REPLACE INTO kept_1 VALUES (?, ?, ?, ?, ?)", new)
                    self._db.executemany("DELETE FROM kept_1 WHERE kind = ? AND name = ?", gone)

        self._guard(work)
        return {name: cached[name] if name in cached else read(name) for name in found}

    def hurry(self, wait_s: float) -> None:
        """Wait no longer than this for what another process writes."""
        self._db.execute(f"PRAGMA busy_timeout = {round(1000 * wait_s)}")

    def _sync(self, home: Path, more: Mapping[str, Stamped] | None, ended: Ended, until: float) -> int:
        changed = 0
        known = {name: (mtime, size) for name, mtime, size in self._db.execute("SELECT * FROM sources")}
        found = dict(documents.files(home, ended=ended))
        stale = [name for name, stamp in found.items() if known.get(name) != stamp]
        further = more or {}
        found |= {name: stamp for name, (stamp, _) in further.items()}
        stale += [name for name, (stamp, _) in further.items() if known.get(name) != stamp]
        gone = sorted(known.keys() - found.keys())
        if more is None:
            gone = [name for name in gone if name.partition("/")[0] in documents.TOPS]
        if gone:
            with self._transaction():
                changed += sum(self._forget(name) for name in gone)
        waiting = deque(stale)
        while waiting and (began := time.monotonic()) < until:
            with self._transaction():
                while waiting and time.monotonic() < min(until, began + _BATCH_S):
                    name = waiting.popleft()
                    source = further[name][1] if name in further else partial(_load, home, name, self.aliases, ended)
                    changed += self._take(name, found[name], source)
        if waiting:
            self.is_whole = False
            return changed
        self._merge(changed)
        return changed

    def _merge(self, changed: int) -> None:
        """Merge the segments of the full-text search after many changes: a search reads every segment.

        SQLite merges those of few changes by itself, into up to a dozen.
        """
        if changed >= _MANY and changed >= len(self) // _SHARE:
            with self._transaction():
                self._db.execute("INSERT INTO terms (terms) VALUES ('optimize')")

    def _guard(self, work: Callable[[], int | None]) -> int:
        """Do the work; retry once on a new file if the file is corrupt, give up if it is locked or the disk full."""
        try:
            return work() or 0
        except sqlite3.OperationalError as error:
            log.warning("search: the index was not brought up to date: %s", error)
            self.is_whole = False
            return 0
        except sqlite3.DatabaseError:
            self._db.close()
            database.set_aside(self.path)
            self._connect()
            return work() or 0

    # --- one source ---------------------------------------------------------------------------------------------

    def _feed(self, source: str, wanted: Iterable[Document]) -> int:
        gone = {key for (key,) in self._db.execute("SELECT key FROM documents WHERE source = ?", (source,))}
        changed = 0
        for document in wanted:
            gone.discard(document.key)
            changed += self._rows.put(document, source)
        for key in gone:
            self._rows.drop(key)
        return changed + len(gone)

    def _take(self, name: str, stamp: Stamp, source: Source) -> int:
        try:
            wanted = list(source())
        except OSError as error:
            log.warning("search: %s cannot be read and is left out (%s)", name, error)
            return 0
        changed = self._feed(name, wanted)
        self._db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", (name, *stamp))
        return changed

    def _forget(self, name: str) -> int:
        self._db.execute("DELETE FROM sources WHERE name = ?", (name,))
        return self._feed(name, ())

    # --- the file -----------------------------------------------------------------------------------------------

    def _open(self, *, is_fixed: bool) -> sqlite3.Connection:
        try:
            if is_fixed:
                return reader.open_index(str(self.path))
            return database.open_or_replace(self.path, self._connect)
        except (sqlite3.OperationalError, reader.UnreadableError) as error:  # the file itself is not damaged
            raise OSError(f"{self.path}: {error}; is the disk full, or the file locked or read-only?") from error

    def _connect(self) -> sqlite3.Connection:
        self._db = database.connect(self.path)
        self._rows = DocumentRows(self._db)
        try:
            self._db.execute("PRAGMA cache_size = -16384")
            if database.version(self._db) != layout.VERSION:
                with self._transaction():
                    if database.version(self._db) != layout.VERSION:  # no other process created it in the meantime
                        self._clear()
            self._db.execute(_KEPT)
        except BaseException:
            self._db.close()
            raise
        return self._db

    def _clear(self) -> None:
        for table in (*_TABLES, *_FORMER_TABLES):
            self._db.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in database.statements(_SCHEMA):
            self._db.execute(statement)
        self._db.execute("INSERT INTO facts VALUES ('aliases', ?)", (digest_of(self.aliases),))
        self._db.execute(f"PRAGMA user_version = {layout.VERSION}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run the body in one write transaction, or as part of the enclosing one."""
        if self._db.in_transaction:
            yield
            return
        try:
            with database.transaction(self._db):
                yield
                self._rows.write_counts()
                self._rows.purge()
        finally:
            self._rows.discard_counts()


def _load(home: Path, name: str, aliases: Mapping[str, str], ended: Ended) -> Iterable[Document]:
    return documents.parse(name, home_files.text(home / name), aliases, ended)


MAX_PASSAGES = layout.LAST + 1 - layout.HEADS  # of one document
_PURGE = 8  # passages of which one may be of a document that is gone
_GONE = "gone"  # in ``facts`` the number of such passages


class DocumentRows:
    """The rows of documents in the index behind a connection."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """Work on ``db``, within the caller's transaction."""
        self._db = db
        self._totals: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._gone = 0

    def put(self, document: Document, source: str) -> bool:
        """Add or update a document; return False when it is stored as it is."""
        row = self._db.execute("SELECT digest FROM documents WHERE key = ?", (document.key,)).fetchone()
        digest = document.digest
        if row and row[0] == digest:
            return False
        if row:
            self.drop(document.key)
        parts = document.passages[:MAX_PASSAGES]
        held = [terms[: layout.MAX_WORDS] for terms in _terms(document, parts)]
        own = [False] * layout.HEADS + [part.own for part in parts]
        lengths = array("H", (len(terms) | layout.OWN_BIT * is_own for terms, is_own in zip(held, own, strict=True)))
        place = (document.key, source, document.path, document.kind, document.anchor, document.session)
        about = (document.project, document.title, document.date, document.importance, document.superseded_by)
        number: int = self._db.execute(  # type: ignore[assignment]  # an INSERT that did not raise has a row
            "INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*place, *about, document.hidden, lengths.tobytes(), digest),
        ).lastrowid
        first = number << layout.SHIFT
        if document.kind != "turn":  # whose texts stand in the archive
            self._db.executemany(
                "INSERT INTO passages VALUES (?, ?, ?, ?)",
                ((row, part.text, part.label, part.own) for row, part in enumerate(parts, first + layout.HEADS)),
            )
        places = map(layout.project_term, (document.project, *document.also))
        belongs = " ".join(("", layout.kind_term(document.kind), *places))
        self._db.executemany(
            "INSERT INTO terms (rowid, words) VALUES (?, ?)",
            ((row, _words(terms) + belongs) for row, terms in enumerate(held, first) if terms),
        )
        total = self._totals[document.project, document.kind]
        total.update(documents=1, passages=len(held), words=sum(map(len, held)))
        return True

    def drop(self, key: str) -> None:
        """Remove a document by key. Its terms stay until ``purge`` and lead nowhere."""
        query = "SELECT id, project, kind, lengths FROM documents WHERE key = ?"
        number, project, kind, packed = self._db.execute(query, (key,)).fetchone()
        lengths = [length & ~layout.OWN_BIT for length in memoryview(packed).cast("H")]
        self._gone += len(lengths)
        self._totals[project, kind].update(documents=-1, passages=-len(lengths), words=-sum(lengths))
        span = (number << layout.SHIFT, (number << layout.SHIFT) + layout.LAST)
        self._db.execute("DELETE FROM passages WHERE id BETWEEN ? AND ?", span)
        self._db.execute("DELETE FROM documents WHERE id = ?", (number,))

    def write_counts(self) -> None:
        """Add to the stored counts what has changed since they were last written or discarded."""
        if self._totals:
            self._db.execute("DELETE FROM facts WHERE name = ?", (layout.PREPARED,))
        for (project, kind), total in self._totals.items():
            self._db.execute(
                "INSERT INTO totals VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET documents = documents +"
                " excluded.documents, passages = passages + excluded.passages, words = words + excluded.words",
                (project, kind, total["documents"], total["passages"], total["words"]),
            )
        if self._gone:
            self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_GONE, self._number(_GONE) + self._gone))

    def discard_counts(self) -> None:
        """Forget what has changed: the transaction has ended."""
        self._totals.clear()
        self._gone = 0

    def purge(self) -> None:
        """Remove the terms of documents that are gone, once these are many.

        The full-text search, which holds no texts, is to be told the terms that it shall remove; its vocabulary knows
        them.
        """
        gone = self._number(_GONE)
        (passages,) = self._db.execute("SELECT coalesce(sum(passages), 0) FROM totals").fetchone()
        if not gone or _PURGE * gone < passages:
            return
        present = {number for (number,) in self._db.execute("SELECT id FROM documents")}
        held = defaultdict(list)
        for term, row in self._db.execute("SELECT term, doc FROM instances"):
            if row >> layout.SHIFT not in present:
                held[row].append(term)
        self._db.executemany(
            "INSERT INTO terms (terms, rowid, words) VALUES ('delete', ?, ?)",
            ((row, " ".join(terms)) for row, terms in held.items()),
        )
        self._db.execute("INSERT INTO terms (terms) VALUES ('optimize')")  # until then they are only marked as removed
        self._db.execute("DELETE FROM facts WHERE name = ?", (_GONE,))

    def _number(self, name: str) -> int:
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else 0


def _terms(document: Document, parts: tuple[Passage, ...]) -> Iterator[list[str]]:
    """Yield the terms of the title, of the names with the day, and of each passage."""
    names = " ".join([*document.aliases, *document.tags, *document.keywords])
    yield tokens.terms(document.title)
    yield tokens.terms(names) + tokens.day_terms(document.date)
    yield from (tokens.terms(f"{part.label} {part.text}") for part in parts)


def _words(terms: list[str]) -> str:
    """Return the terms of a passage as the full-text search holds them, each once and in its order."""
    return " ".join(sorted(layout.term_mark(term, count) for term, count in Counter(terms).items()))
