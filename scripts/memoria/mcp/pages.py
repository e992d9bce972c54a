"""Pages: read what a home's search names, and nothing else on the machine.

That is articles and daily logs (no hidden file, no page that memoria makes of articles, and none that a symbolic link
leads to outside; the two folders themselves may be links), and archived turns. A block of a page is read from its first
line on. What rests on projects that may not be shown is left out.
"""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memoria.base import project
from memoria.base.fence import defuse, fence, wrap
from memoria.base.paths import Paths
from memoria.base.visibility import Visibility
from memoria.daily.daily_log import DailyLog
from memoria.daily.day_text import DayText, Part
from memoria.daily.entry import Reference
from memoria.daily.ledger import Ledger
from memoria.ground import clock, home_files, markdown
from memoria.ground.errors import PageNotFoundError
from memoria.index import documents
from memoria.mcp.answers import ANSWER_BYTES, NOTES, flatten
from memoria.mcp.tools import LINES
from memoria.search.layout import block_ids
from memoria.statements import lines as statement_lines
from memoria.statements.fact import Fact
from memoria.statements.store import Store
from memoria.transcripts.archive import Archive
from memoria.wiki.article import Article
from memoria.wiki.article_cache import LinkTargets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoria.mcp.calls import Session
    from memoria.mcp.tools import Json

ARCHIVED = "archive/"  # of the path that search shows for archived turns
_LOG_OF_DAY = re.compile(r"(\d{4}-\d\d-\d\d)\.md")
_LINKED = re.compile(r"- \[\[([^\]|#]+)")


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive lines of a page.

    ``path`` is relative to the home; ``first`` and ``last`` count from 1; ``total`` is the page's number of lines.
    ``date`` is the day of a daily log, else the ``updated`` day of the frontmatter, ``""`` where there is none.
    """

    path: str
    date: str
    text: str
    first: int
    last: int
    total: int


class Library:
    """The pages of one home."""

    def __init__(self, paths: Paths, visible: Visibility) -> None:
        """``visible`` leaves out of each page what may not be shown."""
        self.home = Path(paths.home)
        self.paths = paths
        self.visible = visible

    def read(self, name: str, first: int = 1, lines: int = LINES, most: int = ANSWER_BYTES) -> Passage:
        """Return lines of a page from ``first`` on: at most ``lines`` lines and ``most`` bytes, but at least one line.

        A line of more than 4,000 characters is wrapped and counts as several lines.

        ``name``: ``knowledge/concepts/x.md``, ``concepts/x``, ``daily/2026-11-21``, or a wikilink such as
        ``[[concepts/x#part]]``. Raise PageNotFoundError when there is no such page or it must not be shown.
        """
        plain = name.strip().removeprefix("[[").removesuffix("]]").split("|", 1)[0].strip()
        named = Reference.of(plain)
        anchor = named.anchor if named else plain.partition("#^")[2]
        path, day, text = self._read_archived(plain) if plain.startswith(ARCHIVED) else self._markdown(plain, anchor)
        rows = wrap(defuse(text)).splitlines()
        start = first if first > 1 else _row_of(anchor, text, rows)
        start = min(max(start, 1), max(len(rows), 1))
        kept: list[str] = []
        for row in rows[start - 1 : start - 1 + lines]:
            most -= len(row.encode("utf-8", "replace")) + 1
            if kept and most < 0:
                break
            kept.append(row)
        last = start + len(kept) - 1
        return Passage(path, day, "\n".join(kept), start, last, len(rows))

    def _markdown(self, name: str, anchor: str) -> tuple[str, str, str]:
        """Return the path, the day and the text of a page; that of an id alone is the daily log that holds it."""
        target, mark, _ = name.partition("#")
        page = LinkTargets(self.home, ()).page(target) if mark or not anchor else self._find_holder(anchor)
        path = f"{page}.md"
        if not page or home_files.is_generated(path.removeprefix("knowledge/")):
            raise PageNotFoundError(name)
        try:
            text = home_files.text(self.home / path, self.home / page.partition("/")[0])
            shown = Filter(self.paths, self.visible).page(path, text)
        except (OSError, PageNotFoundError) as error:  # what is hidden is called as it was asked for
            raise PageNotFoundError(name) from error
        day = markdown.read_page(text)[0].text("updated")[:10] if page.startswith("knowledge/") else page[-10:]
        return path, day if clock.is_day(day) else "", shown

    def _find_holder(self, anchor: str) -> str:
        """Return the daily log that holds a block, ``""`` when none does."""
        daily = DailyLog(self.paths)
        for day in reversed(daily.days()):
            if any(f"^{anchor}" in row.split()[-1:] for row in daily.text(day).splitlines()):
                return f"daily/{day.isoformat()}"
        return ""

    def _read_archived(self, name: str) -> tuple[str, str, str]:
        ident = name.removeprefix(ARCHIVED)
        turns, entry = Archive.of(self.paths).turns(ident), DailyLog(self.paths).entry(ident)
        if turns is None or entry is None or not self.visible.shows(entry.project_key):
            raise PageNotFoundError(name)
        return name, f"{entry.day}", "\n\n".join("\n".join([f"{turn.role}:", turn.text, *turn.tools]) for turn in turns)


def read(session: Session, given: Json) -> str:
    """Return a page's lines as a fenced block, and how to read on."""
    library = Library(session.home.paths, session.visible)
    passage = library.read(given["path"], given.get("first_line", 1), given.get("lines", LINES))
    more = f"; read on with first_line {passage.last + 1}" if passage.last < passage.total else ""
    day = f"as of {passage.date}" if passage.date else "undated"
    where = f"Lines {passage.first} to {passage.last} of {passage.total}, {day}{more}."
    return f"{NOTES} {where}\n" + fence("memory", f"{flatten(passage.path)}\n\n{passage.text}")


def _row_of(anchor: str, text: str, rows: list[str]) -> int:
    """Return the number of the row, from 1, where the block of a page begins that an anchor names; 1 for none."""
    if anchor.startswith("x-"):  # a part by hand without an id
        parts = (part.raw for part in DayText(text).parts(date.min))
        head = next((raw.split("\n")[0] for raw in parts if documents.unmarked_anchor(raw) == anchor), "")
        return rows.index(head) + 1 if head in rows else 1
    number = next((number for number, row in enumerate(rows) if f"^{anchor}" in row.split()[-1:]), 0)
    if rows and rows[number].strip() == f"^{anchor}":  # an entry's id is below it
        number = next((before for before in range(number, -1, -1) if rows[before].startswith("### ")), number)
    return number + 1


class Filter:
    """Which entries and articles of one home may be shown."""

    def __init__(self, paths: Paths, visible: Visibility) -> None:
        self.knowledge, self.daily = Path(paths.knowledge), Path(paths.daily).name
        self.visible = visible
        self.paths = paths
        self.aliases = project.aliases(paths.projects)

    @cached_property
    def projects(self) -> dict[str, tuple[str, ...]]:
        """The projects of each entry and statement, by its id."""
        with closing(Ledger(self.paths)) as ledger, Store(self.paths) as store:
            entries = {f"e-{entry.id}": (entry.project,) for entry in ledger.entries()}
            return entries | {fact.id: fact.projects for fact in store.facts(live=False)}

    def article(self, article: Article) -> Article | None:
        """Return what may be shown of an article, None if nothing may."""
        if not (self.visible.own or self.visible.hidden_keys()):
            return article
        try:
            return Article(article.slug, self.page(f"knowledge/{article.slug}.md", article.render()))
        except PageNotFoundError:
            return None

    def page(self, name: str, text: str) -> str:
        """Return what may be shown of the page ``name`` (``daily/2026-11-20.md``); PageNotFoundError if nothing may."""
        folder, _, rest = name.partition("/")
        if folder == self.daily and (day := _LOG_OF_DAY.fullmatch(rest)):
            return self._day(date.fromisoformat(day[1]), text)
        if not self.visible.shows(self._project(text)):
            raise PageNotFoundError(name)
        seen, cited = self._citations(text)
        if cited and not seen:
            raise PageNotFoundError(name)
        rows = [row for row in text.split("\n") if self._shows_row(row, seen)]
        if seen == cited:
            return "\n".join(rows)
        return "\n".join(row for row in rows if row.startswith("#") or block_ids(row))

    def _day(self, day: date, text: str) -> str:
        whole = DayText(text, self.aliases)
        facts = statement_lines.read_facts(whole, day)
        rest = DayText("".join(part.raw for part in whole.parts(day) if self._shows_part(part, facts)))
        hidden = {
            one.id for one in statement_lines.read_facts(rest, day) if not any(map(self.visible.shows, one.projects))
        }
        for line in reversed(list(rest.facts())):
            if line.learned.id in hidden:
                rest.remove(line)
        if not any(row.strip() and not row.startswith("#") for row in rest.text.split("\n")):  # but headings
            raise PageNotFoundError(f"{self.daily}/{day}")
        return rest.text

    def _shows_part(self, part: Part, facts: Iterable[Fact]) -> bool:
        """Return whether a part of a day may be shown; without a marker it belongs to a project by its name."""
        owner = statement_lines.owner(part, facts)
        return self.visible.shows(owner) or (not part.entry and owner == project.name_of(self.visible.own))

    def _shows_row(self, row: str, seen: set[str]) -> bool:
        if not block_ids(row) <= seen:
            return False
        link = _LINKED.match(row)
        return not link or self._shows_article(link[1])

    def _shows_article(self, slug: str) -> bool:
        try:
            text = home_files.text(self.knowledge / f"{slug}.md", self.knowledge)
        except (OSError, ValueError):
            return True
        seen, cited = self._citations(text)
        return self.visible.shows(self._project(text)) and seen == cited

    def _project(self, text: str) -> str:
        """Return the present key of the project that a page belongs to, ``""`` when it is for all projects."""
        key = project.key_in(markdown.read_page(text)[0].text("project"))
        return self.aliases.get(key, key)

    def _citations(self, text: str) -> tuple[set[str], set[str]]:
        """Return the statements and entries that a text cites and that are not hidden, and all that it cites."""
        cited = block_ids(text)
        hidden = {each for each in cited if each in self.projects and all(map(self.visible.hides, self.projects[each]))}
        return cited - hidden, cited
