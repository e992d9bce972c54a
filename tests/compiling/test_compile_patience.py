"""A compile that the worker starts waits for more entries when nothing is lost by it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoria.compiling.patience import ENOUGH, is_about
from memoria.daily import gate
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import OWN_WORDS
from memoria.ground import clock
from wiki_home import PORT, PORT_PAGE, WikiHome, claim, entry, page

NOW = datetime(2026, 11, 17, 9, tzinfo=UTC)


class Home(WikiHome):
    """A home with a compiled entry, and the worker's compile in it."""

    def read(self) -> None:
        """Read the daily logs, as a worker does."""
        self.ledger(DailyLog.of(self.home.paths).refresh)

    def due(self, *, hours: float = 2) -> int:
        """Return the number of calls that a worker's compile makes, hours after the last one."""
        self.ledger(lambda ledger: ledger.put(gate.COMPILED, (NOW - timedelta(hours=hours)).isoformat()))
        self.read()
        if not self.ledger(lambda ledger: gate.is_due(ledger, self.home)):
            return 0
        before = len(self.prompts)
        self.compile(lambda _: {"articles": []}, "--due")
        return len(self.prompts) - before


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("MEMORIA_CONSOLIDATE", "false")
    monkeypatch.setattr(gate, "FIRST_ENTRIES", 1)
    monkeypatch.setattr(clock, "now", lambda: NOW)
    home = Home()
    home.log(PORT)
    home.compile([PORT_PAGE])
    return home


def apart(ident: str, **given: Any) -> Any:
    """Return an entry about nothing that the wiki knows."""
    return entry(ident, 17, title="Timetable", context=f"The timetable of ferry {ident} is printed weekly.", **given)


def test_few_entries_about_something_new_wait_for_others_and_go_together(home: Home) -> None:
    for number in range(1, ENOUGH):
        home.log(apart(f"b{number}"))
        assert home.due() == 0
    home.log(apart("b9"))
    assert home.due() == 1
    (asked,) = home.prompts[-1:]
    assert len(asked.material["entries"]) == ENOUGH


def test_an_entry_waits_for_a_day_at_most(home: Home) -> None:
    home.log(apart("b1"))
    assert home.due(hours=23) == 0
    home.log(apart("b2"))
    assert home.due(hours=25) == 1


def test_an_entry_that_waited_for_a_day_goes_with_one_in_own_words(home: Home) -> None:
    home.log(apart("b1"))
    assert home.due(hours=23) == 0
    home.log(apart("b2", model=OWN_WORDS))
    assert home.due(hours=25) == 1


def test_an_entry_about_what_a_claim_says_does_not_wait(home: Home) -> None:
    home.log(entry("b1", 17, decisions=("The port of the listener is 9090 from today on.",)))
    assert home.due() == 1


def test_an_entry_in_own_words_about_a_claim_does_not_wait(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "FIRST_ENTRIES", 12)
    home.log(entry("b1", 17, context="update the port of the listener to 9090 → Done.", model=OWN_WORDS))
    assert home.due() == 1


def test_what_a_compile_failed_on_does_not_wait(home: Home) -> None:
    home.log(apart("b1"))
    assert home.due() == 0
    home.ledger(lambda ledger: ledger.put(gate.FAILED, value=True))
    home.log(apart("b2"))
    assert home.due() == 1


def test_an_edited_entry_and_a_part_by_hand_do_not_wait(home: Home) -> None:
    path = home.home.paths.daily + "/2026-11-16.md"
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 (a str)
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text.replace("8080", "8081"))
    assert home.due() == 1


def test_a_person_who_asks_does_not_wait(home: Home) -> None:
    home.log(apart("b1"))
    assert home.due() == 0
    home.compile([page("ferries", claim("The timetable of ferry b1 is printed weekly", "b1"))])
    assert [part["id"] for part in home.prompts[-1].material["entries"]] == ["b1"]


def test_an_entry_in_own_words_waits_for_one_with_more_in_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "FIRST_ENTRIES", 12)
    home.log(apart("b1", model=OWN_WORDS))
    assert home.due() == 0
    assert home.due(hours=30) == 0, "not for it alone"
    home.log(apart("b2"))
    assert home.due() == 1
    assert {part["id"] for part in home.prompts[-1].material["entries"]} == {"b1", "b2"}


def test_what_was_put_off_is_looked_at_again_only_when_there_is_more(home: Home) -> None:
    def is_due() -> bool:
        return home.ledger(lambda ledger: gate.is_due(ledger, home.home))

    home.log(apart("b1"))
    assert home.due() == 0
    home.ledger(lambda ledger: ledger.put(gate.COMPILED, (NOW - timedelta(hours=2)).isoformat()))
    assert not is_due(), "no worker starts a process for it"
    home.log(apart("b2"))
    home.read()
    assert is_due()


@pytest.mark.parametrize(
    ("said", "concerned"),
    [
        ("Production of the clinic is hosted at AWS, in Frankfurt.", True),
        ("`test_stock_import` takes 2 s now.", True),
        ("The timetable is printed weekly.", False),
        ("The clinic has a new logo.", False),
    ],
)
def test_a_statement_concerns_a_claim_with_which_it_shares_much_or_a_name(said: str, concerned: bool) -> None:
    claims = [
        "Production of the clinic is hosted at Hetzner, because patients' data must stay in Germany.",
        "The slowest test of the warehouse is `test_stock_import`, with 14 s.",
    ]
    assert is_about([said], claims) == concerned
