"""Entry: the summary of one part of a session, and the conversation behind it; also as the card of a claim's source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memoria.daily.entry import Entry
from memoria.ground import printable
from memoria.mcp.origin import Origin, Trace, Tracer
from memoria.reader import address
from memoria.reader.markdown import Html
from memoria.reader.pages import article
from memoria.reader.site import Asked, Site, View, not_found
from memoria.search.words import shorten
from memoria.transcripts import clients

PAGE_TURNS = 60  # of a conversation on one page
CARD_CHARS = 420  # of the user's words on a card
_WHO = {"user": "You", "error": "Error", "note": "Note"}


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn as the page shows it; ``is_matching``: it shares words with the claim that led here.

    ``withheld``: why nothing of it is shown.
    """

    who: str
    role: str
    time: str
    html: Html
    text: str
    tools: tuple[str, ...]
    is_matching: bool
    withheld: str = ""


def show(site: Site, asked: Asked) -> View:
    """Return an entry's page, with the turns that a claim came from marked."""
    entry, trace, claim = _trace(site, asked)
    if entry is None or trace is None:
        return not_found("There is no such entry. It may have been forgotten.")
    present = [origin for origin in trace.origins if origin.turn or origin.withheld]
    marked = {origin.key for origin in trace.matching} if claim else set()
    first = next((number for number, origin in enumerate(present) if origin.key in marked), 0)
    query = {"page": str(first // PAGE_TURNS + 1), **asked.query}
    shown = address.paginate(present, PAGE_TURNS, address.entry(entry.id), query)
    lists = (
        ("Decisions", entry.decisions), ("Lessons", entry.lessons), ("Open items", entry.action_items),
        ("Key exchanges", entry.key_exchanges),
    )  # fmt: skip
    values = _context(site, entry) | {
        "claim": claim,
        "slug": asked.query.get("of", ""),
        "digest": asked.query.get("claim", ""),
        "turns": [_turn_view(site, entry, origin, marked) for origin in shown.items],
        "absent": len(trace.origins) - len(present),
        "shown": shown,
        "lists": [(name, [site.markdown.line(text) for text in texts]) for name, texts in lists if texts],
        "context": site.markdown.line(entry.context),
        "facts": [(fact, site.markdown.line(fact.text)) for fact in entry.learned],
    }
    return View("entry.html", entry.title, values)


def source(site: Site, asked: Asked) -> View:
    """Return the card of a claim's source: the entry, the user's own words, and the day."""
    entry, trace, _ = _trace(site, asked)
    if entry is None or trace is None:
        return View("parts/source.html", values={"entry": None})
    words = [origin.turn for origin in trace.matching if origin.turn and origin.turn.role == "user"]
    said = words[-1] if words else None
    values = _context(site, entry) | {
        "quote": shorten(printable.line(site.redact(said.text)), CARD_CHARS) if said else "",
        "time": f"{site.home.zone.to_local(said.time):%H:%M}" if said and said.time else entry.time,
        "slug": asked.query.get("of", ""),
        "digest": asked.query.get("claim", ""),
    }
    return View("parts/source.html", values=values)


def _trace(site: Site, asked: Asked) -> tuple[Entry | None, Trace | None, str]:
    """Return the entry that is asked for, its turns, and the claim (``of`` and ``claim``) that led to it."""
    booked = site.catalog.entries.get(asked.path["ident"])
    if booked is None:
        return None, None, ""
    claim = _claim(site, asked.query.get("of", ""), asked.query.get("claim", ""))
    trace = Tracer(site.home, site.visible()).trace(f"daily/{booked.day}#^e-{booked.id}", claim or booked.title)
    return trace.entry, trace, claim


def _claim(site: Site, slug: str, digest: str) -> str:
    if not digest or slug not in site.catalog.rows:
        return ""
    try:
        page = article.read(site, slug)
    except ValueError:
        return ""
    claims = [*page.claims, *page.history] if page else []
    return next((claim.text for claim in claims if claim.digest == digest), "")


def _context(site: Site, entry: Entry) -> dict[str, Any]:
    return {"entry": entry, "label": site.catalog.label(entry.project_key)}


def _turn_view(site: Site, entry: Entry, origin: Origin, marked: set[str]) -> Spoken:
    turn = origin.turn
    if turn is None:
        return Spoken("A turn", "note", "", Html(), "", (), is_matching=False, withheld=origin.withheld)
    time = f"{site.home.zone.to_local(turn.time):%Y-%m-%d %H:%M}" if turn.time else ""
    is_answer = turn.role == "assistant"
    who = _WHO.get(turn.role) or clients.speaker(entry.agent)
    text = printable.lines(site.redact(turn.text))
    html = site.markdown.blocks(text.split("\n")) if is_answer else Html()
    tools = tuple(printable.line(site.redact(tool)) for tool in turn.tools)
    return Spoken(who, turn.role, time, html, "" if is_answer else text, tools, origin.key in marked)
