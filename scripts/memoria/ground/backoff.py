"""Backoff: how long to wait before the next attempt, as pure functions without a clock or randomness of their own."""

from __future__ import annotations

MAX_DELAY_S = 6 * 3600.0  # after a failure
MAX_WAIT_S = 26 * 3600.0  # for any reason; a wait for tomorrow's budget can take 25 hours when clocks go back


def delay(attempt: int, jitter: float, *, first_s: float = 60.0, max_s: float = MAX_DELAY_S) -> float:
    """Return the seconds to wait after the ``attempt``-th failure (1, 2, ...), doubled each time up to ``max_s``.

    ``jitter``, a random number in [0, 1), spreads the wait over its upper half, so that many jobs do not come back at
    once ("equal jitter" in AWS Architecture Blog, "Exponential Backoff And Jitter", 2015).
    """
    whole = min(max_s, first_s * 2.0 ** min(max(attempt, 1) - 1, 30))
    return whole / 2 + whole / 2 * jitter


def is_on(not_before: float, now: float) -> bool:
    """Return whether to go on waiting (times in seconds since the epoch); too long a wait was set by a wrong clock."""
    return 0 < not_before - now <= MAX_WAIT_S
