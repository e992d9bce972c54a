"""Replay: a copy of a home in which time moves forward, with the product's own index, pages and notes in it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from memoria.base import invocation, state
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture.hook import Event
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.ledger import Ledger
from memoria.evaluating import rewind, tool_events
from memoria.evaluating.tool_events import ToolEvent
from memoria.ground import locks
from memoria.ground.errors import ArchiveError, ExpectedError
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.pages.page import Pages
from memoria.recall.error_notes import post_tool_use_failure
from memoria.recall.prompt_notes import user_prompt_submit
from memoria.recall.session_start import session_start
from memoria.recall.subagent_page import subagent_start
from memoria.recall.tool_notes import pre_tool_use
from memoria.statements import lines
from memoria.statements.fact import GLOBAL, Fact
from memoria.statements.keeper import Keeper
from memoria.transcripts.archive import Archive, Kept
from memoria.transcripts.turn import Turn
from memoria.wiki.folder import Wiki

_CORRECTED = ("correction", "preference")
_ANCHOR = re.compile(r"(?:#\^e-|#\^|archive/)([\w-]+)\)$")  # what a note says that it comes from
_COPIED = ("projects", "folders")  # paths of what says which project a folder belongs to


@dataclass(slots=True)
class _File:
    """A file of the home and the moments at which it may have changed, the earliest first."""

    name: str
    moments: list[datetime]

    def is_stale(self, after: datetime, until: datetime) -> bool:
        return any(after <= moment < until for moment in self.moments)


class Replay:
    """The home as it was at the moment of the last ``move``, the beginning of time at first."""

    def __init__(self, home: Home, folder: Path) -> None:
        """Read when everything in ``home`` came about; ``folder`` must be empty."""
        self.home = home
        self.now = datetime.min.replace(tzinfo=UTC)
        self.paths = Paths(str(folder))
        self.settings = _settings(home)
        self.daily, self.wiki, self.archive = DailyLog.of(home.paths), Wiki.of(home.paths), Archive.of(home.paths)
        state.open_state(self.paths)
        for name in _COPIED:
            if os.path.exists(path := getattr(home.paths, name)):  # noqa: PTH110 (paths are text)
                shutil.copyfile(path, getattr(self.paths, name))
        self.texts = {day: self.daily.text(day) for day in self.daily.days()}
        self.facts = [fact for day in self.texts for fact in lines.of_day(self.daily.read(day), day)]
        self.kept = {kept.entry: kept for kept in self.archive.listed()}
        entries = [entry for day in self.texts for entry in self.daily.entries(day)]
        self.projects = {entry.id: entry.project_key for entry in entries}
        self._owners = {entry: (key,) for entry, key in self.projects.items()} | {
            fact.id: fact.projects for fact in self.facts
        }
        self.known = {entry.id: self._ended(entry) for entry in entries}
        self._days = [_File(day.isoformat(), sorted(self._moments(day))) for day in self.texts]
        self._articles = [
            _File(article.slug, sorted(rewind.moments_of_article(article, self.known, home.zone)))
            for article in self.wiki.articles()
        ]
        self._index = Index(self.paths.index)
        self._ledger = Ledger.of(self.paths)
        self._keeper = Keeper.of(self.paths, home.zone)

    def close(self) -> None:
        """Close the databases."""
        self._index.close()
        self._ledger.close()
        self._keeper.store.db.close()

    def _ended(self, entry: Entry) -> datetime:
        """Return when an entry's conversation had ended; without its turns, a minute after it began."""
        ended = self.archive.ended(self.kept[entry.id]) if entry.id in self.kept else None
        return ended or _minute(entry.day, entry.time, self.home) + timedelta(minutes=1)

    def _moments(self, day: date) -> Iterator[datetime]:
        return rewind.moments_of_day(self.texts[day], day, self.known, self.home.zone)

    def move(self, moment: datetime, project: str) -> list[str]:
        """Move forward to a moment and prepare the page of a project; return the entries that are new by then."""
        fresh = [ident for ident, known in self.known.items() if self.now <= known < moment]
        for file in self._days:
            if file.is_stale(self.now, moment):
                day = date.fromisoformat(file.name)
                text = rewind.day_at(self.texts[day], day, moment, self.known, self.home.zone)
                _write(Path(self.paths.daily, f"{file.name}.md"), text)
        for file in self._articles:
            if file.is_stale(self.now, moment) and (article := self.wiki.get(file.name)):
                text = rewind.article_at(article, moment, self.known, self.home.zone)
                _write(Path(self.paths.knowledge, f"{file.name}.md"), text)
        self._copy(self.kept[ident] for ident in fresh if ident in self.kept)
        self.now = moment
        self._refresh(project)
        return fresh

    def _copy(self, kept: Iterable[Kept]) -> None:
        Path(self.paths.archive).mkdir(mode=0o700, exist_ok=True)
        for each in kept:
            shutil.copyfile(each.path, Path(self.paths.archive, each.path.name))

    def _refresh(self, project: str) -> None:
        daily = DailyLog.of(self.paths)
        daily.refresh(self._ledger)
        self._keeper.refresh()
        sources.refresh(self._index, self.paths, has_client=False)
        pages = Pages.of(self.paths)
        pages.prepare(self.settings, self._ledger, daily, self._index, self._keeper, {project})

    def page(self, session: str, cwd: str) -> str:
        """Return what a session starts with."""
        event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": session, "cwd": cwd}
        return _context(session_start(Event(dict(event)), self.settings, self.paths))

    def notes(self, session: str, cwd: str, prompt: str) -> str:
        """Return the notes beside a prompt; a session is given each once."""
        event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": cwd, "prompt": prompt}
        return _context(user_prompt_submit(Event(dict(event)), self.settings, self.paths))

    def tool_notes(self, session: str, cwd: str, event: ToolEvent, number: int) -> str:
        """Return what is given at a tool event, the ``number``-th of its session."""
        told = {"session_id": session, "cwd": cwd, "hook_event_name": event.name, "tool_use_id": str(number)}
        if event.name == tool_events.SUBAGENT:
            # Under a name of its own: hooks take tasks that were recorded within seconds for one another's.
            told["session_id"] = f"{session}-{number}"
            kind = event.fields["tool_input"]["subagent_type"]
            pre_tool_use(Event({**told, **event.fields}), self.settings, self.paths)
            started = Event({**told, "agent_id": str(number), "agent_type": kind})
            return _context(subagent_start(started, self.settings, self.paths))
        handler = pre_tool_use if event.name == tool_events.BEFORE else post_tool_use_failure
        return _context(handler(Event({**told, **event.fields}), self.settings, self.paths))

    def turns(self, entry: str) -> list[Turn]:
        """Return the archived turns of an entry, none when there are none that can be read."""
        try:
            return self.archive.read(self.kept[entry]) if entry in self.kept else []
        except ArchiveError:
            return []

    def corrections_known(self, project: str) -> list[Fact]:
        """Return the facts of a project that were corrections or preferences by this moment."""
        found = [fact for fact in self.facts if fact.kind in _CORRECTED and fact.time < self.now]
        return [fact for fact in found if {project, GLOBAL}.intersection(fact.projects)]

    def is_foreign(self, note: str, project: str) -> bool:
        """Return whether a note is of another project, going by the entry or fact that it names."""
        named = _ANCHOR.search(note)
        owners = self._owners.get(named[1], ("",)) if named else ("",)
        return not {project, GLOBAL, ""}.intersection(owners)


@contextmanager
def opened(home: Home) -> Iterator[Replay]:
    """Open a replay in the home's state folder, and delete it at the end; raise ExpectedError if there is one."""
    folder = Path(home.paths.replay)
    with locks.held(Path(home.paths.replay_lock)) as mine:
        if not mine:
            raise ExpectedError(f"another {invocation.shown('eval')} is running on this home; wait until it ends.")
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed
        try:
            folder.mkdir(mode=0o700)
            with closing(Replay(home, folder)) as replay:
                yield replay
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _settings(home: Home) -> Settings:
    """Return a copy of the settings with all notes switched on, and without what is about the session alone."""
    settings = Settings()
    for field in Settings.fields():
        setattr(settings, field.name, getattr(home.settings, field.name))
    settings.weigh_notes = False  # a replay asks no model
    settings.hints, settings.where_you_were, settings.saved_notice = True, False, False
    settings.tool_notes, settings.error_notes, settings.subagent_page = True, True, True
    return settings


def _context(answer: dict[str, object] | None) -> str:
    output = (answer or {}).get("hookSpecificOutput")
    return str(output.get("additionalContext", "")) if isinstance(output, dict) else ""


def _minute(day: date, clock_time: str, home: Home) -> datetime:
    hour, _, minute = clock_time.partition(":")
    moment = datetime(day.year, day.month, day.day, int(hour), int(minute), tzinfo=home.zone.zone)
    return moment.astimezone(UTC)


def _write(path: Path, text: str) -> None:
    """Write a file, or remove it when there is nothing in it."""
    if not text:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "replace"))
