"""Who is let in, and what an article can do: nothing."""

from __future__ import annotations

import time

import pytest

from memoria.ground.home import Home
from memoria.reader import security
from reader_home import HOST, HOSTILE, Browser, fill, write


@pytest.fixture
def browser() -> Browser:
    home = Home.open()
    fill(home)
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


def test_a_name_that_was_bound_anew_to_loopback_reads_nothing(browser: Browser) -> None:
    browser.enter()
    for host in ("evil.example:4711", "127.0.0.1", "127.0.0.1:4712", "localhost.evil.example:4711", ""):
        assert browser.get("/", host=host).status == 421
    assert browser.get("/", host="localhost:4711").status == 200


def test_a_form_is_taken_only_from_our_own_page_and_session(browser: Browser) -> None:
    browser.enter()
    assert browser.post("/retry/compile", origin="https://evil.example").status == 403
    assert browser.post("/retry/compile", origin="http://127.0.0.1:9").status == 403
    assert browser.post("/retry/compile", origin="null").status == 403
    assert browser.post("/retry/compile", token="guessed").status == 403
    other = Browser(browser.home).enter()
    assert browser.post("/retry/compile", token=other.token()).status == 403
    assert browser.get("/retry/compile").status == 405


def test_a_page_of_another_port_of_this_host_is_refused(browser: Browser) -> None:
    browser.enter()
    for site in ("same-site", "cross-site"):
        assert browser.get("/", **{"sec-fetch-site": site}).status == 403
    assert browser.get("/", **{"sec-fetch-site": "same-origin"}).status == 200


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


def test_nothing_in_an_article_becomes_more_than_text(browser: Browser) -> None:
    write(browser.home, "concepts/hostile", HOSTILE)
    browser.enter()
    for path in ("/article/concepts/hostile", "/search?q=alert", "/"):
        page = browser.get(path).text
        for tag in ("<script>", "<iframe", "<style", "<svg onload", "<img", "<image", "<b onclick"):
            assert tag not in page, (path, tag)
        assert "onmouseover=" not in page.replace("onmouseover=&quot;", "").replace("%22onmouseover=%22", "")
        for address in ("javascript:", "file:", "data:"):
            assert f'href="{address}' not in page.casefold()


def test_the_way_in_leads_to_no_other_site(browser: Browser) -> None:
    for to in ("https://evil.example", "//evil.example", "/%5Cevil.example", "/%22%3E%3Cscript%3E"):
        answer = browser.get(f"/enter?ticket={security.ticket(browser.key)}&to={to}")
        assert "evil" not in answer.text
        assert "<script>" not in answer.text
