"""Page filter: a page of the memory without what rests on projects that may not be shown."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import date
from pathlib import Path

from memoria.base import project
from memoria.base.paths import Paths
from memoria.base.visibility import Visibility
from memoria.daily.day_text import DayText
from memoria.daily.ledger import Ledger
from memoria.ground import home_files, markdown
from memoria.ground.errors import PageNotFoundError
from memoria.search.layout import entry_ids
from memoria.statements import lines
from memoria.wiki.folder import INDEX, LOG

_DAY = re.compile(r"(\d{4}-\d\d-\d\d)\.md")
_ENTRY = re.compile(r"\[\[daily/[^\]#]*#\^e-([0-9a-z]+)(?:\|[^\n]*?)?\]\]")
_LISTED = re.compile(r"^- \[\[([^\]|#]+)", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}\s")
_LINKED = re.compile(r"- \[\[([^\]|#]+)")


class Filter:
    """Which entries and articles of one home may be shown."""

    def __init__(self, paths: Paths, visible: Visibility) -> None:
        self.knowledge, self.daily = Path(paths.knowledge), Path(paths.daily).name
        self.visible = visible
        self.aliases = project.aliases(paths.projects)
        with closing(Ledger.of(paths)) as ledger:
            self.projects = {f"e-{entry.id}": entry.project for entry in ledger.entries()}

    def shows_entry(self, ident: str) -> bool:
        """Return whether the entry with this id may be shown."""
        return self.visible.shows(self.projects.get(f"e-{ident}", ""))

    def page(self, name: str, text: str) -> str:
        """Return what may be shown of the page ``name`` (``daily/2026-11-20.md``); PageNotFoundError if nothing may."""
        folder, _, rest = name.partition("/")
        if folder == self.daily and (day := _DAY.fullmatch(rest)):
            return self._day(date.fromisoformat(day[1]), text)
        if not self.visible.shows(self._project(text)):
            raise PageNotFoundError(name)
        if name == f"knowledge/{LOG}":
            return _ENTRY.sub(lambda link: link[0] if self.shows_entry(link[1]) else "(another project)", text)
        seen, cited = self._seen(text)
        if cited and not seen:
            raise PageNotFoundError(name)
        if name == f"knowledge/{INDEX}":
            text = self._index(text)
        rows = [row for row in text.split("\n") if self._shows_row(row, seen)]
        if seen == cited:
            return "\n".join(rows)
        return "\n".join(row for row in rows if row.startswith("#") or entry_ids(row))

    def _day(self, day: date, text: str) -> str:
        parts = DayText(text, self.aliases).parts(day)
        rest = DayText("".join(part.raw for part in parts if not part.entry or self.visible.shows(part.project)))
        hidden = {fact.id for fact in lines.parse(rest.text, day) if not any(map(self.visible.shows, fact.projects))}
        for line in reversed(list(rest.learned())):
            if line.learned.id in hidden:
                rest.remove(line)
        if is_bare(rest.text):
            raise PageNotFoundError(f"{self.daily}/{day}")
        return rest.text

    def _index(self, text: str) -> str:
        """Return the index without the projects of which no article may be shown."""
        intro, *parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
        return intro + "".join(part for part in parts if any(map(self._shows_article, _LISTED.findall(part))))

    def _shows_row(self, row: str, seen: set[str]) -> bool:
        if not entry_ids(row) <= seen:
            return False
        link = _LINKED.match(row)
        return not link or self._shows_article(link[1])

    def _shows_article(self, slug: str) -> bool:
        try:
            text = home_files.text(self.knowledge / f"{slug}.md", self.knowledge)
        except (OSError, ValueError):
            return True
        seen, cited = self._seen(text)
        return self.visible.shows(self._project(text)) and seen == cited

    def _project(self, text: str) -> str:
        """Return the present key of the project that a page belongs to, ``""`` when it is for all projects."""
        key = project.key_in(markdown.read_page(text)[0].text("project"))
        return self.aliases.get(key, key)

    def _seen(self, text: str) -> tuple[set[str], set[str]]:
        """Return the entries that a text cites and that are not hidden, and all that it cites."""
        cited = entry_ids(text)
        return {ident for ident in cited if not self.visible.hides(self.projects.get(ident, ""))}, cited


def is_bare(page: str) -> bool:
    """Return whether a page has nothing but headings."""
    return not any(row.strip() and not _HEADING.match(row) for row in page.split("\n"))
