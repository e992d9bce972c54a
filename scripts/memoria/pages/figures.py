"""Figures: what memoria recalled, learned and cost in one session or on one day."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from memoria.base.paths import Paths, safe_name
from memoria.base.visibility import Visibility
from memoria.daily.ledger import Ledger
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.ground.printable import counted
from memoria.models import budget
from memoria.recall import shown_notes
from memoria.search.reader import Finder, UnreadableError
from memoria.statements.fact import GLOBAL
from memoria.statements.store import Store

MAX_TEXT = 400  # characters of a recalled note
LEAST_USD = 0.005  # what rounds to a cent


def of_session(home: Home, session: str) -> dict[str, Any]:
    """Return what a session was shown and what was learned in it, as JSON-able data.

    Notes that were forgotten since are left out. ``watch`` names the files that change when the answer does.
    """
    databases = (home.paths.index, home.paths.facts, home.paths.ledger)
    return {
        "session": session,
        "recalled": _recalled(home, session),
        "learned": _learned(home.paths, session),
        "today_usd": spent(home.paths, *budget.day_bounds(clock.now(), home.zone)),
        "watch": [str(Path(home.paths.hints, safe_name(session)))]
        + [path + end for path in databases for end in ("", "-wal")],
    }


def line(recalled: int, learned: int, usd: float) -> str:
    """Return figures as one line; ``""`` when nothing was recalled, learned or spent."""
    if not (recalled or learned or usd):
        return ""
    cost = [f"${usd:.2f}" if usd >= LEAST_USD else "less than $0.01"] if usd else []
    return " · ".join([f"{counted(recalled, 'note')} recalled", f"{learned:,} learned", *cost])


def spent(paths: Paths, start: datetime, end: datetime) -> float:
    """Return the dollars that model calls cost between two times."""
    with closing(Ledger.of(paths)) as ledger:
        calls = ledger.calls_since(start)
    return round(sum(call.cost_usd for when, call in calls if when < end), 6)


def shown_between(paths: Paths, start: datetime, end: datetime) -> int:
    """Return how many notes all sessions were shown between two times."""
    first, last = start.timestamp(), end.timestamp()
    return sum(
        1
        for path in Path(paths.hints).glob("*")
        for row in shown_notes.read(str(path))
        if "key" in row and isinstance(at := row.get("at"), (int, float)) and first <= at < last
    )


def _recalled(home: Home, session: str) -> list[dict[str, Any]]:
    view = Visibility(home.settings, home.paths)
    try:
        with Finder(home.paths.index) as finder:
            hits = [hit for key in _documents(home.paths, session) if (hit := finder.at(key, view))]
    except UnreadableError:
        return []
    return [
        {
            "id": hit.anchor, "kind": hit.kind, "title": hit.title, "text": hit.passages[0][:MAX_TEXT],
            "source": hit.key, "date": hit.date, "is_global": hit.kind == "fact" and not hit.project,
        }
        for hit in hits
    ]  # fmt: skip


def _documents(paths: Paths, session: str) -> dict[str, None]:
    """Return the keys of the documents whose notes a session and its sub-agents were shown, in order."""
    return dict.fromkeys(
        str(row["key"]).partition(" ")[0]
        for path in _note_files(paths, session)
        for row in shown_notes.read(str(path))
        if "key" in row
    )


def _note_files(paths: Paths, session: str) -> Iterator[Path]:
    own = Path(paths.hints, safe_name(session))
    yield own
    yield from sorted(own.parent.glob(f"{own.name}.*"))


def _learned(paths: Paths, session: str) -> list[dict[str, Any]]:
    with Store.of(paths) as store:
        facts = [fact for fact in store.facts() if fact.session == session]
    return [
        {"id": fact.id, "kind": fact.kind, "text": fact.content, "is_global": GLOBAL in fact.projects} for fact in facts
    ]
