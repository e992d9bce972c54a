"""Spending stops at the budget, work waits and is not dropped, and a day is the user's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memoria.daily.ledger import Call
from memoria.ground.clock import Zone
from memoria.ground.errors import OverBudgetError
from memoria.models.metered import Limits, check, estimate, price

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
VIENNA = Zone("Europe/Vienna")


def call(dollars: float, tokens: int = 1000, model: str = "claude:haiku", project: str = "p") -> Call:
    return Call("flush", model, project, "ok", tokens, 0, dollars, 1.0)


def test_a_call_over_the_days_budget_waits_for_the_users_midnight() -> None:
    limits = Limits(1, VIENNA)
    check([(NOON, call(0.5))], NOON, limits, 0.5)  # just what is left
    with pytest.raises(OverBudgetError, match="2026-11-22 00:00") as refused:
        check([(NOON, call(0.8))], NOON, limits, 0.3)
    assert refused.value.until == datetime(2026, 11, 21, 23, tzinfo=UTC)
    check([(NOON, call(0.8))], refused.value.until, limits, 0.3)
    with pytest.raises(
        OverBudgetError, match=r"today's \$0\.00096 and the next call's \$0\.000154 would exceed .*\$0\.001\b"
    ):
        check([(NOON, call(0.00096))], NOON, Limits(0.001, VIENNA), 0.000154)


def test_a_day_is_the_users_and_a_clock_set_back_does_not_open_the_purse() -> None:
    late = datetime(2026, 11, 20, 22, 59, tzinfo=UTC)  # 23:59 in Vienna
    check([(late, call(5))], NOON, Limits(1, VIENNA), 0)
    for when in (late + timedelta(minutes=1), NOON + timedelta(days=1)):
        with pytest.raises(OverBudgetError, match=r"today's \$5.00 and one more call would exceed"):
            check([(when, call(5))], NOON, Limits(1, VIENNA), 0)


def test_a_call_that_will_never_fit_says_so_and_names_no_time() -> None:
    with pytest.raises(OverBudgetError, match="raise it") as refused:
        check([], NOON, Limits(0.2, VIENNA), 0.3)
    assert refused.value.until is None


def test_an_estimate_is_what_this_model_cost_so_far() -> None:
    calls = [(NOON, call(0.1, 1000)), (NOON, call(0.3, 3000)), (NOON, call(9, 10, model="other"))]
    assert estimate(calls, "claude:haiku", 2000) == pytest.approx(0.2)
    assert estimate(calls, "never called", 2000) == 0
    names = ("claude:haiku", "ollama:haiku", "claude:other", "other:haiku")
    assert [price(name, 1_000_000, 2_000_000) for name in names] == [11.0, 0.0, None, None], "before the first call"
