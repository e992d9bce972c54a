"""The pages of the learned facts, and what can be done with a fact there."""

from __future__ import annotations

import errno
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoria.ground import clock
from memoria.ground.home import Home
from memoria.statements.fact import GLOBAL
from memoria.statements.keeper import Keeper
from reader_home import Browser, write

PNPM = "/fact/l-c1002"


def test_the_table_of_facts_can_be_narrowed_by_words_kind_and_project(browser: Browser) -> None:
    assert "Use pnpm in the shop, never npm." in browser.get("/facts").text
    assert "pnpm" not in browser.get("/facts?kind=decision").text
    assert "pnpm" in browser.get("/facts?project=shop-1a2b3c&q=PNPM+never").text
    assert "pnpm" not in browser.get("/facts?project=gr%C3%BC%C3%9Fe-blog-4d5e6f").text
    assert "No fact fits." in browser.get("/facts?q=zebra").text


def test_a_full_disk_is_a_sentence_and_no_traceback(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    for error in (full, OSError(errno.ENOSPC, "No space left on device")):

        def refuse(_: Home, error: Exception = error) -> Keeper:
            raise error

        with monkeypatch.context() as disk:
            disk.setattr(Keeper, "at", refuse)
            for page in (browser.get("/facts"), browser.post(f"{PNPM}/promote")):
                assert page.status == 503
                assert "Check free space" in page.text
    assert browser.get("/facts").status == 200


def test_an_edited_fact_keeps_its_earlier_wording_and_changes_its_daily_log(browser: Browser) -> None:
    done = browser.post(f"{PNPM}/edit", form={"text": "Use bun in the shop, never npm or pnpm."})
    assert done.status == 303
    page = browser.get(PNPM).text
    assert "Use bun in the shop, never npm or pnpm." in page
    assert "Use pnpm in the shop, never npm." in page.partition("Earlier wordings")[2]
    with Keeper.at(browser.home) as keeper:
        assert keeper.get("l-c1002").content.startswith("Use bun")


def test_what_the_log_escapes_is_shown_as_it_was_written(browser: Browser) -> None:
    browser.post(f"{PNPM}/edit", form={"text": "A `Vec<T>` goes to Vec<T>."})
    assert "<title>A Vec&lt;T&gt; goes to Vec&lt;T&gt;. · memoria</title>" in browser.get(PNPM).text
    browser.post(f"{PNPM}/edit", form={"text": "Nothing goes there."})
    earlier = browser.get(PNPM).text.partition("Earlier wordings")[2]
    assert "A <code>Vec&lt;T&gt;</code> goes to Vec&lt;T&gt;." in earlier
    write(browser.home, "concepts/vec", "---\ntitle: How `Vec&lt;T>` is used\n---\n\n# How\n\nWith `push`.\n")
    browser.site.watch.look()
    assert "<h1>How <code>Vec&amp;lt;T&gt;</code> is used</h1>" in browser.get("/article/concepts/vec").text


def test_bytes_that_are_no_utf_8_and_empty_sections_are_no_bug(browser: Browser) -> None:
    path = Path(browser.home.paths.knowledge, "concepts", "latin.md")
    path.write_bytes("# Grüße\n\n## History\n\n## Related\n".encode("latin-1"))
    browser.site.watch.look()
    page = browser.get("/article/concepts/latin")
    assert (page.status, "<h1>Gr??e</h1>" in page.text) == (200, True)
    assert "no longer" not in page.text
    assert 'id="related"' not in page.text


def test_a_day_to_come_from_a_wrong_clock_is_not_the_last_one(browser: Browser) -> None:
    with Keeper.at(browser.home) as keeper:
        keeper.write(replace(keeper.get("l-c1004"), time=datetime(2199, 1, 1, tzinfo=UTC)))
    browser.site.watch.look()
    assert "20 November 2026</small>" in browser.get("/").text


def test_a_promoted_fact_holds_everywhere_and_a_deleted_one_is_gone(browser: Browser) -> None:
    browser.post(f"{PNPM}/promote")
    with Keeper.at(browser.home) as keeper:
        assert keeper.get("l-c1002").project == GLOBAL
    assert "It holds in every project" not in browser.get(PNPM).text
    done = browser.post(f"{PNPM}/delete")
    assert done.headers["location"].startswith("/facts?said=The+fact+was+deleted")
    assert browser.get(PNPM).status == 404
    assert "pnpm" not in browser.get("/facts?state=all").text


def test_a_fact_names_what_it_superseded_and_what_superseded_it(browser: Browser) -> None:
    with Keeper.at(browser.home) as keeper:
        old = keeper.get("l-c1004")
        keeper.write(replace(old, ended=clock.now(), successor="l-c1001"))
    browser.site.watch.look()
    assert old.content[:40] in browser.get("/fact/l-c1001").text.partition("Superseded")[2]
    page = browser.get(f"/fact/{old.id}").text
    assert "No longer holds since" in page
    assert 'href="/fact/l-c1001"' in page
    assert old.content[:40] not in browser.get("/facts").text
    assert old.content[:40] in browser.get("/facts?state=ended").text
