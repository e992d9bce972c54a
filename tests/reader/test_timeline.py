"""The timeline, the page of a day, and everything as of a day."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memoria.ground.home import Home
from memoria.statements.keeper import Keeper
from memoria.wiki.transaction import Transactions, digest
from reader_home import DAY, Browser, fill

BEFORE = (DAY - timedelta(days=1)).isoformat()


@pytest.fixture
def browser() -> Browser:
    home = Home.open()
    fill(home)
    return Browser(home).enter()


def test_the_timeline_shows_what_each_session_taught_and_changed(browser: Browser) -> None:
    page = browser.get("/timeline").text
    today = page.partition(f'id="d-{DAY}"')[2].partition("<section")[0]
    assert "Checkout retries without double charges" in today
    assert "Retries are counted per order; after three the order waits for a person." in today
    assert '<a href="/article/concepts/payment-provider">Payment provider</a>' in today


def test_the_timeline_is_narrowed_by_project_kind_and_words(browser: Browser) -> None:
    assert "Umlaute" not in browser.get("/timeline?project=shop-1a2b3c").text.partition("</form>")[2]
    assert "Checkout retries" not in browser.get("/timeline?kind=operational").text
    assert "First version" not in browser.get("/timeline?q=IDEMPOTENCY").text
    assert "Nothing fits." in browser.get("/timeline?q=zebra").text


def test_a_day_has_a_page_that_leads_on(browser: Browser) -> None:
    page = browser.get(f"/day/{DAY}").text
    assert "The payment provider times out under load" in page
    assert f'rel="prev" href="/day/{BEFORE}"' in page
    assert browser.get("/day/2020-01-01").status == 404
    assert browser.get("/day/never").status == 404


def test_as_of_a_day_a_fact_that_ended_later_still_holds_in_its_words_of_then(browser: Browser) -> None:
    with Keeper.at(browser.home) as keeper:
        fact = keeper.known("l-b1001")
        later = datetime(DAY.year, DAY.month, DAY.day, 20, tzinfo=UTC)
        keeper.write(replace(fact.reworded("Other words.", DAY.isoformat()), ended=later))
    browser.site.look_again()
    assert "Adressen der Beiträge werden transliteriert" in browser.get(f"/as-of?day={BEFORE}").text
    assert "Other words." not in browser.get(f"/as-of?day={BEFORE}").text


def test_what_a_step_replaced_is_shown_exactly_as_it_was(browser: Browser) -> None:
    transactions = Transactions.of(browser.home.paths)
    path = transactions.root / "concepts" / "order-queue.md"
    before = path.read_bytes()
    changed = before.replace(b"One order is charged by one worker at a time", b"Orders are charged by two workers")
    name = "concepts/order-queue.md"
    transactions.commit({name: changed}, {name: digest(before)}, "compile")
    browser.site.look_again()
    page = browser.get(f"/article/concepts/order-queue?at={BEFORE}").text
    assert "One order is charged by one worker at a time" in page
    assert "from what can be undone" in page
    assert "two workers" in browser.get("/article/concepts/order-queue").text
