"""Inquiry: a question answered by a model, and a statement traced to its words, on behalf of one project's session.

Shows nothing of projects that may not be shown, no secret, and no text that the user had forgotten, although a trace
reads the client's own transcripts, where all of it still is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.mcp import question
from memoria.mcp.answers import NOTES, fitting, flat
from memoria.mcp.origin import Claimed, Origin, Trace, Tracer, said
from memoria.transcripts.screen import Tombstones

if TYPE_CHECKING:
    from memoria.mcp.calls import Session
    from memoria.mcp.tools import Json

MAX_CLAIMS = 12  # of one article that are traced in one answer
TURN_CHARS = 1_200


def query(session: Session, given: Json) -> str:
    """Return what a model answers from the memory, with links that were checked, or the passages it would read."""
    home, asked = session.home, session.redactor.redact(given["question"])
    try:
        with Index(home.paths.index) as index:
            sources.refresh(index, home.paths)
            passages = question.found(index, asked, session.visible)
    except (sqlite3.Error, OSError) as error:
        raise ExpectedError(f"the search index cannot be used now ({error}); read pages by path instead") from error
    answer, reason = question.ask(home, asked, passages, session.project.key) if passages else (None, "")
    return _fenced("\n".join(question.lines(answer, passages, reason)))


def why(session: Session, given: Json) -> str:
    """Return the entries and turns that a statement, an article, an entry or a fact rests on."""
    try:
        clean = _Cleaner(session)
        tracer = Tracer(session.home, session.visible.shows, has_excluded=False)
        shown: list[str] = []
        for claimed in tracer.claimed(given["statement"])[:MAX_CLAIMS]:
            traces = [tracer.trace(source, claimed.words) for source in claimed.sources]
            shown += _rows(claimed, traces, session.home, clean)
    except (sqlite3.Error, OSError) as error:
        raise ExpectedError(f"the memory cannot be read now ({error}); try again later") from error
    if not shown:
        raise ExpectedError("nothing in memory says this; search for it, and give an id or a title from its results")
    return _fenced("\n".join(shown).strip())


def _rows(claimed: Claimed, traces: Sequence[Trace], home: Home, clean: _Cleaner) -> Iterator[str]:
    yield f"{clean(claimed.text)}\n  in {claimed.place}"
    if not traces:
        is_fact = claimed.place.startswith("daily/")
        yield f"  learned from: {clean(claimed.words)}" if is_fact else "  names no source, or it was forgotten"
    for trace in traces:
        if trace.entry is None:
            yield f"  from {trace.source}, which is not in the daily logs any more"
            continue
        yield f"  from {trace.source} · {trace.entry.time} · {trace.entry.project} · {clean(trace.entry.title)}"
        if not any(origin.turn for origin in trace.matching):
            is_withheld = any(origin.withheld for origin in trace.matching)
            yield f"    its turns are {'not shown' if is_withheld else 'no longer kept'}"
        yield from (_turn(origin, home, clean) for origin in trace.matching if origin.turn)
    yield ""


def _turn(origin: Origin, home: Home, clean: _Cleaner) -> str:
    turn = origin.turn
    assert turn is not None  # noqa: S101 (others are left out)
    when = f"{home.zone.local(turn.time):%Y-%m-%d %H:%M} " if turn.time else ""
    return f"    {when}{turn.role}: {clean(said(origin)) or '(forgotten)'}"


class _Cleaner:
    """Makes one line of stored text, without secrets and without what the user had forgotten."""

    def __init__(self, session: Session) -> None:
        self.redact = session.redactor.redact
        self.forgotten = Tombstones.of(session.home.paths)

    def __call__(self, text: str) -> str:
        redacted = self.redact(text)
        rest = self.forgotten.without(redacted)
        if rest == redacted and self.forgotten.holds(text):  # what was redacted is part of what was forgotten
            return ""
        return flat(rest, TURN_CHARS)


def _fenced(text: str) -> str:
    block, length = fitting("memory", text)
    return f"{NOTES}{' Only the beginning is shown.' if length < len(text) else ''}\n{block}"
