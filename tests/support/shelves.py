"""A client's folder of transcripts for tests: sessions of so many exchanges, as old as a test wants them."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memoria import cli
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.ground.home import Home

HOUR, DAY = 3600.0, 86_400.0


class Shelf:
    """``<config>/projects`` of the test's own client folder."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.root = Path(os.environ["CLAUDE_CONFIG_DIR"], "projects")
        self.work = tmp_path / "tidemark"
        self.work.mkdir()
        monkeypatch.setenv("MEMORIA_MODEL", "offline")
        monkeypatch.setenv("MEMORIA_PYTHON", "/bin/true")  # a worker or compile that is started does nothing
        monkeypatch.setenv("MEMORIA_TZ", "UTC")

    def session(self, exchanges: int = 2, *, age_s: float = HOUR, name: str = "", **said: Any) -> Path:
        """Write a session that ended ``age_s`` ago; returns its transcript."""
        session = name or str(uuid.uuid4())
        path = self.root / "-tidemark" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.say(path, exchanges, age_s=age_s, **said)
        return path

    def say(self, path: Path, exchanges: int, *, age_s: float = HOUR, cwd: Path | None = None, more: str = "",
            **envelope: object) -> None:  # fmt: skip
        """Let a session go on; ``more``: what the user says besides."""
        end = datetime.now(UTC) - timedelta(seconds=age_s)
        with path.open("a", encoding="utf-8") as file:
            for number in range(exchanges):
                when = (end - timedelta(minutes=exchanges - number)).isoformat().replace("+00:00", "Z")
                base = {"cwd": str(cwd or self.work), "sessionId": path.stem, "timestamp": when, **envelope}
                asked = {"role": "user", "content": f"Why does the harbour gauge number {number} drift by 3 cm?{more}"}
                told = "Decision: we keep the gauge and correct the drift with a table, because it is stable."
                answer = {"role": "assistant", "id": f"m{number}", "content": [{"type": "text", "text": told}]}
                for kind, message in (("user", asked), ("assistant", answer)):
                    line = {**base, "type": kind, "message": message, "uuid": str(uuid.uuid4())}
                    file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self.age(path, age_s)

    def age(self, path: Path, age_s: float) -> None:
        moment = time.time() - age_s
        os.utime(path, (moment, moment))


def printed(*words: str) -> tuple[int, str]:
    """Run a verb; return its exit status and what it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = cli.main(list(words))
    return status, out.getvalue()


def since(home: Home, age_s: float) -> None:
    """Let memoria have been installed ``age_s`` ago."""
    Path(home.paths.since).write_text(str(time.time() - age_s), encoding="utf-8")


def entries(home: Home) -> list[Entry]:
    daily = DailyLog(home.paths)
    return [entry for day in daily.days() for entry in daily.entries(day)]


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shelf]:
    yield Shelf(monkeypatch, tmp_path)
    root = logging.getLogger("memoria")
    for handler in root.handlers[:]:  # the door's log file
        root.removeHandler(handler)
        handler.close()
