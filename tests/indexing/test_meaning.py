"""Search by meaning: what the extra adds, what it leaves alone, and that without it nothing changes."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from bench import meaning as bench
from memoria.commands import search
from memoria.ground.home import Home
from memoria.indexing import meaning
from memoria.indexing.documents import Document, Passage
from memoria.indexing.index import Index
from memoria.search import tokens
from memoria.search.hit import Hit

installed = pytest.mark.skipif(meaning.files() is None, reason="the extra memoria[semantic] is not installed")

DISK = "The nightly backup failed because the disk was full."
ASKED = "why did we run out of storage"
OTHERS = ("We adopted a puppy from the shelter.", "Anna owns the payment service.", "The car needs new brakes.")


def note(name: str, text: str, **more: object) -> Document:
    return Document(path=f"note/{name}", kind="fact", passages=(Passage(text),), **more)  # type: ignore[arg-type]


def paths(hits: Sequence[Hit]) -> list[str]:
    return [hit.path for hit in hits]


@pytest.fixture
def index() -> Index:
    made = Index(":memory:")
    made.add([note("disk", DISK), *(note(str(number), text) for number, text in enumerate(OTHERS))])
    return made


def test_no_question_of_the_bench_shares_a_word_with_its_note() -> None:
    pairs = bench.pairs()
    assert len(pairs) == 60
    assert not [question for note, question in pairs if set(tokens.of(note)) & set(tokens.of_query(question))]


def test_a_question_with_a_spoken_date_finds_what_was_on_that_day(index: Index) -> None:
    index.add(note(f"day-{day}", "A deployment went wrong.", date=f"2026-11-{day}") for day in (10, 16, 17, 18))
    found = meaning.search(index, "Which deployment went wrong last Tuesday?", today=date(2026, 11, 20))
    assert found[0].path == "note/day-17"
    assert meaning.search(index, "Which deployment went wrong last Tuesday?")[0].path != "note/day-17"


@installed
def test_a_question_in_other_words_finds_its_note_and_says_how(index: Index) -> None:
    assert index.search(ASKED) == []
    first = meaning.search(index, ASKED)[0]
    assert (first.path, first.by, first.passages) == ("note/disk", "meaning", [DISK])


@installed
def test_most_questions_of_the_bench_find_their_note() -> None:
    pairs = bench.pairs()
    with Index(":memory:") as index:
        index.add(note(str(number), text) for number, (text, _) in enumerate(pairs))
        found = [
            f"note/{number}" in paths(meaning.search(index, question)) for number, (_, question) in enumerate(pairs)
        ]
    assert sum(found) > 40


@installed
def test_the_first_places_belong_to_the_words(index: Index) -> None:
    index.add(note(f"storage{number}", f"storage rack {number} in the cellar") for number in range(8))
    by_words = index.search(ASKED)
    both = meaning.search(index, ASKED)
    assert len(by_words) == 8
    assert paths(both)[: meaning.FIRST] == paths(by_words)[: meaning.FIRST]
    assert "note/disk" in paths(both)
    assert len(set(paths(both))) == len(both) <= 10
    assert {hit.by for hit in both if hit.path.startswith("note/storage")} == {"words"}


@installed
def test_few_results_are_the_words_alone(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.add(note(f"storage{number}", f"storage rack {number} in the cellar") for number in range(8))
    monkeypatch.setattr(meaning, "files", lambda: pytest.fail("asked for the model"))
    assert paths(meaning.search(index, ASKED, limit=5)) == paths(index.search(ASKED, limit=5))


@installed
def test_projects_and_kinds_hold_for_the_meaning_too(index: Index) -> None:
    index.add([note("theirs", "The volume has no space left.", project="other")])
    assert paths(meaning.search(index, ASKED, project="other")) == ["note/theirs"]
    assert meaning.search(index, ASKED, kinds=("article",)) == []


@installed
def test_what_was_superseded_leads_to_its_successor_by_meaning_too(index: Index) -> None:
    index.add([note("disk", DISK, superseded_by="note/new"), note("new", "Nothing like it happens any more.")])
    assert paths(meaning.search(index, ASKED))[0] == "note/new"


@installed
def test_vectors_are_worked_out_once_and_follow_what_changes(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    from memoria.indexing import vectors  # noqa: PLC0415 (needs the extra)

    embedded: list[str] = []
    embed = vectors.Model.embed

    def counted(model: vectors.Model, texts: Sequence[str]) -> object:
        embedded.extend(texts)
        return embed(model, texts)

    monkeypatch.setattr(vectors.Model, "embed", counted)
    meaning.search(index, ASKED)
    embedded.clear()
    meaning.search(index, ASKED)
    assert embedded == [ASKED]
    index.add([note("disk", "Tomatoes grow in the garden.")])
    assert meaning.search(index, "vegetables harvested at home")[0].path == "note/disk"
    assert [text.strip() for text in embedded] == [
        ASKED,
        "",
        "Tomatoes grow in the garden.",
        "vegetables harvested at home",
    ]
    monkeypatch.setattr(vectors, "NAME", "another model")
    embedded.clear()
    meaning.search(index, ASKED)
    assert len(embedded) == 1 + 2 * len(index)


@installed
def test_what_is_removed_leaves_no_vector(index: Index) -> None:
    meaning.search(index, ASKED)
    index.remove([f"note/{name}" for name in ("disk", *map(str, range(len(OTHERS))))])
    assert index._db.execute("SELECT count(*) FROM vectors").fetchone() == (0,)


@installed
def test_what_has_nothing_to_do_with_it_is_not_found() -> None:
    with Index(":memory:") as index:
        index.add([note("a", "xq9 zzkt")])
        assert meaning.search(index, ASKED) == []


@installed
@pytest.mark.parametrize("text", ["", " \n", "\0", "🦓" * 5_000, "x" * 100_000, "\ud800"])
def test_any_text_can_be_indexed_and_asked_for_by_meaning(text: str) -> None:
    with Index(":memory:") as index:
        index.add([note("a", text.replace("\ud800", "?")), note("disk", DISK)])
        meaning.search(index, "storage " + text.replace("\ud800", "?"))
        assert paths(meaning.search(index, ASKED))[0] == "note/disk"


@installed
def test_the_command_line_says_what_was_found_in_other_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    articles = tmp_path / "memoria/knowledge/concepts"  # as conftest sets MEMORIA_HOME
    articles.mkdir(parents=True)
    (articles / "backup.md").write_text(f"---\ntitle: Backup\n---\n# Backup\n{DISK}\n", encoding="utf-8")

    def said(*words: str) -> str:
        parser = argparse.ArgumentParser()
        search.arguments(parser)
        assert search.command(parser.parse_args(words), Home.open()) == 0
        return capsys.readouterr().out

    (by_meaning,) = json.loads(said(ASKED, "--json"))["results"]
    (by_words,) = json.loads(said("backup", "--json"))["results"]
    assert (by_meaning["path"], by_meaning["by"]) == ("knowledge/concepts/backup.md", "meaning")
    assert "by" not in by_words
    assert "in other words" in said(ASKED)


def test_without_the_extra_the_results_are_the_indexes_own(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "files", lambda: None)
    monkeypatch.setitem(sys.modules, "memoria.indexing.vectors", None)
    for query in (ASKED, "puppy", "the", ""):
        ours, own = meaning.search(index, query), index.search(query)
        assert [(hit.key, hit.score, hit.passages, hit.by) for hit in ours] == [
            (hit.key, hit.score, hit.passages, hit.by) for hit in own
        ]


def test_a_missing_or_other_wheel_means_the_extra_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "find_spec", lambda name: None)
    assert meaning.files.__wrapped__() is None


@installed
@pytest.mark.parametrize("damaged", [0, 1])
@pytest.mark.parametrize("left", [b"", b"\xff" * 100, b"\x02\0\0\0\0\0\0\0{}", b'{"model":'])
def test_with_damaged_files_the_words_still_find(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: int, left: bytes
) -> None:
    found = meaning.files()
    assert found is not None
    broken = tmp_path / "broken"
    broken.write_bytes(left)
    monkeypatch.setattr(meaning, "files", lambda: (broken, found[1]) if damaged == 0 else (found[0], broken))
    assert paths(meaning.search(index, "puppy")) == paths(index.search("puppy")) != []


def test_looking_for_words_loads_no_model() -> None:
    code = "import sys, memoria.commands.search, memoria.commands.query, memoria.mcp.backends\n"
    code += "import memoria.recall.prompt_notes\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "tokenizers", "wordllama", "memoria.indexing.vectors"} & set(run.stdout.split())


@installed
def test_the_weights_are_read_without_the_package_that_brings_them(tmp_path: Path) -> None:
    """Its own loader looks for the tokenizer where it is not and then downloads it."""
    code = (
        "import sys\nfrom memoria.indexing import meaning\nfrom memoria.indexing.index import Index\n"
        "index = Index(':memory:')\nmeaning.search(index, 'x')\nprint(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = set(run.stdout.split())
    assert "memoria.indexing.vectors" in loaded
    assert not {"wordllama", "requests", "pydantic", "safetensors", "multiprocessing.pool"} & loaded
