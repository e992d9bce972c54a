"""The ranking's arithmetic: what a word's places in a document are worth, whatever the numbers."""

from __future__ import annotations

import random

import pytest

from as_before import same
from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from memoria.search import layout, ranking, reader


def document(name: str, *texts: str, title: str = "") -> Document:
    passages = tuple(Passage(text) for text in texts)
    return Document(path=f"knowledge/concepts/{name}.md", kind="article", title=title, passages=passages)


@pytest.mark.slow
def test_the_right_passage_is_found_behind_more_words_than_two_bytes_count() -> None:
    long = " ".join(f"w{number}" for number in range(30_000))
    with Index(":memory:") as index:
        index.add([document("a", long, long, long, "the zebra crossed the road")])
        (hit,) = index.search("zebra crossed road")
    assert hit.passages == ["the zebra crossed the road"]


def test_words_too_frequent_to_be_read_count_in_what_the_rarer_ones_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "POSTINGS", 1)
    with Index(":memory:") as index:
        index.add([document("walrus", "drop the walrus"), document("both", "commit the walrus")])
        index.add(document(f"n{number}", "commit the change") for number in range(30))
        finder = reader.Finder("", index._db, candidates=10)
        found = finder.search("commit walrus")
        assert [hit.path for hit in found] == ["knowledge/concepts/both.md", "knowledge/concepts/walrus.md"]
        assert found[0].score == index.search("commit walrus")[0].score
        newest = [hit.path for hit in finder.search("commit change", limit=5)]
        assert newest == [f"knowledge/concepts/n{number}.md" for number in range(20, 25)]


@pytest.mark.parametrize("kind", ["entry", "fact"])
def test_a_note_does_not_outrank_the_turns_of_another_session_by_being_short(kind: str) -> None:
    said = ("The deploy waits for the night.", "We rotate the signing keys each quarter.", "Good, the logs are kept.")
    noted = ("Signing keys, the deploy at night.", "Kept logs, and who is on call in winter.")
    turns = Document("archive/a", "turn", session="a", passages=tuple(map(Passage, said)))
    written = Document("daily/2026-11-20.md", kind, "x-b", "b", passages=tuple(map(Passage, noted)))
    with Index(":memory:") as index:
        index.add([turns, written])
        found = index.search("signing keys")
        assert [hit.session for hit in found] == ["a", "b"]
        (alone,) = index.search("signing keys", kinds=(kind,))
        assert alone.score > found[0].score > found[1].score, "where no turns are searched, it counts in full"


def test_documents_are_scored_as_they_were_before() -> None:
    draw, rows = random.Random(26), list[str]()
    for _ in range(60):
        packed = [draw.choice((4, 9, 40, 900)) | draw.choice((0, layout.OWN_BIT)) for _ in range(draw.randint(1, 9))]
        places = [draw.sample(range(len(packed)), draw.randint(1, len(packed))) for _ in range(draw.randint(1, 4))]
        held = [(9 * draw.random(), {place: draw.choice((1, 2, 4)) for place in each}) for each in places]
        score, passages = ranking.rate(held, packed)
        told = " ".join(f"{place}: {passages[place]:.6f}" for place in sorted(passages))
        rows.append(f"{score:.6f} {ranking._likelihood(held):.6f} {told}")
    same("read/scored.txt", rows)
