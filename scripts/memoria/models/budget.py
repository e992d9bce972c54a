"""Budget: whether a model call may be made now, what calls have cost, and what Claude models cost.

A day is the user's calendar day. A call that would exceed the day's budget waits until the user's next midnight;
nothing is dropped. All functions are pure: they take booked calls and read no clock.

The prices are for estimates before work begins; the ledger records what was paid. They are dollars per million tokens,
of the most expensive generation since 4.5 that the client's alias may mean; newer ones cost less (input: Haiku 5.5 from
$0.10, Sonnet 5.5 $2, Opus 5.5 $4). Source: the model overview and pricing pages at
https://platform.claude.com/docs/en/about-claude, read on 2026-11-21.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memoria.daily.ledger import Call
from memoria.ground.clock import Zone
from memoria.ground.errors import Usage
from memoria.ground.printable import dollars
from memoria.models import chain

Paid = tuple[datetime, Call]

READ_ON = "2026-11-21"  # the prices below


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to call.

    If not, ``until`` says how long to wait (UTC; None: waiting will not help) and ``reason`` is one sentence for
    people.
    """

    may_call: bool
    until: datetime | None = None
    reason: str = ""


def decide(
    calls: Iterable[Paid], now: datetime, zone: Zone, *, daily_usd: float, call_usd: float, estimate_usd: float = 0.0
) -> Decision:
    """Decide whether a call estimated at ``estimate_usd`` may be made at ``now`` (UTC). A limit of 0 means no limit.

    ``calls`` may contain older ones. Calls booked in the future (the clock was set back) count as today's, so that a
    wrong clock cannot lift the limit.
    """
    start, end = day_bounds(now, zone)
    spent = sum(call.cost_usd for when, call in calls if when >= start)
    if call_usd and estimate_usd > call_usd:
        return Decision(False, None, _over("call_budget_usd", "one call", estimate_usd, call_usd))
    if not daily_usd or spent + estimate_usd <= daily_usd:
        return Decision(True)
    if estimate_usd > daily_usd:
        return Decision(False, None, _over("daily_budget_usd", "one call", estimate_usd, daily_usd))
    reason = (
        f"today's {dollars(spent)} and the next call's {dollars(estimate_usd)} would exceed daily_budget_usd "
        f"({dollars(daily_usd)}); the work waits until {zone.local(end):%Y-%m-%d %H:%M}"
    )
    return Decision(False, end, reason)


def _over(setting: str, what: str, estimate: float, limit: float) -> str:
    return (
        f"{what} would cost about {dollars(estimate)}, over {setting} ({dollars(limit)}); raise it, or lower call_chars"
    )


def day_bounds(now: datetime, zone: Zone) -> tuple[datetime, datetime]:
    """Return the start of the user's day and of the next one (UTC); 23 or 25 hours apart when the clocks change."""
    today = zone.day(now)
    return zone.midnight(today), zone.midnight(today + timedelta(days=1))


def estimate(calls: Iterable[Paid], model: str, tokens: int) -> float:
    """Return the dollars that ``tokens`` (in and out) will cost, judging by the model's past calls; 0 if unknown."""
    paid = [call for _, call in calls if call.model == model]
    used = sum(call.input_tokens + call.output_tokens for call in paid)
    return tokens * sum(call.cost_usd for call in paid) / used if used else 0.0


def totals(calls: Iterable[Paid], zone: Zone) -> dict[tuple[date, str, str], Usage]:
    """Return the usage of calls by the user's day, project and model, in the order of the days."""
    sums: dict[tuple[date, str, str], Usage] = defaultdict(Usage)
    for when, call in sorted(calls, key=lambda booked: booked[0]):
        used = Usage(call.input_tokens, call.output_tokens, call.cost_usd, call.seconds)
        sums[zone.day(when), call.project, call.model] += used
    return dict(sums)


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens in and out."""

    input_usd: float
    output_usd: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return the dollars for this number of tokens."""
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1e6


PRICES = {"haiku": Price(1.0, 5.0), "sonnet": Price(3.0, 15.0), "opus": Price(5.0, 25.0)}


def price_of(name: str) -> Price | None:
    """Return the price of a model by its booked name: zero for a free one, None when it is unknown."""
    known = chain.BACKENDS.get(chain.backend(name))
    if known and known.is_free:
        return Price(0.0, 0.0)
    return next((price for alias, price in PRICES.items() if name.startswith("claude:") and alias in name), None)
