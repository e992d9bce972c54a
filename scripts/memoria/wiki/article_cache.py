"""ArticleCache: one row an article, kept in the search index's file so that a compile need not read every page again.

A row is read anew when its file's time or size changed. Knows articles, not what the rows are for.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from memoria.indexing.index import Index
from memoria.wiki.article import Article
from memoria.wiki.folder import Wiki

_KIND = "article 1"  # another number when what a row means changes


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

    def __init__(self, wiki: Wiki, index: Index) -> None:
        """``index`` is the file that the rows are kept in."""
        self.wiki = wiki
        self.index = index

    def rows(self) -> dict[str, Row]:
        """Return every article's row by slug, as the files stand now."""
        kept = self.index.kept(_KIND, dict(self.wiki.files()), lambda slug: json.dumps(asdict(self._read(slug))))
        return {slug: _row(json.loads(text)) for slug, text in kept.items()}

    def _read(self, slug: str) -> Row:
        try:
            article = self.wiki.get(slug)
        except (ValueError, OSError):  # broken frontmatter is lint's business; its slug is taken all the same
            article = None
        return Row.of(article) if article else Row(slug, slug.rsplit("/", 1)[-1], "", "", readable=False)


def _row(stored: dict[str, Any]) -> Row:
    return Row(**{**stored, "aliases": tuple(stored["aliases"]), "tags": tuple(stored["tags"])})


def _clean(text: str) -> str:
    """``text`` without the lone surrogates that stand for bytes of another encoding."""
    return text.encode("utf-8", "replace").decode("utf-8")
