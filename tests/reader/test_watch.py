"""What a page shows while the memory is read for the first time, and while the search index is built."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.index import sources
from memoria.reader.catalog import Catalog
from reader_home import Browser, fill
from real_browser import until


class Gate:
    """Work that does not begin until it is let through."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self) -> bool:
        """Wait to be let through, and return True."""
        self.reached.set()
        return self.opened.wait(60)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.opened.set()


@pytest.fixture
def browser(gate: Gate) -> Iterator[Browser]:
    home = Home.open()
    fill(home)
    made = Browser(home).enter()
    yield made
    made.site.watch.close()
    gate.opened.set()
    made.site.watch.join()


def start(browser: Browser, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start to watch; the search index waits for the gate to be opened."""
    refresh = sources.refresh
    monkeypatch.setattr(sources, "refresh", lambda *given: gate() and refresh(*given))
    browser.site.watch.start()
    assert gate.reached.wait(60)


def test_the_first_page_does_not_wait_for_the_search_index(
    browser: Browser, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(browser, gate, monkeypatch)
    home = browser.get("/")
    assert home.status == 200
    assert "Checkout retries without double charges" in home.text
    assert browser.get("/article/concepts/checkout").status == 200
    assert "is being built" in browser.get("/search?q=idempotency").text
    told = browser.site.watch.number
    gate.opened.set()
    until(lambda: browser.site.watch.number > told, "the pages are told that the index is there")
    found = browser.get("/search?q=idempotency").text
    assert "is being built" not in found
    assert "/article/concepts/checkout" in found


def test_a_memory_that_cannot_be_read_is_said_in_the_page(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Catalog:
        raise ExpectedError("the ledger is away")

    monkeypatch.setattr(Catalog, "read", fail)
    browser.site.watch.start()
    answer = browser.get("/")
    assert answer.status == 409
    assert "the ledger is away" in answer.text


def test_days_show_the_articles_that_rest_on_them_once_the_index_is_there(
    browser: Browser, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(browser, gate, monkeypatch)
    assert browser.get("/timeline").status == 200
    gate.opened.set()
    until(lambda: "in the wiki" in browser.get("/timeline").text, "the articles are named")
