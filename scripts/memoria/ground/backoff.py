"""Backoff: how long to wait before the next try; pure functions, no clock and no dice inside."""

from __future__ import annotations

MAX_DELAY_S = 6 * 3600.0  # seconds; no wait after a failure is longer
MAX_WAIT_S = 26 * 3600.0  # a wait for the budget ends tomorrow, on the longest day


def delay(attempt: int, roll: float, *, first_s: float = 60.0, most_s: float = MAX_DELAY_S) -> float:
    """Seconds to wait after the ``attempt``-th failure (1, 2, ...): doubling, at most ``most_s``, with jitter.

    ``roll`` in [0, 1) spreads the wait over its upper half, so that many jobs do not come back at once (equal jitter,
    as in AWS Architecture Blog, "Exponential Backoff And Jitter", 2015).
    """
    whole = min(most_s, first_s * 2.0 ** min(max(attempt, 1) - 1, 30))
    return whole / 2 + whole / 2 * roll


def is_on(not_before: float, now: float) -> bool:
    """Whether the next try is yet to come (seconds since the epoch); one later than any was set by a wrong clock."""
    return 0 < not_before - now <= MAX_WAIT_S
