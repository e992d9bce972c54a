"""ArticleCache: the row and the links of each article, stored in the search index's file: not every page is parsed.

They are computed again when the file's time or size has changed. This module does not know what they are for.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from memoria.ground import markdown
from memoria.index.index import Index
from memoria.wiki.article import Article
from memoria.wiki.folder import Wiki

_ROWS, _LINKS = "article 2", "links 1"  # change the number when the meaning of a row changes


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
        cached = self.index.cached(_ROWS, dict(self.wiki.files()), lambda slug: json.dumps(asdict(self._read(slug))))
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


@dataclass(frozen=True, slots=True)
class LinkCache:
    """The links of one wiki; ``index`` is the index whose file stores them."""

    wiki: Wiki
    index: Index

    def targets(self) -> dict[str, tuple[str, ...]]:
        """Return by slug the targets that each article links to, as they are written and each once."""
        cached = self.index.cached(_LINKS, dict(self.wiki.files()), lambda slug: json.dumps(self._read(slug)))
        return {slug: tuple(json.loads(text)) for slug, text in cached.items()}

    def _read(self, slug: str) -> list[str]:
        try:
            text = (self.wiki.read(slug) or b"").decode("utf-8", "replace")
        except OSError:
            return []
        targets = (link.target for link in markdown.links(text))
        return list(dict.fromkeys(target for target in targets if target and not target.startswith("daily/")))
