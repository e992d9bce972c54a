"""The line about a day: what the worker prepares, and that the first session afterwards shows it once."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from facts import a_fact
from hooks import Client
from memoria.base import state
from memoria.daily.ledger import Call, Ledger
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.pages import notices
from memoria.recall import session_start
from memoria.recall.shown_notes import ShownNotes
from memoria.statements.keeper import Keeper


@pytest.fixture
def home() -> Home:
    home = Home.open()
    state.open_state(home.paths)
    return home


def noon(home: Home, days_ago: int = 0) -> datetime:
    return home.zone.midnight(home.zone.day(clock.now()) - timedelta(days=days_ago)) + timedelta(hours=12)


def did(home: Home, when: datetime, *, notes: int = 0, usd: float = 0.0) -> None:
    """Notes were shown and a model was paid at this time."""
    rows: list[dict[str, object]] = [{"key": f"k{number}", "at": int(when.timestamp())} for number in range(notes)]
    ShownNotes(home.paths.hints, f"s-{when:%j}").append(rows)
    if usd:
        ledger = Ledger(home.paths)
        ledger.book(Call("summarise", "haiku", "shop-1a2b3c", "ok", 1, 1, usd, 1.0), when)
        ledger.close()


def line_at(home: Home, days_ahead: int) -> str:
    """What the first session says so many days from now."""
    return session_start.take_day(home.paths.days, (noon(home) + timedelta(days=days_ahead)).timestamp())


def test_the_worker_prepares_the_days_figures_for_the_next_day(home: Home) -> None:
    did(home, noon(home, 1), notes=7, usd=5.0)  # another day's
    did(home, noon(home), notes=12, usd=0.031)
    with Keeper.at(home) as keeper:
        keeper.take([a_fact("Tests run without a network."), replace(a_fact("We use uv."), time=noon(home))])
    notices.prepare_day(home)
    assert line_at(home, 0) == ""
    assert line_at(home, 1) == f"memoria: on {noon(home):%Y-%m-%d} 12 notes recalled · 1 learned · $0.03"
    assert line_at(home, 1) == ""


def test_a_session_says_at_most_one_line_and_the_setting_switches_it_off(tmp_path: Path) -> None:
    client = Client(tmp_path)
    state.open_state(client.paths)
    client.fire("SessionStart", source="startup")  # the welcome
    past = int(clock.now().timestamp()) - 60
    Path(client.paths.days).mkdir()

    def start(source: str = "startup") -> str:
        return str(json.loads(client.fire("SessionStart", source=source) or "{}").get("systemMessage", ""))

    def leave() -> None:
        for end, text in ((past, "memoria: 1 learned"), (past - 90_000, "stale")):
            Path(client.paths.days, str(end)).write_text(f"{text}\n", "utf-8")

    leave()
    assert [start("resume"), start(), start()] == ["", "memoria: 1 learned", ""]
    leave()
    for text in ("memoria: the model is away.", "memoria: the model is not logged in."):
        notices.tell(client.paths, "failure", text)  # the later one stands in the place of the other
    notices.tell(client.paths, "sync", "memoria: the exchange waits.")
    notices.tell(client.paths, "failure", "")
    assert Path(client.paths.notice).read_text() == "memoria: the exchange waits.\n", "only the other one is withdrawn"
    notices.tell(client.paths, "sync", "")
    notices.tell(client.paths, "failure", text)  # it is news again
    assert Path(client.paths.notice).stat().st_mode & 0o77 == 0
    assert [start(), start()] == ["memoria: the model is not logged in.", "memoria: 1 learned"]
    for again in (text, ""):
        notices.tell(client.paths, "failure", again)
    leave()
    client.env["MEMORIA_DAY_NOTICE"] = "false"
    assert start() == ""
