"""A claim that is wrong: from its article to where it came from, put right, and taken back."""

from __future__ import annotations

import pytest

from memoria.ground.home import Home
from reader_home import Browser, fill, links

SLUG, PATH = "concepts/checkout", "/article/concepts/checkout"


@pytest.fixture
def browser() -> Browser:
    home = Home.open()
    fill(home)
    return Browser(home).enter()


def claim_of(browser: Browser) -> tuple[str, str]:
    """Return the path of the page of the first claim, and its digest."""
    path = next(link for link in links(browser.get(PATH).text) if link.startswith("/wrong/"))
    return path, path.partition("claim=")[2]


def test_a_claim_is_put_right_and_taken_back(browser: Browser) -> None:
    before, home, days = browser.get(PATH).text, browser.get("/").text, browser.get("/timeline").text
    form = {"slug": SLUG, "claim": claim_of(browser)[1], "text": "A charge carries a key made from <b>the basket</b>"}
    answer = browser.post("/wrong/correct", form=form)
    assert answer.status == 303
    page = browser.get(answer.headers["location"]).text
    assert "Put right" in page
    assert "A charge carries a key made from &lt;b&gt;the basket&lt;/b&gt;" in page.partition("History")[0]
    assert "an idempotency key made from the order" in page.partition('<details class="history">')[2]
    step = page.partition('name="step" value="')[2].partition('"')[0]
    assert browser.post("/undo", form={"slug": SLUG, "step": "another"}).status == 409
    assert browser.post("/undo", form={"slug": SLUG, "step": step}).status == 303
    assert browser.get(PATH).text == before
    assert browser.get("/").text == home
    assert browser.get("/timeline").text == days


@pytest.mark.parametrize(("way", "is_past"), [("retire", True), ("remove", False)])
def test_a_claim_is_retired_or_forgotten(browser: Browser, way: str, is_past: bool) -> None:
    answer = browser.post(f"/wrong/{way}", form={"slug": SLUG, "claim": claim_of(browser)[1], "why": "It moved."})
    assert answer.status == 303
    page = browser.get(PATH).text
    assert ("It moved." in page) == is_past
    assert ("so that two workers that retry" in page) == is_past
    assert "so that two workers" not in page.partition('<details class="history">')[0].partition("<section")[2]


def test_a_form_about_what_has_changed_says_so(browser: Browser) -> None:
    ident = claim_of(browser)[1]
    for given in ({"slug": SLUG, "claim": "00000000"}, {"slug": "concepts/nope", "claim": ident}, {}):
        answer = browser.post("/wrong/remove", form=given)
        assert answer.status == 409
        assert "<h1>Not done</h1>" in answer.text
    assert browser.get("/wrong/correct").status in (404, 405)
    assert browser.get("/undo").status == 405
