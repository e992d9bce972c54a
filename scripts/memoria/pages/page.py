"""Page: the notes that a new session starts with, prepared by the worker so that the hook only reads a file.

There is one page per project and one for everywhere else. A page begins with corrections and preferences. The other
facts are ranked by the search index, queried with the project, its branch, and the files and titles of the last
sessions. ``content`` words the items, and ``room`` divides the page among them; none is truncated, and what
belongs to another project says so. The same knowledge gives the same bytes, so that the client's prompt cache stays
valid: no item depends on today's date or on what was used. Everything on a page is labelled as notes and fenced.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memoria.base import project
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.base.visibility import Visibility
from memoria.capture.open_sessions import MAX_CHARS
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.ledger import Ledger
from memoria.daily.open_items import HAND, OpenItems
from memoria.ground import files
from memoria.ground.errors import ArchiveError
from memoria.ground.projects import labels
from memoria.index import sources
from memoria.index.ended import Ended
from memoria.index.index import Index
from memoria.pages.content import LAST, Content
from memoria.pages.housekeeping import MET
from memoria.search.hit import Hit
from memoria.statements.fact import GLOBAL, Fact
from memoria.statements.keeper import Keeper
from memoria.statements.store import leading
from memoria.transcripts.archive import Archive, Kept
from memoria.transcripts.turn import Turn

log = logging.getLogger(__name__)

QUERY_ENTRIES = 5  # last entries of a project whose titles are part of the query
QUERY_SESSIONS = 2  # last sessions whose branch and edited files, from the archive, are part of the query
QUERY_FILES = 6
NEAREST = 40  # facts that are ranked by the index
RECENT_ENTRIES = 40  # entries of a project that are read for its page
_EDITED = re.compile(r"(?:Edit|MultiEdit|Write|NotebookEdit) (.+?)(?:: |$)")


@dataclass(frozen=True, slots=True)
class Pages:
    """The prepared pages of one home."""

    paths: Paths
    archive: Archive

    @classmethod
    def of(cls, paths: Paths) -> Pages:
        """Return the pages of these paths."""
        return cls(paths, Archive.of(paths))

    def prepare(
        self,
        settings: Settings,
        ledger: Ledger,
        daily: DailyLog,
        index: Index,
        keeper: Keeper,
        touched: Collection[str] | None = None,
    ) -> None:
        """Write the pages of the projects that have changed; ``settings`` say how long they may be.

        ``index`` must be up to date; it ranks the articles by what a project did last. ``keeper`` provides the learned
        facts. ``touched``: prepare only the pages of these projects (by key) and pages that do not exist yet. All pages
        are prepared by default, and when ``touched`` contains ``GLOBAL``.

        A page shows its own project and what is for all projects, the page for unknown folders only the latter; with
        ``share_projects`` both show everything.
        """
        limit, shared = settings.page_chars, settings.share_projects
        booked = ledger.entries()
        projects = sorted({*(entry.project for entry in booked), *keeper.store.projects()} - {GLOBAL, ""})
        view = Visibility(settings, self.paths)
        archived = {kept.entry: kept for kept in self.archive.listed()}
        told = sources.ended(index, self.paths)
        everywhere = _current(_seen(daily.find(booked[-RECENT_ENTRIES:]), view), told) if shared else []
        open_items = OpenItems(daily, ledger)
        open_items.refresh()
        open_anywhere = open_items.everywhere(list(filter(view.shows, [*projects, HAND]))) if shared else []
        names = labels(projects, project.known(self.paths.projects))
        met = str(ledger.get(MET) or "")
        for key in projects:
            concerned = touched is None or {key, GLOBAL}.intersection(touched)
            if not concerned and Path(self.paths.page_of(key)).exists():
                continue
            content = Content(key, keeper.zone, names, met=met)
            if not view.hides(key):
                recent = daily.find([entry for entry in booked if entry.project == key][-RECENT_ENTRIES:])
                words = [key, *_at_work(self._turns(recent, archived)), *_titles(recent)]
                apart = Visibility(settings, self.paths, key, strictly=True)
                wanted = [hit.anchor for hit in _nearest(index, words, apart)]
                content.facts = leading(keeper.store, key, wanted)
                # With projects shared, a project that has only facts shows the last sessions of others.
                content.last = _current(recent, told) or everywhere
                content.items = open_items.of(key) if recent else open_anywhere
            self._write_both(key, content, limit)
        content = Content(GLOBAL, keeper.zone, names, last=everywhere, items=open_anywhere, met=met)
        content.facts = _for_all(leading(keeper.store, GLOBAL), view if shared else None)
        self._write_both("global", content, limit)
        self._clear({*projects, "global"})
        files.replace(Path(self.paths.hidden), "\n".join(view.state()), mode=0o600)

    def _clear(self, known: set[str]) -> None:
        """Remove the pages of projects that are no longer known; their sessions start with the global page."""
        names = {Path(self.paths.page_of(key)).name for key in known}
        for path in (*Path(self.paths.page).glob("*.md"), *Path(self.paths.short_page).glob("*.md")):
            if path.name not in names:
                path.unlink(missing_ok=True)

    def _turns(self, recent: list[Entry], archived: dict[str, Kept]) -> Iterator[list[Turn]]:
        """Yield the archived turns of the project's last entries, latest first."""
        for entry in reversed(recent[-QUERY_SESSIONS:]):
            try:
                yield self.archive.read(archived[entry.id]) if entry.id in archived else []
            except ArchiveError as error:
                log.warning("page prepared without archived turns: %s", error)

    def _write_both(self, name: str, content: Content, limit: int) -> None:
        """Write the page, and a shorter one that leaves room for the block "where you were"."""
        _write(Path(self.paths.page_of(name)), content.text(limit))
        _write(Path(self.paths.page_of(name, short=True)), content.text(limit - MAX_CHARS - 1))


def _seen(entries: list[Entry], view: Visibility) -> list[Entry]:
    return [entry for entry in entries if view.shows(entry.project_key)]


def _current(recent: Sequence[Entry], told: Ended) -> list[Entry]:
    """Return the last entries without what no longer holds; one of which nothing remains is left out."""
    found = []
    for entry in recent[-LAST:]:
        now = told.current(entry)
        now = replace(now, title=entry.title if now.title == entry.title else "")
        if now.title or now.context.strip():
            found.append(now)
    return found


def _for_all(facts: Sequence[Fact], shared: Visibility | None) -> list[Fact]:
    """Return the facts that hold everywhere, and with ``shared`` also those of the projects that it does not hide."""
    return [fact for fact in facts if fact.project == GLOBAL or (shared and not shared.hides(fact.project))]


def _titles(recent: list[Entry]) -> list[str]:
    """Return the titles of the project's last entries, latest first."""
    return [entry.title for entry in reversed(recent[-QUERY_ENTRIES:])]


def _at_work(sessions: Iterable[list[Turn]]) -> list[str]:
    """Return the branch of the last sessions and the files that they edited, latest first."""
    branch = ""
    touched: dict[str, None] = {}
    for turns in sessions:
        for turn in reversed(turns):
            branch = branch or turn.branch
            paths = [found[1] for line in reversed(turn.tools) if (found := _EDITED.match(line))]
            touched.update(dict.fromkeys(os.path.relpath(path, turn.cwd or "/") for path in paths))
    return [branch, *(path.replace("..", "") for path in list(touched)[:QUERY_FILES])]


def _nearest(index: Index, words: Iterable[str], view: Visibility) -> list[Hit]:
    """Return the facts that match these words best, best first.

    How often a note was used does not count here: the page must stay the same, byte for byte, while nothing is learned.
    """
    return index.search(" ".join(words), limit=NEAREST, view=view, kinds=("fact",))


def _write(path: Path, page: str) -> None:
    try:
        if path.read_text(encoding="utf-8") == page:
            return
    except (FileNotFoundError, UnicodeDecodeError):
        pass
    files.replace(path, page, mode=0o600)
