"""Metered: a model whose calls are retried after short faults and booked in the ledger, whatever their outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from memoria.daily.ledger import Call, Ledger
from memoria.ground import clock, locks
from memoria.ground.errors import BadAnswerError, ModelError, ModelUnavailableError, OverBudgetError
from memoria.ground.home import Home
from memoria.models import budget, chain
from memoria.models.protocol import Completion, Model, Prompt, Usage

HISTORY = timedelta(days=30)  # age of the calls that an estimate is based on
CHARS_PER_TOKEN = 3  # of English and code, a conservative value (Anthropic's documentation gives about 3.5)


@dataclass(frozen=True, slots=True)
class Limits:
    """What calls may cost, in dollars, per user's day and per call; 0 means no limit."""

    daily_usd: float = 0.0
    call_usd: float = 0.0
    zone: clock.Zone = field(default_factory=clock.Zone)


class Metered:
    """A wrapper of the model that the settings name; commands call models only through it."""

    def __init__(
        self,
        model: Model,
        ledger: Ledger,
        lock: Path,
        waits_s: Sequence[float],
        limits: Limits | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``waits_s``: seconds before the second, third, ... attempt in a run; ``lock`` allows one call at a time."""
        self.model = model
        self.ledger = ledger
        self.lock = lock
        self.waits_s = tuple(waits_s)
        self.limits = limits or Limits()
        self.sleep = sleep
        self.spent = Usage()

    @classmethod
    def of(cls, home: Home, ledger: Ledger) -> Metered:
        """Return the model that the home's settings name, within its budget."""
        settings = home.settings
        model = chain.from_settings(settings, home.paths)
        limits = Limits(settings.daily_budget_usd, settings.call_budget_usd, home.zone)
        return cls(model, ledger, Path(home.paths.model_lock), settings.retry_s, limits)

    @property
    def name(self) -> str:
        """The name of the wrapped model."""
        return self.model.name

    def complete(self, prompt: Prompt, project: str = "") -> Completion:
        """Return the answer; raise ModelError when every attempt of this run failed.

        After a bad answer the next attempt is told what was wrong with it.
        """
        project = project or prompt.project
        asked = prompt = replace(prompt, project=project)
        for wait in (*self.waits_s, None):
            try:
                with locks.waiting(self.lock):  # flush, compile and others never run two model processes at once
                    return self._attempt(prompt)
            except OverBudgetError:
                raise  # no call was made: nothing to retry
            except ModelError as error:
                again = isinstance(error, BadAnswerError) or (
                    isinstance(error, ModelUnavailableError) and error.retry_now
                )
                if wait is None or not again:
                    raise
                if isinstance(error, BadAnswerError):
                    prompt = asked.again(str(error))
                self.sleep(wait)
        raise AssertionError("unreachable")  # the last wait is None

    def complete_soon(self, make: Callable[[], Prompt | None], within_s: float) -> Completion | None:
        """Return the answer to what ``make`` returns once no other call runs; None when it returns None.

        There is one attempt. Raise ModelError when it failed or when other calls ran for ``within_s`` seconds. A call
        that a KeyboardInterrupt cuts off is booked by estimate.
        """
        with locks.held_soon(self.lock, within_s) as mine:
            if not mine:
                raise ModelUnavailableError("other model calls were running.", model=self.name)
            prompt = make()
            return self._attempt(prompt) if prompt else None

    def _attempt(self, prompt: Prompt) -> Completion:
        """Make one call within the limits and book it, whatever its outcome; the caller holds the lock."""
        estimate_usd = self._check_budget(prompt)
        try:
            completion = self.model.complete(prompt)
        except ModelError as error:
            self._book_failure(error, prompt)
            raise
        except KeyboardInterrupt:
            sent = Usage(input_tokens=len(prompt.text) // CHARS_PER_TOKEN, cost_usd=estimate_usd)
            self._book(self.model.name.split(",")[0], "cut off", sent, prompt)
            raise
        for failure in completion.failures:
            self._book(failure.model, type(failure).__name__, failure.usage, prompt)
        self._book(completion.model, "ok", completion.usage, prompt)
        return completion

    def _check_budget(self, prompt: Prompt) -> float:
        """Return what the call will cost in dollars, judging by past calls; raise OverBudgetError above the limits."""
        now = clock.now()
        today = self.ledger.calls_since(budget.day_bounds(now, self.limits.zone)[0])
        history = self.ledger.calls_since(now - HISTORY)
        first = self.model.name.split(",")[0]
        estimate_usd = budget.estimate(history, first, len(prompt.text) // CHARS_PER_TOKEN)
        decision = budget.decide(
            today,
            now,
            self.limits.zone,
            daily_usd=self.limits.daily_usd,
            call_usd=self.limits.call_usd,
            estimate_usd=estimate_usd,
        )
        if not decision.may_call:
            raise OverBudgetError(decision.reason, decision.until)
        return estimate_usd

    def _book_failure(self, error: ModelError, prompt: Prompt) -> None:
        for part in error.failures or (error,):
            self._book(part.model or self.model.name, type(part).__name__, part.usage, prompt)

    def _book(self, model: str, outcome: str, usage: Usage, prompt: Prompt) -> None:
        self.spent += usage
        self.ledger.book(
            Call(
                prompt.task, model, prompt.project, outcome,
                usage.input_tokens, usage.output_tokens, usage.cost_usd, usage.seconds,
            )
        )  # fmt: skip
