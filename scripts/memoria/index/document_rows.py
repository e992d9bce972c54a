"""Document rows: what the index's tables hold of a document, and the counts of terms that follow from it."""

from __future__ import annotations

import json
import sqlite3
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise

from memoria.index.documents import Document, Passage
from memoria.search import layout, packing, ranking, tokens

MAX_PASSAGES = (1 << layout.SHIFT) - 1  # of one document, including its title and names


class DocumentRows:
    """The rows of documents in the index behind a connection."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """Work on ``db``, within the caller's transaction."""
        self._db = db
        self._vocabulary: defaultdict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
        self._totals: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def put(self, document: Document, source: str) -> bool:
        """Add or update a document; return False when it is stored as it is."""
        row = self._db.execute("SELECT digest FROM documents WHERE key = ?", (document.key,)).fetchone()
        digest = document.digest
        if row and row[0] == digest:
            return False
        if row:
            self.drop(document.key)
        names = json.dumps([*document.aliases, *document.tags, *document.keywords], ensure_ascii=False)
        place = (document.key, source, document.path, document.kind, document.anchor, document.session)
        about = (document.project, document.title, document.date, names, document.importance)
        number: int = self._db.execute(  # type: ignore[assignment]  # an INSERT that did not raise has a row
            "INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*place, *about, document.superseded_by, digest),
        ).lastrowid
        first = (number << layout.SHIFT) + len(ranking.HEAD)
        parts = document.passages[: MAX_PASSAGES - len(ranking.HEAD)]
        cut = _Cut(document.title, names, document.date, parts)
        if document.kind == layout.PACKED:
            told = json.dumps([(part.text, part.label, part.own) for part in parts], ensure_ascii=False)
            self._db.execute("INSERT INTO packed VALUES (?, ?)", (number, zlib.compress(told.encode(), 9)))
        else:
            self._db.executemany(
                "INSERT INTO passages VALUES (?, ?, ?, ?)",
                ((row, part.text, part.label, part.own) for row, part in enumerate(parts, first)),
            )
        contents = cut.packed() if document.kind == layout.PACKED else cut.columns
        self._db.execute("INSERT INTO contents VALUES (?, ?, ?, ?, ?)", (number, *contents))
        self._enter(number, document.project, document.kind, cut, 1)
        return True

    def drop(self, key: str) -> bool:
        """Remove a document by key; return whether it existed."""
        row = self._db.execute(
            "SELECT id, title, names, date, project, kind FROM documents WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return False
        number, title, names, date, project, kind = row
        span = (number << layout.SHIFT, (number << layout.SHIFT) + MAX_PASSAGES)
        stored = self._db.execute("SELECT text, label, own FROM passages WHERE id BETWEEN ? AND ? ORDER BY id", span)
        packed = self._db.execute("SELECT parts FROM packed WHERE id = ?", (number,)).fetchone()
        told = packing.parts(packed[0]) if packed else stored
        parts = [Passage(text, label, bool(own)) for text, label, own in told]
        self._enter(number, project, kind, _Cut(title, names, date, parts), -1)
        self._db.execute("DELETE FROM passages WHERE id BETWEEN ? AND ?", span)
        self._db.execute("DELETE FROM packed WHERE id = ?", (number,))
        self._db.execute("DELETE FROM contents WHERE id = ?", (number,))
        self._db.execute("DELETE FROM documents WHERE id = ?", (number,))
        return True

    def _enter(self, number: int, project: str, kind: str, cut: _Cut, sign: int) -> None:
        """Add a document's terms (``sign`` 1) or remove them (-1); a contentless table needs the old terms for that."""
        scope = " ".join(layout.scope_terms(project, kind))
        row = (number, cut.sorted, scope)
        if sign > 0:
            self._db.execute("INSERT INTO terms (rowid, words, scope) VALUES (?, ?, ?)", row)
        else:
            self._db.execute("INSERT INTO terms (terms, rowid, words, scope) VALUES ('delete', ?, ?, ?)", row)
        self._totals[project].update(documents=sign, passages=sign * len(cut.lengths), words=sign * cut.words)
        held = self._vocabulary[project]
        for code, passages in cut.held.items():
            documents, before = held.get(code, (0, 0))
            held[code] = (documents + sign, before + sign * passages)

    def write_counts(self) -> None:
        """Add to the stored counts what has changed since they were last written or discarded."""
        if self._totals:
            self._db.execute("DELETE FROM facts WHERE name = ?", (layout.PREPARED,))
        for project, total in self._totals.items():
            self._db.execute(
                "INSERT INTO totals VALUES (NULL, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET documents = documents +"
                " excluded.documents, passages = passages + excluded.passages, words = words + excluded.words",
                (project, total["documents"], total["passages"], total["words"]),
            )
        for project, held in self._vocabulary.items():
            (number,) = self._db.execute("SELECT number FROM totals WHERE project = ?", (project,)).fetchone()
            self._db.executemany(
                "INSERT INTO vocabulary VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " documents = documents + excluded.documents, passages = passages + excluded.passages",
                ((code, number, *held[code]) for code in sorted(held) if held[code] != (0, 0)),
            )
            gone = [(code, number) for code, (documents, _) in held.items() if documents < 0]
            self._db.executemany("DELETE FROM vocabulary WHERE code = ? AND project = ? AND documents <= 0", gone)

    def discard_counts(self) -> None:
        """Forget what has changed: the transaction has ended."""
        self._vocabulary.clear()
        self._totals.clear()


class _Cut:
    """A document split into terms: title, names with the date, then each passage."""

    def __init__(self, title: str, names: str, date: str, passages: Sequence[Passage]) -> None:
        """``names`` is the JSON list that the index stores."""
        head = [tokens.of(title), tokens.of(" ".join(json.loads(names))) + tokens.of_day(date)]
        body = [tokens.of(f"{part.label} {part.text}") for part in passages]
        parts = [part[: ranking.MAX_PASSAGE] for part in head + body]
        bits = [0] * len(head) + [ranking.OWN_BIT * part.own | ranking.PIECE_BIT * part.is_piece for part in passages]
        self.sorted = " ".join(sorted(chain.from_iterable(parts)))  # in this order their positions take least room
        self.words = sum(map(len, parts))
        self.lengths = array("H", (len(part) | about for part, about in zip(parts, bits, strict=True)))
        self.held = Counter(_code(term) for part in parts for term in set(part))
        """Code of a term -> number of passages that contain it."""
        self._parts = parts

    @property
    def columns(self) -> tuple[bytes, ...]:
        """The arguments of ``ranking.Places``, as bytes."""
        codes, counts, places = self._positions()
        small = next(kind for kind in "BHI" if self.words < 1 << 8 * array(kind).itemsize)  # readers infer it
        arrays = (array("I", codes), array(small, accumulate(counts)), array(small, places), self.lengths)
        return tuple(each.tobytes() for each in arrays)

    def packed(self) -> tuple[bytes, ...]:
        """Return the arguments of ``packing.PackedPlaces``, with nothing in the columns between them."""
        codes, counts, places = self._positions(packing.SHORT)
        steps, begin = array("I"), 0
        for count in counts:
            steps.extend(place - before for before, place in pairwise([0, *places[begin : begin + count]]))
            begin += count
        packed = packing.pack(array("I", codes), array("I", counts), steps)
        return packed, b"", b"", self.lengths.tobytes()

    def _positions(self, mask: int = 0xFFFFFFFF) -> tuple[list[int], list[int], list[int]]:
        """Return the codes of the terms, ascending, how often each occurs, and where."""
        positions: defaultdict[int, list[int]] = defaultdict(list)
        for position, term in enumerate(chain.from_iterable(self._parts)):
            positions[_code(term) & mask].append(position)
        codes = sorted(positions)
        return (
            codes,
            [len(positions[code]) for code in codes],
            list(chain.from_iterable(positions[code] for code in codes)),
        )


_code = lru_cache(maxsize=200_000)(tokens.code)
