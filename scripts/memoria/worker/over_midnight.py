"""Over midnight: move facts that a session taught after midnight into its entry, which is of the day before.

They stand in two files, so the ledger holds which facts move until that is done: a worker that is killed in between
leaves them in both, and the next one completes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger

if TYPE_CHECKING:
    from memoria.daily.entry import Entry

MOVING = "moving_facts"  # the ledger's key


def begin(ledger: Ledger, entry: Entry, days: Iterable[date]) -> None:
    """Record that the facts of an entry are to be removed from the logs of other days, before it is written."""
    others = [day.isoformat() for day in sorted({*days} - {entry.day})]
    if others:
        facts = [learned.id for learned in entry.learned]
        ledger.put(MOVING, {"to": entry.day.isoformat(), "from": others, "facts": facts})


def finish_move(ledger: Ledger, daily: DailyLog) -> None:
    """Remove the recorded facts from the other days, as far as an entry holds them now."""
    moving = ledger.get(MOVING)
    if not moving:
        return
    from memoria.statements import lines  # noqa: PLC0415 (only for a session that went on after midnight)

    entries = daily.entries(date.fromisoformat(moving["to"]))
    held = {learned.id for entry in entries for learned in entry.learned}
    drop = partial(lines.without, idents=held.intersection(moving["facts"]))
    for day in moving["from"]:
        daily.rewrite(date.fromisoformat(day), drop)
    ledger.put(MOVING, None)
