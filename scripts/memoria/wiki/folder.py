"""Folder: the wiki's folder of articles, what a name in it means, and which names its pages have.

This module knows articles and links, but no daily logs and no models. A slug cannot lead out of the folder. A bare
number, a hash or a single letter names nothing. A page belongs to one project, or to all. A project's claims go to its
own pages or to those of all projects; what it may not touch it does not see either.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memoria.base import paths as places
from memoria.base.paths import Paths
from memoria.base.project import aliases, name_of
from memoria.ground import home_files

if TYPE_CHECKING:
    from memoria.wiki.article import Article

_SLUG = re.compile(r"[^a-z0-9]+")
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

    def __init__(self, paths: Paths) -> None:
        self.folder, self.projects = Path(paths.knowledge), paths.projects

    def path(self, slug: str) -> Path:
        """Return an article's path; raise ValueError when the slug would lead out of its folders."""
        folder, *names = slug.split("/")
        if folder not in home_files.ARTICLE_FOLDERS or not names or any(name in ("", ".", "..") for name in names):
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

    def parse(self, slug: str, data: bytes) -> Article:
        """Return the article in these bytes; ``encode`` restores them."""
        from memoria.wiki.article import Article  # noqa: PLC0415 (a verb may only list the names)

        article = Article(slug, data.decode("utf-8", "surrogateescape"))
        article.keys = aliases(self.projects)
        return article

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
    bare = slugify(wanted.rpartition("/")[2])
    files = {slug: slug.rpartition("/")[2] for slug in slugs}  # which a person may have named
    alike = (slug for slug, file in files.items() if slugify(file) == bare)
    return min(alike, key=lambda slug: (files[slug] != bare, slug.count("/"), slug), default="")


MAX_NAME = 79  # characters of a page's name with the hyphen before what tells it apart; a slug has 80
GENERAL = "general"  # what tells a page apart that belongs to no project
NOBODY = "?"  # whose a file is that has the name of a page and cannot be read as one

_QUOTES = "\"'“”„‘’«»"  # noqa: RUF001 (typographic quotes are meant)
_WORD = re.compile(r"[^\W_]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NUMBER = re.compile(r"v?\d+|(?=[0-9a-f]*\d)[0-9a-f]{6,}", re.IGNORECASE)


def unquote(title: str) -> str:
    """Return a title without quotation marks around it."""
    plain = title.strip()
    return plain.strip(_QUOTES).strip() if plain[:1] in _QUOTES and plain[-1:] in _QUOTES else plain


def is_name(title: str) -> bool:
    """Return whether a title names something: it is no number, hash or single letter."""
    words = _WORD.findall(title)
    letters = [letter for letter in title if letter.isalpha()]
    is_number = _UUID.fullmatch(title.strip()) or all(map(_NUMBER.fullmatch, words))
    return bool(letters) and not is_number and not ([*map(len, words)] == [1] and letters[0].isascii())


class Owners:
    """The owners of a wiki's pages; ``labels`` holds each project's name as it is told apart from others."""

    def __init__(self, pages: Mapping[str, str], labels: Mapping[str, str], former: Mapping[str, str]) -> None:
        """``pages`` maps each page's slug to the key of its project, empty for all, ``former`` keys to present."""
        self.pages = dict(pages)
        self.labels, self.former = labels, former

    def is_visible(self, slug: str, key: str) -> bool:
        """Return whether a project may see and edit a page."""
        return self.pages.get(slug, "") in ("", key)

    def visible_slugs(self, key: str) -> set[str]:
        """Return the slugs of all pages that a project may see."""
        return {slug for slug in self.pages if self.is_visible(slug, key)}

    def label(self, key: str) -> str:
        """Return what a project is called."""
        return self.labels.get(key) or name_of(key)

    def names(self, key: str) -> list[str]:
        """Return what a project is called, and was: before another had the same name, or the repository was renamed."""
        return [self.label(key), name_of(key), *(name_of(old) for old, now in self.former.items() if now == key)]

    def free_slug(self, folder: str, name: str, key: str) -> str:
        """Return the slug under which a project may have a page ``name``, told apart when another project has it."""
        label = slugify(self.label(key)) or GENERAL
        distinct = self._tell_apart(name[: MAX_NAME - len(label)], slugify(name_of(key)), label, "-{}")
        last = f"{name[: MAX_NAME - len(slugify(key))]}-{slugify(key)}"
        numbered = (f"{last[: MAX_NAME - 4]}-{number}" for number in itertools.count(2))
        slugs = (f"{folder}/{found}" for found in itertools.chain((name, distinct, last), numbered))
        return next(slug for slug in slugs if self.is_visible(slug, key))

    def distinct_title(self, title: str, key: str, taken: Iterable[str]) -> str:
        """Return the title, or one that says whose page it is when the titles ``taken`` (in lower case) have it."""
        names = set(taken)
        if title.casefold() not in names:
            return title
        distinct = self._tell_apart(title, name_of(key), self.label(key) or GENERAL, " ({})")
        return distinct if distinct.casefold() not in names else f"{title} ({key})"

    @staticmethod
    def _tell_apart(text: str, plain: str, label: str, form: str) -> str:
        if label != plain and _begins(text.casefold(), plain.casefold()):
            return label + text[len(plain) :]
        return text + form.format(label)


def _begins(text: str, name: str) -> bool:
    return bool(name) and text.startswith(name) and not text[len(name) : len(name) + 1].isalnum()
