"""Resources: days and articles as resources of the protocol, newest first.

A resource's address is ``memoria://`` and the path that ``search`` shows; what may not be shown is neither listed nor
read. A list is given in parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from memoria.base.paths import Paths
from memoria.base.visibility import Visibility
from memoria.daily.daily_log import DailyLog
from memoria.ground import home_files, markdown
from memoria.ground.errors import ExpectedError, PageNotFoundError
from memoria.mcp.answers import TITLE_CHARS, flat
from memoria.mcp.page_filter import Filter
from memoria.wiki.folder import Wiki

SCHEME = "memoria://"
PART = 100  # resources in one answer
MAX_URI = 600


@dataclass(frozen=True, slots=True)
class Resource:
    """One page: its path below the home, its title and a sentence about it."""

    path: str
    title: str
    about: str

    @property
    def uri(self) -> str:
        """The address of the page."""
        return SCHEME + quote(self.path)


class Resources:
    """The pages of one home that a session may read."""

    def __init__(self, paths: Paths, visible: Visibility) -> None:
        self.paths = paths
        self.visible = visible

    def listed(self, cursor: str = "") -> tuple[list[Resource], str]:
        """Return the next resources and the cursor for those after them, ``""`` at the end.

        Raise ExpectedError when the cursor is none that was given out.
        """
        if not (cursor or "0").isascii() or not (cursor or "0").isdigit() or len(cursor) > 9:
            raise ExpectedError(f"{cursor[:40]!r} is no cursor of this list; list from the beginning")
        names, shown = self._names(), Filter(self.paths, self.visible)
        found: list[Resource] = []
        place = int(cursor or 0)
        while place < len(names) and len(found) < PART:
            found += self._resource(names[place], shown)
            place += 1
        return found, str(place) if place < len(names) else ""

    def _names(self) -> list[str]:
        """Return all days, then all articles, each newest first."""
        days = sorted(DailyLog.of(self.paths).days(), reverse=True)
        articles = sorted(Wiki.of(self.paths).files(), key=lambda found: (-found[1][0], found[0]))
        return [*(f"daily/{day}.md" for day in days), *(f"knowledge/{slug}.md" for slug, _ in articles)]

    def _resource(self, name: str, shown: Filter) -> list[Resource]:
        """Return the resource of a page, none when nothing of it may be shown."""
        folder, _, rest = name.partition("/")
        try:
            below = self.paths.daily if folder == "daily" else self.paths.knowledge
            text = home_files.text(Path(below, rest), below)
            shown.page(name, text)
        except (OSError, PageNotFoundError):
            return []
        stem = Path(rest).stem
        if folder == "daily":
            return [Resource(name, stem, "What happened on this day.")]
        return [Resource(name, flat(markdown.read_page(text)[0].text("title"), TITLE_CHARS) or stem, "An article.")]


def path_of(uri: str) -> str:
    """Return the path of the page at this address; raise ExpectedError for an address that is none of ours."""
    if not uri.startswith(SCHEME) or len(uri) > MAX_URI:
        raise ExpectedError(
            f"{uri[:100]!r} is no page of memoria: list the resources; an example is {SCHEME}daily/2026-11-20"
        )
    return unquote(uri.removeprefix(SCHEME))
