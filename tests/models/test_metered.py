"""Calls are retried after short faults, booked whatever their outcome, and limited by the budget."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memoria.daily.ledger import Call, Ledger
from memoria.ground import clock, locks
from memoria.ground.errors import BadAnswerError, ModelUnavailableError, OverBudgetError
from memoria.models import tasks
from memoria.models.metered import Limits, Metered
from memoria.models.protocol import Chain, Prompt
from memoria.models.scripted import Item
from scripted_model import Scripted

ANSWER: Item = {"worth_saving": False, "title": "", "context": ""}
PROMPT = tasks.flush({"project": "p", "exchanges": []})
NO_LIMITS = Limits()


def metered(
    ledger: Ledger, answers: list[Item] | Callable[[Prompt], Item], limits: Limits = NO_LIMITS
) -> tuple[Metered, Scripted, list[float]]:
    model, slept = Scripted(answers), list[float]()
    return Metered(model, ledger, ledger.path.with_name("lock"), (2.0, 4.0), limits, slept.append), model, slept


def outcomes(ledger: Ledger) -> list[str]:
    return [call.outcome for _, call in ledger.calls_since(clock.from_epoch(0))]


def test_a_short_fault_is_tried_three_times_within_the_run(ledger: Ledger) -> None:
    model, _, slept = metered(ledger, [ModelUnavailableError("away"), BadAnswerError("junk"), ANSWER])
    model.complete(PROMPT, "p")
    assert slept == [2.0, 4.0]
    assert outcomes(ledger) == ["ModelUnavailableError", "BadAnswerError", "ok"]


def test_each_model_of_a_chain_is_booked(ledger: Ledger) -> None:
    chain = Chain([Scripted([BadAnswerError("junk")], "one"), Scripted([ANSWER], "two")])
    Metered(chain, ledger, ledger.path.with_name("lock"), (), NO_LIMITS).complete(PROMPT)
    assert [call.model for _, call in ledger.calls_since(clock.from_epoch(0))] == ["one", "two"]


def test_a_fault_that_needs_a_person_is_not_tried_again(ledger: Ledger) -> None:
    model, asked, slept = metered(ledger, [ModelUnavailableError("not logged in", retry_now=False)])
    with pytest.raises(ModelUnavailableError):
        model.complete(PROMPT, "p")
    assert (len(asked.prompts), slept) == (1, [])


def test_a_call_that_must_come_soon_has_one_attempt_and_does_not_wait_for_others_for_long(ledger: Ledger) -> None:
    model, asked, slept = metered(ledger, [ModelUnavailableError("away"), ANSWER])
    with pytest.raises(ModelUnavailableError):
        model.complete_soon(lambda: PROMPT, 0.0)
    assert (len(asked.prompts), slept, outcomes(ledger)) == (1, [], ["ModelUnavailableError"])
    assert model.complete_soon(lambda: None, 0.0) is None
    with locks.take(model.lock), pytest.raises(ModelUnavailableError, match="other model calls"):
        model.complete_soon(lambda: PROMPT, 0.0)
    assert len(asked.prompts) == 1
    completion = model.complete_soon(lambda: PROMPT, 0.0)
    assert completion
    assert outcomes(ledger) == ["ModelUnavailableError", "ok"]


def test_a_call_that_is_cut_off_is_booked_by_estimate(ledger: Ledger) -> None:
    ledger.book(Call("flush", "scripted", "p", "ok", 1000, 0, 0.01, 1.0))

    def cut(_: Prompt) -> Item:
        with locks.take(model.lock) as is_free:
            raise SystemError if is_free else KeyboardInterrupt  # one call at a time

    model, _, _ = metered(ledger, cut)
    with pytest.raises(KeyboardInterrupt):
        model.complete(PROMPT, "p")
    *_, (_, call) = ledger.calls_since(clock.from_epoch(0))
    assert (call.outcome, call.project) == ("cut off", "p")
    assert call.cost_usd == pytest.approx(0.01 * call.input_tokens / 1000)
    assert call.input_tokens > 100


def test_a_call_over_the_budget_is_not_made(ledger: Ledger) -> None:
    ledger.book(Call("flush", "scripted", "p", "ok", 1000, 0, 1.2, 1.0))
    model, asked, slept = metered(ledger, [ANSWER], Limits(daily_usd=1.0))
    with pytest.raises(OverBudgetError, match="daily_budget_usd") as caught:
        model.complete(PROMPT, "p")
    assert (asked.prompts, slept) == ([], [])
    assert caught.value.until
