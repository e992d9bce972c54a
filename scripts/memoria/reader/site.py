"""Site: what every page is handed: the home, the catalog as it is now, and the templates."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from functools import lru_cache
from typing import Any, TypeVar

from memoria.base.visibility import Visibility
from memoria.ground import clock, markdown
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.reader import address
from memoria.reader.catalog import Catalog
from memoria.reader.markdown import Renderer, Target
from memoria.reader.templating import Templates
from memoria.reader.watch import Watch

Made = TypeVar("Made")
MAX_REDACTED = 2000  # texts that are known without their secrets


class Site:
    """One home as pages."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.redact = lru_cache(MAX_REDACTED)(Redactor(home.settings.redact_extra).redact)  # for a transcript's words
        self.watch = Watch(home, self.visible)
        self.markdown = Renderer(self.target)
        self.templates = Templates(self.markdown.words)
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

    def local(self, moment: datetime) -> datetime:
        """Return a moment as the user's wall clock shows it."""
        return self.home.zone.local(moment)

    def look_again(self) -> None:
        """Read what an action has changed."""
        self.watch.look()

    def cached(self, name: str, make: Callable[[], Made], stamp: object = None) -> Made:
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
        if link.anchor.startswith("#^e-") and link.target.startswith("daily/"):
            entry = catalog.entries.get(link.anchor[4:])
            return Target(address.entry(entry.id), f"{entry.title} ({entry.day})", is_source=True) if entry else None
        if link.target.startswith("daily/") and clock.is_day(link.target[6:16]):
            return Target(address.day(link.target[6:16]), link.target[6:16])
        slug = catalog.slug(link.target)
        return Target(address.article(slug), catalog.rows[slug].title) if slug else None
