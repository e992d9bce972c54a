"""Clock: the current time, the user's time zone, and how long to wait after a failure.

Inside memoria, all times are timezone-aware UTC; only text for people uses their zone.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo

MAX_DELAY_S = 6 * 3600.0  # after a failure
MAX_WAIT_S = 26 * 3600.0  # for any reason; a wait for tomorrow's budget can take 25 hours when clocks go back


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def parse(text: object) -> datetime | None:
    """Return an ISO 8601 time such as ``2026-11-21T09:30:00.123Z`` in UTC, or None when ``text`` is not one."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def from_epoch(seconds: float) -> datetime:
    """Return the time (UTC) so many seconds after the epoch."""
    return datetime.fromtimestamp(seconds, UTC)


def find_zone(name: str) -> tzinfo | None:
    """Return the time zone of an IANA name, None when there is none."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415 (only for who has set a zone)

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def is_day(text: str) -> bool:
    """Return whether ``text`` is a day in ISO 8601, such as ``2026-11-21``."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def backoff(attempt: int, jitter: float) -> float:
    """Return the seconds to wait after the ``attempt``-th failure (1, 2, ...): 60, doubled up to six hours.

    ``jitter``, a random number in [0, 1), spreads the wait over its upper half, so that many jobs do not come back at
    once ("equal jitter" in AWS Architecture Blog, "Exponential Backoff And Jitter", 2015).
    """
    whole = min(MAX_DELAY_S, 60 << attempt - 1)
    return whole / 2 + whole / 2 * jitter


def is_waiting(not_before: float, now: float) -> bool:
    """Return whether to go on waiting (times in seconds since the epoch); too long a wait was set by a wrong clock."""
    return 0 < not_before - now <= MAX_WAIT_S


class Zone:
    """The user's time zone: the setting ``tz`` when it names a known zone, else the system's."""

    def __init__(self, name: str = "") -> None:
        # None means the system's, with its daylight saving rules.
        self.zone: tzinfo | None = find_zone(name) if name else None

    def to_local(self, moment: datetime) -> datetime:
        """Return the moment as the user's wall clock shows it."""
        try:
            return moment.astimezone(self.zone)
        except OverflowError:  # a forged time at the end of the calendar
            return moment

    def day(self, moment: datetime) -> date:
        """Return the user's calendar day at this moment."""
        return self.to_local(moment).date()

    def midnight(self, day: date) -> datetime:
        """Return the moment (UTC) at which the user's calendar day begins."""
        return datetime(day.year, day.month, day.day, tzinfo=self.zone).astimezone(UTC)
