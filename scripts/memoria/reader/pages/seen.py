"""Seen: what memoria gave a session: the page that it started with, and each note.

Claude Code writes into the transcript what hooks add to the context, with the time and the event (from version 2.1.92
on), so that nothing is recorded twice. The transcript still has what memoria may not keep: secrets, what was forgotten,
and what was said in a folder that was excluded since. None of it is returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memoria.ground import clock
from memoria.reader import address
from memoria.reader.catalog import Catalog, slug_of
from memoria.reader.pages import sessions
from memoria.reader.site import Asked, Site, View, not_found
from memoria.transcripts import client_files
from memoria.transcripts.client_files import Json, objects
from memoria.transcripts.screen import Screen
from memoria.transcripts.turn import Turn
from memoria.transcripts.turn_reader import Reader

MAX_GIVEN = 60  # that one page shows
EVENTS = {
    "SessionStart": "The session started with",
    "UserPromptSubmit": "Beside your prompt",
    "PreToolUse": "Before a tool was used",
    "PostToolUseFailure": "After an error",
    "SubagentStart": "For a sub-agent",
}
FENCE = "<memoria-notes"
START, PROMPT = "SessionStart", "UserPromptSubmit"
_ROW = re.compile(r"^- \[(?P<about>[^\]]*)\] (?P<said>.*?)(?: \((?P<source>[^()]*)\))?$")


def show(site: Site, asked: Asked) -> View:
    """Return what a session was given."""
    ident = asked.path["ident"]
    one = sessions.find(site, ident)
    if one is None:
        return not_found("There is no such session, or nothing of it is known any more.")
    given, more, is_there = list[Given](), 0, bool(one.transcript)
    try:
        if is_there:
            given, more = of_transcript(site, one.transcript, MAX_GIVEN)
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
        "local": site.local,
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


@dataclass(slots=True)
class _Seen:
    event: str
    time: datetime | None
    folder: str
    text: str
    before: int  # number of turns that were said before


def of_transcript(site: Site, path: str, limit: int) -> tuple[list[Given], int]:
    """Return what a session was given first, at most ``limit``, and how many more there are.

    Raise OSError when its transcript cannot be read.
    """
    reader = Reader(keep_sidechains=False)
    turns: list[Turn] = []
    found: list[_Seen] = []
    with client_files.open_lines(Path(path)) as file:
        for line in file:
            if FENCE.encode() in line:
                found += (_Seen(*each, len(turns)) for value in objects(line) for each in _context(value))
            turns += reader.read((line,))
    turns += reader.settle()
    screen = Screen.of(site.home)
    return [_event_view(site, screen, each, turns) for each in found[:limit]], max(0, len(found) - limit)


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


def _event_view(site: Site, screen: Screen, seen: _Seen, turns: Sequence[Turn]) -> Given:
    withheld = screen.excluded(seen.folder)
    asked = None
    if seen.event != START:
        asked = next((turn for turn in reversed(turns[: seen.before]) if turn.role == "user"), None)
    if asked and not withheld:
        asked, withheld = screen.shown(asked, has_excluded=False)
    if withheld:
        return Given(seen.event, seen.time, withheld=withheld)
    text = site.redact(screen.tombstones.without(seen.text))
    if seen.event == START:
        return Given(seen.event, seen.time, text)
    prompt = site.redact(asked.text) if asked else ""
    rows = filter(None, map(_ROW.match, text.split("\n")))
    notes = tuple(Note(row["about"], row["said"], row["source"] or "") for row in rows)
    return Given(seen.event, seen.time, "" if notes else text, notes, prompt)
