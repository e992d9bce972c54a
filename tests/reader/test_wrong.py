"""A claim that is wrong: from its article to where it came from, put right, and taken back."""

from __future__ import annotations

from html import unescape

from reader_home import Browser

SLUG, PATH = "concepts/checkout", "/article/concepts/checkout"


def statement_of(browser: Browser) -> str:
    """Return the path of the first claim's statement."""
    page = browser.get(PATH).text.partition('class="wrong"')[0]
    return page.rpartition('href="')[2].partition('"')[0]


def test_a_claim_leads_to_its_statement_which_is_put_right(browser: Browser) -> None:
    path = statement_of(browser)
    answer = browser.post(f"{path}/edit", form={"text": "A charge carries a key made from <b>the basket</b>"})
    assert answer.status == 303
    page = browser.get(PATH).text
    assert "A charge carries a key made from &lt;b&gt;the basket&lt;/b&gt;" in page.partition("History")[0]
    assert "an idempotency key made from the order" in page.partition('<details class="history">')[2]


def test_a_statement_that_was_retired_is_history_and_taken_back_on_the_article(browser: Browser) -> None:
    before, home, days = browser.get(PATH).text, browser.get("/").text, browser.get("/timeline").text
    path = statement_of(browser)
    assert browser.post(f"{path}/retire").status == 303
    assert "It no longer holds" not in browser.get(path).text.partition('id="change"')[2]
    page = browser.get(PATH).text
    assert "so that two workers that retry" in page.partition('<details class="history">')[2]
    assert "so that two workers" not in page.partition('<details class="history">')[0].partition("<section")[2]
    step = page.partition('name="step" value="')[2].partition('"')[0]
    assert browser.post("/undo", form={"slug": SLUG, "step": "another"}).status == 409
    assert browser.post("/undo", form={"slug": SLUG, "step": step}).status == 303
    assert browser.get(PATH).text == before
    assert browser.get("/").text == home
    assert browser.get("/timeline").text == days


def test_what_would_be_done_again_at_once_is_not_offered_to_be_taken_back(browser: Browser) -> None:
    path = statement_of(browser)
    browser.post(f"{path}/delete")
    assert "so that two workers that retry" not in browser.get(PATH).text
    assert "Take it back" not in browser.get(PATH).text


def test_a_form_about_what_has_changed_says_so(browser: Browser) -> None:
    assert (answer := browser.post("/fact/l-00000000/retire")).status == 409
    assert "<h1>Not done</h1>" in answer.text
    path = statement_of(browser)
    shown = unescape(browser.get(path).text.partition('name="shown" value="')[2].partition('"')[0])
    for act, status in (("edit", 303), ("edit", 409), ("promote", 409), ("retire", 409), ("delete", 409)):
        answer = browser.post(f"{path}/{act}", form={"text": f"A key of {status}.", "shown": shown})
        assert answer.status == status, act
    assert "Now it reads: A key of 303." in answer.text
    assert browser.post(f"{path}/retire").status == 303
    assert "It holds no longer: A key of 303." in browser.post(f"{path}/edit", form={"text": "?", "shown": shown}).text
    assert browser.get("/undo").status == 405
