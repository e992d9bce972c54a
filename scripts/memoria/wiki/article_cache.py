"""Article cache: the row of each article, so that not every page is parsed, and what a link points to.

They are stored in the search index's file, and computed again when the article's time or size has changed. A target is
a path relative to the home or to ``knowledge/`` (``daily/2026-11-21``, ``concepts/x``), a page's bare name, or one of
its titles and aliases; an anchor is a block id or a heading of the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from memoria.ground import home_files
from memoria.ground.markdown import Link
from memoria.index.index import Index
from memoria.wiki.article import Article
from memoria.wiki.folder import Wiki

_ROWS = "article 4"  # change the number when the meaning of a row changes
_BLOCK = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)[ \t\r]*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t].+", re.MULTILINE)
_FORMAT = re.compile(r"[\s#|^:%\[\]]+")  # characters that Obsidian leaves out of a link to a heading


@dataclass(frozen=True, slots=True)
class Row:
    """The fields of an article that lists show.

    ``updated`` is an ISO day; ``readable`` is False when the frontmatter is broken; ``project`` is the key of the
    project that it belongs to, empty for all projects. ``links``: the targets that it links to, each once.
    """

    slug: str
    title: str
    summary: str
    updated: str
    aliases: tuple[str, ...] = ()
    readable: bool = True
    project: str = ""
    links: tuple[str, ...] = ()

    @classmethod
    def of(cls, article: Article) -> Row:
        """Return the row of an article."""
        aliases = tuple(map(_clean, article.aliases))
        targets = (link.target for link in article.links if not link.target.startswith("daily/"))
        return cls(article.slug, _clean(article.title), _clean(article.summary), _clean(article.last_day), aliases,
                   project=_clean(article.project), links=tuple(dict.fromkeys(map(_clean, targets))))  # fmt: skip


class ArticleCache:
    """The rows of one wiki."""

    def __init__(self, wiki: Wiki, index: Index) -> None:
        """``index`` is the index whose file stores the rows."""
        self.wiki = wiki
        self.index = index

    def rows(self) -> dict[str, Row]:
        """Return every article's row by slug, for the files as they are now."""
        cached = self.index.cache(_ROWS, dict(self.wiki.files()), lambda slug: json.dumps(asdict(self._read(slug))))
        rows = {slug: _row(json.loads(text)) for slug, text in cached.items()}
        known = self.index.aliases
        return {slug: replace(row, project=known[row.project]) if row.project in known else row
                for slug, row in rows.items()}  # fmt: skip

    def _read(self, slug: str) -> Row:
        try:
            article = self.wiki.get(slug)
        except (ValueError, OSError):  # lint reports broken frontmatter; the slug is taken nevertheless
            article = None
        return Row.of(article) if article else Row(slug, slug.rpartition("/")[2], "", "", readable=False)


def _row(stored: dict[str, Any]) -> Row:
    return Row(**{**stored, **{name: tuple(stored[name]) for name in ("aliases", "links")}})


def _clean(text: str) -> str:
    """Return ``text`` without lone surrogates, which represent bytes of another encoding."""
    return text.encode("utf-8", "replace").decode("utf-8")


class LinkTargets:
    """The pages of one home as link targets; ``articles`` have titles and aliases. Each page is read once."""

    def __init__(self, home: Path, articles: Iterable[Article | Row]) -> None:
        self.home = home
        folders = {top: home_files.pages(home / top, is_daily=top == "daily") for top in ("knowledge", "daily")}
        found = (f"{top}/{name}" for top, names in folders.items() for name in sorted(names))
        self._pages = {page.casefold(): page for page in found}
        self._names: dict[str, str] = {}
        self._anchors: dict[str, tuple[set[str], set[str]]] = {}
        for page in self._pages.values():
            self._name(page.rpartition("/")[2], page)
        for article in articles:
            for name in (article.title, *article.aliases):
                self._name(name, f"knowledge/{article.slug}")

    def _name(self, name: str, page: str) -> None:
        self._names.setdefault(name.casefold(), page)

    def page(self, target: str) -> str:
        """Return the page that a link's target means, e.g. ``knowledge/concepts/x``; ``""`` when there is none."""
        name = target.strip().removesuffix(".md").casefold()
        return self._pages.get(name) or self._pages.get(f"knowledge/{name}") or self._names.get(name, "")

    def reference(self, target: str, anchor: str = "") -> str:
        """Return the target as memoria writes it (``concepts/x``, ``daily/D#^e-…``); ``""`` if it does not resolve."""
        if self.problem(Link(target, anchor, "")):
            return ""
        return self.page(target).removeprefix("knowledge/") + anchor

    def problem(self, link: Link, origin: str = "") -> str:
        """Return why a link does not resolve, or ``""``; ``origin`` is the page it is on, for ``[[#heading]]``."""
        page = self.page(link.target) if link.target else origin
        if not page:
            return f"there is no page {link.target!r}"
        if not link.anchor:
            return ""
        blocks, headings = self._anchors_of(page)
        part = link.anchor.lstrip("#")
        if part.startswith("^"):
            return "" if part[1:] in blocks else f"{page} has no block {part}"
        wanted = _plain_text(part.rpartition("#")[2])  # [[page#part#subpart]]
        return "" if wanted in headings else f"{page} has no heading {part!r}"

    def _anchors_of(self, page: str) -> tuple[set[str], set[str]]:
        if page not in self._anchors:
            try:
                text = home_files.text(self.home / f"{page}.md", self.home)
            except OSError:
                text = ""
            blocks = {match[1] for match in _BLOCK.finditer(text)}
            self._anchors[page] = blocks, set(map(_plain_text, _HEADING.findall(text)))
        return self._anchors[page]


def _plain_text(heading: str) -> str:
    return _FORMAT.sub(" ", heading).strip().casefold()
