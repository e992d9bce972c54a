"""Day report: one line about what memoria did on a day, which the next day's first session shows."""

from __future__ import annotations

import logging
from datetime import date, timedelta
from pathlib import Path

from memoria.ground import clock
from memoria.ground.home import Home
from memoria.pages import figures
from memoria.recall import start_line
from memoria.statements.store import Store

log = logging.getLogger(__name__)


def prepare(home: Home) -> None:
    """Write the line about today, and again those about past days that no session has shown yet.

    A past day's figures may still change: in the morning a worker may learn from what was said in the evening.
    """
    if not home.settings.day_notice:
        return
    today = home.zone.day(clock.now())
    try:
        Path(home.paths.days).mkdir(mode=0o700, exist_ok=True)
        for day in sorted({today, *_waiting(home)}):
            _write(home, day)
    except OSError as error:  # only the line is lost
        log.warning("the line about the day cannot be written: %s", error)


def _waiting(home: Home) -> list[date]:
    names = (path.name for path in Path(home.paths.days).iterdir() if path.name.isdecimal())
    return [home.zone.day(clock.at(int(name) - 1)) for name in names]


def _write(home: Home, day: date) -> None:
    start, end = (home.zone.midnight(day + timedelta(days=days)) for days in (0, 1))
    with Store.of(home.paths) as store:
        learned = store.count_of(day)
    figure = figures.line(figures.shown_between(home.paths, start, end), learned, figures.spent(home.paths, start, end))
    if figure:
        later = home.zone.midnight(day + timedelta(days=2))
        texts = (f"memoria: yesterday {figure}", f"memoria: on {day} {figure}")
        start_line.leave_day(home.paths.days, int(end.timestamp()), int(later.timestamp()), texts)
