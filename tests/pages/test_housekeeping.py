"""Housekeeping: what nobody needs any more goes, and nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from memoria import cli
from memoria.base.paths import Paths
from memoria.ground import swap
from memoria.ground.home import Home
from memoria.ground.replaced import conflict_copies
from memoria.ground.swap import Swap
from memoria.pages import housekeeping
from memoria.recall.shown_notes import ShownNotes
from memoria.worker import worker


@pytest.mark.parametrize(("verb", "now", "more"), [("flush", 0, 10), ("observe", 4, 6), ("search --wait", 15, 0)])
def test_a_worker_waits_for_everything_else_on_the_machine(
    monkeypatch: pytest.MonkeyPatch, verb: str, now: int, more: int
) -> None:
    asked: list[int] = []

    def nice(by: int) -> int:
        asked.append(by)
        return now

    monkeypatch.setattr(os, "nice", nice)
    monkeypatch.setenv("MEMORIA_DETACHED", "1")
    assert cli.main(verb.split()) == 0
    assert asked == [0, more]


def test_what_sessions_long_over_were_shown_goes(tmp_path: Path) -> None:
    paths = Paths(str(tmp_path))
    for session in ("old", "new"):
        ShownNotes(paths.hints, session).add(["a"])
    os.utime(Path(paths.hints, "old"), (1, 1))
    housekeeping.clean(paths)
    assert [path.name for path in Path(paths.hints).iterdir()] == ["new"]


def test_what_died_processes_left_goes_after_a_day_and_what_may_be_needed_stays(tmp_path: Path) -> None:
    paths = Paths(str(tmp_path))
    Path(paths.spool, "tmp").mkdir(parents=True)
    kept, job = "{}.db.bak-20261101T080000.00000{}Z", "spool/tmp/01795000000000000000.{}.Stop.s1.0-99.job"
    ages = {kept.format("index", 0): 2, job.format(17): 2, kept.format("ledger", 0): 2, kept.format("index", 1): 0,
            job.format(18): 0}  # fmt: skip
    for name, age in ages.items():
        Path(paths.state, name).write_text("left")
        os.utime(Path(paths.state, name), (0, time.time() - age * 86_400))
    housekeeping.clean(paths)
    assert [Path(paths.state, name).exists() for name in ages] == [False, False, True, True, True]


def test_a_save_into_what_was_just_replaced_gets_a_name_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap, "WRITING_S", 0.1)
    home = Home.open()
    day = Path(home.paths.daily, "2026-11-20.md")
    day.write_bytes(b"old")
    with day.open("r+b") as editor:  # which goes on with the file that had the name
        Swap(home.paths).replace(day, b"new", b"old")
        editor.write(b"a person's")
    worker.work(home)
    (copy,) = conflict_copies(day.parent)
    assert (day.read_bytes(), copy.read_bytes()) == (b"new", b"a person's")
    assert f"What you saved is in daily/{copy.name};" in Path(home.paths.notice).read_text()
    copy.unlink()
    worker.work(home)
    assert not Path(home.paths.notice).exists(), "once it is taken over"


def test_a_long_log_becomes_the_old_one_and_a_short_one_stays() -> None:
    home = Home.open()
    logs = [Path(path) for path in (home.paths.memoria_log, home.paths.hook_log)]
    for path, length in zip(logs, (home.settings.log_bytes + 1, 10), strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * length)
    housekeeping.rotate(home)
    assert [path.exists() for path in logs] == [False, True]
    assert logs[0].with_name("memoria.log.1").exists()
