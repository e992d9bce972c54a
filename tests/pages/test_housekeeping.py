"""Housekeeping: what nobody needs any more goes, and nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from memoria import cli
from memoria.base.paths import Paths
from memoria.ground.home import Home
from memoria.pages import housekeeping
from memoria.recall.shown_notes import ShownNotes


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


def test_what_a_killed_hook_left_in_the_spool_goes_after_a_day_and_what_is_being_written_stays(tmp_path: Path) -> None:
    paths = Paths(str(tmp_path))
    folder = Path(paths.spool, "tmp")
    folder.mkdir(parents=True)
    left, written = (folder / f"01795000000000000000.{writer}.Stop.s1.0-99.job" for writer in (17, 18))
    for path in (left, written):
        path.write_text("half")
    os.utime(left, (0, time.time() - 2 * 86_400))
    housekeeping.clean(paths)
    assert list(folder.iterdir()) == [written]


def test_a_damaged_index_goes_after_a_day_and_other_files_that_were_set_aside_stay(tmp_path: Path) -> None:
    paths = Paths(str(tmp_path))
    Path(paths.state).mkdir(parents=True, exist_ok=True)
    names = ("index.db.bak-20261101T080000.000000Z", "ledger.db.bak-20261101T080000.000000Z", "index.db.bak-x")
    for name, age in zip(names, (2, 2, 0), strict=True):
        path = Path(paths.state, name)
        path.write_text("damaged")
        os.utime(path, (0, time.time() - age * 86_400))
    housekeeping.clean(paths)
    assert {path.name for path in Path(paths.state).glob("*.bak-*")} == {names[1], names[2]}


def test_a_long_log_becomes_the_old_one_and_a_short_one_stays() -> None:
    home = Home.open()
    logs = [Path(path) for path in (home.paths.memoria_log, home.paths.hook_log)]
    for path, length in zip(logs, (home.settings.log_bytes + 1, 10), strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * length)
    housekeeping.rotate(home)
    assert [path.exists() for path in logs] == [False, True]
    assert logs[0].with_name("memoria.log.1").exists()
