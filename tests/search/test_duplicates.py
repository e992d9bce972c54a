"""Duplicates: a fact, its entry and an article's claim are shown once; what differs in a word that counts is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoria.index import documents
from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from memoria.search.reader import Finder
from places import TESTS

FACT = "Use pnpm instead of npm for the shop, because the lock file is pnpm's."
CONTEXT = "The build of the shop was set up anew."
DAY = (TESTS / "fixtures" / "pages" / "duplicates.md").read_text("utf-8")


def article(*claims: str) -> str:
    rows = "\n".join(f"- {claim} [[daily/2026-11-20#^e-abcdefgh]]" for claim in claims)
    return f"---\ntitle: Shop build\n---\n\n# Shop build\n\nHow the shop is built.\n\n## Key Points\n\n{rows}\n"


def found(tmp_path: Path, query: str, *pages: str, day: str = DAY) -> list[tuple[str, list[str]]]:
    with Index(tmp_path / "index.db") as index:
        index.add(documents.parse("daily/2026-11-20.md", day))
        for number, page in enumerate(pages):
            index.add(documents.parse(f"knowledge/concepts/shop-{number}.md", page))
        index.add(documents.parse("knowledge/concepts/bread.md", "# Bread\n\nDough rises overnight.\n"))
        return [(hit.kind, hit.passages) for hit in index.search(query)]


def test_a_fact_the_entry_it_is_a_line_of_and_a_claim_in_the_same_words_are_one_result(tmp_path: Path) -> None:
    assert found(tmp_path, "pnpm or npm") == [("fact", [FACT])]
    assert len(found(tmp_path, "pnpm instead of npm lock file", article(FACT))) == 1
    elsewhere = article(FACT.replace(",", " ").replace("is pnpm's", "*is* `pnpm's`")).replace(
        "e-abcdefgh", "e-unknown1"
    )
    assert len(found(tmp_path, "pnpm instead of npm lock file", elsewhere)) == 1
    assert len(found(tmp_path, "pnpm instead of npm lock file", elsewhere.replace("npm for", "yarn for"))) == 2


def test_what_two_sessions_learned_and_what_a_third_one_said_are_results_of_their_own() -> None:
    with Index(":memory:") as index:
        for name, kind in (("a", "fact"), ("b", "fact"), ("c", "turn")):
            index.add([Document(f"x/{name}", kind, session=name, passages=(Passage(FACT),))])
        assert len(Finder("", index._db, turns=lambda *_: [(FACT, "user", False)]).search("pnpm or npm")) == 3


@pytest.mark.parametrize("claim", [
    "Use npm instead of pnpm for the shop, because the lock file is npm's.",
    "The lock file of the shop is checked by the release job, and pnpm instead of npm is used there.",
])  # fmt: skip
def test_a_claim_that_says_something_else_is_a_passage_of_the_one_result(tmp_path: Path, claim: str) -> None:
    ((_, passages),) = found(tmp_path, "pnpm instead of npm lock file", article(claim))
    assert any(FACT in passage for passage in passages)
    assert any(claim in passage for passage in passages)


def test_another_number_is_another_thing(tmp_path: Path) -> None:
    words = "The harbour gauge of the old mole is read every {} minutes by the port office and written into the book."
    day, page = DAY.replace(FACT, words.format(10)), article(words.format(15))
    ((_, passages),) = found(tmp_path, "harbour gauge read every minutes", page, day=day)
    assert all(any(f"every {number} minutes" in passage for passage in passages) for number in (10, 15))


def test_the_documents_of_one_session_are_one_result_that_names_the_others(tmp_path: Path) -> None:
    said = (Passage("Once more: we always use pnpm here, npm writes another lock file.", "user", own=True),)
    turns = Document(
        path="archive/abcdefgh", kind="turn", session="s1", project="shop-000001", title="S", passages=said
    )
    with Index(tmp_path / "index.db") as index:
        index.add([*documents.parse("daily/2026-11-20.md", DAY), turns])
        (hit,) = index.search("pnpm, npm and the lock file, when the build was set up")
        assert len(index.search("pnpm, npm and the lock file", kinds=("fact",))) == 1
        for query, kinds, shown, passages in (
            ("pnpm for the shop", (), "entry", [FACT, CONTEXT]), ("pnpm in the shop", ("fact", "turn"), "fact", [FACT]),
            ("pnpm for the shop", ("entry", "turn"), "entry", [turns.title, CONTEXT]),
            ("how was the shop set up for pnpm?", ("entry", "turn"), "entry", [CONTEXT]),
        ):  # fmt: skip
            (each,) = index.search(query, kinds=kinds)
            assert (each.kind, each.passages) == (shown, passages)
    found_keys = {hit.key, *hit.also}
    assert found_keys == {"archive/abcdefgh", "daily/2026-11-20.md#^e-abcdefgh", "daily/2026-11-20.md#^l-abc12345"}
