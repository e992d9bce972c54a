"""Turns: archived conversations are found by their words, and their texts stand in the archive alone."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.amending import proof
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.ground.home import Home
from memoria.index import documents, sources
from memoria.index.documents import Document
from memoria.index.ended import Past
from memoria.index.index import Index
from memoria.search import cues
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn
from places import TESTS

DAY = date(2026, 11, 20)
SENTENCES = ("The port is 8080.", "We deploy on Fridays.", "Is that so?", "Zebras cross the road.", "")


def turn(number: int, text: str, *tools: str) -> Turn:
    return Turn(key=f"t{number}", role="assistant" if number % 2 else "user", text=text, tools=tools)


@pytest.fixture
def home() -> Home:
    return Home.open()


def keep(home: Home, *said: Turn) -> None:
    Archive.of(home.paths, 10).keep("abcdefgh", DAY, said)
    DailyLog(home.paths).append(Entry("abcdefgh", DAY, "09:00", "s-1", "zoo", "zoo-1", "Animals", model="m"))


def test_a_conversation_is_shown_from_the_archive_and_stands_nowhere_else(home: Home) -> None:
    keep(home, turn(0, "Where does the pangolin sleep?"), turn(1, "In a burrow, until dusk.", "Bash: find burrows"))
    with Index(home.paths.index) as index:
        sources.refresh(index, home.paths)
        (hit,) = index.search("burrow at dusk")
        assert hit.passages[0] == "In a burrow, until dusk."
        assert hit.about[hit.passages[0]] == ("assistant", False)
    assert b"until dusk" not in Path(home.paths.index).read_bytes()
    (found,) = asyncio.run(proof.search(home, ["until dusk"])).holding
    assert "archive" in found


def test_a_conversation_that_left_the_archive_shows_no_words_and_is_found_no_more_nor_is_one_without_its_entry(
    home: Home,
) -> None:
    for gone in ("archive", "entry"):
        keep(home, turn(0, "Where does the pangolin sleep?"))
        with Index(home.paths.index) as index:
            sources.refresh(index, home.paths)
            assert [hit.project for hit in index.search("pangolin")] == ["zoo-1"]
            if gone == "archive":
                Archive.of(home.paths).remove("abcdefgh")
                assert [hit.passages for hit in index.search("pangolin")] == [["Animals"]]
            else:
                DailyLog(home.paths).path(DAY).write_text("# Daily Log: 2026-11-20\n")
            sources.refresh(index, home.paths)
            assert index.search("pangolin") == []


@given(
    st.lists(st.lists(st.sampled_from(SENTENCES), max_size=5).map(" ".join), max_size=5),
    st.lists(st.sampled_from(SENTENCES[:4]), max_size=3),
)
def test_what_no_longer_holds_is_left_out_of_the_words_and_of_the_texts(texts: list[str], gone: list[str]) -> None:
    said = [turn(number, text, "Bash: ls") for number, text in enumerate(texts)]
    past = [Past(text, "", quote=text) for text in gone]
    shown = "\n".join(passage.text for passage in documents.passages(said, documents.hidden_sentences(said, past)))
    for text in texts:
        for sentence in cues.sentences(text):
            assert (sentence in shown) is not any(each.is_spoken_in(sentence) for each in past)
    assert shown.count("Bash: ls") == len(texts)


def test_conversations_take_less_than_half_the_room_of_their_text(tmp_path: Path) -> None:
    texts = [each.read_text("utf-8") for each in sorted((TESTS.parent / "scripts/memoria").glob("[siw]*/*.py"))]
    with Index(tmp_path / "index.db") as index:
        index.add(
            Document(
                f"archive/s{place}", "turn", project="example.org/team/shop",
                passages=tuple(documents.passages([turn(0, text)])),
            )
            for place, text in enumerate(texts)
        )  # fmt: skip
    with closing(sqlite3.connect(tmp_path / "index.db")) as db:
        held = db.execute("SELECT sum(pgsize) FROM dbstat").fetchone()[0]
    assert held < 0.5 * sum(len(text.encode()) for text in texts)
