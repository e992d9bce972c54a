"""Receipt: the numbers of ``memoria verify``, and what model calls cost by day, project and model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from memoria.audit.changes import MISSING, Changes
from memoria.audit.receipt import (
    ASIDE,
    BEFORE,
    CAPTURED,
    OPEN,
    REPEATED,
    SKIPPED,
    UNHOOKED,
    WAITING,
    check_some,
    not_understood,
)
from memoria.capture import detach
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground.printable import counted
from memoria.models import budget
from memoria.reader import sessions
from memoria.reader.site import Asked, Done, Site, View

PERIODS = (31, 92, 366)  # days
MAX_BARS, WEEK = 100, 7  # days that a plot shows one by one, and how many are one bar in a plot of more
ROWS = 12  # rows of a table of costs
FORMS = 8
_WORDS = {
    CAPTURED: "in the daily logs",
    WAITING: "waiting in the spool for the worker",
    ASIDE: "set aside because they could not be summarised",
    OPEN: "in sessions in progress",
    BEFORE: "from before memoria was installed",
    UNHOOKED: "of other agents, captured by no hook",
    MISSING: "missing",
}
SEVERAL, HIDDEN = "several projects", "excluded projects"
SERIES = 5  # that have a colour of their own; the others are one
HIGH = 100.0
GAP = 0.2  # of a bar's width


@dataclass(frozen=True, slots=True)
class Share:
    """A row of costs: dollars, tokens, and its percentage of the largest row."""

    name: str
    usd: float
    tokens: int
    percent: float


def show(site: Site, asked: Asked) -> View:
    """Return the receipt, with the costs of the last ``?days=``."""
    period = next((days for days in PERIODS if str(days) == asked.query.get("days", "")), PERIODS[0])
    # before the ledger is opened, which alone changes the files beside it
    stamp = sessions.ledger_stamp(site.home), site.today, site.home.settings.daily_budget_usd
    with closing(Ledger.of(site.home.paths)) as ledger:
        costs = partial(_costs, site, ledger, period)
        values = _turns(site, ledger) | site.cached(f"costs {period}", costs, stamp)
    return View("receipt.html", "Receipt", values)


def _turns(site: Site, ledger: Ledger) -> dict[str, Any]:
    """Return the numbers of the last comparison, and how many transcripts have changed since."""
    checked = ledger.checked()
    fates: Counter[str] = Counter()
    for _, counts in checked.values():
        fates.update(counts)
    own = sessions.own_turns(fates)
    changes = Changes(site.home, ledger, Spool(site.home.paths.spool))
    forms = not_understood((path, counts) for path, (_, counts) in checked.items())
    return {
        "total": sum(own.values()),
        "transcripts": sum(bool(counts) for _, counts in checked.values()),
        "fates": [
            (fate, words, own.get(fate, 0)) for fate, words in _WORDS.items() if own.get(fate) or fate == CAPTURED
        ],
        "skipped": sorted((fate.removeprefix(SKIPPED), n) for fate, n in own.items() if fate.startswith(SKIPPED)),
        "repeated": fates[REPEATED],
        "missing": own.get(MISSING, 0),
        "due": sum(map(changes.is_due, changes.transcripts())),
        "forms": forms[:FORMS],
        "more_forms": max(0, len(forms) - FORMS),
    }


def _costs(site: Site, ledger: Ledger, period: int) -> dict[str, Any]:
    today = site.today
    step = WEEK if period > MAX_BARS else 1
    days = [(today - timedelta(days=ago)).isoformat() for ago in range(period - 1, -1, -1)]
    visible = site.visible()
    by_day: dict[tuple[str, str], float] = {}
    by_project: dict[str, tuple[float, int]] = {}
    by_model: dict[str, tuple[float, int]] = {}
    calls = ledger.calls_since(site.home.zone.midnight(today - timedelta(days=period - 1)))
    for (day, key, model), used in budget.totals(calls, site.home.zone).items():
        name = (site.catalog.label(key) if visible.shows(key) else HIDDEN) if key else SEVERAL
        by_day[day.isoformat(), name] = by_day.get((day.isoformat(), name), 0.0) + used.cost_usd
        for sums, group in ((by_project, name), (by_model, model)):
            usd, tokens = sums.get(group, (0.0, 0))
            sums[group] = usd + used.cost_usd, tokens + used.input_tokens + used.output_tokens
    limit = site.home.settings.daily_budget_usd
    return {
        "period": period,
        "periods": PERIODS,
        "calls": len(calls),
        "spent": sum(usd for usd, _ in by_project.values()),
        "spent_today": sum(usd for (day, _), usd in by_day.items() if day == today.isoformat()),
        "limit": limit,
        "plot": stack_bars(days[::step], group_days(days, by_day, step), limit * step),
        "first_day": days[0],
        "unit": "day" if step == 1 else "week",
        "by_project": _shares(by_project),
        "by_model": _shares(by_model),
    }


def _shares(sums: dict[str, tuple[float, int]]) -> list[Share]:
    ranked = sorted(sums.items(), key=lambda each: (-each[1][0], -each[1][1], each[0]))
    most = max((usd for usd, _ in sums.values()), default=0.0) or 1.0
    return [Share(name, usd, tokens, round(100 * usd / most, 1)) for name, (usd, tokens) in ranked[:ROWS]]


def compare(site: Site, _: Asked) -> Done:
    """Compare the transcripts that have changed, as many as a worker does at its start, and capture what is missing."""
    with closing(Ledger.of(site.home.paths)) as ledger:
        spool = Spool(site.home.paths.spool)
        spooled = check_some(site.home, ledger, spool)
        changes = Changes(site.home, ledger, spool)
        left = sum(map(changes.is_due, changes.transcripts()))
    said = [f"{counted(left, 'transcript')} left to compare." if left else "All transcripts are compared."]
    if spooled:
        detach.start_worker(site.home.settings, site.home.paths)
        said.append(f"Turns that were missing in {counted(len(spooled), 'session')} are being captured.")
    return Done("/receipt", " ".join(said))


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a bar: its place in the picture, the number of its colour, and what it says."""

    x: float
    y: float
    width: float
    height: float
    colour: int
    said: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture: ``names`` are the series in the order of their colours, ``top`` is the value at its upper edge.

    ``line`` is how far from the upper edge the line is drawn, None for no line.
    """

    bars: tuple[Bar, ...]
    names: tuple[str, ...]
    top: float
    line: float | None


def group_days(days: Sequence[str], values: Mapping[tuple[str, str], float], step: int) -> dict[tuple[str, str], float]:
    """Return values by the first of each ``step`` days and by series."""
    first = {day: days[number - number % step] for number, day in enumerate(days)}
    sums: dict[tuple[str, str], float] = {}
    for (day, name), value in values.items():
        if day in first:
            sums[first[day], name] = sums.get((first[day], name), 0.0) + value
    return sums


def stack_bars(days: Sequence[str], values: Mapping[tuple[str, str], float], limit: float = 0.0) -> Plot:
    """Return bars for days; ``values`` are by day and series, ``limit`` is where the line is drawn, 0 for nowhere."""
    sums: dict[str, float] = {}
    for (_, name), value in values.items():
        sums[name] = sums.get(name, 0.0) + value
    ranked = sorted(sums, key=lambda name: (-sums[name], name))
    named, rest = ranked[:SERIES], ranked[SERIES:]
    top = max([limit * 1.25, *(sum(values.get((day, name), 0.0) for name in ranked) for day in days)], default=0.0)
    top = top or 1.0
    bars: list[Bar] = []
    width = HIGH / max(1, len(days))
    for place, day in enumerate(days):
        parts = [(name, values.get((day, name), 0.0)) for name in named]
        parts.append(("others", sum(values.get((day, name), 0.0) for name in rest)))
        bottom = HIGH
        for colour, (name, value) in enumerate(parts):
            if value > 0:
                height = value / top * HIGH
                bottom -= height
                said = f"{day} · {name}: ${value:.4f}"
                bars.append(Bar(round(place * width + GAP / 2 * width, 3), round(bottom, 3),
                                round(width * (1 - GAP), 3), round(height, 3), colour, said))  # fmt: skip
    line = round(HIGH - limit / top * HIGH, 3) if limit else None
    return Plot(tuple(bars), (*named, *(["others"] if rest else [])), top, line)
