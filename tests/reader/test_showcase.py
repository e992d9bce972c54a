"""The fictional memory of the pictures: whole, and with something to show on every page."""

from __future__ import annotations

import pytest

from bench.showcase import NOW, SHOWN, build
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.wiki.transaction import Transactions
from reader_home import Browser


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Browser:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    monkeypatch.setenv("MEMORIA_TZ", "UTC")
    home = Home.open()
    build(home)
    return Browser(home).enter()


@pytest.mark.slow
def test_the_showcase_has_something_to_show_on_every_page(browser: Browser) -> None:
    home = browser.get("/").text
    assert f"{len(SHOWN['articles'])} articles" in home
    assert "Learned today" in home
    assert "could not be summarised" in home
    assert "A claim was not written" in home
    article = browser.get("/article/concepts/departure-times").text
    assert "2 claims that no longer hold" in article
    receipt = browser.get("/receipt").text
    assert "Nothing is missing." in receipt
    assert "Project</th>" in receipt
    seen = browser.get("/session/s-f17/seen").text
    assert "The session started with" in seen
    assert "departure.local_time" in seen
    assert "No longer holds since this day" in browser.get("/timeline").text
    assert not list(Transactions(browser.home.paths).steps()), "its articles say what its statements say"
    assert 'class="missing"' not in article + home  # each link of the wiki leads somewhere
