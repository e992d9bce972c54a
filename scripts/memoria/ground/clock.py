"""Clock: what time it is, and what day that is for the user.

All times inside memoria are timezone-aware UTC; only what people read is in their zone.
"""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

log = logging.getLogger(__name__)


def now() -> datetime:
    """The current time, UTC."""
    return datetime.now(UTC)


def parse(text: object) -> datetime | None:
    """Read an ISO 8601 time as the client writes it (``2026-11-21T09:30:00.123Z``); None when it is none."""
    if not isinstance(text, str) or not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is UTC:
        return moment
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        return None


class Zone:
    """The user's time zone: ``MEMORIA_TZ`` when set and known, else the system's."""

    def __init__(self, name: str = "") -> None:
        """An unknown ``name`` is warned about once and the system's zone is used."""
        self.name = name
        self.zone: tzinfo | None = None  # None means the system's, with its daylight saving rules
        if name:
            try:
                self.zone = ZoneInfo(name)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                log.warning("tz: there is no time zone %r; using the system's", name)

    def local(self, moment: datetime) -> datetime:
        """The moment as the user's wall clock shows it."""
        try:
            return moment.astimezone(self.zone)
        except OverflowError:  # a forged time at the calendar's edge
            return moment

    def day(self, moment: datetime) -> date:
        """The user's calendar day at this moment."""
        return self.local(moment).date()
