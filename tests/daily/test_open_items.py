"""Open items are what the boxes of the daily logs say; copies are one item, and a person's tick counts for all."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from memoria.base.paths import Paths
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.ledger import Ledger
from memoria.daily.open_items import OpenItems, is_same

MONDAY, TUESDAY = date(2026, 11, 16), date(2026, 11, 17)
RETRY = "Add the retry to the uploader."


@pytest.fixture
def items(paths: Paths, ledger: Ledger) -> OpenItems:
    return OpenItems(DailyLog(paths), ledger)


def write(items: OpenItems, name: str, *texts: str, day: date = MONDAY, project: str = "shop-000000") -> Entry:
    known: dict[str, Any] = {
        "time": "10:00", "session": "s", "project": project.split("-", maxsplit=1)[0], "title": f"Title {name}",
    }  # fmt: skip
    entry = Entry(id=name, day=day, project_key=project, action_items=texts, turns=(f"k{name}",), model="m", **known)
    items.daily.append(entry)
    items.refresh()
    return entry


def edit(items: OpenItems, old: str, new: str, day: date = MONDAY) -> None:
    """Save a day's file as a person does."""
    path = items.daily.path(day)
    data = path.read_bytes()
    assert old.encode() in data
    path.write_bytes(data.replace(old.encode(), new.encode(), 1))


def texts(items: OpenItems, project: str = "shop-000000") -> list[str]:
    items.refresh()
    return [item.text for item in items.of(project)]


@pytest.mark.parametrize("box", ["- [x] {}", "- [X] {}", "- [-] {}", "- [ ] ~~{}~~", "- [x] ~~{}~~"])
def test_what_a_person_ticks_or_strikes_is_closed(items: OpenItems, box: str) -> None:
    write(items, "a", RETRY, "Write the changelog.")
    edit(items, f"- [ ] {RETRY}", box.format(RETRY))
    assert texts(items) == ["Write the changelog."]


def test_a_tick_of_one_copy_closes_all_that_stand_and_none_that_is_written_later(items: OpenItems) -> None:
    write(items, "a", RETRY)
    write(items, "b", RETRY, day=TUESDAY)
    edit(items, "- [ ] Add", "- [x] Add")
    assert texts(items) == []
    assert f"- [x] {RETRY}" in items.daily.text(TUESDAY)
    write(items, "c", RETRY, day=date(2026, 11, 18))
    assert (texts(items), [item.day for item in items.of("shop-000000")]) == ([RETRY], ["2026-11-18"])


def test_an_older_copy_is_not_open_after_a_later_one_was_closed_before_the_list_existed(items: OpenItems) -> None:
    """As in a home of 0.1.0, whose ledger held no items."""
    write(items, "a", RETRY)
    write(items, "b", RETRY, day=TUESDAY)
    edit(items, "- [ ] Add", "- [x] Add", TUESDAY)
    items.ledger.db.execute("DELETE FROM items")
    items.ledger.db.execute("DELETE FROM logs")
    assert texts(items) == []


def test_closing_edits_one_line_and_leaves_the_rest_of_the_file_as_a_person_left_it(items: OpenItems) -> None:
    write(items, "a", RETRY, "Write the changelog.")
    path = items.daily.path(MONDAY)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n") + b"my own note  \r\n- [ ] mine")
    items.refresh()
    before = path.read_bytes()
    items.close([item for item in items.of("shop-000000") if item.text == RETRY])
    assert path.read_bytes() == before.replace(b"- [ ] Add", b"- [x] Add")
    assert texts(items) == ["Write the changelog."]


@pytest.mark.parametrize(("one", "other"), [
    (RETRY, "Add a retry to the uploader"), (RETRY, "Add the retry to the uploader with backoff"),
    ("Run the load test", "Run the load tests again"),
    ("Handle public holidays in the timetable.", "Public holidays in the timetable are not handled yet."),
    ("Load test auf dem Server", "Load test auf dem Server noch nicht"), ("Den Retry einbauen", "Retry einbauen."),
    ("Fix the flaky test in `test_sync.py` on CI", "Fix the flaky test in test_sync.py"),
])  # fmt: skip
def test_wordings_of_one_item_are_recognised(items: OpenItems, one: str, other: str) -> None:
    write(items, "a", "Write the changelog.", one, other)
    assert (is_same(one, other), texts(items)) == (True, ["Write the changelog.", one])


@pytest.mark.parametrize(("one", "other"), [
    (RETRY, "Add the retry to the downloader"), ("Move worker 3 to port 9001", "Move worker 4 to port 9002"),
    ("Update `a.py`", "Update `b.py`"), ("Write tests for the parser module", "Write tests for the lexer module"),
    ("Test on Windows", "Test on Linux"), ("Decide whether to use redis", "Decide not to use redis"),
])  # fmt: skip
def test_items_that_only_look_alike_stay_apart(items: OpenItems, one: str, other: str) -> None:
    write(items, "a", one, other)
    assert (is_same(one, other), texts(items)) == (False, [one, other])
