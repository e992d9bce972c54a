"""Receipt: the numbers of ``memoria verify``, and what model calls cost by project."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from memoria.audit.changes import MISSING, Changes
from memoria.audit.receipt import CAPTURED, REPEATED, SKIPPED, WORDS, own_turns
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.reader.site import Asked, Site, View

PERIOD = 31  # days
ROWS = 12  # rows of a table of costs
SEVERAL, HIDDEN = "several projects", "excluded projects"


@dataclass(frozen=True, slots=True)
class Share:
    """A row of costs: dollars, tokens, and its percentage of the largest row."""

    name: str
    usd: float
    tokens: int
    percent: float


def show(site: Site, _: Asked) -> View:
    """Return the receipt, with the costs of the last days."""
    with closing(Ledger(site.home.paths)) as ledger:
        values = _turns(site, ledger) | _costs(site, ledger)
    return View("receipt.html", "Receipt", values)


def _turns(site: Site, ledger: Ledger) -> dict[str, Any]:
    """Return the numbers of the last comparison, and how many transcripts have changed since."""
    checked = ledger.check_results()
    fates: Counter[str] = Counter()
    for _, counts in checked.values():
        fates.update(counts)
    own = own_turns(fates)
    changes = Changes(site.home, ledger, Spool(site.home.paths.spool))
    return {
        "total": sum(own.values()),
        "transcripts": sum(bool(counts) for _, counts in checked.values()),
        "fates": [(fate, said, own.get(fate, 0)) for fate, said in WORDS.items() if own.get(fate) or fate == CAPTURED],
        "skipped": sorted((fate.removeprefix(SKIPPED), n) for fate, n in own.items() if fate.startswith(SKIPPED)),
        "repeated": fates[REPEATED],
        "missing": own.get(MISSING, 0),
        "due": sum(map(changes.is_due, changes.transcripts())),
    }


def _costs(site: Site, ledger: Ledger) -> dict[str, Any]:
    today = site.today
    visible = site.visible()
    start = site.home.zone.midnight(today)
    by_project: dict[str, tuple[float, int]] = {}
    calls = ledger.calls_since(site.home.zone.midnight(today - timedelta(days=PERIOD - 1)))
    for _, call in calls:
        shown = site.catalog.label(call.project) if visible.shows(call.project) else HIDDEN
        name = shown if call.project else SEVERAL
        usd, tokens = by_project.get(name, (0.0, 0))
        by_project[name] = usd + call.cost_usd, tokens + call.input_tokens + call.output_tokens
    return {
        "period": PERIOD,
        "calls": len(calls),
        "spent": sum(usd for usd, _ in by_project.values()),
        "spent_today": sum(call.cost_usd for when, call in calls if when >= start),
        "limit": site.home.settings.daily_budget_usd,
        "by_project": _shares(by_project),
    }


def _shares(sums: dict[str, tuple[float, int]]) -> list[Share]:
    ranked = sorted(sums.items(), key=lambda each: (-each[1][0], -each[1][1], each[0]))
    most = max((usd for usd, _ in sums.values()), default=0.0) or 1.0
    return [Share(name, usd, tokens, round(100 * usd / most, 1)) for name, (usd, tokens) in ranked[:ROWS]]
