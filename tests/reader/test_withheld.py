"""What the page and the card of a source leave out of a transcript that still has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memoria.ground.home import Home
from memoria.transcripts import client_files
from memoria.transcripts.screen import Tombstones
from memoria.transcripts.turn_reader import Reader
from reader_home import SHOP, Browser, fill

SECRET = "ghp_" + "a8B3c9D2e7F1g6H5i4J0k8L3m9N2o7P1q6R5"  # not a key
ZEPPELIN = "The zeppelin lands on Friday."
WORDS = (f"The zeppelin takes {SECRET}.", "The zeppelin costs <private>my salary</private>.", ZEPPELIN,
         f"The zeppelin is silver.\n{ZEPPELIN}")  # fmt: skip
OFF = "The zeppelin is off the record."


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """One entry whose transcript still has everything, and whose last turn was typed in a folder excluded since."""
    home = Home.open()
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / ".memoria-off").touch()
    path = client_files.folder({"CLAUDE_CONFIG_DIR": str(Path.home() / ".claude")}) / "p" / "s-z1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    typed = [*((text, tmp_path) for text in WORDS), (OFF, hidden)]
    path.write_text("".join(json.dumps(_line(n, text, cwd)) + "\n" for n, (text, cwd) in enumerate(typed)))
    keys = [turn.key for turn in Reader().read(path.read_bytes().splitlines())]
    about: dict[str, Any] = {
        "id": "z1", "ago": 0, "time": "10:05", "project": SHOP, "title": "The zeppelin lands", "context": "",
        "items": (), "facts": (), "keys": keys,
        "said": [("user", "What the archive kept.")] * len(keys),
    }  # fmt: skip
    fill(home, [about], [])
    Tombstones.of(home.paths).add(ZEPPELIN)
    return home


def _line(number: int, text: str, cwd: Path) -> dict[str, Any]:
    return {
        "type": "user", "uuid": f"z-{number}", "sessionId": "s-z1", "cwd": str(cwd),
        "timestamp": "2026-11-20T10:00:00Z", "message": {"role": "user", "content": text},
    }  # fmt: skip


def test_the_page_of_an_entry_shows_no_turn_that_may_not_be_kept(home: Home) -> None:
    page = Browser(home).enter().get("/entry/z1").text
    assert "The zeppelin is silver." in page
    assert not [text for text in (SECRET, "my salary", ZEPPELIN, OFF) if text in page]
    assert "Not shown: forgotten." in page
    assert ".memoria-off" in page
