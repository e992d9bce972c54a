"""Spending stops at the budget, work waits and is not dropped, and a day is the user's."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from memoria.capture.detach import may_spawn
from memoria.daily.ledger import Call
from memoria.ground.clock import Zone
from memoria.ground.errors import Usage
from memoria.models.budget import day_bounds, decide, estimate, totals

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
VIENNA = Zone("Europe/Vienna")


def call(dollars: float, tokens: int = 1000, model: str = "claude:haiku", project: str = "p") -> Call:
    return Call("flush", model, project, "ok", tokens, 0, dollars, 1.0)


def test_a_call_within_the_budget_may_be_made() -> None:
    decision = decide([(NOON, call(0.4))], NOON, VIENNA, daily_usd=1, call_usd=0.5, estimate_usd=0.5)
    assert (decision.may_call, decision.spent_usd) == (True, 0.4)


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


def test_no_limit_is_no_limit() -> None:
    assert decide([(NOON, call(500))], NOON, VIENNA, daily_usd=0, call_usd=0, estimate_usd=9).may_call


@pytest.mark.parametrize(("day", "hours"), [((2026, 3, 29), 23), ((2026, 10, 25), 25), ((2026, 11, 21), 24)])
def test_a_day_is_as_long_as_the_users_clock_makes_it(day: tuple[int, int, int], hours: int) -> None:
    start, end = day_bounds(datetime(*day, 12, tzinfo=UTC), VIENNA)
    assert end - start == timedelta(hours=hours)


def test_the_systems_zone_has_days_too() -> None:
    start, end = day_bounds(NOON, Zone())
    assert start <= NOON < end


def test_an_estimate_is_what_this_model_cost_so_far() -> None:
    calls = [(NOON, call(0.1, 1000)), (NOON, call(0.3, 3000)), (NOON, call(9, 10, model="other"))]
    assert estimate(calls, "claude:haiku", 2000) == pytest.approx(0.2)
    assert estimate(calls, "never called", 2000) == 0


def test_totals_are_by_day_project_and_model() -> None:
    calls = [(NOON, call(1)), (NOON, call(2)), (NOON + timedelta(hours=12), call(4)), (NOON, call(8, project="q"))]
    sums = totals(calls, VIENNA)
    assert sums[date(2026, 11, 21), "p", "claude:haiku"] == Usage(2000, 0, 3, 2)
    assert sums[date(2026, 11, 22), "p", "claude:haiku"].cost_usd == 4
    assert sums[date(2026, 11, 21), "q", "claude:haiku"].cost_usd == 8


def test_a_minute_has_so_many_starts_and_the_next_one_as_many_again(tmp_path: Path) -> None:
    path = str(tmp_path / "spawns")
    begin = 1_790_000_040.0
    assert [may_spawn(path, 3, begin + second) for second in range(5)] == [True, True, True, False, False]
    assert [may_spawn(path, 3, begin + 60) for _ in range(4)] == [True, True, True, False]


def test_a_clock_set_back_does_not_stop_the_starts(tmp_path: Path) -> None:
    path = str(tmp_path / "spawns")
    assert [may_spawn(path, 1, now) for now in (1_790_000_040.0, 1_790_000_041.0, 1_780_000_000.0)] == [
        True,
        False,
        True,
    ]


def test_no_file_and_no_limit_stop_nothing(tmp_path: Path) -> None:
    assert may_spawn(str(tmp_path / "no" / "folder"), 1, 1.0)
    assert all(may_spawn(str(tmp_path / "spawns"), 0, 1.0) for _ in range(99))


def test_amounts_of_less_than_a_cent_are_told_apart() -> None:
    decision = decide([], NOON, VIENNA, daily_usd=0.003, call_usd=0, estimate_usd=0.0045)
    assert "would cost about $0.0045, over daily_budget_usd ($0.003)" in decision.reason
    decision = decide([(NOON, call(0.8))], NOON, VIENNA, daily_usd=1, call_usd=0, estimate_usd=0.3)
    assert "today's $0.80 and the next call's $0.30 would exceed daily_budget_usd ($1.00)" in decision.reason
