"""The timeline, and the page of a day."""

from __future__ import annotations

from datetime import timedelta

from reader_home import DAY, Browser

BEFORE = (DAY - timedelta(days=1)).isoformat()


def test_the_timeline_is_narrowed_by_project(browser: Browser) -> None:
    assert "Umlaute" not in browser.get("/timeline?project=shop-1a2b3c").text.partition("</form>")[2]
    assert "Nothing fits." in browser.get("/timeline?project=zebra").text


def test_a_day_has_a_page_that_leads_on(browser: Browser) -> None:
    page = browser.get(f"/day/{DAY}").text
    assert "The payment provider times out under load" in page
    assert f'rel="prev" href="/day/{BEFORE}"' in page
    assert browser.get("/day/2020-01-01").status == 404
    assert browser.get("/day/never").status == 404
