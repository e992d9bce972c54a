"""Links: what a wikilink points to, among all pages of a home.

A target is a path relative to the home or to ``knowledge/`` (``daily/2026-11-21``, ``concepts/x``), a page's bare
name, or one of its titles and aliases; an anchor is a block id or a heading of the page. Each page is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from memoria.ground import home_files
from memoria.ground.markdown import Link
from memoria.wiki.article import Article

_BLOCK = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)[ \t\r]*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_FORMAT = re.compile(r"[\s#|^:%\[\]]+")  # characters that Obsidian leaves out of a link to a heading


def pages(home: Path) -> Iterator[str]:
    """Yield every page below ``knowledge/`` and ``daily/``, relative to the home, without ``.md``."""
    for top in ("knowledge", "daily"):
        yield from (f"{top}/{name}" for name in sorted(home_files.pages(home / top, is_daily=top == "daily")))


class Named(Protocol):
    """An article as far as links go: its title and its other names."""

    @property
    def title(self) -> str:
        """The title."""

    @property
    def aliases(self) -> Sequence[str]:
        """The other names."""


class LinkTargets:
    """The pages of one home as link targets; ``articles`` maps slugs to articles, for their titles and aliases."""

    def __init__(self, home: Path, articles: Mapping[str, Named]) -> None:
        self.home = home
        self._pages = {page.casefold(): page for page in pages(home)}
        self._names: dict[str, str] = {}
        self._anchors: dict[str, tuple[set[str], set[str]]] = {}
        for page in self._pages.values():
            self._name(page.rsplit("/", 1)[-1], page)
        for slug, article in articles.items():
            for name in (article.title, *article.aliases):
                self._name(name, f"knowledge/{slug}")

    @classmethod
    def of(cls, home: Path, articles: Iterable[Article]) -> LinkTargets:
        """Return the link targets of a home with these articles."""
        return cls(home, {article.slug: article for article in articles})

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
        wanted = _plain(part.rsplit("#", 1)[-1])  # [[page#part#subpart]]
        return "" if wanted in headings else f"{page} has no heading {part!r}"

    def _anchors_of(self, page: str) -> tuple[set[str], set[str]]:
        if page not in self._anchors:
            try:
                text = home_files.text(self.home / f"{page}.md", self.home)
            except OSError:
                text = ""
            blocks = {match[1] for match in _BLOCK.finditer(text)}
            self._anchors[page] = blocks, {_plain(match[1]) for match in _HEADING.finditer(text)}
        return self._anchors[page]


def _plain(heading: str) -> str:
    return _FORMAT.sub(" ", heading).strip().casefold()
