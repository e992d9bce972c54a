"""The pages of sessions and of the receipt."""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from home_of import entry
from memoria.daily.ledger import Call, Ledger
from memoria.ground import clock
from memoria.ground.home import Home, change_config
from memoria.ground.swap import Swap
from reader_home import SHOP, Browser, asked, transcribe


def test_every_session_shows_what_became_of_its_turns(home: Home) -> None:
    transcribe(home, "s-c1", [asked("Hello.")], {"captured": 4, "skipped: nothing worth an entry": 2})
    os.utime(transcribe(home, "s-quiet", [asked("Only thanks.")], {"skipped: nothing worth an entry": 1}), (0, 0))
    browser = Browser(home).enter()
    for ident, time in (("z1", "17:00"), ("a2", "23:00"), ("m3", "20:00")):
        entry(home, ident, f"At {time}", session=f"s-{ident}", time=time, project_key=SHOP[1])
    page = browser.get("/sessions").text
    assert re.findall(r"At (\d\d):00|without double charges", page) == ["23", "20", "17", ""]
    assert re.findall(r"At (\d\d):00", browser.get("/").text) == ["23"]
    assert "6 turns: 4 in 1 entry · 2 nothing worth an entry" in page
    assert '<a href="/session/s-quiet">Nothing was noted</a>' in page
    assert 'href="/entry/c1"' in browser.get("/session/s-c1").text
    assert "20 November 2026" in browser.get("/session/s-quiet").text, "its lines say the day, not the file's time"


@pytest.mark.parametrize("way", ["config", "marker"])
def test_what_is_excluded_while_the_reader_runs_is_shown_no_more(home: Home, tmp_path: Path, way: str) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    Path(home.paths.folders).write_text(json.dumps({SHOP[1]: [str(folder)]}))
    browser = Browser(home).enter()
    assert "Use pnpm in the shop" in browser.get("/").text
    assert browser.get("/entry/c1").status == 200
    if way == "config":
        change_config(Swap(home.paths), {"exclude": [str(folder)]})
    else:
        (folder / ".memoria-off").touch()
    assert "Use pnpm in the shop" not in browser.get("/").text
    assert browser.get("/entry/c1").status == 404


def test_the_receipt_names_what_is_missing_and_how_to_capture_it(home: Home, browser: Browser) -> None:
    assert "<code>memoria verify</code> at once" in browser.get("/receipt").text
    transcribe(home, "s-c1", [asked("Hello.")], {"captured": 4, "missing": 1})
    page = browser.get("/receipt").text
    assert '<div class="missing"><dt>missing</dt><dd>1</dd></div>' in page
    assert "memoria verify --repair" in page
    assert "Nothing is missing" not in page


def test_costs_are_summed_for_a_month_and_for_today_beside_the_budget(home: Home) -> None:
    with closing(Ledger(home.paths)) as ledger:
        for ago, usd in ((0, 0.25), (1, 1.5), (40, 9.0)):
            when = clock.now() - timedelta(days=ago)
            ledger.book(Call("flush", "haiku", "shop-1a2b3c", "ok", 10, 5, usd, 1.0), when)
    home.settings.daily_budget_usd = 1.0
    browser = Browser(home).enter()
    page = browser.get("/receipt").text
    assert "<dd>$1.75</dd>" in page
    assert "today, of a budget of $1.00</dt><dd>$0.25</dd>" in page
