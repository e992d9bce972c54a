"""Metered: a model whose calls are retried after short faults, stay within the budget, and are booked in the ledger.

A day is the user's calendar day. A call that would exceed the day's budget waits until the user's next midnight;
nothing is dropped.

The prices are for estimates before work begins; the ledger records what was paid. They are dollars per million tokens,
of the most expensive generation since 4.5 that the client's alias may mean; newer ones cost less (input: Haiku 5.5 from
$0.10, Sonnet 5.5 $2, Opus 5.5 $4). Source: the model overview and pricing pages at
https://platform.claude.com/docs/en/about-claude, read on 2026-11-21.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from memoria.daily.ledger import Call, Ledger
from memoria.ground import clock, locks
from memoria.ground.clock import Zone
from memoria.ground.errors import BadAnswerError, ModelError, ModelUnavailableError, OverBudgetError, Usage
from memoria.ground.home import Home
from memoria.ground.printable import dollars
from memoria.models import protocol
from memoria.models.protocol import Completion, Model, Prompt

HISTORY = timedelta(days=30)  # age of the calls that an estimate is based on
CHARS_PER_TOKEN = 3  # of English and code, a conservative value (Anthropic's documentation gives about 3.5)


@dataclass(frozen=True, slots=True)
class Limits:
    """What calls may cost, in dollars, per user's day; 0 means no limit."""

    daily_usd: float = 0.0
    zone: clock.Zone = field(default_factory=clock.Zone)


class Metered:
    """A wrapper of the model that the settings name; commands call models only through it."""

    def __init__(
        self,
        model: Model,
        ledger: Ledger,
        lock: Path,
        waits_s: Sequence[float],
        limits: Limits,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``waits_s``: seconds before the second, third, ... attempt in a run; ``lock`` allows one call at a time."""
        self.model = model
        self.ledger = ledger
        self.lock = lock
        self.waits_s = tuple(waits_s)
        self.limits = limits
        self.sleep = sleep
        self.spent = Usage()

    @classmethod
    def of(cls, home: Home, ledger: Ledger) -> Metered:
        """Return the model that the home's settings name, within its budget."""
        settings = home.settings
        model = protocol.from_settings(settings, home.paths)
        limits = Limits(settings.daily_budget_usd, home.zone)
        return cls(model, ledger, Path(home.paths.model_lock), settings.retry_s, limits)

    @property
    def name(self) -> str:
        """The name of the wrapped model."""
        return self.model.name

    def complete(self, prompt: Prompt, project: str = "") -> Completion:
        """Return the answer; raise ModelError when every attempt of this run failed.

        After a bad answer the next attempt is told what was wrong with it.
        """
        asked = prompt = replace(prompt, project=project or prompt.project)
        for wait in (*self.waits_s, None):
            try:
                with locks.wait(self.lock):  # flush, compile and others never run two model processes at once
                    return self._attempt(prompt)
            except BadAnswerError as error:
                if wait is None:
                    raise
                prompt = asked.again(str(error))
            except ModelUnavailableError as error:
                if wait is None or not error.retry_now:
                    raise
            self.sleep(wait)
        raise AssertionError("unreachable")  # the last wait is None

    def complete_soon(self, make: Callable[[], Prompt | None], within_s: float) -> Completion | None:
        """Return the answer to what ``make`` returns once no other call runs; None when it returns None.

        There is one attempt. Raise ModelError when it failed or when other calls ran for ``within_s`` seconds. A call
        that a KeyboardInterrupt cuts off is booked by estimate.
        """
        with locks.take(self.lock, within_s) as mine:
            if not mine:
                raise ModelUnavailableError("other model calls were running.")
            prompt = make()
            return self._attempt(prompt) if prompt else None

    def _attempt(self, prompt: Prompt) -> Completion:
        """Make one call within the limits and book it, whatever its outcome; the caller holds the lock."""
        estimate_usd, began = self._check_budget(prompt), time.monotonic()
        try:
            completion = self.model.complete(prompt)
        except ModelError as error:
            for part in error.failures or (error,):
                self._book(part.model or self.model.name, type(part).__name__, part.usage, prompt, began)
            raise
        except KeyboardInterrupt:
            sent = Usage(input_tokens=len(prompt.text) // CHARS_PER_TOKEN, cost_usd=estimate_usd)
            self._book(self.model.name.split(",")[0], "cut off", sent, prompt, began)
            raise
        for failure in completion.failures:
            self._book(failure.model, type(failure).__name__, failure.usage, prompt, began)
        self._book(completion.model, "ok", completion.usage, prompt, began)
        return completion

    def _check_budget(self, prompt: Prompt) -> float:
        """Return what the call will cost in dollars, judging by past calls; raise OverBudgetError above the limits."""
        now = clock.now()
        calls = self.ledger.calls_since(now - HISTORY)
        estimate_usd = estimate(calls, self.model.name.split(",")[0], len(prompt.text) // CHARS_PER_TOKEN)
        check(calls, now, self.limits, estimate_usd)
        return estimate_usd

    def _book(self, model: str, outcome: str, usage: Usage, prompt: Prompt, began: float) -> None:
        self.spent += usage
        self.ledger.book(
            Call(
                prompt.task, model, prompt.project, outcome,
                usage.input_tokens, usage.output_tokens, usage.cost_usd, time.monotonic() - began,
            )
        )  # fmt: skip


Paid = tuple[datetime, Call]

READ_ON = "2026-11-21"  # the prices below


def check(calls: Iterable[Paid], now: datetime, limits: Limits, estimate_usd: float) -> None:
    """Raise OverBudgetError when a call estimated at ``estimate_usd`` may not be made at ``now`` (UTC).

    ``calls`` may contain older ones. Calls booked in the future (the clock was set back) count as today's, so that a
    wrong clock cannot lift the limit.
    """
    start, end = day_bounds(now, limits.zone)
    spent = sum(call.cost_usd for when, call in calls if when >= start)
    if not limits.daily_usd or spent + estimate_usd <= limits.daily_usd:
        return
    if estimate_usd > limits.daily_usd:
        cost, limit = dollars(estimate_usd), dollars(limits.daily_usd)
        raise OverBudgetError(f"one call would cost about {cost}, over daily_budget_usd ({limit}); raise it", None)
    further = f" and the next call's {dollars(estimate_usd)}" if estimate_usd else " and one more call"
    waits = f"the work waits until {limits.zone.to_local(end):%Y-%m-%d %H:%M}"
    reason = f"today's {dollars(spent)}{further} would exceed daily_budget_usd ({dollars(limits.daily_usd)}); {waits}"
    raise OverBudgetError(reason, end)


def day_bounds(now: datetime, zone: Zone) -> tuple[datetime, datetime]:
    """Return the start of the user's day and of the next one (UTC); 23 or 25 hours apart when the clocks change."""
    today = zone.day(now)
    return zone.midnight(today), zone.midnight(today + timedelta(days=1))


def estimate(calls: Iterable[Paid], model: str, tokens: int) -> float:
    """Return the dollars that ``tokens`` (in and out) will cost, judging by the model's past calls; 0 if unknown."""
    paid = [call for _, call in calls if call.model == model]
    used = sum(call.input_tokens + call.output_tokens for call in paid)
    return tokens * sum(call.cost_usd for call in paid) / used if used else 0.0


PRICES = {"haiku": (1.0, 5.0), "sonnet": (3.0, 15.0), "opus": (5.0, 25.0)}  # of a million tokens in and out


def price(name: str, input_tokens: int, output_tokens: int) -> float | None:
    """Return the dollars for tokens of a model by its booked name: zero for a free one, None when it is unknown."""
    if protocol.BACKENDS.get(protocol.backend(name)):
        return 0.0
    found = (prices for alias, prices in PRICES.items() if name.startswith("claude:") and alias in name)
    return next(((given * input_tokens + written * output_tokens) / 1e6 for given, written in found), None)
