"""Index: the writing side of the search index, a cache of what can be found, kept in ``.memoria/index.db``.

One SQLite file: ``documents`` and ``passages`` hold what is shown, ``terms`` (FTS5, contentless, fed with the terms
that ``terms.of`` cut) where each term occurs, ``sources`` which files were read. Markdown is the truth: a file of
another version is emptied, a corrupt one is moved aside, and ``sync`` fills it again. Readers go on while one writer
writes (WAL). Knows documents and files, not the ranking.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memoria import documents, files, find, terms
from memoria.documents import Document, Passage

log = logging.getLogger(__name__)

Source = Callable[[], Iterable[Document]]

_MOST_PASSAGES = (1 << find.SHIFT) - 1  # of one document; the head (title and names) is passage 0
_BUSY_S = 30.0  # how long a writer waits for another one
_BATCH = 500  # files read between two commits: a killed sync keeps what it had
_SCHEMA = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, source TEXT NOT NULL, path TEXT NOT NULL, kind TEXT NOT NULL,
    anchor TEXT NOT NULL, session TEXT NOT NULL, project TEXT NOT NULL, title TEXT NOT NULL, date TEXT NOT NULL,
    names TEXT NOT NULL, importance REAL NOT NULL, uses INTEGER NOT NULL, superseded_by TEXT NOT NULL,
    digest TEXT NOT NULL, lengths BLOB NOT NULL);
CREATE INDEX documents_source ON documents (source);
CREATE TABLE passages (id INTEGER PRIMARY KEY, text TEXT NOT NULL, label TEXT NOT NULL, own INTEGER NOT NULL);
CREATE VIRTUAL TABLE terms USING fts5 (title, names, body, own, content='', tokenize='ascii');
CREATE VIRTUAL TABLE places USING fts5vocab (terms, instance);
CREATE TABLE sources (name TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL);
CREATE TABLE totals (
    project TEXT NOT NULL, kind TEXT NOT NULL, documents INTEGER NOT NULL, passages INTEGER NOT NULL,
    length INTEGER NOT NULL, PRIMARY KEY (project, kind));
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
_TABLES = ("places", "terms", "documents", "passages", "sources", "totals", "facts")


class Index:
    """The index file, open for writing (and for searching through ``finder``). Use as a context manager."""

    def __init__(self, path: Path | str) -> None:
        """Open ``path`` or make it; another version is emptied, a corrupt file moved aside. OSError: no access."""
        self.path = Path(path)
        self.was_empty = False  # true when nothing that stood in the file could be used
        self._db = self._open()

    def __enter__(self) -> Index:
        """The index itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    @property
    def finder(self) -> find.Finder:
        """The reading side over this connection."""
        return find.Finder(str(self.path), self._db)

    def __len__(self) -> int:
        """How many documents can be found."""
        return int(self._db.execute("SELECT count(*) FROM documents").fetchone()[0])

    def add(self, new: Iterable[Document], source: str = "") -> int:
        """Add documents or bring them up to date; unchanged ones cost a look-up. Returns how many were written."""
        with self._transaction():
            return sum(self._put(document, source) for document in new)

    def remove(self, keys: Iterable[str]) -> int:
        """Take documents out by key; returns how many were there."""
        with self._transaction():
            return sum(self._drop(key) for key in keys)

    def count_use(self, key: str, times: int = 1) -> None:
        """Count that a document helped; it ranks a little higher. Unknown keys are left alone."""
        with self._transaction():
            self._db.execute("UPDATE documents SET uses = uses + ? WHERE key = ?", (times, key))

    def feed(self, source: str, wanted: Iterable[Document]) -> int:
        """Make ``wanted`` all that the index holds of ``source``; returns how many documents changed or went."""
        with self._transaction():
            return self._feed(source, wanted)

    def sync(self, home: Path | str, feeds: dict[str, Source] | None = None) -> int:
        """Bring the index up to date with a home's markdown and further sources; returns how many documents changed.

        A file is read when its time or size changed, so that an unchanged one costs a ``stat``. ``feeds`` maps a name
        to a callable that gives all documents of that source.
        """
        changed = 0
        known = {name: (mtime, size) for name, mtime, size in self._db.execute("SELECT * FROM sources")}
        found = dict(_markdown(Path(home)))
        stale = [name for name, stamp in found.items() if known.get(name) != stamp]
        for start in range(0, len(stale), _BATCH):
            with self._transaction():
                changed += sum(self._read(Path(home), name, found[name]) for name in stale[start : start + _BATCH])
        with self._transaction():
            changed += sum(self._forget(name) for name in known if name not in found)
        for name, source in (feeds or {}).items():
            changed += self.feed(f"feed:{name}", source())
        return changed

    def rebuild(self, home: Path | str, feeds: dict[str, Source] | None = None) -> int:
        """Empty the index and fill it again in one step: readers see the old one until the new one is whole."""
        with self._transaction():
            self._empty()
            return self.sync(home, feeds)

    # --- one document -------------------------------------------------------------------------------------------

    def _put(self, document: Document, source: str) -> bool:
        row = self._db.execute("SELECT id, digest FROM documents WHERE key = ?", (document.key,)).fetchone()
        digest = document.digest
        if row and row[1] == digest:
            return False
        if row:
            self._drop(document.key)
        names = json.dumps([*document.aliases, *document.tags, *document.keywords], ensure_ascii=False)
        place = (document.key, source, document.path, document.kind, document.anchor, document.session)
        about = (document.project, document.title, document.date, names, document.importance, document.uses)
        number: int = self._db.execute(  # type: ignore[assignment]  # an INSERT that did not raise has a row
            "INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, x'')",
            (*place, *about, document.superseded_by, digest),
        ).lastrowid
        lengths = self._put_passages(number, document, names)
        self._db.execute("UPDATE documents SET lengths = ? WHERE id = ?", (lengths.tobytes(), number))
        self._count(document.project, document.kind, 1, lengths)
        return True

    def _put_passages(self, number: int, document: Document, names: str) -> array[int]:
        lengths = array("H")
        first = number << find.SHIFT
        for ordinal, columns in enumerate(_columns(document.title, names, document.passages)):
            self._db.execute(
                "INSERT INTO terms (rowid, title, names, body, own) VALUES (?, ?, ?, ?, ?)", (first + ordinal, *columns)
            )
            lengths.append(min(sum(column.count(" ") + bool(column) for column in columns), 0xFFFF))
        rows = enumerate(document.passages[:_MOST_PASSAGES], first + 1)
        self._db.executemany(
            "INSERT INTO passages VALUES (?, ?, ?, ?)", ((row, part.text, part.label, part.own) for row, part in rows)
        )
        return lengths

    def _drop(self, key: str) -> bool:
        row = self._db.execute(
            "SELECT id, title, names, project, kind, lengths FROM documents WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return False
        number, title, names, project, kind, lengths = row
        first, last = number << find.SHIFT, (number << find.SHIFT) + _MOST_PASSAGES
        stored = self._db.execute(
            "SELECT text, label, own FROM passages WHERE id BETWEEN ? AND ? ORDER BY id", (first, last)
        )
        parts = [Passage(text, label, bool(own)) for text, label, own in stored]
        for ordinal, columns in enumerate(_columns(title, names, parts)):
            self._db.execute(  # a contentless table is told what it forgets
                "INSERT INTO terms (terms, rowid, title, names, body, own) VALUES ('delete', ?, ?, ?, ?, ?)",
                (first + ordinal, *columns),
            )
        self._db.execute("DELETE FROM passages WHERE id BETWEEN ? AND ?", (first, last))
        self._db.execute("DELETE FROM documents WHERE id = ?", (number,))
        self._count(project, kind, -1, array("H", lengths))
        return True

    def _count(self, project: str, kind: str, sign: int, lengths: array[int]) -> None:
        self._db.execute("INSERT OR IGNORE INTO totals VALUES (?, ?, 0, 0, 0)", (project, kind))
        self._db.execute(
            "UPDATE totals SET documents = documents + ?, passages = passages + ?, length = length + ?"
            " WHERE project = ? AND kind = ?",
            (sign, sign * len(lengths), sign * sum(lengths), project, kind),
        )

    # --- one source ---------------------------------------------------------------------------------------------

    def _feed(self, source: str, wanted: Iterable[Document]) -> int:
        gone = {key for (key,) in self._db.execute("SELECT key FROM documents WHERE source = ?", (source,))}
        changed = 0
        for document in wanted:
            gone.discard(document.key)
            changed += self._put(document, source)
        return changed + sum(self._drop(key) for key in gone)

    def _read(self, home: Path, name: str, stamp: tuple[int, int]) -> int:
        try:
            text = (home / name).read_text("utf-8", "replace")
        except OSError as error:
            log.warning("search: %s cannot be read and is left out (%s)", name, error)
            return 0
        changed = self._feed(name, documents.of_file(name, text))
        self._db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", (name, *stamp))
        return changed

    def _forget(self, name: str) -> int:
        self._db.execute("DELETE FROM sources WHERE name = ?", (name,))
        return self._feed(name, ())

    # --- the file -----------------------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return self._connected()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):  # locked, no access, disk full: not the file's fault
                raise OSError(f"{self.path}: {error}") from error
        self._set_aside()
        return self._connected()

    def _connected(self) -> sqlite3.Connection:
        self._db = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")  # a cache: the last commit may be lost in a power cut
            self._db.execute("PRAGMA cache_size = -16384")
            if self._identity() != _wanted_identity():
                with self._transaction():
                    self._empty()
        except BaseException:
            self._db.close()
            raise
        return self._db

    def _identity(self) -> tuple[int, str]:
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version != find.VERSION:
            return version, ""
        row = self._db.execute("SELECT value FROM facts WHERE name = 'unicode'").fetchone()
        return version, row[0] if row else ""

    def _empty(self) -> None:
        self.was_empty = True
        for table in _TABLES:
            self._db.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in _SCHEMA.split(";"):
            self._db.execute(statement)
        self._db.execute("INSERT INTO facts VALUES ('unicode', ?)", (unicodedata.unidata_version,))
        self._db.execute(f"PRAGMA user_version = {find.VERSION}")

    def _set_aside(self) -> None:
        files.set_aside(self.path)
        for suffix in ("-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """One write transaction; inside another one, part of it."""
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _wanted_identity() -> tuple[int, str]:
    return find.VERSION, unicodedata.unidata_version


def _columns(title: str, names: str, passages: Iterable[Passage]) -> Iterator[tuple[str, str, str, str]]:
    """What FTS5 holds of a document: first its head, then passage by passage, as terms joined by blanks."""
    yield " ".join(terms.of(title)), " ".join(terms.of(" ".join(json.loads(names)))), "", ""
    for count, passage in enumerate(passages):
        if count >= _MOST_PASSAGES:
            return
        cut = " ".join(terms.of(f"{passage.label} {passage.text}"))
        yield ("", "", "", cut) if passage.own else ("", "", cut, "")


def _markdown(home: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each markdown file of the wiki and the daily logs, with its time and size; unreadable folders are left out."""
    for top in ("knowledge", "daily"):
        for folder, folders, names in os.walk(home / top):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                if name.endswith(".md") and not name.startswith("."):
                    path = Path(folder, name)
                    try:
                        stat = path.stat()
                    except OSError:
                        continue
                    yield path.relative_to(home).as_posix(), (stat.st_mtime_ns, stat.st_size)
