"""Spending stops at the budget, work waits and is not dropped, and a day is the user's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memoria.daily.ledger import Call
from memoria.ground.clock import Zone
from memoria.models.metered import decide, estimate

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
VIENNA = Zone("Europe/Vienna")


def call(dollars: float, tokens: int = 1000, model: str = "claude:haiku", project: str = "p") -> Call:
    return Call("flush", model, project, "ok", tokens, 0, dollars, 1.0)


def test_a_call_over_the_days_budget_waits_for_the_users_midnight() -> None:
    decision = decide([(NOON, call(0.8))], NOON, VIENNA, daily_usd=1, call_usd=0.5, estimate_usd=0.3)
    assert not decision.may_call
    assert decision.until == datetime(2026, 11, 21, 23, tzinfo=UTC)
    assert "2026-11-22 00:00" in decision.reason
    assert decide([(NOON, call(0.8))], decision.until, VIENNA, daily_usd=1, call_usd=0.5, estimate_usd=0.3).may_call


def test_yesterdays_calls_are_yesterdays_where_the_user_is() -> None:
    late = datetime(2026, 11, 20, 22, 59, tzinfo=UTC)  # 23:59 in Vienna
    assert decide([(late, call(5))], NOON, VIENNA, daily_usd=1, call_usd=0).may_call
    assert not decide([(late + timedelta(minutes=1), call(5))], NOON, VIENNA, daily_usd=1, call_usd=0).may_call


def test_a_clock_set_back_does_not_open_the_purse() -> None:
    tomorrow = NOON + timedelta(days=1)
    assert not decide([(tomorrow, call(5))], NOON, VIENNA, daily_usd=1, call_usd=0).may_call


@pytest.mark.parametrize(("daily", "most"), [(10.0, 0.2), (0.2, 0.0)])
def test_a_call_that_will_never_fit_says_so_and_names_no_time(daily: float, most: float) -> None:
    decision = decide([], NOON, VIENNA, daily_usd=daily, call_usd=most, estimate_usd=0.3)
    assert (decision.may_call, decision.until) == (False, None)
    assert "raise it" in decision.reason


def test_an_estimate_is_what_this_model_cost_so_far() -> None:
    calls = [(NOON, call(0.1, 1000)), (NOON, call(0.3, 3000)), (NOON, call(9, 10, model="other"))]
    assert estimate(calls, "claude:haiku", 2000) == pytest.approx(0.2)
    assert estimate(calls, "never called", 2000) == 0
