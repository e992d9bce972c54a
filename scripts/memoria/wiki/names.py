"""Names: whether a title is what someone would look up, which project a page belongs to, and names told apart.

A bare number, a hash or a single letter names nothing. A page belongs to one project, or to all. A project's
claims go to its own pages or to those of all projects; what it may not touch it does not see either.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping

from memoria.base.project import name_of
from memoria.wiki.folder import slugify

MAX_NAME = 79  # characters of a page's name with the hyphen before what tells it apart; a slug has 80
GENERAL = "general"  # what tells a page apart that belongs to no project
NOBODY = "?"  # whose a file is that has the name of a page and cannot be read as one

_QUOTES = "\"'“”„‘’«»"  # noqa: RUF001 (typographic quotes are meant)
_WORD = re.compile(r"[^\W_]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NUMBER = re.compile(r"v?\d+|(?=[0-9a-f]*\d)[0-9a-f]{6,}", re.IGNORECASE)


def clean(title: str) -> str:
    """Return a title without quotation marks around it."""
    plain = title.strip()
    return plain.strip(_QUOTES).strip() if plain[:1] in _QUOTES and plain[-1:] in _QUOTES else plain


def is_number(name: str) -> bool:
    """Return whether a name consists of numbers and hashes."""
    return bool(_UUID.fullmatch(name.strip())) or all(_NUMBER.fullmatch(word) for word in _WORD.findall(name))


def fault(title: str) -> str:
    """Return what is wrong with a title, ``""`` when it names something."""
    words = _WORD.findall(title)
    letters = [letter for letter in title if letter.isalpha()]
    if not letters:
        return "a number" if words else "no name"
    if is_number(title):
        return "a number or a hash"
    if [*map(len, words)] == [1] and letters[0].isascii():
        return "a single letter"
    return ""


class Owners:
    """The owners of a wiki's pages; ``labels`` holds each project's name as it is told apart from others."""

    def __init__(self, pages: Mapping[str, str], labels: Mapping[str, str]) -> None:
        """``pages`` maps each page's slug to the key of its project, empty for all projects."""
        self.pages = dict(pages)
        self.labels = labels
        self._visible: dict[str, set[str]] = {}

    def is_visible(self, slug: str, key: str) -> bool:
        """Return whether a project may see and edit a page."""
        return self.pages.get(slug, "") in ("", key)

    def visible(self, key: str) -> set[str]:
        """Return the slugs of all pages that a project may see."""
        if key not in self._visible:
            self._visible[key] = {slug for slug in self.pages if self.is_visible(slug, key)}
        return self._visible[key]

    def enter(self, slug: str, key: str) -> None:
        """Record a new page."""
        self.pages[slug] = key
        self._visible.clear()

    def label(self, key: str) -> str:
        """Return what a project is called."""
        return self.labels.get(key) or name_of(key)

    def former_name(self, name: str, key: str) -> str:
        """Return the name that a project's page had before another project had the same name; ``""`` when none."""
        label, plain = slugify(self.label(key)), slugify(name_of(key))
        return plain + name[len(label) :] if label != plain and _begins(name, label) else ""

    def free_slug(self, folder: str, name: str, key: str, *, is_new: bool = False) -> str:
        """Return the slug under which a project may have a page ``name``, told apart when another project has it.

        ``is_new``: a page that the project has already is no place for it either.
        """
        label = slugify(self.label(key)) or GENERAL
        distinct = self._apart(name[: MAX_NAME - len(label)], slugify(name_of(key)), label, "-{}")
        last = f"{name[: MAX_NAME - len(slugify(key))]}-{slugify(key)}"
        numbered = (f"{last[: MAX_NAME - 4]}-{number}" for number in itertools.count(2))
        slugs = (f"{folder}/{found}" for found in itertools.chain((name, distinct, last), numbered))
        return next(slug for slug in slugs if slug not in self.pages or (not is_new and self.is_visible(slug, key)))

    def distinct_title(self, title: str, key: str, taken: Iterable[str]) -> str:
        """Return the title, or one that says whose page it is when the titles ``taken`` (in lower case) have it."""
        names = set(taken)
        if title.casefold() not in names:
            return title
        distinct = self._apart(title, name_of(key), self.label(key) or GENERAL, " ({})")
        return distinct if distinct.casefold() not in names else f"{title} ({key})"

    @staticmethod
    def _apart(text: str, plain: str, label: str, form: str) -> str:
        if label != plain and _begins(text.casefold(), plain.casefold()):
            return label + text[len(plain) :]
        return text + form.format(label)


def _begins(text: str, name: str) -> bool:
    return bool(name) and text.startswith(name) and not text[len(name) : len(name) + 1].isalnum()
