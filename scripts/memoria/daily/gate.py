"""Gate: decide when a compile is due, as a pure function."""

from __future__ import annotations

from datetime import datetime, timedelta


def compile_due(uncompiled: int, last: datetime | None, now: datetime, interval_min: float) -> bool:
    """Return whether entries wait to be compiled and the interval since the last compile, if any, has passed.

    A last compile in the future (the clock was set back) is ignored.
    """
    if uncompiled == 0:
        return False
    return last is None or last > now or now - last >= timedelta(minutes=interval_min)
