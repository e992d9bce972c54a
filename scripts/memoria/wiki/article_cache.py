"""ArticleCache: one row an article, kept in a small database so that a compile need not read every page again.

A cache: a row is read anew when its file's time or size changed, and the file that cannot be read as a database is made
anew. Knows articles, not what the rows are for.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from memoria.base.paths import Paths
from memoria.ground import files
from memoria.wiki.article import Article
from memoria.wiki.folder import Wiki

_SCHEMA = """CREATE TABLE IF NOT EXISTS rows_1 (slug TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL,
    title TEXT NOT NULL, aliases TEXT NOT NULL, tags TEXT NOT NULL, summary TEXT NOT NULL, updated TEXT NOT NULL,
    readable INTEGER NOT NULL) WITHOUT ROWID"""  # another number in the name when the columns' meaning changes


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
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return self._rows()
        except sqlite3.OperationalError:  # locked or full: the rows are read for this once
            return {slug: self._read(slug) for slug in self.wiki.slugs()}
        except sqlite3.DatabaseError:
            files.set_aside(self.path)
            return self._rows()

    def _rows(self) -> dict[str, Row]:
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        with closing(sqlite3.connect(self.path, isolation_level=None)) as db:
            db.execute("PRAGMA synchronous = OFF")  # a cache; what a power cut spoils is made anew
            db.execute(_SCHEMA)
            known = {row[0]: row for row in db.execute("SELECT * FROM rows_1")}
            found = dict(self.wiki.files())
            rows = {}
            db.execute("BEGIN IMMEDIATE")
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
            db.execute("COMMIT")
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
