from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from facts import BLOG, SHOP, a_fact, keeper
from memoria.ground.errors import MemoryStoreError
from memoria.statements.fact import GLOBAL
from memoria.statements.store import Link, Store, leading, made_again
from memoria.statements.store_file import MIGRATIONS


def test_migrations_bring_an_older_store_up_without_losing_a_fact(tmp_path: Path) -> None:
    path = tmp_path / "learned.db"
    db = sqlite3.connect(path)
    db.executescript(MIGRATIONS[0] + "PRAGMA user_version=1;")
    db.execute(
        "INSERT INTO facts VALUES (1, 'l-1', '2026-11-16', 'fact', '2026-11-16T09:00:00+00:00', '', '', "
        """'{"id": "l-1", "kind": "fact", "content": "kept", "time": "2026-11-16T09:00:00+00:00"}')"""
    )
    db.commit()
    db.close()
    with Store(path) as store:
        assert store.db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        kept = store.get("l-1")
        assert kept is not None
        assert kept.content == "kept"
        assert store.db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_store_of_a_newer_memoria_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "learned.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(MemoryStoreError, match="update memoria"):
        Store(path)


@pytest.mark.parametrize("damage", ["gone", "junk", "torn"])
def test_a_lost_or_corrupt_store_is_made_again_from_the_logs(tmp_path: Path, damage: str) -> None:
    with keeper(tmp_path) as first:
        first.take(
            [a_fact("Use pnpm, not npm.", tags=("tools",)), a_fact("Deploys go out on Tuesdays.", "operational")]
        )
        before = first.store.facts()
        path = first.store.path
    for extra in path.parent.glob("learned.db-*"):
        extra.unlink()
    whole = path.read_bytes()
    path.unlink()
    if damage != "gone":
        path.write_bytes(b"junk" * 999 if damage == "junk" else whole[:4096] + b"\0" * 9000)
    with keeper(tmp_path) as again:
        assert again.store.facts() == before
        assert [fact.content for fact in again.store.matching("pnpm")] == ["Use pnpm, not npm."]


def test_facts_are_found_by_words_keywords_and_stems(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        home.take([a_fact("Deploys go out on Tuesdays.", "operational", keywords=("release",)), a_fact("Use tabs.")])
        for words in ("deploy", "the RELEASE", "tuesday?", '"quoted" OR ('):
            found = [fact.kind for fact in home.store.matching(words)]
            assert found == ([] if words.startswith('"') else ["operational"])


def test_recall_serves_the_successor_of_an_ended_fact(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        home.take([a_fact("Use npm for packages, not pnpm.")])
        home.take([a_fact("Use pnpm for packages, not npm.", day=1)])
        home.take([a_fact("Use bun for packages, not pnpm.", day=2)])
        assert [fact.content for fact in home.store.matching("npm packages")] == ["Use bun for packages, not pnpm."]
        assert len(home.store.facts(live=False)) == 3


def test_a_project_sees_its_own_and_global_facts_only(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        home.take(
            [a_fact("Use tabs."), a_fact("Deploy on Tuesdays.", project=BLOG), a_fact("Write British.", project=GLOBAL)]
        )
        assert {fact.content for fact in home.store.facts(project=SHOP)} == {"Use tabs.", "Write British."}
        assert home.store.matching("tuesdays", SHOP) == []


def test_what_matters_most_leads(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        home.take(
            [
                a_fact("The logo is blue.", "fact", importance=0.3),
                a_fact("Never use float for money.", "correction", importance=0.8),
                a_fact("Old preference about commas.", importance=0.8, day=-400),
                a_fact("Write short functions.", importance=0.8, day=0),
                a_fact("Quote every path.", importance=0.8, project=BLOG),
            ]
        )
        order = [fact.content for fact in leading(home.store, SHOP)]
        assert order == [
            "Never use float for money.",
            "Write short functions.",
            "Old preference about commas.",
            "The logo is blue.",
        ]


def test_a_correction_made_again_is_marked_and_rises(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        home.take(
            [a_fact("Run the formatter.", "correction", importance=0.4), a_fact("Never touch main.", "correction")]
        )
        top = leading(home.store, SHOP)[0]
        assert top.content == "Never touch main."
        home.take([a_fact("Run the formatter!", "correction", importance=0.4, day=1)])
        top = leading(home.store, SHOP)[0]
        assert top.content == "Run the formatter."
        assert made_again(top)


def test_one_number_of_a_server_belongs_to_one_fact(tmp_path: Path) -> None:
    with Store(tmp_path / "learned.db") as store:
        store.link(Link("home", 7, "l-a", "l-a", "x"))
        store.link(Link("home", 7, "l-b", "l-b", "y"))
        assert store.links("home") == [Link("home", 7, "l-b", "l-b", "y")]
        assert store.links("elsewhere") == []
