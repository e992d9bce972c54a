"""Site: what every page is handed: the home, the catalog as it is now, and the templates."""

from __future__ import annotations

from datetime import date, datetime

from memoria.ground import clock, markdown
from memoria.ground.home import Home
from memoria.reader import address
from memoria.reader.catalog import Catalog
from memoria.reader.markdown import Renderer, Target
from memoria.reader.templating import Templates
from memoria.reader.watch import Watch


class Site:
    """One home as pages."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.templates = Templates()
        self.watch = Watch(home)
        self.markdown = Renderer(self.target)

    @property
    def catalog(self) -> Catalog:
        """What is known of all articles, projects and facts."""
        return self.watch.catalog()

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

    def target(self, link: markdown.Link) -> Target | None:
        """Return where a wikilink leads, None when there is no such page."""
        catalog = self.catalog
        if link.anchor.startswith("#^e-") and link.target.startswith("daily/"):
            entry = catalog.entries.get(link.anchor[4:])
            return Target(address.entry(entry.id), f"{entry.title} ({entry.day})", is_source=True) if entry else None
        slug = catalog.slug(link.target)
        return Target(address.article(slug), catalog.rows[slug].title) if slug else None
