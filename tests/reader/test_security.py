"""Who is let in, and what an article can do: nothing."""

from __future__ import annotations

import time

import pytest

from memoria.ground.home import Home
from memoria.reader import security
from reader_home import HOST, Browser


@pytest.fixture
def browser(home: Home) -> Browser:
    return Browser(home)


def test_nothing_is_shown_without_the_cookie_that_a_ticket_gives(browser: Browser) -> None:
    for path in ("/", "/article/concepts/checkout", "/static/style.css", "/search?q=key"):
        answer = browser.get(path)
        assert answer.status == 403
        assert "idempotency" not in answer.text
    assert browser.get("/", cookie=f"memoria_{4711}=guessed").status == 403
    assert browser.enter().get("/").status == 200


def test_a_ticket_works_once_and_for_ten_minutes(browser: Browser) -> None:
    ticket = security.ticket(browser.key)
    assert browser.get(f"/enter?ticket={ticket}").headers["set-cookie"].endswith("HttpOnly; SameSite=Strict")
    assert browser.get(f"/enter?ticket={ticket}").status == 403
    late = security.ticket(browser.key, time.time() - security.TICKET_SECONDS - 5)
    assert browser.get(f"/enter?ticket={late}").status == 403
    assert browser.get(f"/enter?ticket={security.ticket('another key')}").status == 403
    assert browser.get("/enter").status == 403


def test_other_methods_and_large_bodies_are_refused(browser: Browser) -> None:
    browser.enter()
    assert browser.ask("PUT", "/").status == 405
    assert browser.ask("POST", "/retry/compile", b"x", origin=f"http://{HOST}").status == 413


def test_no_page_may_run_or_load_anything_that_is_not_ours(browser: Browser) -> None:
    browser.enter()
    for path in ("/", "/search?q=key", "/article/concepts/checkout", "/nope"):
        policy = browser.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "frame-ancestors 'none'" in policy
        page = browser.get(path).text
        assert "style=" not in page
        assert "<script>" not in page
        assert "http://" not in page.replace(HOST, "")
        assert "https://" not in page
