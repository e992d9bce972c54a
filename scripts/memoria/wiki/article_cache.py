"""ArticleCache: one row per article, stored in the search index's file so that a compile need not parse every page.

A row is computed again when its file's time or size has changed. This module does not know what the rows are for.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from memoria.index.index import Index
from memoria.wiki.article import Article
from memoria.wiki.folder import Wiki

_KIND = "article 2"  # change the number when the meaning of a row changes


@dataclass(frozen=True, slots=True)
class Row:
    """The fields of an article that lists show.

    ``updated`` is an ISO day; ``readable`` is False when the frontmatter is broken; ``project`` is the key of the
    project that it belongs to, empty for all projects.
    """

    slug: str
    title: str
    summary: str
    updated: str
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    readable: bool = True
    project: str = ""

    @classmethod
    def of(cls, article: Article) -> Row:
        """Return the row of an article."""
        names = tuple(map(_clean, article.aliases)), tuple(map(_clean, article.tags))
        return cls(article.slug, _clean(article.title), _clean(article.summary), _clean(article.updated), *names,
                   project=_clean(article.project))  # fmt: skip


class ArticleCache:
    """The rows of one wiki."""

    def __init__(self, wiki: Wiki, index: Index) -> None:
        """``index`` is the index whose file stores the rows."""
        self.wiki = wiki
        self.index = index

    def rows(self) -> dict[str, Row]:
        """Return every article's row by slug, for the files as they are now."""
        cached = self.index.cached(_KIND, dict(self.wiki.files()), lambda slug: json.dumps(asdict(self._read(slug))))
        rows = {slug: _row(json.loads(text)) for slug, text in cached.items()}
        known = self.index.aliases
        return {slug: replace(row, project=known[row.project]) if row.project in known else row
                for slug, row in rows.items()}  # fmt: skip

    def _read(self, slug: str) -> Row:
        try:
            article = self.wiki.get(slug)
        except (ValueError, OSError):  # lint reports broken frontmatter; the slug is taken nevertheless
            article = None
        return Row.of(article) if article else Row(slug, slug.rsplit("/", 1)[-1], "", "", readable=False)


def _row(stored: dict[str, Any]) -> Row:
    return Row(**{**stored, "aliases": tuple(stored["aliases"]), "tags": tuple(stored["tags"])})


def _clean(text: str) -> str:
    """Return ``text`` without lone surrogates, which represent bytes of another encoding."""
    return text.encode("utf-8", "replace").decode("utf-8")
