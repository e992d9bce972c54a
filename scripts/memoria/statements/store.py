"""Store: the learned facts as rows of ``learned.db``, derived from the daily logs.

Facts are found by words, by similarity and by project; an ended fact leads to its successor. A deleted or corrupt file
is rebuilt from the logs; repeated facts are then recognised by similarity. The store also records on which articles a
fact has a line. A fact that only an article of an earlier version tells is a row too. It reads no other file.
"""

from __future__ import annotations

import json
import logging
import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final

from memoria.base.paths import Paths
from memoria.daily.entry import is_cut
from memoria.ground import clock, database
from memoria.ground.errors import MemoryStoreError
from memoria.search import comparison
from memoria.statements.fact import GLOBAL, Fact
from memoria.statements.lines import Lines

log = logging.getLogger(__name__)

MIN_NEAR, MAX_NEAR = 5, 12  # facts shown beside what a model summarises (docs/decisions/0004-answers.md)
_CANDIDATES = 40  # rows compared by similarity, those that share the most words
_MATCHING = 50  # shown to a person who looks for words
HALF_SAVED_S = 60  # for which a file that lacks lines, and a line end at its end, is taken for half a save
TWICE = 2
_RULES = ("correction", "preference")
_HALF_AS_NEAR = 8  # places further back that a fact called for counts half as much more
_CHAIN = 50  # successors followed before a cycle is assumed

# Step n brings a database from user_version n to n + 1. Never change one that has shipped; add another.
MIGRATIONS: Final = (
    """
    CREATE TABLE facts (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, day TEXT NOT NULL, kind TEXT NOT NULL, time TEXT NOT NULL,
        ended TEXT NOT NULL, successor TEXT NOT NULL, body TEXT NOT NULL
    );
    CREATE TABLE holds (project TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (project, id)) WITHOUT ROWID;
    CREATE VIRTUAL TABLE words USING fts5(
        content, keywords, tags, stems, tokenize = 'porter unicode61 remove_diacritics 2'
    );
    CREATE TABLE logs (day TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE judged (session TEXT NOT NULL, turn TEXT NOT NULL, PRIMARY KEY (session, turn)) WITHOUT ROWID;
    """,
    """
    CREATE TABLE links (id TEXT PRIMARY KEY, server INTEGER NOT NULL UNIQUE, digest TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    """,
    """
    DROP TABLE links;
    CREATE TABLE links (
        home TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, named TEXT NOT NULL, digest TEXT NOT NULL,
        created TEXT NOT NULL, updated TEXT NOT NULL, adopted INTEGER NOT NULL, pushed INTEGER NOT NULL,
        PRIMARY KEY (home, number)
    ) WITHOUT ROWID;
    CREATE INDEX links_of ON links (home, id);
    CREATE TABLE gone (id TEXT PRIMARY KEY) WITHOUT ROWID;
    """,
    """
    CREATE TABLE past (n INTEGER PRIMARY KEY, body TEXT NOT NULL);  -- what the wiki may still tell as current
    """,
    """
    CREATE TABLE taken_back (name TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;  -- by a person, and in no log
    """,
    """
    DROP TABLE past;
    DROP TABLE taken_back;
    CREATE TABLE articles (slug TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID;  -- as they were last read
    CREATE TABLE places (  -- the lines of statements in them; words: what the line says
        slug TEXT NOT NULL, id TEXT NOT NULL, day TEXT NOT NULL, is_current INTEGER NOT NULL, words TEXT NOT NULL,
        PRIMARY KEY (slug, id)
    ) WITHOUT ROWID;
    CREATE INDEX places_of ON places (id);
    ALTER TABLE facts ADD COLUMN entry TEXT NOT NULL DEFAULT '';  -- the id of the entry that holds it
    ALTER TABLE gone ADD COLUMN body TEXT NOT NULL DEFAULT '';  -- what it said, so that no record shows it
    DELETE FROM logs;  -- so that they are read again, for that
    """,
    "CREATE INDEX facts_of_day ON facts (day)",
    "DROP TABLE judged",  # exchanges from which a call of its own had learned while their session was open
    "ALTER TABLE places ADD COLUMN is_same INTEGER NOT NULL DEFAULT 0",  # said what the fact said
)


@dataclass(frozen=True, slots=True)
class Place:
    """A fact's line in an article, as it was last read or written.

    ``day``: the ISO day of the log that it links, ``""`` for none. ``is_current``: it stands above the history.
    ``is_same``: its words were those of the fact, which it follows; not so a person's that were not taken.
    """

    id: str
    day: str
    is_current: bool
    words: str
    is_same: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference after reading the logs: facts that a person added, changed (then and now) or deleted."""

    added: tuple[Fact, ...]
    changed: tuple[tuple[Fact, Fact], ...]
    gone: tuple[Fact, ...]


_LOST: Final = "lost"  # the key among the small values


class Store(AbstractContextManager["Store"]):
    """The facts, one row each; a context manager.

    Methods raise sqlite3.Error when the disk is full or the file was lost.
    """

    def __init__(self, paths: Paths) -> None:
        """Open or create the file; replace one that cannot be read with a new one, which ``refresh`` then fills."""
        self.path = path = Path(paths.facts)
        self.db: sqlite3.Connection = database.open_or_replace(
            path, lambda: database.open_(path, MIGRATIONS, newer=MemoryStoreError, reads_all=True)
        )

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.db.close()

    def _transaction(self) -> AbstractContextManager[None]:
        return database.transaction(self.db)

    # -- facts

    def put(self, place: date | str, *facts: Fact) -> None:
        """Insert or replace rows of facts; ``place``: the day whose log has their lines, or the article that has."""
        with self._transaction():
            for fact in facts:
                self._put(fact, str(place))

    def remove(self, ident: str) -> None:
        """Delete a fact's row."""
        with self._transaction():
            self._remove(ident)

    def drop(self, idents: Collection[str]) -> None:
        """Delete facts whose lines are gone for good, and not lost with a day that may come back."""
        with self._transaction():
            for fact in filter(None, map(self.get, idents)):
                self.mark_deleted(fact)
                self._remove(fact.id)
            left = {day: [each for each in lost if each not in idents] for day, lost in self.lost_ids().items()}
            self.set_meta(_LOST, json.dumps({day: lost for day, lost in left.items() if lost}))

    def shred(self) -> None:
        """Overwrite deleted data on disk."""
        self.db.execute("INSERT INTO words (words) VALUES ('rebuild')")  # the full-text index keeps deleted words
        database.shred(self.db)

    def _put(self, fact: Fact, day: str) -> None:
        self.set_meta("unshown", "1")  # until pages and articles show it, also after a kill
        known = self.get(fact.id)
        if known and (known.content, known.ended, known.successor) != (fact.content, fact.ended, fact.successor):
            self.db.execute(  # so that articles are looked at whose history tells how it ended, or names it as a reason
                "UPDATE places SET day = '' WHERE NOT is_current "
                "AND id IN (SELECT id FROM facts WHERE id = ?1 OR successor = ?1)",
                (fact.id,),
            )
        held = self.db.execute("SELECT entry FROM facts WHERE id = ?", (fact.id,)).fetchone() or ("",)
        self._remove(fact.id)
        body = json.dumps(fact.to_dict(), ensure_ascii=False)
        ended = fact.ended.isoformat() if fact.ended else ""
        row = (fact.id, day, fact.kind, fact.time.isoformat(), ended, fact.successor, body, *held)
        cursor = self.db.execute(
            "INSERT INTO facts (id, day, kind, time, ended, successor, body, entry) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        stems = " ".join(sorted(comparison.words(fact.content).stems))
        texts = (fact.content, " ".join(fact.keywords), " ".join(fact.tags), stems)
        self.db.execute(
            "INSERT INTO words (rowid, content, keywords, tags, stems) VALUES (?, ?, ?, ?, ?)",
            (cursor.lastrowid, *texts),
        )
        pairs = [(fact.id, project) for project in dict.fromkeys(fact.projects)]
        self.db.executemany("INSERT INTO holds (id, project) VALUES (?, ?)", pairs)

    def _remove(self, ident: str) -> None:
        row = self.db.execute("SELECT n FROM facts WHERE id = ?", (ident,)).fetchone()
        if row:
            self.set_meta("unshown", "1")
            self.db.execute("DELETE FROM words WHERE rowid = ?", row)
            self.db.execute("DELETE FROM facts WHERE n = ?", row)
            self.db.execute("DELETE FROM holds WHERE id = ?", (ident,))

    def get(self, ident: str) -> Fact | None:
        """Return the fact with this id."""
        row = self.db.execute("SELECT body FROM facts WHERE id = ?", (ident,)).fetchone()
        return _fact(row[0]) if row else None

    def day(self, ident: str) -> date | None:
        """Return the day whose log contains a fact's lines, None when none does."""
        row = self.db.execute("SELECT day FROM facts WHERE id = ? AND day NOT LIKE '%/%'", (ident,)).fetchone()
        return date.fromisoformat(row[0]) if row else None

    def entries(self) -> dict[str, str]:
        """Return the id of the entry that holds each fact, for those that are in one."""
        return dict(self.db.execute("SELECT id, entry FROM facts WHERE entry <> ''"))

    def count_of(self, day: date) -> int:
        """Return the number of facts whose lines a day's log contains."""
        return int(self.db.execute("SELECT COUNT(*) FROM facts WHERE day = ?", (day.isoformat(),)).fetchone()[0])

    def facts(self, *, live: bool = True, project: str = "") -> list[Fact]:
        """Return facts, oldest first; ``live``: only those that hold; ``project``: only its own and global ones."""
        query = "SELECT DISTINCT facts.n, body FROM facts JOIN holds USING (id) WHERE 1"
        values: list[str] = []
        if live:
            query += " AND ended = ''"
        if project:
            query += " AND project IN (?, ?)"
            values += [project, GLOBAL]
        return [_fact(body) for _, body in self.db.execute(query + " ORDER BY time, facts.n", values)]

    def repeated_endings(self) -> list[Fact]:
        """Return the ended facts that were said more than once."""
        query = "SELECT body FROM facts WHERE ended <> '' AND json_extract(body, '$.last') IS NOT NULL ORDER BY n"
        return [_fact(body) for (body,) in self.db.execute(query)]

    def match(self, text: str, project: str = "", *, live: bool = True) -> list[Fact]:
        """Return facts that share words with ``text``, best first; ``live``: successors in the place of ended ones."""
        near = self._candidates(text, live=False, limit=4 * _MATCHING)
        found: Iterable[Fact | None] = map(self.current, near) if live else near
        wanted = {project, GLOBAL}
        mine = (fact for fact in found if fact and (not project or wanted.intersection(fact.projects)))
        return list({fact.id: fact for fact in mine}.values())[:_MATCHING]

    def current(self, fact: Fact) -> Fact | None:
        """Return the fact, or the live fact at the end of its successors; None when that one was deleted."""
        for _ in range(_CHAIN):
            if fact.ended is None:
                return fact
            following = self.get(fact.successor) if fact.successor else None
            if following is None:
                return None
            fact = following
        return None

    def twins(self, fact: Fact) -> list[Fact]:
        """Return the live facts that say the same and have another id, the most similar first."""
        said = comparison.words(fact.content)
        others = [other for other in self._candidates(fact.content, live=True) if other.id != fact.id]
        pairs = [(other, comparison.words(other.content)) for other in others]
        alike = [(other, words) for other, words in pairs if comparison.is_same(said, words)]
        return [other for other, _ in sorted(alike, key=lambda pair: -comparison.similarity(said, pair[1]))]

    def superseded_facts(self, fact: Fact) -> list[Fact]:
        """Return the live facts that this one names as superseded; what the user said, only the user ends."""
        named = map(self.get, dict.fromkeys(fact.supersedes))
        found = [old for old in named if old and old.ended is None and old.id != fact.id]
        return [old for old in found if fact.origin == "user" or old.origin != "user"]

    def copies(self, fact: Fact) -> list[Fact]:
        """Return the other live facts that say the same in one of its projects or in all, e.g. from another machine."""
        places = {*fact.projects, GLOBAL}
        return [other for other in self.twins(fact) if places.intersection(other.projects)]

    def find_near(self, said: str, project: str) -> list[Fact]:
        """Return the live facts of this project, and global ones, that share most words with ``said``, nearest first.

        A word counts the more, the fewer facts contain it. When few facts share a word, the latest of the project are
        added, because what has changed may be said in other words.
        """
        query = (
            "SELECT DISTINCT facts.n, stems, keywords FROM facts JOIN words ON words.rowid = facts.n "
            "JOIN holds ON holds.id = facts.id WHERE ended = '' AND project IN (?1, ?2) "
            "ORDER BY project = ?2, facts.time DESC"
        )
        known = {
            number: frozenset(stems.split()) | comparison.words(keywords).stems
            for number, stems, keywords in self.db.execute(query, (project, GLOBAL))
        }
        scores = _overlaps(comparison.words(said).stems, known)
        ranked = sorted(scores, key=lambda number: -scores[number])[:MAX_NEAR]
        latest = [number for number in known if number not in ranked]
        chosen = ranked + latest[: max(0, MIN_NEAR - len(ranked))]
        marks = ", ".join("?" * len(chosen))
        rows = self.db.execute(f"SELECT n, body FROM facts WHERE n IN ({marks})", chosen)  # noqa: S608 (only ?)
        facts = {number: _fact(body) for number, body in rows}
        return [facts[number] for number in chosen]

    def _candidates(self, text: str, *, live: bool, limit: int = _CANDIDATES) -> list[Fact]:
        terms = sorted(comparison.words(text).stems | set(text.casefold().split()))
        quoted = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms[:60] if any(map(str.isalnum, term)))
        if not quoted:
            return []
        query = "SELECT body FROM words JOIN facts ON facts.n = words.rowid WHERE words MATCH ?"
        query += " AND ended = ''" if live else ""
        rows = self.db.execute(query + " ORDER BY bm25(words, 2.0, 1.0, 1.0, 2.0) LIMIT ?", (quoted, limit))
        return [_fact(body) for (body,) in rows]

    def projects(self) -> list[str]:
        """Return the keys of the projects that live facts belong to, without ``GLOBAL``."""
        query = "SELECT DISTINCT project FROM holds JOIN facts USING (id) WHERE ended = '' AND project <> ? ORDER BY 1"
        return [project for (project,) in self.db.execute(query, (GLOBAL,))]

    # -- the logs

    def refresh(self, lines: Lines, record: Callable[[Changes], None]) -> None:
        """Apply the changes in every daily log that changed since it was last read.

        ``record`` is called with the changes before they are committed; after a crash it is called with them again.
        """
        marks = lines.daily.stamps()
        known = dict(self.db.execute("SELECT day, mark FROM logs"))
        stale = [day for day, mark in marks.items() if known.get(day) != mark]
        missing = [day for day in known if day not in marks] if marks else []  # else the folder itself is away
        if not (stale or missing):
            return
        half = {
            day: seen for day in stale if (seen := self._mark_half_save(lines, day, known.get(day, ""), marks[day]))
        }
        stale = [day for day in stale if day not in half]
        fresh = {day: lines.read(date.fromisoformat(day)) for day in stale}
        before = self._facts_of_days([*stale, *missing])
        after = {fact.id: fact for facts in fresh.values() for fact in facts}
        lost = {day: idents for day, idents in self.lost_ids().items() if after.keys().isdisjoint(idents)}
        for day in (*stale, *missing):
            known = dict(self.db.execute("SELECT id, entry FROM facts WHERE day = ?", (day,)))
            if known and after.keys().isdisjoint(known):
                text, entries = lines.daily.text(date.fromisoformat(day)), set(known.values()) - {""}
                is_anew = entries and not any(f"entry={entry} " in text for entry in entries)
                if is_anew or not text.strip():
                    lost[day] = [*lost.get(day, ()), *known]
        with self._transaction():
            self.set_meta(_LOST, json.dumps(lost))
            for ident in before.keys() - after.keys():
                self._remove(ident)
            for day, facts in fresh.items():
                for fact in facts:
                    if before.get(fact.id) != fact:
                        self._put(fact, day)
            held = {ident: entry for day in stale for ident, entry in lines.entries(date.fromisoformat(day)).items()}
            rows = [(held.get(fact.id, ""), day, fact.id) for day, facts in fresh.items() for fact in facts]
            moved = "UPDATE facts SET entry = ?1, day = ?2 WHERE id = ?3 AND (entry <> ?1 OR day <> ?2)"
            self.db.executemany(moved, rows)
            self.db.executemany("DELETE FROM logs WHERE day = ?", [(day,) for day in missing])
            read = [*((day, marks[day]) for day in stale), *half.items()]
            self.db.executemany("INSERT OR REPLACE INTO logs VALUES (?, ?)", read)
            record(
                Changes(
                    tuple(fact for ident, fact in after.items() if ident not in before),
                    tuple((before[ident], fact) for ident, fact in after.items() if before.get(ident, fact) != fact),
                    tuple(fact for ident, fact in before.items() if ident not in after),
                )
            )

    def lost_ids(self) -> dict[str, list[str]]:
        """Return the ids of facts that went with all that was known of their day, by day: the log may come back."""
        found: dict[str, list[str]] = json.loads(self.meta().get(_LOST, "{}"))
        return found

    def half_saved_days(self) -> set[str]:
        """Return the days whose logs seemed half saved when they were last read."""
        return {day for day, mark in self.db.execute("SELECT day, mark FROM logs") if " " in mark}

    def _mark_half_save(self, lines: Lines, day: str, known: str, mark: str) -> str:
        """Return what to record of a log that seems half saved, because it lacks facts or an end; ``""`` otherwise."""
        text = lines.daily.text(date.fromisoformat(day))
        cut = is_cut(text)
        seen = half_save(text.rstrip() if cut else text, known, mark)
        lacks = seen and self._facts_of_days([day]).keys() - {fact.id for fact in lines.read(date.fromisoformat(day))}
        return seen if known and (lacks or cut) else ""

    def _facts_of_days(self, days: Sequence[str]) -> dict[str, Fact]:
        marks = ", ".join("?" * len(days))
        rows = self.db.execute(f"SELECT id, body FROM facts WHERE day IN ({marks})", list(days))  # noqa: S608 (only ?)
        return {ident: _fact(body) for ident, body in rows}

    # -- lines in articles

    def articles(self) -> dict[str, str]:
        """Return the mark that each article's file had when it was last read, by slug."""
        return dict(self.db.execute("SELECT slug, mark FROM articles"))

    def places(self, slug: str) -> dict[str, Place]:
        """Return the lines of facts that an article had when it was last read, by id."""
        rows = self.db.execute("SELECT id, day, is_current, words, is_same FROM places WHERE slug = ?", (slug,))
        return {row[0]: Place(*row) for row in rows}

    def read_article(self, slug: str, mark: str, places: Collection[Place]) -> None:
        """Record the lines of facts that an article has now; ``mark`` changes with its file."""
        with self._transaction():
            self.db.execute("INSERT OR REPLACE INTO articles VALUES (?, ?)", (slug, mark))
            same = {(ident, place.words) for ident, place in self.places(slug).items() if place.is_same}
            self.db.execute("DELETE FROM places WHERE slug = ?", (slug,))
            kept = {place.id for place in places}
            for (ident,) in self.db.execute("SELECT id FROM facts WHERE day = ?", (slug,)).fetchall():
                if ident not in kept:
                    self._remove(ident)
            rows = [(slug, place.id, place.day, place.is_current, place.words, (place.id, place.words) in same)
                    for place in places]  # fmt: skip
            self.db.executemany(
                "INSERT OR REPLACE INTO places VALUES (?1, ?2, ?3, ?4, ?5, ?6 OR "
                "EXISTS (SELECT 1 FROM facts WHERE id = ?2 AND json_extract(body, '$.content') = ?5))", rows
            )  # fmt: skip

    def mark_article(self, slug: str, mark: str) -> None:
        """Record the mark of an article whose lines are not read yet."""
        self.db.execute("UPDATE articles SET mark = ? WHERE slug = ?", (mark, slug))

    def forget_article(self, slug: str) -> None:
        """Delete what is known of an article that is gone, with the facts that were written in it alone."""
        with self._transaction():
            for (ident,) in self.db.execute("SELECT id FROM facts WHERE day = ?", (slug,)).fetchall():
                self._remove(ident)
            for table in ("articles", "places"):
                self.db.execute(f"DELETE FROM {table} WHERE slug = ?", (slug,))  # noqa: S608 (constant)

    def places_of(self, ident: str) -> list[str]:
        """Return the articles on which a fact has a line."""
        return [slug for (slug,) in self.db.execute("SELECT slug FROM places WHERE id = ? ORDER BY slug", (ident,))]

    def placed_ids(self) -> set[str]:
        """Return the ids of all facts that have a line on an article."""
        return {ident for (ident,) in self.db.execute("SELECT DISTINCT id FROM places")}

    def told_ids(self, but: Collection[str] = ()) -> set[str]:
        """Return the ids of all facts that an article told as current when it was last read, ``but`` for these."""
        rows = self.db.execute("SELECT slug, id FROM places WHERE is_current")
        return {ident for slug, ident in rows if slug not in but}

    def out_of_step(self) -> list[str]:
        """Return the articles of which a line no longer shows what its fact says, or where it is written."""
        query = """
            SELECT DISTINCT slug FROM places LEFT JOIN facts USING (id) WHERE
            CASE WHEN facts.id IS NULL THEN places.id IN (SELECT id FROM gone)
            ELSE is_current <> (ended = '')
            OR (is_same AND words <> json_extract(body, '$.content'))
            OR places.day <> CASE WHEN facts.day LIKE '%/%' THEN places.day ELSE facts.day END
            OR successor IN (SELECT id FROM gone) END ORDER BY slug
        """
        return [slug for (slug,) in self.db.execute(query)]

    # -- deletions

    def deleted_ids(self) -> set[str]:
        """Return the ids of deleted facts, which no row of a server may restore."""
        return {ident for (ident,) in self.db.execute("SELECT id FROM gone")}

    def mark_deleted(self, fact: Fact) -> None:
        """Record that a fact was deleted, and what it said, so that no record of a day shows it as what holds."""
        body = json.dumps(fact.to_dict(), ensure_ascii=False)
        self.db.execute("INSERT OR REPLACE INTO gone VALUES (?, ?)", (fact.id, body))

    def deleted_facts(self) -> list[Fact]:
        """Return the deleted facts whose words are known."""
        return [_fact(body) for (body,) in self.db.execute("SELECT body FROM gone WHERE body <> '' ORDER BY id")]

    def forget_deleted(self, idents: Iterable[str]) -> None:
        """Forget what these deleted facts said."""
        self.db.executemany("UPDATE gone SET body = '' WHERE id = ?", [(ident,) for ident in idents])

    def unmark_deleted(self, ident: str) -> None:
        """Remove the record of a deletion, because a person restored the fact's line or it was learned again."""
        self.db.execute("DELETE FROM gone WHERE id = ?", (ident,))

    def meta(self) -> Mapping[str, str]:
        """Return small values by key, e.g. when a server was last asked."""
        return dict(self.db.execute("SELECT key, value FROM meta"))

    def set_meta(self, key: str, value: str) -> None:
        """Store one of the values that ``meta`` returns."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def half_save(text: str, known: str, mark: str) -> str:
    """Return the mark of a text that may be half a save: one without a line end at its end, seen only just now.

    ``known``: the mark that its file had; ``mark``: the one that it has.
    """
    seen = known.partition(" ")[2] if known.startswith(f"{mark} ") else ""
    first = clock.parse(seen) or clock.now()
    if text.endswith("\n") or clock.now() - first >= timedelta(seconds=HALF_SAVED_S):
        return ""
    return f"{mark} {first.isoformat()}"


def _overlaps(said: frozenset[str], known: Mapping[int, frozenset[str]]) -> dict[int, float]:
    """Return how much each of the known sets shares with ``said``, for those that share anything."""
    counts = Counter(stem for stems in known.values() for stem in stems)
    weight = {stem: math.log1p(len(known) / count) for stem, count in counts.items()}
    sums = {number: sum(weight[stem] for stem in stems & said) for number, stems in known.items()}
    return {
        number: shared * shared / sum(weight[stem] for stem in known[number])
        for number, shared in sums.items()
        if shared
    }


def score(fact: Fact, project: str, newest: datetime) -> float:
    """Return how much a fact matters at a session's start: importance, age (half-life 120 days), use, project.

    Age is measured from ``newest``, not from today, so that the order stays the same while nothing is learned. Use is
    how often the fact was said.
    """
    age_days = max(0.0, (newest - (fact.last or fact.time)).total_seconds() / 86_400)
    worth = 0.3 + fact.importance
    worth *= 0.5 + 0.5 * math.exp2(-age_days / 120)
    worth *= 1.0 if project in fact.projects else 0.8
    worth *= {"correction": 1.3, "preference": 1.25, "decision": 1.0, "operational": 1.0}.get(fact.kind, 0.8)
    return worth * (1 + 0.25 * min(fact.seen - 1, 4))


def is_repeated(fact: Fact) -> bool:
    """Return whether the fact is a correction that the user had to make more than once."""
    return fact.kind == "correction" and fact.seen > 1


def repeat_mark(fact: Fact) -> str:
    """Return the mark of a correction that was made again, ``corrected twice``; ``""`` for another fact."""
    if not is_repeated(fact):
        return ""
    return "corrected twice" if fact.seen == TWICE else f"corrected {fact.seen} times"


def find_leading(store: Store, project: str, called_for: Sequence[str] = ()) -> list[Fact]:
    """Return the facts that hold in this project or everywhere, the most important first, in a stable order.

    What two machines learned in the same words comes once.

    ``called_for``: the ids of the facts that the project's work calls for, the nearest first; of what is no rule, these
    count up to twice as much. For ``GLOBAL``, return all facts, those that hold everywhere first.
    """
    facts = store.facts(project="" if project == GLOBAL else project)
    newest = max((fact.last or fact.time for fact in facts), default=None)
    if newest is None:
        return []
    places = {ident: place for place, ident in enumerate(called_for)}

    def rank(fact: Fact) -> tuple[bool, bool, float, str]:
        """Let corrections made again lead, then the person's other rules, then everything else."""
        is_near = fact.id in places and fact.kind not in _RULES
        worth = score(fact, project, newest) * (1 + (0.5 ** (places[fact.id] / _HALF_AS_NEAR) if is_near else 0.0))
        return not is_repeated(fact), fact.kind not in _RULES, -worth, fact.id

    ranked = sorted(facts, key=lambda fact: (project == GLOBAL and fact.project != GLOBAL, *rank(fact)))
    first: dict[str, Fact] = {}
    for fact in ranked:
        first.setdefault(fact.content, fact)
    return list(first.values())


def _fact(body: str) -> Fact:
    return Fact.from_dict(json.loads(body))
