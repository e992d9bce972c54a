"""Sessions: what became of the turns of each that the ledger or a transcript knows; one of them; what it was given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import chain
from pathlib import Path

from memoria.audit.receipt import CAPTURED, SKIPPED, own_turns
from memoria.base import project
from memoria.daily.ledger import Booked, Ledger
from memoria.ground import clock
from memoria.reader import address
from memoria.reader.catalog import Catalog, change_time, slug_of
from memoria.reader.site import Asked, Site, View, not_found
from memoria.transcripts import client_files
from memoria.transcripts.client_files import Json, objects
from memoria.transcripts.screen import Screen
from memoria.transcripts.turn import Turn
from memoria.transcripts.turn_reader import Reader

PAGE = 40  # sessions on one page
MAX_GIVEN = 60  # that one page shows
EVENTS = {
    "SessionStart": "The session started with",
    "UserPromptSubmit": "Beside your prompt",
    "PreToolUse": "Before a tool was used",
    "PostToolUseFailure": "After an error",
    "SubagentStart": "For a sub-agent",
}
FENCE = "<memoria-notes"
START = "SessionStart"
_ROW = re.compile(r"^- \[(?P<about>[^\]]*)\] (?P<said>.*?)(?: \((?P<source>[^()]*)\))?$")
_SIDE = "agent-"  # how the name of a sub-agent's transcript begins


@dataclass(frozen=True, slots=True)
class Session:
    """A session: its entries, oldest first, and the number of its turns by what became of them.

    ``transcript`` is the path of the file that was compared, ``""`` when the turns are counted from the entries.
    """

    ident: str
    day: str
    project: str
    entries: tuple[Booked, ...]
    fates: Mapping[str, int]
    transcript: str = ""

    @property
    def turns(self) -> int:
        """All turns that are this session's own."""
        return sum(self.fates.values())

    @property
    def captured_turns(self) -> int:
        """The turns that are in the daily logs."""
        return self.fates.get(CAPTURED, 0)

    @property
    def other_fates(self) -> list[tuple[str, int]]:
        """What became of the other turns, most first."""
        rest = [(fate.removeprefix(SKIPPED), count) for fate, count in self.fates.items() if fate != CAPTURED]
        return sorted(rest, key=lambda each: (-each[1], each[0]))


def all_of(site: Site) -> tuple[Session, ...]:
    """Return the sessions that may be shown, the latest first."""
    ledger = site.home.paths.ledger  # which changes, or its log does, whenever it is written
    return site.cache("sessions", lambda: _read(site), (change_time(ledger), change_time(f"{ledger}-wal")))


def find(site: Site, ident: str) -> Session | None:
    """Return a session that may be shown, None when there is none of this id."""
    return next((one for one in all_of(site) if one.ident == ident), None)


def _read(site: Site) -> tuple[Session, ...]:
    entries: dict[str, list[Booked]] = {}
    for entry in site.catalog.entries.values():
        entries.setdefault(entry.session, []).append(entry)
    with closing(Ledger(site.home.paths)) as ledger:
        counts, checked = ledger.turn_counts(), _group_by_session(ledger)
    sessions = []
    for ident, booked in entries.items():
        path, fates = checked.get(ident, ("", {}))
        fates = fates or {CAPTURED: sum(counts.get(entry.id, 0) for entry in booked)}
        sessions.append(Session(ident, booked[-1].day, booked[-1].project, tuple(booked), fates, path))
    sessions += _find_unwritten(site, {name: known for name, known in checked.items() if name not in entries})
    return tuple(sorted(sessions, key=lambda one: (one.day, [each.time for each in one.entries[-1:]]), reverse=True))


def _group_by_session(ledger: Ledger) -> dict[str, tuple[str, Mapping[str, int]]]:
    """Return the transcript of each session that was compared, and the number of its own turns by their fates."""
    found: dict[str, tuple[str, Mapping[str, int]]] = {}
    for path, (_, fates) in ledger.check_results().items():
        own = own_turns(fates)
        place = Path(path)
        if own and place.suffix == ".jsonl" and not place.name.startswith(_SIDE):
            found[place.stem] = (path, own)
    return found


def _find_unwritten(site: Site, checked: Mapping[str, tuple[str, Mapping[str, int]]]) -> Iterator[Session]:
    """Yield the sessions of which no entry is known and whose transcripts still say which project they belong to."""
    visible = site.visible()
    for ident, (path, fates) in checked.items():
        try:
            head = _head(path)
        except OSError:
            continue
        key = project.key_of(head.cwd, site.home.settings, site.home.paths) if head.cwd else ""
        if visible.shows(key):
            began = clock.parse(head.began)
            day = site.home.zone.day(began).isoformat() if began else ""
            yield Session(ident, day, key, (), fates, path)


@lru_cache(maxsize=20_000)
def _head(path: str) -> client_files.Head:
    """Return what the first lines of a transcript say, which never changes."""
    return client_files.head(Path(path))


def show(site: Site, asked: Asked) -> View:
    """Return the sessions, of one ``project`` if one is given."""
    key, known = asked.query.get("project", ""), all_of(site)
    found = [one for one in known if key in ("", one.project)]
    values = {
        "shown": address.paginate(found, PAGE, "/sessions", asked.query),
        "project": key,
        "projects": sorted({(site.catalog.label(one.project), one.project) for one in known if one.project}),
        "label": site.catalog.label,
    }
    return View("sessions.html", "Sessions", values)


def show_one(site: Site, asked: Asked) -> View:
    """Return a session: its entries, and what became of its turns in numbers."""
    ident = asked.path["ident"]
    one = find(site, ident)
    if one is None:
        return not_found("There is no such session, or nothing of it is known any more.")
    with closing(Ledger(site.home.paths)) as ledger:
        counts = ledger.turn_counts()
    values = {
        "session": one,
        "label": site.catalog.label(one.project),
        "counts": counts,
        "has_transcript": bool(one.transcript) and Path(one.transcript).is_file(),
    }
    return View("session.html", one.entries[-1].title if one.entries else "A session without entries", values)


def show_seen(site: Site, asked: Asked) -> View:
    """Return what memoria gave a session: the page that it started with, and each note.

    Claude Code writes into the transcript what hooks add to the context, with the time and the event (from version
    2.1.92 on), so that nothing is recorded twice. The transcript still has what memoria may not keep: secrets, what was
    forgotten, and what was said in a folder that was excluded since. None of it is returned.
    """
    ident = asked.path["ident"]
    one = find(site, ident)
    if one is None:
        return not_found("There is no such session, or nothing of it is known any more.")
    given, more, is_there = list[Given](), 0, bool(one.transcript)
    try:
        if is_there:
            given, more = read_given(site, one.transcript, MAX_GIVEN)
    except OSError:
        is_there = False
    values = {
        "session": one,
        "label": site.catalog.label(one.project),
        "given": given,
        "more": more,
        "is_there": is_there,
        "events": EVENTS,
        "path_of": lambda source: path_of(source, site.catalog),
        "local": site.home.zone.to_local,
    }
    return View("seen.html", "What Claude saw", values)


def path_of(source: str, catalog: Catalog) -> str:
    """Return the page of what a note comes from, ``""`` when it has none."""
    anchor = source.rpartition("#^")[2]
    if anchor.startswith("l-"):
        return address.fact(anchor)
    slug = slug_of(source.partition("#")[0])
    if slug in catalog.rows:
        return address.article(slug)
    ident = anchor.removeprefix("e-").removeprefix("archive/")
    return address.entry(ident) if ident in catalog.entries else ""


@dataclass(frozen=True, slots=True)
class Note:
    """A note: what it is about, what it says and what it comes from."""

    about: str
    said: str
    source: str


@dataclass(frozen=True, slots=True)
class Given:
    """What one event gave: a page as ``text``, or ``notes``; ``prompt`` is what was asked before it.

    ``withheld``: why nothing of it is shown.
    """

    event: str
    time: datetime | None
    text: str = ""
    notes: tuple[Note, ...] = ()
    prompt: str = ""
    withheld: str = ""


def read_given(site: Site, path: str, limit: int) -> tuple[list[Given], int]:
    """Return what a session was given first, at most ``limit``, and how many more there are.

    Raise OSError when its transcript cannot be read.
    """
    reader, screen = Reader(), Screen(site.home)
    turns: list[Turn] = []
    given: list[Given] = []
    more = 0
    with Path(path).open("rb") as file:
        for line in file:
            seen = objects(line) if FENCE.encode() in line else ()
            for each in chain.from_iterable(map(_context, seen)):
                if len(given) < limit:
                    given.append(_event_view(site, screen, turns, *each))
                else:
                    more += 1
            turns += reader.read((line,))
    return given, more


def _context(value: Json) -> Iterator[tuple[str, datetime | None, str, str]]:
    """Yield event, time, folder and text of what a hook of memoria added to the context."""
    attachment = value.get("attachment")
    if not isinstance(attachment, dict) or attachment.get("type") != "hook_additional_context":
        return
    content = attachment.get("content")
    for text in content if isinstance(content, list) else [content]:
        if isinstance(text, str) and FENCE in text:
            event, time = str(attachment.get("hookEvent", "")), clock.parse(value.get("timestamp"))
            yield event, time, str(value.get("cwd", "")), text


def _event_view(
    site: Site, screen: Screen, turns: Sequence[Turn], event: str, time: datetime | None, folder: str, text: str
) -> Given:
    """Return what an event gave, after these ``turns``."""
    withheld = screen.exclusion(folder)
    asked = None
    if event != START:
        asked = next((turn for turn in reversed(turns) if turn.role == "user"), None)
    if asked and not withheld:
        withheld = screen.reason(asked)
    if withheld:
        return Given(event, time, withheld=withheld)
    text = site.redact(screen.tombstones.purge(text))
    if event == START:
        return Given(event, time, text)
    prompt = site.redact(asked.text) if asked else ""
    rows = filter(None, map(_ROW.match, text.split("\n")))
    notes = tuple(Note(row["about"], row["said"], row["source"] or "") for row in rows)
    return Given(event, time, "" if notes else text, notes, prompt)
