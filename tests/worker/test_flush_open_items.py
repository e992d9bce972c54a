"""Open items over several flushes: shown with their ids, closed by an answer."""

from __future__ import annotations

import uuid
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from hooks import line
from memoria.capture.spool import Spool
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.daily.open_items import OpenItems, ident
from memoria.ground.home import Home
from memoria.models.protocol import Prompt
from memoria.worker.worker import Worker
from scripted_model import Scripted

NOTE = {"worth_saving": True, "title": "Uploads", "context": "The uploader was worked on."}
DAY = "2026-11-20"
RETRY = "Add the retry to the uploader."


class Days:
    """A project's sessions, each flushed with the answer that is given."""

    def __init__(self, base: Path) -> None:
        self.transcript = base / "t.jsonl"
        self.transcript.touch()
        self.model = Scripted([NOTE])
        self.number = 0

    @property
    def home(self) -> Home:
        return Home.open()

    def flush(
        self, data: bytes = b"", session: str = "", event: str = "SessionEnd", at: str = DAY, **answer: Any
    ) -> Prompt:
        """Flush a session of one exchange and ``data``; return what the model was asked."""
        self.number += 1
        said = line(f"question {self.number}") + line(f"answer {self.number}", "assistant") + data
        said = said.replace(DAY.encode(), at.encode())
        header = {"transcript": str(self.transcript), "start": 0, "copied_from": 0, "end": len(said), "cwd": "/x/shop"}
        session = session or str(uuid.uuid4())
        Spool(self.home.paths.spool).add({**header, "event": event, "session": session}, said)
        worker = Worker(self.home, insist=True)
        self.model = Scripted([{**NOTE, **answer}])
        worker.flush.model.model = self.model
        report = worker.run()
        worker.close()
        assert report.failures == []
        return self.model.prompts[-1]

    def items(self) -> list[str]:
        ledger = Ledger(self.home.paths)
        items = OpenItems(DailyLog(self.home.paths), ledger)
        items.refresh()
        (project,) = {entry.project for entry in ledger.entries()}
        found = [item.text for item in items.of(project)]
        ledger.close()
        return found

    @property
    def log(self) -> str:
        return DailyLog(self.home.paths).text(date(2026, 11, 20))


@pytest.fixture
def days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Days:
    for name, it in {"MEMORIA_MODEL": "offline", "MEMORIA_TZ": "UTC", "MEMORIA_LIMIT_TRANSCRIPT_WAIT_S": "0"}.items():
        monkeypatch.setenv(name, it)
    return Days(tmp_path)


def test_a_flush_is_shown_the_projects_open_items_with_their_ids(days: Days) -> None:
    assert "open items" not in days.flush(action_items=[RETRY]).text.split("Shape of the answer")[1]
    asked = days.flush()
    assert f"{ident(RETRY)} · 2026-11-20 · {RETRY}" in asked.text
    assert asked.material["open_items"] == [{"id": ident(RETRY), "day": "2026-11-20", "text": RETRY}]


def test_of_many_items_the_newest_and_those_that_share_words_are_shown(days: Days) -> None:
    items = [f"Paint gate {chr(97 + number) * 3} of the yard." for number in range(26)]
    items[17] = "Hang the mural."
    days.flush(action_items=items)
    shown = [each["text"] for each in days.flush(line("the mural is here")).material["open_items"]]
    assert shown == [*items[:14], items[17], *items[-5:]]


def test_what_a_flush_says_is_done_is_ticked_and_not_shown_again(days: Days) -> None:
    days.flush(action_items=[RETRY, "Write the changelog.", "Buy tea."])
    days.flush(done=[ident(RETRY)], dropped=[ident("Buy tea.")])
    assert f"- [x] {RETRY}\n- [ ] Write the changelog.\n- [x] ~~Buy tea.~~" in days.log
    assert days.items() == ["Write the changelog."]
    assert ident(RETRY) not in days.flush().text


def test_an_item_that_an_answer_calls_done_and_lists_as_open_stays_open(days: Days) -> None:
    days.flush(action_items=[RETRY])
    days.flush(done=[ident(RETRY)], action_items=["Add the retry to the uploader"])
    assert days.items() == [RETRY]


def test_a_worthless_session_still_closes_what_it_did(days: Days) -> None:
    days.flush(action_items=[RETRY])
    days.flush(worth_saving=False, title="", context="", done=[ident(RETRY)])
    assert days.items() == []
