"""Owners: which project each page belongs to, and how pages of one name are told apart.

A page belongs to one project, or to all. A project's claims go to its own pages or to those of all projects; what it
may not touch it does not see either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memoria.base.project import name_of
from memoria.wiki.folder import slugify

MAX_NAME = 79  # characters of a page's name with the hyphen before what tells it apart; a slug has 80
GENERAL = "general"  # what tells a page apart that belongs to no project


NOBODY = "?"  # whose a file is that is no page and has the name of one


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

    def free_slug(self, folder: str, name: str, key: str) -> str:
        """Return the slug under which a project may have a page ``name``, told apart when another project has it."""
        label = slugify(self.label(key)) or GENERAL
        distinct = self._apart(name[: MAX_NAME - len(label)], slugify(name_of(key)), label, "-{}")
        last = f"{name[: MAX_NAME - len(slugify(key))]}-{slugify(key)}"
        for found in (name, distinct, last):
            slug = f"{folder}/{found}"
            if slug not in self.pages or self.is_visible(slug, key):
                return slug
        return f"{folder}/{last}"

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
