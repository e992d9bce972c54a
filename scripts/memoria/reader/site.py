"""Site: what every page is handed, what it is asked for and what it answers, and the templates that show it.

None of it knows HTTP.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from memoria.base.visibility import Visibility
from memoria.ground import clock, markdown
from memoria.ground.home import Home
from memoria.ground.printable import amount
from memoria.ground.redact import Redactor
from memoria.reader import address
from memoria.reader.catalog import Catalog, Watch
from memoria.reader.markdown import Html, Renderer, Target

Made = TypeVar("Made")
MAX_REDACTED = 2000  # texts that are known without their secrets
FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"


class Site:
    """One home as pages."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.redact = lru_cache(MAX_REDACTED)(Redactor(home.settings.redact_extra).redact)  # for a transcript's words
        self.watch = Watch(home, self.visible)
        self.markdown = Renderer(self.target)
        self.templates = _templates(self.markdown.words)
        self._cache: dict[str, tuple[object, Any]] = {}

    @property
    def catalog(self) -> Catalog:
        """What is known of all articles, projects and facts."""
        return self.watch.catalog()

    def visible(self) -> Visibility:
        """Return which projects may be shown, as the settings and folders are now."""
        return Visibility(self.home.settings, self.home.paths)

    @property
    def today(self) -> date:
        """The user's calendar day."""
        return self.home.zone.day(clock.now())

    def cache(self, name: str, make: Callable[[], Made], stamp: object = None) -> Made:
        """Return what ``make`` returns, made again only for a new catalog or another ``stamp``."""
        _ = self.catalog  # which looks whether there is a new one
        current = self.watch.number, stamp
        known = self._cache.get(name)
        if known is None or known[0] != current:
            known = self._cache[name] = (current, make())
        made: Made = known[1]
        return made

    def target(self, link: markdown.Link) -> Target | None:
        """Return where a wikilink leads, None when there is no such page."""
        catalog = self.catalog
        if link.anchor.startswith(("#^e-", "#^l-")) and link.target.startswith("daily/"):
            entry = catalog.entries.get(catalog.entry_of(link.anchor[2:]))
            return Target(address.entry(entry.id), f"{entry.title} ({entry.day})", is_source=True) if entry else None
        if link.target.startswith("daily/") and clock.is_day(link.target[6:16]):
            return Target(address.day(link.target[6:16]), link.target[6:16])
        slug = catalog.slug(link.target)
        return Target(address.article(slug), catalog.rows[slug].title) if slug else None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: the named parts of its ``path``, its ``query``, and the fields of its ``form``."""

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """A template, what it shows, and the title of the page; a part of a page has no title."""

    template: str
    title: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Done:
    """An action that was carried out: where to go, and one sentence about what happened."""

    location: str
    said: str = ""


def not_found(what: str) -> View:
    """Return the page that says that something is not there."""
    return View("message.html", "Not found", {"said": what}, 404)


def _templates(words: Callable[[str], Html]) -> Environment:
    """Return the templates; ``words`` turns the Markdown of a line into HTML without links."""
    found = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(address=address, static=static_path, counted=amount)
    found.filters.update(day=day, words=words)
    return found


@cache
def static_path(name: str) -> str:
    """Return the path of a static file, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def day(value: date | str) -> str:
    """Return a day in words (21 November 2026); text that is no day is returned unchanged."""
    try:
        when = date.fromisoformat(value[:10]) if isinstance(value, str) else value
    except ValueError:
        return str(value)
    return f"{when.day} {when:%B %Y}"
