"""The pages of the reader: what each shows, and that it can be followed."""

from __future__ import annotations

from contextlib import closing
from html import unescape
from pathlib import Path

import pytest

from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground.home import Home
from reader_home import ARTICLES, LONG, Browser, fill, links


def test_the_first_page_says_what_was_learned_and_where_each_project_stands(browser: Browser) -> None:
    page = browser.get("/").text
    assert "Use pnpm in the shop, never npm." in page
    assert all(label in page for label in ("shop", "grüße-blog", "数据实验"))
    assert "Checkout retries without double charges" in page
    assert "Alert when a charge needs more than two attempts" in page
    assert "autofocus" in page


def test_an_article_shows_its_claims_with_their_sources_and_folds_what_no_longer_holds(browser: Browser) -> None:
    page = browser.get("/article/concepts/checkout").text
    now, _, past = page.partition('<details class="history">')
    assert "A charge carries an idempotency key" in now
    assert 'href="/entry/c1?of=concepts%2Fcheckout&amp;claim=' in now
    assert "A failed charge is retried three times without a key" in past.partition("</details>")[0]
    assert "Payment provider</a></li>" in page.partition("Linked from")[2]
    assert ['class="wrong"' in part for part in (now, past)] == [True, False], "only what it claims now can be wrong"


def test_a_long_conversation_is_turned_page_by_page_to_its_beginning() -> None:
    home = Home.open()
    fill(home, [LONG], [ARTICLES[2] | {"claims": (("Behaviour", "l-long1001"),), "related": ()}])
    browser = Browser(home).enter()

    def turned(page: str, name: str) -> str:
        before = page.partition(f">{name} turns</a>")[0]
        return browser.get(unescape(before.rpartition('href="')[2].rstrip('"')).partition("#")[0]).text

    page = browser.get("/entry/long1").text
    assert "Line 59 is" in page
    assert "Line 60 is" not in page
    assert "Line 60 is" in turned(page, "Later")
    assert "Line 0 is" in turned(turned(page, "Later"), "Earlier")
    source = next(link for link in links(browser.get("/article/concepts/order-queue").text) if "/entry/" in link)
    page = browser.get(unescape(source)).text
    assert "Line 130 is" in page
    page = turned(page, "Earlier")
    assert "Line 60 is" in page
    assert "Line 0 is" in turned(page, "Earlier")


def test_search_finds_by_words_and_by_the_beginning_of_a_title(browser: Browser) -> None:
    assert "/article/concepts/checkout" in links(browser.get("/search?q=idempotency").text)
    typed = browser.get("/search?q=Pay&part=1").text
    assert links(typed)[0] == "/article/concepts/payment-provider"
    assert "<html" not in typed
    assert "训练数据" in browser.get("/search?q=%E6%95%B0%E6%8D%AE%E9%9B%86").text
    assert "Nothing was found" in browser.get("/search?q=zzzzzz").text


def test_a_search_says_when_the_index_is_being_built(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser.home.settings, "search_wait_s", 0.0)
    Path(browser.home.paths.index).unlink(missing_ok=True)
    assert "The search index is being brought up to date" in browser.get("/search?q=idempotency").text
    monkeypatch.setattr(browser.home.settings, "search_wait_s", 60.0)
    assert "being brought up to date" not in browser.get("/search?q=idempotency").text


def test_what_failed_is_on_the_first_page_with_a_button_that_tries_again(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(browser.home.paths.spool)
    header = {"event": "Stop", "session": "s1", "start": 0, "end": 3, "transcript": "t", "cwd": "/"}
    started: list[object] = []
    monkeypatch.setattr("memoria.capture.detach.start_worker", lambda *given: started.append(given))
    spool.add(header, b"{}\n")
    with closing(Ledger(browser.home.paths)) as ledger:
        jobs = [job.name for job in spool.jobs()]
        ledger.fail(jobs, counted=False, not_before=2e10, reason="Ollama is not running.")
        told = browser.get("/").text
        assert ("1 conversation could not be summarised yet" in told, "Ollama is not running." in told) == (True, True)
        browser.post("/retry/flush")
        assert ledger.tries(*jobs)[1] == 0, "it is tried at once"
    for job in spool.jobs():
        spool.claim(job)
        spool.fail(job, "the model was away")
    assert "could not be summarised" in browser.get("/").text
    started.clear()
    assert browser.post("/retry/flush").status == 303
    assert started
    assert not spool.jobs(spool.failed)
    assert "could not be summarised" not in browser.get("/").text


def test_what_was_refused_has_a_button_that_starts_it_again(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Ledger(browser.home.paths)) as ledger:
        for reason in ("Nothing listens.", "It would drop much of a page."):
            ledger.note("compile-failed", "", reason)
    needs = browser.get("/").text.partition("Needs you")[2]
    assert "It would drop much of a page." in needs
    assert "Nothing listens." not in needs, "which is over"
    assert 'action="/retry/waiting"' in needs
    started: list[list[str]] = []
    monkeypatch.setattr("memoria.capture.detach.start", lambda command, _: started.append(command))
    assert browser.post("/retry/waiting").status == 303
    assert [run[-1] for run in started] == ["compile"]
