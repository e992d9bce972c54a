"""Budget: whether a model call may be made now, and what calls came to. Pure: booked calls in, a decision out.

A day is the user's calendar day. What would go over the day's budget waits for the next midnight there; nothing is
dropped. Knows numbers and times; does not know jobs, models or prices, and reads no clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from memoria.daily.ledger import Call
from memoria.ground.clock import Zone
from memoria.ground.usage import Usage

Paid = tuple[datetime, Call]


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to call. When not: until when to wait (UTC; None: waiting will not help) and one sentence for people.

    ``spent_usd``: what the day's calls have cost before this one.
    """

    may_call: bool
    spent_usd: float
    until: datetime | None = None
    reason: str = ""


def decide(
    calls: Iterable[Paid], now: datetime, zone: Zone, *, daily_usd: float, call_usd: float, estimate_usd: float = 0.0
) -> Decision:
    """Whether a call estimated at ``estimate_usd`` may be made at ``now`` (UTC). A limit of 0 is no limit.

    ``calls`` may hold older ones too. Calls booked in the future (the clock was set back) count as today's: a wrong
    clock must not open the purse.
    """
    start, end = day_bounds(now, zone)
    spent = sum(call.cost_usd for when, call in calls if when >= start)
    if call_usd and estimate_usd > call_usd:
        return Decision(False, spent, None, _over("call_budget_usd", "one call", estimate_usd, call_usd))
    if not daily_usd or spent + estimate_usd <= daily_usd:
        return Decision(True, spent)
    if estimate_usd > daily_usd:
        return Decision(False, spent, None, _over("daily_budget_usd", "one call", estimate_usd, daily_usd))
    reason = (
        f"today's ${spent:.2f} and the next call's ${estimate_usd:.2f} would exceed daily_budget_usd "
        f"(${daily_usd:.2f}); the work waits until {zone.local(end):%Y-%m-%d %H:%M}"
    )
    return Decision(False, spent, end, reason)


def _over(setting: str, what: str, estimate: float, limit: float) -> str:
    return f"{what} would cost about ${estimate:.2f}, over {setting} (${limit:.2f}); raise it, or lower call_chars"


def day_bounds(now: datetime, zone: Zone) -> tuple[datetime, datetime]:
    """The first moment of the user's day and of the next one, UTC; a day of a clock change has 23 or 25 hours."""
    today = zone.day(now)
    return _midnight(today, zone), _midnight(today + timedelta(days=1), zone)


def _midnight(day: date, zone: Zone) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone.zone).astimezone(UTC)


def estimate(calls: Iterable[Paid], model: str, tokens: int) -> float:
    """Dollars that ``tokens`` (in and out together) will cost, by what its calls cost so far; 0: unknown."""
    paid = [call for _, call in calls if call.model == model]
    used = sum(call.input_tokens + call.output_tokens for call in paid)
    return tokens * sum(call.cost_usd for call in paid) / used if used else 0.0


def totals(calls: Iterable[Paid], zone: Zone) -> dict[tuple[date, str, str], Usage]:
    """What calls took by the user's day, project and model, in the order of the days."""
    sums: dict[tuple[date, str, str], Usage] = defaultdict(Usage)
    for when, call in sorted(calls, key=lambda booked: booked[0]):
        used = Usage(call.input_tokens, call.output_tokens, call.cost_usd, call.seconds)
        sums[zone.day(when), call.project, call.model] += used
    return dict(sums)
