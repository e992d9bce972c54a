"""ArticleCache: one row an article, kept in a small database so that a compile need not read every page again.

A cache: a row is read anew when its file's time or size changed, and the file that cannot be read as a database is made
anew. Knows articles, not what the rows are for.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from memoria.base.paths import Paths
from memoria.ground import database
from memoria.ground.errors import DatabaseTooNewError
from memoria.wiki.article import Article
from memoria.wiki.folder import Wiki

MIGRATIONS = (
    """CREATE TABLE IF NOT EXISTS rows_1 (slug TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL,
    title TEXT NOT NULL, aliases TEXT NOT NULL, tags TEXT NOT NULL, summary TEXT NOT NULL, updated TEXT NOT NULL,
    readable INTEGER NOT NULL) WITHOUT ROWID""",  # IF NOT EXISTS: 0.1.0 made it without a version
)


@dataclass(frozen=True, slots=True)
class Row:
    """An article as lists show it; ``updated`` is an ISO day. ``readable``: its frontmatter is whole."""

    slug: str
    title: str
    summary: str
    updated: str
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    readable: bool = True

    @classmethod
    def of(cls, article: Article) -> Row:
        """The row of an article."""
        names = tuple(map(_clean, article.aliases)), tuple(map(_clean, article.tags))
        return cls(article.slug, _clean(article.title), _clean(article.summary), _clean(article.updated), *names)


class ArticleCache:
    """The rows of one wiki."""

    def __init__(self, wiki: Wiki, path: Path) -> None:
        """``path``: the database's file."""
        self.wiki = wiki
        self.path = path

    @classmethod
    def of(cls, paths: Paths) -> ArticleCache:
        """The rows of the wiki of these paths."""
        return cls(Wiki.of(paths), Path(paths.article_cache))

    def rows(self) -> dict[str, Row]:
        """Every article's row by slug, as the files stand now."""
        try:
            return database.or_anew(self.path, self._rows)
        except (sqlite3.Error, DatabaseTooNewError):  # locked, full or newer: the articles are read for this once
            return {slug: self._read(slug) for slug in self.wiki.slugs()}

    def _rows(self) -> dict[str, Row]:
        with closing(database.open_(self.path, MIGRATIONS, newer=DatabaseTooNewError)) as db, database.transaction(db):
            known = {row[0]: row for row in db.execute("SELECT * FROM rows_1")}
            found = dict(self.wiki.files())
            rows = {}
            for slug, stamp in found.items():
                stored = known.get(slug)
                if stored and (stored[1], stored[2]) == stamp:
                    rows[slug] = Row(slug, stored[3], stored[6], stored[7], tuple(json.loads(stored[4])),
                                     tuple(json.loads(stored[5])), bool(stored[8]))  # fmt: skip
                    continue
                row = rows[slug] = self._read(slug)
                names = json.dumps(row.aliases), json.dumps(row.tags)
                db.execute(
                    "INSERT OR REPLACE INTO rows_1 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (slug, *stamp, row.title, *names, row.summary, row.updated, row.readable),
                )
            db.executemany("DELETE FROM rows_1 WHERE slug = ?", [(slug,) for slug in known if slug not in found])
            return rows

    def _read(self, slug: str) -> Row:
        try:
            article = self.wiki.get(slug)
        except (ValueError, OSError):  # broken frontmatter is lint's business; its slug is taken all the same
            article = None
        return Row.of(article) if article else Row(slug, slug.rsplit("/", 1)[-1], "", "", readable=False)


def _clean(text: str) -> str:
    """``text`` without the lone surrogates that stand for bytes of another encoding."""
    return text.encode("utf-8", "replace").decode("utf-8")
