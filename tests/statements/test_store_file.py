"""A worker opens the facts when any of them has news for it, and only then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from facts import a_fact, keeper
from memoria.base.paths import Paths
from memoria.daily.daily_log import DailyLog
from memoria.statements.keeper import Keeper
from memoria.statements.store_file import has_news


def has_news_at(home: Path) -> bool:
    paths = Paths(str(home))
    return has_news(paths, DailyLog.of(paths).stamps())


def log(home: Keeper) -> Path:
    (path,) = home.lines.daily.folder.glob("*.md")
    return path


def damage(home: Keeper) -> None:
    home.store.db.close()
    home.store.path.write_bytes(b"junk" * 1000)


NEWS: dict[str, Callable[[Keeper], object]] = {
    "a person changed a log": lambda home: log(home).write_text(log(home).read_text() + "more\n"),
    "a person removed a log": lambda home: log(home).unlink(),
    "a log is new": lambda home: log(home).with_name("2026-11-21.md").write_text("# Daily Log: 2026-11-21\n"),
    "a fact waits to be stored": lambda home: home.outbox.put({"id": "l-1", "ended": ""}),
    "the pages lack a fact": lambda home: home.store.set_meta("unshown", "1"),
    "the store is damaged": damage,
    "the store is gone": lambda home: home.store.path.unlink(),
}


@pytest.mark.parametrize("change", NEWS.values(), ids=list(NEWS))
def test_the_facts_have_news_after_a_change_until_they_are_read(
    tmp_path: Path, change: Callable[[Keeper], object]
) -> None:
    assert has_news_at(tmp_path), "they were never read"
    with keeper(tmp_path) as home:
        home.take([a_fact("Use pnpm, not npm.")])
    with keeper(tmp_path) as home:  # reads the log that it wrote
        home.store.set_meta("unshown", "")
    assert not has_news_at(tmp_path)
    with keeper(tmp_path) as home:
        change(home)
    assert has_news_at(tmp_path)
