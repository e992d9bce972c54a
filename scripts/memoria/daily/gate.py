"""Gate: when a compile is due. Pure: facts in, a reason out."""

from __future__ import annotations

from datetime import datetime, timedelta


def compile_due(uncompiled: int, last: datetime | None, now: datetime, interval_min: float) -> bool:
    """Whether some entry is not compiled and the interval since the last compile has passed (or there was none).

    A last compile in the future (the clock was set back) counts as none.
    """
    if uncompiled == 0:
        return False
    return last is None or last > now or now - last >= timedelta(minutes=interval_min)
