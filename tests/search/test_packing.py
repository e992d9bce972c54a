"""Packing: archived turns take little room in the index, and are found as well as everything else."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from memoria.amending import proof
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground.clock import Zone
from memoria.ground.home import Home
from memoria.index.documents import Document, Passage, cut
from memoria.index.index import Index
from memoria.search import layout

ROOT = Path(__file__).resolve().parents[2]
WORDS = st.text(alphabet="abcdef ", max_size=400)


def conversation(*texts: str, name: str = "s1", kind: str = "turn") -> Document:
    passages = tuple(Passage(text, "user", own=not place % 2) for place, text in enumerate(texts))
    return Document(f"archive/{name}", kind, session=name, passages=passages)


@settings(max_examples=20, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=6), WORDS)
def test_a_packed_document_is_scored_and_shown_as_any_other(texts: list[str], query: str) -> None:
    found = []
    for kind in (layout.PACKED, "memory"):
        with Index(":memory:") as index:
            index.add([conversation(*texts, kind=kind), conversation("abc fed", name="s2", kind=kind)])
            found.append([(hit.key, hit.score, hit.passages) for hit in index.search(query)])
    assert found[0] == found[1]


def test_the_words_of_a_long_conversation_keep_their_places() -> None:
    long = [" ".join(f"w{number}" for number in range(start, start + 9_000)) for start in range(0, 80_000, 9_000)]
    with Index(":memory:") as index:
        index.add([conversation(*long, "the zebra crossed the road")])
        assert [hit.passages for hit in index.search("zebra crossed road")] == [["the zebra crossed the road"]]


def test_conversations_take_no_more_room_than_one_and_a_half_times_their_text(tmp_path: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "scripts/memoria").glob("[siw]*/*.py"))]
    with Index(tmp_path / "index.db") as index:
        index.add(
            Document(f"archive/s{place}", "turn", project="example.org/team/shop", passages=tuple(cut(text, "user")))
            for place, text in enumerate(texts)
        )
    with closing(sqlite3.connect(tmp_path / "index.db")) as db:
        held = db.execute("SELECT sum(pgsize) FROM dbstat").fetchone()[0]
    assert held < 1.5 * sum(len(text.encode()) for text in texts)


def test_an_index_of_another_version_gives_its_room_back(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with Index(path) as index:
        index.add(conversation(f"zebra{number} " * 50, name=f"s{number}") for number in range(500))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 1")
    before = path.stat().st_size
    Index(path).close()
    assert path.stat().st_size < before / 2


def test_the_proof_reads_what_is_packed(tmp_path: Path) -> None:
    home = Home(Settings.load({}), Paths(str(tmp_path / "home")), Zone("UTC"))
    Path(home.paths.index).parent.mkdir(parents=True)
    with Index(home.paths.index) as index:
        index.add([conversation("the pangolin merger is a secret")])
        assert asyncio.run(proof.search(home, ["pangolin merger"])).holding
        index.remove(["archive/s1"])
