"""Wiki: the folder of articles, what a name in it means, and its index page.

Knows articles and links; does not know daily logs or models. A slug never leaves the folder.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from memoria.article import FOLDERS, Article
from memoria.paths import Paths

_SLUG = re.compile(r"[^a-z0-9]+")
INDEX, LOG = "index.md", "log.md"


def slugify(text: str) -> str:
    """``text`` as a slug: lower-case ASCII letters, digits and hyphens, at most 80; ``""`` when nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    slug = _SLUG.sub("-", plain).strip("-")[:80].rstrip("-")
    if slug:
        return slug
    letters = "".join(f"{ord(letter):x}" for letter in text if letter.isalnum())[:40]
    return f"u{letters}" if letters else ""  # a title without one Latin letter still gets a stable name


class Wiki:
    """The articles below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of(cls, paths: Paths) -> Wiki:
        """The wiki of these paths."""
        return cls(Path(paths.knowledge))

    def path(self, slug: str) -> Path:
        """Where an article lies; ValueError when the slug would lead out of its folders."""
        folder, _, name = slug.partition("/")
        if folder not in FOLDERS.values() or not name or slugify(name) != name:
            raise ValueError(f"{slug!r} is no article's path")
        return self.folder / folder / f"{name}.md"

    def slugs(self) -> list[str]:
        """Every article's slug, sorted."""
        found = []
        for folder in FOLDERS.values():
            found += [f"{folder}/{path.stem}" for path in (self.folder / folder).glob("*.md")]
        return sorted(found)

    def get(self, slug: str) -> Article | None:
        """The article as it stands on disk; None when there is none. ValueError when its frontmatter is broken."""
        try:
            text = (self.folder / f"{slug}.md").read_text(encoding="utf-8", errors="surrogateescape")
        except FileNotFoundError:
            return None
        return Article(slug, text)

    def articles(self) -> Iterator[Article]:
        """Every article that can be read; one with broken frontmatter is lint's business."""
        for slug in self.slugs():
            try:
                article = self.get(slug)
            except ValueError:
                continue
            if article:
                yield article


def find_slug(name: str, slugs: set[str]) -> str:
    """The slug that a model or a person means by ``name`` (``x``, ``concepts/x``, ``X.md``); ``""`` when none."""
    wanted = name.strip().removesuffix(".md").removeprefix("knowledge/")
    if wanted in slugs:
        return wanted
    bare = slugify(wanted.rsplit("/", 1)[-1])
    return next((f"{folder}/{bare}" for folder in FOLDERS.values() if f"{folder}/{bare}" in slugs), "")
