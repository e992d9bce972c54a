"""Folder: the wiki's folder of articles, and what a name in it means.

This module knows articles and links, but no daily logs and no models. A slug cannot lead out of the folder.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from memoria.base import paths as places
from memoria.base.paths import Paths
from memoria.ground import home_files

if TYPE_CHECKING:
    from memoria.wiki.article import Article

_SLUG = re.compile(r"[^a-z0-9]+")
FOLDERS = dict(zip(("concept", "connection", "qa"), home_files.ARTICLE_FOLDERS, strict=True))  # of each kind of article
INDEX, LOG = "index.md", "log.md"


def slugify(text: str) -> str:
    """Return ``text`` as at most 80 lower-case ASCII letters, digits and hyphens; ``""`` if nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    slug = _SLUG.sub("-", plain).strip("-")[:80].rstrip("-")
    if slug:
        return f"{slug}-x" if places.is_device(slug) else slug  # also elsewhere: a wiki is synchronised
    letters = "".join(f"{ord(letter):x}" for letter in text if letter.isalnum())[:40]
    return f"u{letters}" if letters else ""  # a title without a single Latin letter still gets a stable name


class Wiki:
    """The articles below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of(cls, paths: Paths) -> Wiki:
        """Return the wiki of these paths."""
        return cls(Path(paths.knowledge))

    def path(self, slug: str) -> Path:
        """Return an article's path; raise ValueError when the slug would lead out of its folders."""
        folder, *names = slug.split("/")
        if folder not in FOLDERS.values() or not names or any(name in ("", ".", "..") for name in names):
            raise ValueError(f"{slug!r} is not the path of an article")
        return self.folder / f"{slug}.md"

    def files(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield every article's slug with its file's time (ns) and size."""
        for slug, status in home_files.articles(self.folder):
            yield slug, (status.st_mtime_ns, status.st_size)

    def stamp(self, slug: str) -> tuple[int, int] | None:
        """Return the time (ns) and size of an article's file, as ``files`` does; None when there is none."""
        try:
            status = self.path(slug).stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size

    def slugs(self) -> list[str]:
        """Return every article's slug, sorted."""
        return sorted(slug for slug, _ in self.files())

    def get(self, slug: str) -> Article | None:
        """Return the article on disk, or None when it does not exist; raise ValueError on broken frontmatter."""
        data = self.read(slug)
        return None if data is None else self.parse(slug, data)

    def read(self, slug: str) -> bytes | None:
        """Return the bytes of an article, or None when it does not exist."""
        try:
            return home_files.read(self.path(slug), self.folder)
        except FileNotFoundError:
            return None

    @staticmethod
    def parse(slug: str, data: bytes) -> Article:
        """Return the article in these bytes; ``encode`` restores them."""
        from memoria.wiki.article import Article  # noqa: PLC0415 (a verb may only list the names)

        return Article(slug, data.decode("utf-8", "surrogateescape"))

    @staticmethod
    def encode(article: Article) -> bytes:
        """Return the bytes of an article."""
        return article.render().encode("utf-8", "surrogateescape")

    def articles(self) -> Iterator[Article]:
        """Yield every readable article; lint reports those with broken frontmatter."""
        for slug in self.slugs():
            try:
                article = self.get(slug)
            except ValueError:
                continue
            if article:
                yield article


def find_slug(name: str, slugs: set[str]) -> str:
    """Return the slug that ``name`` means (``x``, ``concepts/x``, ``X.md``), or ``""`` when there is none."""
    wanted = name.strip().removesuffix(".md").removeprefix("knowledge/")
    if wanted in slugs:
        return wanted
    bare = slugify(wanted.rsplit("/", 1)[-1])
    return next((f"{folder}/{bare}" for folder in FOLDERS.values() if f"{folder}/{bare}" in slugs), "")
