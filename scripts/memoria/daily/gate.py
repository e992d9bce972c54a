"""Gate: decide when a compile is due.

A compile that is due looks at the entries first and puts them off if they can wait for others (``compiling.patience``).
The gate opens again when there is more to take in.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from memoria.daily.ledger import Ledger
from memoria.ground import clock

FIRST_ENTRIES = 12  # while fewer are in the wiki there is little to read, and new ones do not wait for the interval
COMPILED = "last_compile"  # in the ledger: when a compile last began
FAILED = "last_compile_failed"
PUT_OFF = "compile_put_off"  # what waited when a compile was put off


def compile_due(
    uncompiled: int, compiled: int, last: datetime | None, now: datetime, interval_min: float, *, failed: bool = False
) -> bool:
    """Return whether entries wait to be compiled and the interval since the last compile, if any, has passed.

    The first entries do not wait for the interval, unless the last compile ``failed``. A last compile in the future
    (the clock was set back) is ignored.
    """
    if uncompiled == 0:
        return False
    if compiled < FIRST_ENTRIES and not failed:
        return True
    return last is None or last > now or now - last >= timedelta(minutes=interval_min)


def is_due(ledger: Ledger, interval_min: float) -> bool:
    """Return whether a compile is due now, by what the ledger knows."""
    if ledger.get(PUT_OFF) == _waiting(ledger):
        return False
    counts = ledger.counts()
    last, failed = clock.parse(ledger.get(COMPILED)), bool(ledger.get(FAILED))
    compiled = counts["entries"] - counts["uncompiled"]
    return compile_due(counts["uncompiled"], compiled, last, clock.now(), interval_min, failed=failed)


def put_off(ledger: Ledger) -> None:
    """Record that what waits now can wait for more."""
    ledger.put(PUT_OFF, _waiting(ledger))


def _waiting(ledger: Ledger) -> list[str]:
    return [*(entry.id for entry in ledger.entries(waiting=True)), str(ledger.changed())]
