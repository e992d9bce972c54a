"""Reader: find the documents of the search index that fit a query best, with those passages that may be shown.

Opens ``index.db`` read-only; ``index`` writes it. A file that is missing, locked, corrupt or of another version raises
``UnreadableError`` and no other error.
"""

from __future__ import annotations

from memoria.base import sqlite
from memoria.base.visibility import EVERYWHERE
from memoria.search import layout, ranking, tokens
from memoria.search.hit import Hit, Statement, surroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from memoria.base.visibility import Visibility

    Part = tuple[str, str, bool]  # text and label of a passage, and whether it is the user's own
    Turns = Callable[[str, str], Sequence[Part]]

QUERY_WORDS = 48  # terms of a query that are looked up; the others are ignored
PASSAGES = 3  # of a document that are shown
_AROUND = "`'\"()[]{}<>,.;:!?*_|\\"
_SUCCESSIONS = 8  # greatest length of a chain of superseded facts that is followed
SHOW = "SELECT id, key, path, kind, anchor, session, project, title, date, superseded_by, source, hidden FROM documents"


class UnreadableError(Exception):
    """The index cannot answer now; the message says why."""


def no_turns(source: str, hidden: str) -> Sequence[Part]:  # noqa: ARG001 (reads nothing)
    """Return no passages: a hook shows none of an archived conversation."""
    return ()


class Stored:
    """What an index holds. The texts of archived conversations stand in the archive, where ``turns`` reads them."""

    __slots__ = ("_db", "_last", "_turns")

    def __init__(self, connection: sqlite3.Connection, turns: Turns = no_turns) -> None:
        self._db = connection
        self._turns = turns
        self._last: tuple[int, Mapping[int, Part]] = (0, {})  # the document that was read last

    def current(self, document: int) -> tuple[Any, ...] | None:
        """Return the row of a document, or of its successor; None when that was forgotten, so that neither is found."""
        row: tuple[Any, ...] | None = self._db.execute(SHOW + " WHERE id = ?", (document,)).fetchone()
        for _ in range(_SUCCESSIONS):
            if row is None or not row[9]:
                break
            row = self._db.execute(SHOW + " WHERE anchor = ?", (row[9].removeprefix("^"),)).fetchone()
        return row

    def find_worthiest(self, project: str, most: int) -> list[tuple[float, int]]:
        """Return importance and id of up to ``most`` current facts of a project, the most important first."""
        asked = "SELECT importance, id FROM documents WHERE kind = 'fact' AND project = ? AND superseded_by = ''"
        return self._db.execute(f"{asked} ORDER BY importance DESC, id DESC LIMIT {most}", (project,)).fetchall()

    def screen(self, row: tuple[Any, ...], view: Visibility | None) -> Callable[[str], bool] | None:
        """Return which passages of a document may be shown; None when the document may not be.

        Of an article that also rests on what hidden projects said, only the passages are shown that cite nothing of it
        but something else.
        """
        if view is None:
            return shows_all
        if view.hides(row[6]):
            return None
        if row[3] != "article":
            return shows_all
        cited = {ident for text, _, _ in self.parts(row).values() for ident in layout.block_ids(text)}
        seen = {ident for ident in cited if not view.hides(self._entry_place(ident, "project"))}
        if seen == cited:
            return shows_all
        return lambda text: bool(own := layout.block_ids(text)) and own <= seen

    def find_block(self, ident: str) -> tuple[Any, ...] | None:
        """Return the row of the statement with a block id, or of its successor; None when neither is there."""
        return self.current(int(self._entry_place(ident, "id") or 0))

    def _entry_place(self, ident: str, column: str) -> str:
        """Return the project, the session or the row's id of a statement or entry, ``""`` for one that is unknown."""
        row = self._db.execute(f"SELECT {column} FROM documents WHERE anchor = ?", (ident,)).fetchone()  # noqa: S608
        return str(row[0]) if row else ""

    def sessions(self, hit: Hit) -> frozenset[str]:
        """Return the sessions in which the best passage of a hit was said, as far as they are known."""
        if hit.kind != "article":
            return frozenset((hit.session,) if hit.session else ())
        said = {self._entry_place(ident, "session") for ident in layout.block_ids(hit.passages[0])}
        return frozenset(said) if "" not in said else frozenset()

    def parts(self, row: tuple[Any, ...]) -> Mapping[int, Part]:
        """Return the passages of a document by their ordinals, without its title and names."""
        if row[0] != self._last[0]:
            is_archived = row[3] == "turn"
            parts = dict(enumerate(self._turns(row[10], row[11]), layout.HEADS)) if is_archived else self._rows(row[0])
            self._last = row[0], parts
        return self._last[1]

    def _rows(self, document: int) -> dict[int, Part]:
        first = document << layout.SHIFT
        asked = "SELECT id, text, label, own FROM passages WHERE id BETWEEN ? AND ?"
        rows = self._db.execute(asked, (first, first + layout.LAST))
        return {number - first: (text, label, bool(own)) for number, text, label, own in rows}

    def phrases(self, row: tuple[Any, ...]) -> list[str]:
        """Return the phrases by which a document is asked for."""
        return [text for text, label, _ in self.parts(row).values() if label == layout.ASKED]

    def best(self, row: tuple[Any, ...], scored: Mapping[int, float], screen: Callable[[str], bool]) -> list[Part]:
        """Return the best passages, or the first one when no passage but a phrase was scored."""
        parts = self.parts(row)
        said = [ordinal for ordinal in scored if ordinal in parts and parts[ordinal][1] != layout.ASKED]
        first = [layout.HEADS] if layout.HEADS in parts else []
        best = sorted(said, key=lambda ordinal: (-scored[ordinal], ordinal)) or first
        return [parts[ordinal] for ordinal in best if parts[ordinal][0] and screen(parts[ordinal][0])][:PASSAGES]


def shows_all(text: str) -> bool:  # noqa: ARG001 (a screen looks at the text)
    """Show every passage."""
    return True


class Finder:
    """An open index. As a context manager it closes the file, and raises UnreadableError when that cannot be read."""

    def __init__(
        self,
        path: str,
        connection: sqlite3.Connection | None = None,
        *,
        candidates: int = ranking.CANDIDATES,
        turns: Turns = no_turns,
    ) -> None:
        """Open the index, or use a ``connection`` that is open already. Raises UnreadableError.

        ``candidates`` is the number of documents that a search scores; a lower number is faster. ``turns`` reads the
        texts of archived conversations.
        """
        self._own = connection is None
        self._db = open_index(path) if connection is None else connection
        self._ranking = ranking.Ranking(self._db, candidates)
        self._stored = Stored(self._db, turns)

    def __enter__(self) -> Finder:
        """Return the finder itself."""
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close the file, unless the caller opened it; an error of it becomes an UnreadableError."""
        if self._own:
            self._db.close()
        if isinstance(error, sqlite.module().Error):
            raise UnreadableError(str(error)) from None

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        project: str = "",
        view: Visibility | None = None,
        kinds: Collection[str] = (),
    ) -> list[Hit]:
        """Return the documents that fit ``query`` best, best first; of several about one session, only the best one.

        ``project`` and ``kinds`` exclude everything else; with a single kind, all
        documents of a session are returned. ``view`` excludes what may not be shown to the project that asks, also
        passages of articles. Any text is a valid query.
        """
        return self._find(query, limit, project, view, kinds, is_folded=len(kinds) != 1)[0]

    def _find(
        self, query: str, limit: int, project: str, view: Visibility | None, kinds: Collection[str], *, is_folded: bool
    ) -> tuple[list[Hit], dict[str, float]]:
        """Return the hits of a search, and the information in each word of the query."""
        words = tokens.query_terms(query)[:QUERY_WORDS]
        if not words:
            return [], {}
        scope = ranking.Scope(self._db, project, view, kinds or layout.KINDS)
        ranked, bits = self._ranking.best(words, scope, limit)
        return self._hits(ranked, limit, view, is_folded=is_folded, kinds=kinds), bits

    def notes(
        self,
        query: str,
        *,
        limit: int,
        room: int,
        view: Visibility | None = None,
        session: str = "",
    ) -> list[Statement]:
        """Return the best passages of the documents that ``search`` finds, best first, cut to ``room`` characters.

        A line of an article stands for the statement that it shows, and each statement is returned once. What
        ``session`` said is left out.
        """
        hits, bits = self._find(query, limit, "", view, layout.NOTED, is_folded=False)
        found: dict[str, Statement] = {}
        for each in filter(None, (self._note(hit, bits, room, view) for hit in hits)):
            if session not in each.sessions:
                found.setdefault(each.hit.key, each)
        return list(found.values())

    def _note(self, hit: Hit, bits: Mapping[str, float], room: int, view: Visibility | None) -> Statement | None:
        """Return the best passage of a document as a note; None where all sum up or list uses of tools, or none is."""
        for passage, (label, own) in hit.about.items():  # a document without passages is found by its title alone
            found = None if label in layout.NO_NOTES else self._statement(hit.of(passage), label, is_own=own, view=view)
            if found:
                found.text = surroundings(found.text, bits, room)
                found.words = frozenset(tokens.terms("\n".join((found.text, *found.hit.phrases)))).intersection(bits)
                found.share = sum(bits[term] for term in found.words) / (sum(bits.values()) or 1.0)
                return found
        return None

    def _statement(self, hit: Hit, label: str, *, is_own: bool, view: Visibility | None) -> Statement | None:
        """Return a passage as a statement; a line of an article as the one that it shows, None when that has ended."""
        shown = [ident for ident in layout.block_ids(hit.passages[0]) if ident.startswith("l-")]
        if hit.kind == "article" and len(shown) == 1:  # a line that cites two statements connects them
            row = self._stored.find_block(shown[0])
            if row is None or self._stored.screen(row, view) is None:
                return None
            text, label, is_own = self._stored.parts(row)[layout.HEADS]
            hit = Hit(row[1:9], hit.score, [text])
            hit.phrases = self._stored.phrases(row)
        return Statement(hit, hit.passages[0], label, is_own=is_own, sessions=self._stored.sessions(hit))

    def find_terms(
        self, terms: Sequence[str], *, view: Visibility, kinds: Collection[str], most: int
    ) -> Iterator[Statement]:
        """Yield the passages that hold one of the terms, the newest first; of each term up to ``most``.

        A term that more passages hold names nothing in particular and is left out.
        """
        scope = ranking.Scope(self._db, "", view, kinds)
        sizes, held = self._ranking.count_words(terms, scope, most * len(terms))
        rows = {row for term in held if sizes[term] <= most for row in held[term]}
        for row in sorted(rows, reverse=True):
            yield from self._passages(row >> layout.SHIFT, view, row & layout.LAST)

    def find_worthiest(self, *, view: Visibility, most: int) -> list[Statement]:
        """Return up to ``most`` facts of the own project and of all, the most important and then the newest first."""
        found = [row for place in (view.own, *EVERYWHERE) for row in self._stored.find_worthiest(place, most)]
        best = sorted(set(found), reverse=True)[:most]
        return [statement for _, document in best for statement in self._passages(document, view)]

    def _passages(self, document: int, view: Visibility, only: int = 0) -> Iterator[Statement]:
        """Yield what may be shown of a document or of its passage ``only``, whole."""
        row = self._stored.current(document)
        screen = self._stored.screen(row, view) if row else None
        if row is None or screen is None:
            return
        for ordinal, (text, label, own) in self._stored.parts(row).items():
            is_wanted = not only or only == ordinal or row[0] != document
            if is_wanted and label != layout.ASKED and screen(text):
                found = self._statement(Hit(row[1:9], 0.0, [text]), label, is_own=own, view=view)
                if found:
                    yield found

    def _hits(
        self,
        ranked: Iterable[ranking.Found],
        limit: int,
        view: Visibility | None,
        *,
        is_folded: bool,
        kinds: Collection[str],
    ) -> list[Hit]:
        """Return hits for ranked documents.

        ``is_folded``: whether of several hits about one session only the best one is returned. ``kinds``: those of the
        hits, by default all.
        """
        hits: list[Hit] = []
        seen: set[str] = set()
        for each in ranked:
            if len(hits) >= limit:
                break
            row = self._stored.current(each.document)
            if row is None or row[1] in seen or (kinds and row[3] not in kinds):
                continue
            seen.add(row[1])
            hit = self._hit(row, each.score, each.passages if row[0] == each.document else {}, view)
            is_told = hit and ((is_folded and _fold(hits, hit, self._stored.sessions(hit))) or _is_said(hits, hit))
            if hit and not is_told:
                hits.append(hit)
        return hits

    def _hit(
        self, row: tuple[Any, ...], score: float, scored: Mapping[int, float], view: Visibility | None = None
    ) -> Hit | None:
        """Return what may be shown of a document, with its best passages; None when nothing may."""
        screen = self._stored.screen(row, view)
        parts = self._stored.best(row, scored, screen) if screen else []
        if screen is None or not (parts or screen is shows_all):
            return None
        hit = Hit(row[1:9], score, [text for text, _, _ in parts] or [row[7]])
        hit.about = {text: (label, own) for text, label, own in parts}
        hit.phrases = self._stored.phrases(row)
        return hit

    def find_named(self, anchor: str, path: str = "", view: Visibility | None = None) -> list[Hit]:
        """Return the documents with this block id, and the one at ``path``, each with its first passages."""
        where = " WHERE anchor = ? OR (path = ? AND path <> '')"
        rows = self._db.execute(SHOW + where, (anchor, path)).fetchall()
        firsts = dict.fromkeys(range(layout.HEADS, layout.HEADS + PASSAGES), 1.0)
        hits = [self._hit(row, 1.0, firsts) for row in rows if view is None or view.shows(row[6])]
        return [hit for hit in hits if hit]

    def digests(self, keys: Collection[str]) -> dict[str, str]:
        """Return the digest of each document with one of these keys, which any change of it changes."""
        wanted = ", ".join("?" * len(keys))
        asked = f"SELECT key, digest FROM documents WHERE key IN ({wanted})"  # noqa: S608 (question marks)
        return dict(self._db.execute(asked, tuple(keys)).fetchall())

    def is_repeated(self, key: str) -> bool:
        """Return whether a document is a correction that the user had to make more than once."""
        (importance,) = self._db.execute("SELECT importance FROM documents WHERE key = ?", (key,)).fetchone()
        return bool(importance > layout.AGAIN)


def open_index(path: str) -> sqlite3.Connection:
    """Open an index of this version for reading only. Raises UnreadableError."""
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite.read_only(path)
        connection.execute("BEGIN")  # what follows sees one state of the file, and locks it once
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite.module().Error as error:
        if connection is not None:
            connection.close()
        raise UnreadableError(f"{path}: {error}") from None
    if version != layout.VERSION:
        connection.close()
        raise UnreadableError(f"{path}: version {version}, not {layout.VERSION}")
    return connection


# -- results that say the same: a learned fact, the entry that holds it, an article's claim
#
# Two results are duplicates when their best passages are the same sentence, apart from punctuation and links.


def _is_said(hits: list[Hit], hit: Hit) -> bool:
    """Return whether a better result duplicates this one; an archived turn is shown, as evidence."""
    others = (known for known in hits if known.kind != hit.kind and "turn" not in (known.kind, hit.kind))
    return any(_is_same(sentence(known.passages[0]), sentence(hit.passages[0])) for known in others)


def _fold(hits: list[Hit], hit: Hit, sessions: Collection[str]) -> bool:
    """Make one result of a result and a better one about the same session; return False when there is none.

    ``sessions`` are those in which its best passage was said: a claim of an article that rests on several is a result
    of its own. An entry stands for its session, with what else fits; a fact or a claim stands for the turns that it was
    made from.
    """
    if len(sessions) != 1:
        return False
    better = next((known for known in hits if known.session in sessions), None)
    if better is None:
        return False
    is_shown = hit.kind != better.kind and (hit.kind == "entry" or better.kind == "turn")
    shown, other = (hit, better) if is_shown else (better, hit)
    best = other.passages[:1] if other.kind != "turn" or (other is better and shown.kind == "entry") else []
    passages = _remove(shown.passages, sentence(best[0])) if best else shown.passages
    shown.passages = ([*best, *passages] if other is better else [*passages, *best])[:PASSAGES]
    shown.score, shown.also = better.score, [*better.also, other.key]
    hits[hits.index(better)] = shown
    return True


def sentence(passage: str) -> list[str]:
    """Return the words of a passage's first line, without its bullet and its sources."""
    line = passage.strip().partition("\n")[0].removeprefix("- ")
    words = (word.strip(_AROUND) for word in line.lower().split() if not word.startswith("daily/"))
    return [word for word in words if word]


def _remove(passages: list[str], said: list[str]) -> list[str]:
    return [passage for passage in passages if not _is_same(sentence(passage), said)]


def _is_same(one: list[str], other: list[str]) -> bool:
    """Return whether two sentences, as lists of words, say something and say the same."""
    return bool(one) and one == other
