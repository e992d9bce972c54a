"""Search: its output for a person and for a program, and that it works without a usable index."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

import home_of
from memoria.base.paths import own_command
from memoria.capture import detach
from memoria.commands import search
from memoria.ground import locks
from memoria.ground.home import Home
from memoria.index import highlight


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "memoria"  # as conftest sets MEMORIA_HOME
    (home / "knowledge/concepts").mkdir(parents=True)
    (home / "knowledge/concepts/zebra.md").write_text(
        "---\ntitle: Zebras\n---\n# Zebras\nA zebra has \x1b[31mstripes.\n"
    )
    (home / "daily").mkdir()
    (home / "daily/2026-11-21.md").write_text(
        "### Session (14:05) · zoo · Stripes\n**Context:** Counted the zebra stripes.\n\n^e-01\n"
        "<!-- memoria entry=01 session=s1 turns=a project=zoo-123456 model=m -->\n"
    )
    return home


def run(*words: str) -> int:
    return home_of.run(search, Home.open(), *words)


@pytest.mark.parametrize("rubbish", [b"rubbish" * 1000, b"SQLite format 3\0" + b"\7" * 5000])
def test_a_corrupt_index_is_made_again_and_the_search_answered(
    home: Path, capsys: pytest.CaptureFixture[str], rubbish: bytes
) -> None:
    run("zebra")
    (home / ".memoria/index.db").write_bytes(rubbish)
    for side in ("-wal", "-shm"):
        (home / f".memoria/index.db{side}").unlink(missing_ok=True)
    capsys.readouterr()
    assert run("zebra") == 0
    assert "knowledge/concepts/zebra.md" in capsys.readouterr().out


@pytest.mark.parametrize("lost", ["deleted", "damaged", "of another version", "outdated"])
def test_a_search_waits_for_no_rebuild(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(detach, "start", lambda way, *_, **_more: started.append(way))
    monkeypatch.setenv("MEMORIA_PYTHON", sys.executable)
    assert run("--wait") == 0
    path, paths = home / ".memoria/index.db", Home.open().paths
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute({"outdated": "UPDATE sources SET mtime_ns = 1"}.get(lost, "PRAGMA user_version = 1"))
    if lost == "damaged":
        path.write_bytes(b"rubbish" * 1000)
    elif lost == "deleted":
        path.unlink()
    monkeypatch.setenv("MEMORIA_LIMIT_SEARCH_WAIT_S", "0")
    assert run("zebra") == 0
    answer = capsys.readouterr()
    assert ("zebra.md" in answer.out) == (lost == "outdated")
    assert "The search index is being brought up to date" in answer.err
    (way,) = started
    assert way == own_command(sys.executable, "search", "--wait")
    with locks.take(Path(paths.indexer_lock)) as mine:
        assert mine
        assert run("zebra") == 0  # while it is at work, none is started
    assert len(started) == 1
    assert run(*way[3:]) == 0
    capsys.readouterr()
    assert run("zebra") == 0
    assert "zebra.md" in (answer := capsys.readouterr()).out
    assert "index" not in answer.err


def test_a_long_passage_is_shown_around_its_word() -> None:
    shown = highlight.highlight("filler " * 400 + "the zebra runs " + "filler " * 400, {"zebra"})
    assert "**zebra**" in shown
    assert len(shown) < highlight.SNIPPET_CHARS + 40
    assert highlight.highlight("x" * 5000, set()).endswith("…")


def test_what_an_article_says_under_history_is_not_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "knowledge/concepts/uploads.md").write_text(
        "# Uploads\n\nFiles go to the bucket.\n\n## Behaviour\n\n- Files go to the bucket\n\n## History\n\n"
        "- Until 2026-11-18: Uploads go through the quokka queue\n"
    )
    for words in (("quokka queue",), ("uploads",), ("quokka", "--kind", "article")):
        run(*words)
        assert "quokka queue" not in capsys.readouterr().out.partition("nothing found")[0]
