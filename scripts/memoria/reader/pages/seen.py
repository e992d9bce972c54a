"""Seen: what memoria gave a session: the page that it started with, and each note, with why and whether it was used."""

from __future__ import annotations

from memoria.reader import address, seen, sessions
from memoria.reader.catalog import Catalog, slug_of
from memoria.reader.seen import Given
from memoria.reader.site import Site
from memoria.reader.view import Asked, View, missing

MAX_GIVEN = 60  # that one page shows
EVENTS = {
    "SessionStart": "The session started with",
    "UserPromptSubmit": "Beside your prompt",
    "PreToolUse": "Before a tool was used",
    "PostToolUseFailure": "After an error",
    "SubagentStart": "For a sub-agent",
}


def show(site: Site, asked: Asked) -> View:
    """Return what a session was given."""
    ident = asked.path["ident"]
    one = sessions.find(site, ident)
    if one is None:
        return missing("There is no such session, or nothing of it is known any more.")
    given, more, is_there = list[Given](), 0, bool(one.transcript)
    try:
        if is_there:
            given, more = seen.of_transcript(site, one.transcript, MAX_GIVEN)
    except OSError:
        is_there = False
    keys = [] if given else seen.keys_of(site.home, ident)
    values = {
        "session": one,
        "label": site.catalog.label(one.project),
        "given": given,
        "more": more,
        "is_there": is_there,
        "keys": [(key, path_of(key.partition(" ")[0], site.catalog)) for key in keys],
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
