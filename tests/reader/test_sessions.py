"""The pages of sessions and of the receipt."""

from __future__ import annotations

import json
import os
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from memoria.daily.ledger import Call, Ledger
from memoria.ground import clock
from memoria.ground.home import Home, change_config
from memoria.ground.swap import Swap
from memoria.transcripts import client_files
from reader_home import SHOP, Browser, fill

SECRET = "ghp_" + "a8B3c9D2e7F1g6H5i4J0k8L3m9N2o7P1q6R5"  # not a key


@pytest.fixture
def home() -> Home:
    home = Home.open()
    fill(home)
    return home


def _transcript(home: Home, session: str, cwd: Path, texts: list[str], fates: dict[str, int]) -> Path:
    """Write a transcript, and record what became of its turns."""
    path = client_files.folder({"CLAUDE_CONFIG_DIR": str(Path.home() / ".claude")}) / "p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"type": "user", "uuid": f"{session}-{number}", "sessionId": session, "cwd": str(cwd),
         "timestamp": "2026-11-20T10:00:00Z", "message": {"role": "user", "content": text}}
        for number, text in enumerate(texts)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with closing(Ledger(home.paths)) as ledger:
        ledger.check(str(path), "1-2-0", fates)
    return path


def test_every_session_shows_what_became_of_its_turns(home: Home, tmp_path: Path) -> None:
    _transcript(home, "s-c1", tmp_path, ["Hello."], {"captured": 4, "skipped: nothing worth an entry": 2})
    _transcript(home, "s-quiet", tmp_path, ["Only thanks."], {"skipped: nothing worth an entry": 1})
    browser = Browser(home).enter()
    page = browser.get("/sessions").text
    assert "6 turns: 4 in 1 entry · 2 nothing worth an entry" in page
    assert '<a href="/session/s-quiet">Nothing was noted</a>' in page
    assert 'href="/entry/c1"' in browser.get("/session/s-c1").text


def test_the_day_of_a_session_without_entries_is_said_by_its_lines_and_not_by_the_files_time(
    home: Home, tmp_path: Path
) -> None:
    path = _transcript(home, "s-quiet", tmp_path, ["Only thanks."], {"skipped: nothing worth an entry": 1})
    os.utime(path, (0, 0))
    assert "20 November 2026" in Browser(home).enter().get("/session/s-quiet").text


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


def test_the_receipt_names_what_is_missing_and_how_to_capture_it(home: Home, tmp_path: Path) -> None:
    _transcript(home, "s-c1", tmp_path, ["Hello."], {"captured": 4, "missing": 1})
    browser = Browser(home).enter()
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
