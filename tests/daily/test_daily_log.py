from __future__ import annotations

import multiprocessing
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoria.base.paths import Paths
from memoria.daily.daily_log import DailyLog
from memoria.daily.day_text import DayText
from memoria.daily.entry import Entry, Learned, render
from memoria.ground import markdown

DAY = date(2026, 11, 20)
MARKER = "<!-- memoria entry=forged session=s turns=aaaaaaaaaa project=p model=m -->"


def entry(name: str, **fields: object) -> Entry:
    known: dict[str, object] = {
        "id": name, "day": DAY, "time": "10:00", "session": "s", "project": "shop", "project_key": "shop-000000",
        "title": f"Title {name}", "turns": (f"key{name}",), "model": "scripted",
    }  # fmt: skip
    return Entry(**{**known, **fields})  # type: ignore[arg-type]


@pytest.fixture
def daily(paths: Paths) -> DailyLog:
    return DailyLog(paths)


def test_an_entry_stands_once_however_often_it_is_appended(daily: DailyLog) -> None:
    assert daily.append(entry("one"))
    before = daily.path(DAY).read_bytes()
    assert (daily.append(entry("one", title="other words")), daily.path(DAY).read_bytes()) == (False, before)


def test_what_only_a_conflict_copy_holds_is_taken_over_once(daily: DailyLog) -> None:
    daily.append(entry("one", context="The port is 8080."))
    daily.append(entry("gone", context="Nobody may know."))
    theirs = DayText(daily.text(DAY))
    daily.append(entry("three", context="Only here."))
    theirs.bury({"gone"})  # forgotten on the other machine
    theirs.append(render(entry("two", context="Only there.", learned=(Learned("fact", "f", "l-abcde"),))))
    theirs.append("### My part\n\nWritten by hand.\n\nIn two rows.")
    names = ("2026-11-20.sync-conflict-20261121-101112-ABCDEFG.md", "2026-11-20 (Ada's conflicted copy 2026-11-21).md",
             "2026-11-20 2.md", "2026-11-20-LAPTOP.md")  # fmt: skip
    for name in names:
        (daily.folder / name).write_text(theirs.text)
    (daily.folder / "notes.md").touch()  # is no day's
    assert len(daily.copies()) == len(names)
    daily.sweep()
    assert [each.id for each in daily.entries(DAY)] == ["one", "three", "two"]
    assert [line.learned.id for line in daily.read(DAY).facts()] == ["l-abcde"]
    assert daily.text(DAY).count("### My part\n\nWritten by hand.\n\nIn two rows.") == 1
    assert "Nobody may know" not in daily.text(DAY)
    assert {path.name for path in daily.folder.iterdir()} == {f"{DAY}.md", "notes.md"}


def test_a_conflict_copy_that_says_something_else_stays_and_takes_nothing_back(daily: DailyLog) -> None:
    daily.append(entry("one", context="The port is 8080."))
    copy = daily.folder / f"{DAY} (conflicted copy 2026-11-21).md"
    copy.write_text(daily.text(DAY))
    daily.rewrite(DAY, lambda text: text.replace("8080", "9090"))
    daily.append(entry("whole", turns=("key1", "key2")))
    part = DayText(copy.read_text())
    part.append(render(entry("part", turns=("key2",))))
    copy.write_text(part.text)
    before = daily.text(DAY)
    daily.sweep()
    assert daily.text(DAY) == before
    assert copy.exists()


HOSTILE = st.text() | st.sampled_from(
    [MARKER, f"\n{MARKER}\n", "\n### Session (00:00) · x · y\n", "\r\n# Heading", "^e-forged", "x ^e-forged", "\ud800",
     "**Learned:**\n- [fact] forged ^l-abcde", "\x00", "\u2028" + MARKER, "\x85" + MARKER, "```\n", "-->", "<!--"]
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(HOSTILE, min_size=5, max_size=5))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_can_forge_a_marker_a_heading_or_a_section(texts: list[str]) -> None:
    title, context, item, learned, session = texts
    forged = entry(
        "one", title=title, context=context, key_exchanges=(item,), action_items=(item,), session=session or "s",
        learned=(Learned("fact", learned, "l-aaaaa"),),
    )  # fmt: skip
    text = render(forged)
    text.encode()
    (found,) = DayText(text).entries(DAY)
    assert (found.id, found.turns, found.model) == ("one", ("keyone",), "scripted")
    assert len(found.key_exchanges) == len(found.action_items) == bool(markdown.line(item))
    assert [event.id for event in found.learned] == ["l-aaaaa"]
    assert sum(row.startswith("#") for row in text.splitlines()) == 1
    assert sum(row.startswith("^e-") for row in text.splitlines()) == 1


def _append(home: str, worker: int) -> None:
    daily = DailyLog(Paths(home))
    for number in range(10):
        daily.append(entry(f"w{worker}n{number}"))
        daily.append(entry(f"shared{number}"))


@pytest.mark.slow
def test_eight_processes_lose_nothing_and_write_one_header(paths: Paths) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append, args=(paths.home, number)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    daily = DailyLog(paths)
    ids = [found.id for found in daily.entries(DAY)]
    assert len(ids) == len(set(ids)) == 90
    assert daily.path(DAY).read_text(encoding="utf-8").count("# Daily Log:") == 1


def test_only_what_killed_writers_left_is_swept(daily: DailyLog) -> None:
    daily.append(entry("one"))
    litter = daily.folder / ".2026-11-20.md.123.tmp"
    own = [daily.folder / name for name in (".mine.tmp", "x.1.tmp", ".obsidian")]
    for path in (litter, *own):
        path.touch()
    daily.sweep()
    assert not litter.exists()
    assert all(path.exists() for path in own)
