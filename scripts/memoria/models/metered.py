"""Metered: a model whose calls are tried again on a short fault and booked in the ledger, whatever comes of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memoria import locks
from memoria.errors import BadAnswerError, ModelError, ModelUnavailableError
from memoria.ledger import Call, Ledger
from memoria.models import chain
from memoria.models.base import Completion, Model, Prompt, Usage
from memoria.paths import Paths
from memoria.settings import Settings


class Metered:
    """Wraps the model that the settings name; verbs ask this and nothing else."""

    def __init__(
        self,
        model: Model,
        ledger: Ledger,
        lock: Path,
        waits_s: Sequence[float],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``waits_s``: seconds before the second, third, ... try within this run; ``lock``: one call at a time."""
        self.model = model
        self.ledger = ledger
        self.lock = lock
        self.waits_s = tuple(waits_s)
        self.sleep = sleep
        self.spent = Usage()

    @classmethod
    def of(cls, settings: Settings, paths: Paths, ledger: Ledger) -> Metered:
        """The model that the settings name."""
        model = chain.from_settings(settings, paths)
        return cls(model, ledger, Path(paths.state, "model.lock"), [float(wait) for wait in settings.retry_s])

    def complete(self, prompt: Prompt, project: str) -> Completion:
        """The answer; ModelError when every try of this run failed."""
        for wait in (*self.waits_s, None):
            try:
                with locks.waiting(self.lock):  # flush, compile and others never run two model processes at once
                    completion = self.model.complete(prompt)
            except ModelError as error:
                self._book_failure(error, prompt, project)
                again = isinstance(error, BadAnswerError) or (
                    isinstance(error, ModelUnavailableError) and error.retry_now
                )
                if wait is None or not again:
                    raise
                self.sleep(wait)
            else:
                for failure in completion.failures:
                    self._book(failure.model, type(failure).__name__, failure.usage, prompt, project)
                self._book(completion.model, "ok", completion.usage, prompt, project)
                return completion
        raise AssertionError("unreachable")  # the last wait is None

    def _book_failure(self, error: ModelError, prompt: Prompt, project: str) -> None:
        for part in error.failures or (error,):
            self._book(part.model or self.model.name, type(part).__name__, part.usage, prompt, project)

    def _book(self, model: str, outcome: str, usage: Usage, prompt: Prompt, project: str) -> None:
        self.spent += usage
        self.ledger.book(
            Call(
                prompt.task, model, project, outcome,
                usage.input_tokens, usage.output_tokens, usage.cost_usd, usage.seconds,
            )
        )  # fmt: skip
