"""The catalog follows the files, and a memory that cannot be read is said in the page."""

from __future__ import annotations

from typing import Any

import pytest

from memoria.base.paths import Paths
from memoria.ground.errors import ExpectedError
from memoria.index import sources
from memoria.index.index import Index
from memoria.reader.catalog import Catalog
from reader_home import Browser, write


def test_only_a_page_that_searches_waits_for_the_search_index_and_it_is_made_once(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Index] = []
    refresh = sources.refresh

    def counted(index: Index, paths: Paths, **given: Any) -> object:
        made.append(index)
        return refresh(index, paths, **given)

    monkeypatch.setattr(sources, "refresh", counted)
    assert "Checkout retries without double charges" in browser.get("/").text
    assert browser.get("/article/concepts/checkout").status == 200
    assert not made
    for _ in range(2):
        assert "/article/concepts/checkout" in browser.get("/search?q=idempotency").text
        assert "in the wiki" in browser.get("/timeline").text
    assert len(made) == 1


def test_a_look_is_not_repeated_at_once_and_shows_what_changed(browser: Browser) -> None:
    browser.get("/")
    browser.site.watch.every_seconds = 3600
    number = browser.site.watch.number
    write(browser.home, "concepts/new", "---\ntitle: Brand new\n---\n\n# Brand new\n\nJust written.\n")
    assert browser.get("/article/concepts/new").status == 404
    browser.site.watch.every_seconds = 0
    assert browser.get("/article/concepts/new").status == 200
    assert browser.site.watch.number == number + 1


def test_a_memory_that_cannot_be_read_is_said_in_the_page(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Catalog:
        raise ExpectedError("the ledger is away")

    monkeypatch.setattr(Catalog, "read", fail)
    answer = browser.get("/")
    assert answer.status == 409
    assert "the ledger is away" in answer.text
