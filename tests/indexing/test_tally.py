"""Tally: what was shown, opened and used is counted once, and raises or lowers a note's place."""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoria.base import state
from memoria.base.paths import Paths
from memoria.commands import status
from memoria.ground.home import Home
from memoria.indexing import tally
from memoria.indexing.documents import Document, Passage
from memoria.indexing.index import Index
from memoria.indexing.tally import Tally
from memoria.mcp.backends import CountedLibrary
from memoria.recall.shown_notes import Note, ShownNotes
from memoria.transcripts.turn import Exchange, Turn


@pytest.fixture
def counts(paths: Paths) -> Tally:
    state.open_state(paths)
    return Tally.of(paths)


def exchange(said: str, at: float | None = None) -> Exchange:
    moment = datetime.fromtimestamp(at or time.time() + 5, UTC)
    return Exchange((Turn("u", "user", "worker.lock?", time=moment), Turn("a", "assistant", said, time=moment)))


def test_a_note_is_used_when_a_later_answer_says_one_of_its_names(paths: Paths, counts: Tally) -> None:
    ShownNotes(paths.hints, "s1").add([Note("a", ["flush_session", "x.py"]), Note("b", ["other_name"]), Note("c", [])])
    tally.count(paths, "s1", [exchange("I looked into `flush_session()`.")])
    found = {count.key: count for count in counts.counts()}
    assert [(found[key].shown, found[key].telling, found[key].used) for key in "abc"] == [
        (1, 1, 1),
        (1, 1, 0),
        (1, 0, 0),
    ]


def test_the_users_own_words_and_earlier_answers_are_no_use(paths: Paths, counts: Tally) -> None:
    ShownNotes(paths.hints, "s1").add([Note("a", ["worker.lock"])])
    tally.count(paths, "s1", [exchange("nothing"), exchange("see worker.lock", at=time.time() - 3600)])
    assert [count.used for count in counts.counts()] == [0]


def test_counting_the_same_again_changes_nothing(paths: Paths, counts: Tally) -> None:
    ShownNotes(paths.hints, "s1").add([Note("a", ["x_y"])])
    for said in ("x_y", "x_y", "something else"):
        tally.count(paths, "s1", [exchange(said)])
    (count,) = counts.counts()
    assert (count.shown, count.used, count.uses) == (1, 1, 1)


def test_unused_notes_sink_and_used_ones_rise_in_the_search(paths: Paths, counts: Tally) -> None:
    notes = [Document(f"knowledge/{name}.md", "article", title=f"Lock {name}", passages=(Passage("worker lock"),))
             for name in ("idle", "plain", "used")]  # fmt: skip
    for number in range(9):
        given = [Note("knowledge/idle.md", ["x_y"]), Note("knowledge/used.md", ["a_b"])]
        counts.judge(f"s{number}", given, [(0.0, "a_b it is")])
    assert {count.key: count.uses for count in counts.counts()} == {"knowledge/used.md": 9, "knowledge/idle.md": -3}
    with Index(":memory:") as index:
        index.add(notes)
        index.set_uses({count.key: count.uses for count in counts.counts()})
        assert [hit.path for hit in index.search("worker lock")] == [
            f"knowledge/{n}.md" for n in ("used", "plain", "idle")
        ]
        assert index.set_uses({count.key: count.uses for count in counts.counts()}) == 0
        assert index.set_uses({}) == 2


def test_what_the_model_opens_over_mcp_is_counted(paths: Paths, counts: Tally) -> None:
    page = Path(paths.knowledge, "concepts", "x.md")
    page.parent.mkdir(parents=True)
    page.write_text("# X\n")
    CountedLibrary(paths, "s1").read("concepts/x")
    counts.found("s1", ["knowledge/concepts/x.md", "other"])
    top, other = counts.counts()
    assert (top.key, top.opened, top.found, top.uses) == ("knowledge/concepts/x.md", 1, 1, 1)
    assert (other.key, other.uses) == ("other", 0)


def test_a_damaged_file_is_set_aside_and_counting_goes_on(counts: Tally) -> None:
    counts.path.write_bytes(b"no database at all" * 100)
    counts.opened("s1", ["a"])
    counts.opened("s1", ["a"])
    assert [count.key for count in counts.counts()] == ["a"]
    assert list(counts.path.parent.glob("recall.db.bak-*"))


def test_a_locked_file_disturbs_nothing(counts: Tally, monkeypatch: pytest.MonkeyPatch) -> None:
    counts.opened("s1", ["a"])
    other = sqlite3.connect(counts.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **more: connect(path, **{**more, "timeout": 0}))
    counts.opened("s1", ["b"])
    other.execute("ROLLBACK")
    other.close()
    assert [count.key for count in counts.counts()] == ["a"]


def test_files_of_sessions_long_over_go(paths: Paths, counts: Tally) -> None:
    old = ShownNotes(paths.hints, "old")
    old.add([Note("a", [])])
    os.utime(old.path, (1, 1))
    ShownNotes(paths.hints, "s1").add([Note("a", [])])
    tally.count(paths, "s1", [])
    assert [path.name for path in Path(paths.hints).iterdir()] == ["s1"]


def test_status_shows_what_helped(paths: Paths, counts: Tally, capsys: pytest.CaptureFixture[str]) -> None:
    counts.judge("s1", [Note("good", ["x_y"])], [(0.0, "x_y")])
    for number in range(4):
        counts.judge(f"t{number}", [Note("bad", ["a_b"])], [])
    home = Home.open()
    status.command(argparse.Namespace(json=True, recall=True), home)
    told = json.loads(capsys.readouterr().out)
    assert (told["shown"], told["used"]) == (5, 1)
    assert [row["key"] for row in told["rising"] + told["sinking"]] == ["good", "bad"]
    status.command(argparse.Namespace(json=False, recall=True), home)
    assert "sinking    bad: shown 4, opened 0, used 0" in capsys.readouterr().out
