"""Gate: decide when a compile is due.

``waiting`` is the one answer to what waits and can be compiled, for the gate and for the compile.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from datetime import datetime, timedelta

from memoria.base.visibility import Visibility
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Booked, Ledger, compile_job
from memoria.ground import clock
from memoria.ground.home import Home

FIRST_ENTRIES = 12  # while fewer are in the wiki there is little to read, and new ones do not wait for the interval
COMPILED = "last_compile"  # in the ledger: when a compile last began
FAILED = "last_compile_failed"
ELSEWHERE = "elsewhere"  # the entries that another machine wrote, which compiles them
ELSEWHERE_DAYS = 7  # after which they are compiled here, if that machine has not met us since


def compile_due(
    uncompiled: int, compiled: int, last: datetime | None, now: datetime, interval_min: float, *, failed: bool = False
) -> bool:
    """Return whether entries wait to be compiled and the interval since the last compile, if any, has passed.

    The first entries do not wait for the interval, unless the last compile ``failed``. The clock may have been set back
    since the last compile.
    """
    is_first = compiled < FIRST_ENTRIES and not failed
    has_passed = last is None or abs(now - last) >= timedelta(minutes=interval_min)
    return uncompiled > 0 and (is_first or has_passed)


def waiting_entries(ledger: Ledger, home: Home, day: str = "", *, everything: bool = False) -> list[Booked]:
    """Return the entries that a compile can take in, as ``find_compilable`` does, after a look at the daily logs."""
    DailyLog(home.paths).refresh(ledger)
    return find_compilable(ledger, home, day, everything=everything)


def find_compilable(ledger: Ledger, home: Home, day: str = "", *, everything: bool = False) -> list[Booked]:
    """Return the entries, optionally of one day, that a compile can take in: in their daily logs, of no hidden project.

    With ``everything``, also those that a compile has taken in or set aside, or that another machine is to compile.
    """
    visible = Visibility(home.settings, home.paths)
    found = ledger.entries(waiting=not everything, day=day)
    elsewhere = () if everything else ledger.get(ELSEWHERE) or ()
    young = (home.zone.day(clock.now()) - timedelta(days=ELSEWHERE_DAYS)).isoformat()
    found = [entry for entry in found if entry.id not in elsewhere or entry.day < young]
    return [entry for entry in found if not visible.hides(entry.project)]


def is_due(ledger: Ledger, home: Home, seen: Set[str] | None = None) -> bool:
    """Return whether a compile is due now; after a compile that has ``seen`` these jobs, only for another one."""
    entries = waiting_entries(ledger, home)
    if seen is not None and jobs(entries) <= seen:
        return False
    last, failed = clock.parse(ledger.get(COMPILED)), bool(ledger.get(FAILED))
    uncompiled = len(entries) + ledger.count_by_hand()
    interval_min = home.settings.compile_interval_min
    return compile_due(uncompiled, ledger.count_compiled(), last, clock.now(), interval_min, failed=failed)


def jobs(entries: Iterable[Booked]) -> set[str]:
    """Return what names these entries with their texts."""
    return {compile_job(entry.id, entry.text) for entry in entries}
