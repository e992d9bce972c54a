"""Notices: lines for the user at the next session's start, one per kind, each shown once, and one about each day.

SessionStart reads and removes ``state/notice`` (see ``recall``). ``state/told.json`` records the notices that were
given, so that the same notice is not repeated until it has changed or been cleared.

The line about a day is a small file named after the second in which the day ends: the worker writes it while the day
lasts, and the first session that starts afterwards takes it away.
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path

from memoria.base import atomic
from memoria.base.paths import Paths
from memoria.daily.ledger import Ledger
from memoria.ground import clock, files, home_files, locks
from memoria.ground.home import Home
from memoria.ground.printable import amount
from memoria.recall import shown_notes
from memoria.statements.store import Store

log = logging.getLogger(__name__)


def tell(paths: Paths, kind: str, text: str) -> None:
    """Leave a line unless it repeats the last one of this kind, in whose place it stands; no text withdraws that."""
    line = " ".join(text.split())
    with locks.wait(Path(paths.notices_lock)):
        given = _read_given(paths)
        former = given.pop(kind, "")
        if former == line:
            return
        news = {kind: line} if line else {}
        waiting = [*(old for old in _waiting_notices(paths) if old != former), *news.values()]
        if waiting:
            files.replace(Path(paths.notice), "\n".join(waiting) + "\n", mode=atomic.PRIVATE)
        else:
            Path(paths.notice).unlink(missing_ok=True)
        files.replace(Path(paths.notices_given), json.dumps(given | news), mode=atomic.PRIVATE)


def _read_given(paths: Paths) -> dict[str, str]:
    try:
        given = json.loads(home_files.read(paths.notices_given))
    except (OSError, ValueError):
        return {}
    return given if isinstance(given, dict) else {}


def _waiting_notices(paths: Paths) -> list[str]:
    try:
        return home_files.text(paths.notice).splitlines()
    except OSError:
        return []


def prepare_day(home: Home) -> None:
    """Write the line about today, and again those about past days that no session has shown yet.

    A past day's figures may still change: in the morning a worker may learn from what was said in the evening.
    """
    if not home.settings.day_notice:
        return
    today = home.zone.day(clock.now())
    try:
        Path(home.paths.days).mkdir(mode=0o700, exist_ok=True)
        for day in sorted({today, *_unshown_days(home)}):
            _write_day(home, day)
    except OSError as error:  # only the line is lost
        log.warning("the line about the day cannot be written: %s", error)


def _unshown_days(home: Home) -> list[date]:
    names = (path.name for path in Path(home.paths.days).iterdir() if path.name.isdecimal())
    return [home.zone.day(clock.from_epoch(int(name) - 1)) for name in names]


def _write_day(home: Home, day: date) -> None:
    start, end = (home.zone.midnight(day + timedelta(days=days)) for days in (0, 1))
    recalled, usd = _count_shown(home.paths, start, end), _cost(home.paths, start, end)
    with Store(home.paths) as store:
        learned = store.count_of(day)
    if not (recalled or learned or usd):
        return
    figures = f"{amount(recalled, 'note')} recalled · {learned:,} learned · ${usd:.2f}"
    path = os.path.join(home.paths.days, str(int(end.timestamp())))  # noqa: PTH118 (text)
    atomic.replace(path, f"memoria: on {day} {figures}\n".encode())


def _cost(paths: Paths, start: datetime, end: datetime) -> float:
    with closing(Ledger(paths)) as ledger:
        calls = ledger.calls_since(start)
    return sum(call.cost_usd for when, call in calls if when < end)


def _count_shown(paths: Paths, start: datetime, end: datetime) -> int:
    """Return how many notes all sessions were shown between two times."""
    first, last = start.timestamp(), end.timestamp()
    return sum(
        1
        for path in Path(paths.hints).glob("*")
        for row in shown_notes.read(str(path))
        if "key" in row and isinstance(at := row.get("at"), (int, float)) and first <= at < last
    )
