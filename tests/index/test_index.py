"""The index: a cache that follows the files, survives damage, and never blocks its readers."""

from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.base.visibility import Visibility
from memoria.ground import home_files
from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from memoria.search import layout
from memoria.search.reader import Finder, UnreadableError
from places import TESTS

ARTICLE = (TESTS / "fixtures" / "pages" / "lock.md").read_text("utf-8")
DAILY = (TESTS / "fixtures" / "pages" / "races.md").read_text("utf-8")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "memoria"
    (home / "knowledge/concepts").mkdir(parents=True)
    (home / "daily").mkdir()
    (home / "knowledge/concepts/flush-lock.md").write_text(ARTICLE)
    (home / "daily/2026-11-21.md").write_text(DAILY)
    return home


@pytest.fixture
def path(home: Path) -> Path:
    return home / ".memoria/index.db"


def note(name: str, text: str, **more: object) -> Document:
    path = f"knowledge/concepts/{name}.md"
    return Document(path=path, kind="article", passages=(Passage(text),), **more)  # type: ignore[arg-type]


def keys(index: Index | Finder, query: str, **more: object) -> list[str]:
    return [hit.key for hit in index.search(query, **more)]  # type: ignore[arg-type]


def tables(path: Path) -> tuple[int, ...]:
    with sqlite3.connect(path) as db:
        names = ("documents", "passages", "vocabulary", "sources")
        return tuple(db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names)


def test_articles_entries_and_learned_facts_are_found(home: Path, path: Path) -> None:
    with Index(path) as index:
        index.sync(home)
        assert keys(index, "zebra")[0] == "knowledge/concepts/flush-lock.md"
        assert keys(index, "turquoise") == ["daily/2026-11-21.md#^e-01k9x3"]
        assert "daily/2026-11-21.md#^e-01k9x3" in keys(index, "what happened on 21 November 2026")
        assert keys(index, "turquoise", project="memoria-1f2e3d") == []
        (fact,) = index.search("makefile tabs", kinds=("fact",))
    assert (fact.key, fact.session, fact.project) == ("daily/2026-11-21.md#^l-7f3a", "abc-1", "memoria-1f2e3d")
    assert fact.passages == ["Use tabs in Makefiles, never spaces"]
    assert fact.date == "2026-11-21"
    with Index(path) as index:
        index.resolve({"memoria-1f2e3d": "shop-000001"})
        index.sync(home)
        assert index.projects() == {"shop-000001", "other-aaaaaa"}
        (home / "daily/2026-11-21.md").touch()
        assert index.sync(home) == 0


def test_an_id_finds_just_what_it_names(home: Path, path: Path, paths: Paths) -> None:
    view, other = (Visibility(Settings.load({}), paths, key) for key in ("memoria-1f2e3d", "other-aaaaaa"))
    with Index(path) as index:
        index.sync(home)
        assert keys(index, "l-7f3a") == ["daily/2026-11-21.md#^l-7f3a"]
        assert keys(index, "[[daily/2026-11-21#^e-01k9x3]]") == ["daily/2026-11-21.md#^e-01k9x3"]
        assert keys(index, "l-7f3a", view=view) == ["daily/2026-11-21.md#^l-7f3a"]
        assert keys(index, "turquoise", view=view) == []
        assert keys(index, "e-01k9x3", view=view)[:1] != keys(index, "e-01k9x3", view=other) == keys(index, "turquoise")
        assert keys(index, "l-7f3a", kinds=("article",)) == keys(index, "l 7f3a", kinds=("article",))


def test_of_what_fits_three_passages_are_shown_that_rest_on_no_hidden_project_alone_or_in_part(
    home: Path, path: Path, paths: Paths
) -> None:
    cited = ("l-7f3a", "e-01k9x3", "e-01k9x3]] [[daily/2026-11-21#^l-7f3a", "l-7f3a", "l-7f3a", "l-7f3a", "")
    told = tuple(Passage(f"wombat {n} [[daily/2026-11-21#^{ident}]]") for n, ident in enumerate(cited))
    Path(paths.state).mkdir(parents=True)
    Path(paths.folders).write_text(json.dumps({"other-aaaaaa": ["/secret"]}))
    view = Visibility(Settings.load({"MEMORIA_EXCLUDE": "/secret"}), paths)
    with Index(path) as index:
        index.sync(home)
        index.add([replace(note("wombats", ""), passages=told, anchor="e-wombats0")])
        assert index.search("e-wombats0")[0].passages == [each.text for each in told[:3]]
        for seen, may in ((None, "0123456"), (view, "0345")):
            (hit,) = index.search("wombat", view=seen)
            assert len({text[7] for text in hit.passages} & set(may)) == len(hit.passages) == 3


def test_a_removed_file_is_found_no_more_and_leaves_nothing(home: Path, path: Path) -> None:
    with Index(path) as index:
        index.sync(home)
        (home / "knowledge/concepts/flush-lock.md").unlink()
        (home / "daily/2026-11-21.md").unlink()
        assert index.sync(home) == len(index) + 5
        assert len(index) == 0
    assert tables(path) == (0, 0, 0, 0)


def drop(index: Index, *documents: str) -> None:
    """Remove documents by their keys."""
    with index._transaction():
        for key in documents:
            index._rows.drop(key)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.text(max_size=60), st.booleans()), max_size=12),
    st.sampled_from(("article", "turn")),
)
def test_an_index_that_was_changed_equals_one_made_anew(changes: list[tuple[str, str, bool]], kind: str) -> None:
    left: dict[str, Document] = {}
    with Index(":memory:") as lived, Index(":memory:") as fresh:
        for name, text, kept in changes:
            document = replace(note(name, text), kind=kind)
            left[document.key] = document
            lived.add([document])
            if not kept:
                drop(lived, document.key)
                del left[document.key]
        fresh.add(left.values())
        query = "SELECT * FROM totals WHERE documents != 0"
        assert lived._db.execute(query).fetchall() == fresh._db.execute(query).fetchall()
        for _, text, _ in changes:
            assert set(keys(lived, text)) == set(keys(fresh, text))


def test_further_sources_are_fed_and_follow_what_they_give(home: Path, path: Path) -> None:
    given = [Document("archive/s1", "turn", session="s1", passages=(Passage("I love pangolins", own=True),))]
    with Index(path) as index:
        index.sync(home, {"archive/s1": ((1, 1), lambda: given)})
        assert keys(index, "pangolin") == ["archive/s1"]
        index.sync(home)
        assert keys(index, "pangolin") == ["archive/s1"]  # not asked this time, so nothing is forgotten
        given.clear()
        index.sync(home, {"archive/s1": ((1, 1), lambda: given)})
        assert keys(index, "pangolin") == ["archive/s1"]  # the same stamp: not read again
        index.sync(home, {"archive/s1": ((2, 1), lambda: given)})
        assert keys(index, "pangolin") == []
        given.append(Document("archive/s1", "turn", passages=(Passage("pangolins again"),)))
        index.sync(home, {"archive/s1": ((3, 1), lambda: given)})
        index.sync(home, {"archive/s1": ((4, 1), lambda: [note("x", home_files.text(home))])})  # which cannot be read
        assert keys(index, "pangolin") == ["archive/s1"]
        index.sync(home, {})
        assert keys(index, "pangolin") == []


def test_the_terms_of_documents_that_are_gone_go_once_they_are_many(path: Path) -> None:
    with Index(path) as index:
        index.add(note(f"n{number}", f"{sign}quagga") for number, sign in enumerate("abcdefghijklmnop"))
        for number, left in ((0, 16), (1, 14)):
            drop(index, f"knowledge/concepts/n{number}.md")
            held = b"".join(block for (block,) in index._db.execute("SELECT block FROM terms_data"))
            assert held.count(b"quagga") == left


def test_a_superseded_fact_leads_to_its_successor(paths: Paths) -> None:
    old = note("old", "the port is 8080", superseded_by="^l-00000001")
    mid = note("mid", "a new listener", anchor="l-00000001", superseded_by="^l-00000002")
    new = note("new", "it listens on 9090", anchor="l-00000002", importance=1.1)
    with Index(":memory:") as index:
        index.add([old, mid, new])
        for query in ("port 8080", "port 8080, who listens?"):
            (hit,) = index.search(query)
            assert (hit.key, hit.passages) == ("knowledge/concepts/new.md#^l-00000002", ["it listens on 9090"])
        apart = (Passage("One port."), Passage("Another."))
        index.add([replace(note("apart", ""), passages=apart, importance=1)])
        index.add([note("left", "A yak waits.", superseded_by="^l-00000003")])
        index.add([note("hidden", "A yak is hidden.", anchor="l-00000003", project="other-0123ab")])
        Path(paths.state).mkdir(parents=True)
        Path(paths.folders).write_text('{"other-0123ab": ["/secret"]}')
        view = Visibility(Settings.load({"MEMORIA_EXCLUDE": "/secret"}), paths)
        assert not list(index.finder.find_terms(["yak"], view=view, kinds=("article",), most=2)), "of a hidden project"
        told = index.finder.find_terms(["port", "yak"], view=view, kinds=("article",), most=2)
        assert [(each.text, index.finder.is_repeated(each.hit.key)) for each in told] == [
            ("One port.", False), ("it listens on 9090", True),
        ]  # fmt: skip


# --- what happens to the file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rubbish", [b"", b"not a database at all" * 100, b"SQLite format 3\0" + os.urandom(5000)])
def test_a_corrupt_file_is_set_aside_and_made_anew(home: Path, path: Path, rubbish: bytes) -> None:
    path.parent.mkdir()
    assert layout.is_current(str(path)), "a missing one is no work"
    path.write_bytes(rubbish)
    assert layout.is_current(str(path)) is not bool(rubbish)
    with Index(path) as index:
        index.sync(home)
        assert keys(index, "zebra")
    assert layout.is_current(str(path)), "else each worker's start looks through everything"
    assert bool(list(path.parent.glob("index.db.bak-*"))) == bool(rubbish)


def test_a_file_that_is_damaged_at_work_finds_nothing_and_is_named(
    home: Path, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Index(path) as index:
        index.sync(home)
        with sqlite3.connect(path) as db:
            db.execute("DROP TABLE documents")
        db.close()
        assert index.search("zebra") == []
        (home / "daily/2026-11-21.md").touch()
        assert index.sync(home) == 0
        assert not index.is_whole
        with pytest.raises(UnreadableError, match="no such table"), Finder(str(path)) as finder:
            finder.search("zebra")
    assert "nothing was found, because no such table" in caplog.text
    assert "was not brought up to date: no such table" in caplog.text
    with Index(path) as index:
        index._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path.write_bytes(b"no database" * 1_000)
        assert index.sync(home) == len(index) > 0
        assert keys(index, "zebra")
    path.unlink()
    path.mkdir()
    with pytest.raises(OSError, match="locked or read-only"):
        Index(path)


@pytest.mark.parametrize("version", [0, 1, layout.VERSION + 1])
def test_an_index_of_another_version_is_made_anew(home: Path, path: Path, version: int) -> None:
    with Index(path) as index:
        index.sync(home)
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(UnreadableError):
        Finder(str(path))
    with Index(path) as index:
        index.sync(home)
        assert keys(index, "zebra")


def _write(path: Path, name: str) -> None:
    with Index(path) as index:
        for number in range(40):
            index.add([note(f"{name}-{number}", f"walrus number {number} of {name}")])


def _read(path: Path, stop: multiprocessing.synchronize.Event) -> None:
    while not stop.is_set():
        with Finder(str(path)) as finder:
            assert all("walrus" in hit.passages[0] for hit in finder.search("walrus", limit=5)), "half a document"


@pytest.mark.slow
def test_readers_and_writers_in_several_processes_get_on(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with Index(path):
        pass
    stop = context.Event()
    readers = [context.Process(target=_read, args=(path, stop)) for _ in range(2)]
    writers = [context.Process(target=_write, args=(path, name)) for name in ("a", "b")]
    for process in readers + writers:
        process.start()
    for process in writers:
        process.join()
    stop.set()
    for process in readers:
        process.join()
    assert [process.exitcode for process in readers + writers] == [0, 0, 0, 0]
    with Index(path) as index:
        assert len(index) == 80
        drop(index, *(f"knowledge/concepts/{name}-{number}.md" for name in "ab" for number in range(40)))
    assert tables(path) == (0, 0, 0, 0)


# --- what people write ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "query"), json.loads((TESTS / "fixtures" / "words.json").read_text("utf-8"))["found"])
def test_text_is_found_as_people_and_code_write_it(text: str, query: str) -> None:
    with Index(":memory:") as index:
        index.add([note("other", "something else entirely 12 xyz"), note("wanted", text)])
        assert keys(index, query)[:1] == ["knowledge/concepts/wanted.md"]


@pytest.mark.parametrize("changed", [499, 500])
def test_segments_are_merged_after_many_changes(home: Path, changed: int) -> None:
    with Index(":memory:") as index:
        told: list[str] = []
        index._db.set_trace_callback(told.append)
        index.sync(home / "none", {"more": ((1, 1), lambda: [note(f"n{n}", "") for n in range(changed)])})
        assert any("optimize" in each for each in told) == (changed == 500)


def test_no_query_is_a_syntax_error(paths: Paths) -> None:
    queries = (
        '"', "'", "a AND", "NEAR(a b", "title:x", "a* OR", "-a", "^a", "{title}: a", "NOT", "(", "a\0b", "\ud800",
        "; DROP", "",
    )  # fmt: skip
    with Index(":memory:") as index:
        index.add([note("a", "some text")])
        for query in queries:
            index.finder.search(query)
            index.finder.search(query, project=query, view=Visibility(Settings.load({}), paths, query), kinds=(query,))


def test_a_word_in_the_title_outranks_the_same_word_in_the_text() -> None:
    with Index(":memory:") as index:
        index.add(note(f"n{number}", "a walrus among other animals") for number in range(3))
        index.add([note("titled", "an animal among others", title="Walrus")])
        assert keys(index, "walrus", limit=1) == ["knowledge/concepts/titled.md"]
