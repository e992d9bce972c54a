"""Housekeeping: what nobody needs any more goes, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from memoria.base.paths import Paths
from memoria.briefing import housekeeping
from memoria.recall.shown_notes import ShownNotes


def test_what_sessions_long_over_were_shown_goes(tmp_path: Path) -> None:
    paths = Paths(str(tmp_path))
    for session in ("old", "new"):
        ShownNotes(paths.hints, session).add(["a"])
    os.utime(Path(paths.hints, "old"), (1, 1))
    housekeeping.clean(paths)
    assert [path.name for path in Path(paths.hints).iterdir()] == ["new"]


def test_the_usage_counts_of_version_0_1_0_go(tmp_path: Path) -> None:
    paths = Paths(str(tmp_path))
    Path(paths.state).mkdir()
    for name in ("recall.db", "recall.db-wal", "recall.db-shm", "ledger.db"):
        Path(paths.state, name).write_bytes(b"SQLite")
    housekeeping.clean(paths)
    assert sorted(path.name for path in Path(paths.state).iterdir()) == ["README", "ledger.db", "written-by"]
