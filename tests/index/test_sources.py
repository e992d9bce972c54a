"""Sources: archived turns and learned facts enter the index, and leave it again."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from memoria.base import state
from memoria.base.paths import Paths
from memoria.index import sources
from memoria.index.index import Index
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn
from places import TESTS

ENDED = '"ended": "2026-11-21T09:30:00+00:00"'
DAY = (TESTS / "fixtures" / "pages" / "sources.md").read_text("utf-8")
NEXT = """# 2026-11-21

### Learned (10:30) · shop

- [correction] It is 9090 now. ^l-bbbbbbbb
  <!-- learned {"importance": 0.9, "origin": "user", "project": "*", "time": "2026-11-21T09:30:00+00:00"} -->
"""


@pytest.fixture
def world(paths: Paths) -> Paths:
    state.open_state(paths)
    for name, text in (("2026-11-20", DAY), ("2026-11-21", NEXT)):
        path = Path(paths.daily, f"{name}.md")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return paths


def turns(*texts: str) -> list[Turn]:
    return [Turn(f"t{number}", "user", text) for number, text in enumerate(texts)]


def test_archived_turns_are_found_and_read_once(world: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    Archive.of(world, 1).keep("abcdefgh", date(2026, 11, 20), turns("I love pangolins"))
    (kept,) = Path(world.archive).iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(b"torn")
    Path(world.named).mkdir()  # what rules name cannot be written there
    with Index(world.index) as index:
        sources.refresh(index, world)
        assert index.search("pangolins") == []
        kept.write_bytes(whole)
        Path(world.named).rmdir()
        sources.refresh(index, world)
        assert Path(world.named).is_file()
        (hit,) = index.search("pangolins")
        assert (hit.kind, hit.path, hit.session, hit.project) == ("turn", "archive/abcdefgh", "s-1", "shop-000001")
        assert (hit.title, hit.date) == ("Port of the listener (until 2026-11-21)", "2026-11-20")
        monkeypatch.setattr(Archive, "turns", lambda *_: pytest.fail("read again"))
        assert sources.refresh(index, world) == 0


def test_the_sentence_that_an_ended_fact_was_learned_from_is_found_no_more(world: Paths) -> None:
    log = Path(world.daily, "2026-11-20.md")
    ended = log.read_text("utf-8")
    log.write_text(ended.replace(f", {ENDED}", ""), encoding="utf-8")
    said = "The gauge is fine. Here, use 8080 from now on. Then restart the relay."
    Archive.of(world, 1).keep("abcdefgh", date(2026, 11, 20), turns(said))
    with Index(world.index) as index:
        sources.refresh(index, world)
        (hit,) = index.search("listener 8080", kinds=("turn",))
        assert "8080" in hit.passages[0]
        log.write_text(ended, encoding="utf-8")
        Path(world.named).unlink()
        sources.refresh(index, world)
        assert Path(world.named).is_file()
        assert not any("8080" in passage for hit in index.search("listener 8080") for passage in hit.passages)
        log.rename(log.with_name("2026-11-19.md"))  # what was archived keeps its day
        sources.refresh(index, world)
        assert not any("8080" in passage for hit in index.search("listener 8080") for passage in hit.passages)
        (hit,) = index.search("restart the relay", kinds=("turn",))
        assert "The gauge is fine." in hit.passages[0]


def test_a_rebuild_lists_the_archive_no_oftener_for_more_entries(world: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    listings, real = list[str](), os.listdir

    def counted(path: str | Path = ".") -> list[str]:
        listings.append(str(path))
        return real(path)

    def rebuilt(entries: range) -> int:
        for number in entries:
            Archive.of(world, 1).keep(f"entry{number:03d}", date(2026, 11, 20), turns("I love pangolins"))
        listings.clear()
        with Index(":memory:") as index:
            sources.refresh(index, world)
        return listings.count(world.archive)

    monkeypatch.setattr(os, "listdir", counted)
    assert rebuilt(range(3)) == rebuilt(range(3, 40)) > 0
