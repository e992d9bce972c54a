from __future__ import annotations

import itertools
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from as_before import same
from facts import BLOG, MONDAY, SHOP, a_fact, keeper
from memoria.base.paths import Paths
from memoria.ground import clock
from memoria.statements.fact import GLOBAL
from memoria.statements.store import HALF_SAVED_S, MIGRATIONS, Store, find_leading, half_save, repeat_mark, score


def test_migrations_bring_an_older_store_up_without_losing_a_fact(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "learned.db")
    db.executescript(MIGRATIONS[0] + "PRAGMA user_version=1;")
    db.execute(
        "INSERT INTO facts VALUES (1, 'l-1', '2026-11-16', 'fact', '2026-11-16T09:00:00+00:00', '', '', "
        """'{"id": "l-1", "kind": "fact", "content": "kept", "time": "2026-11-16T09:00:00+00:00"}')"""
    )
    db.commit()
    db.close()
    with Store(Paths(str(tmp_path), str(tmp_path))) as store:
        assert store.db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        kept = store.get("l-1")
        assert kept is not None
        assert kept.content == "kept"
        assert store.db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize("damage", ["gone", "junk", "torn"])
def test_a_lost_or_corrupt_store_is_made_again_from_the_logs(tmp_path: Path, damage: str) -> None:
    with keeper(tmp_path) as first:
        first.take([a_fact("Use pnpm, not npm.", tags=("tools",)), a_fact("Deploys are on Tuesdays.", "operational")])
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
        assert [fact.content for fact in again.store.match("pnpm")] == ["Use pnpm, not npm."]


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
        home.adopt(a_fact("Write short functions.", importance=0.7, day=1))  # as another machine learned it
        order = [fact.content for fact in find_leading(home.store, SHOP)]
        assert order == [
            "Never use float for money.", "Write short functions.", "Old preference about commas.", "The logo is blue.",
        ]  # fmt: skip
        made = [a_fact(f"Number {number}.", "fact", importance=0.9 - number / 40) for number in range(70)]
        home.take(made)
        called_for = [fact.id for fact in made[::-1] if fact.content != "Number 8."]
        told = [[fact.content for fact in find_leading(home.store, *of)] for of in ((SHOP, called_for), (GLOBAL, ()))]
        told += [[fact.content for fact in home.store.find_near(text, SHOP)] for text in ("Number 7 or 12.", "number")]
        told.append([fact.content for fact in home.store.match("number")])
    each = itertools.product(("correction", "preference", "operational", "fact"), (1, 2, 5, 6), (0, 120), (SHOP, BLOG))
    made = [
        replace(a_fact(f"{seen} {days}", kind, day=-days, project=project), seen=seen)
        for kind, seen, days, project in each
    ]
    rows = [f"{score(fact, SHOP, MONDAY):.4f} {fact.kind} {fact.content} {repeat_mark(fact)}" for fact in made]
    same("read/leading.txt", [*itertools.chain(*told), *rows])


def test_what_was_deleted_is_known_until_it_is_forgotten_and_its_id_after_that(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        store, fact = home.store, a_fact("Use pnpm.")
        store.mark_deleted(fact)
        assert store.deleted_facts() == [fact]
        store.forget_deleted([fact.id])
        assert (store.deleted_facts(), store.deleted_ids()) == ([], {fact.id})
        store.unmark_deleted(fact.id)
        assert store.deleted_ids() == set()


def test_a_text_without_its_last_line_end_is_half_saved_for_a_minute() -> None:
    now, past = (clock.now() - timedelta(seconds=ago) for ago in (1, HALF_SAVED_S))
    assert half_save("a\n", f"m {now.isoformat()}", "m") == half_save("a", f"m {past.isoformat()}", "m") == ""
    assert half_save("a", f"m {now.isoformat()}", "m") == f"m {now.isoformat()}"
    assert half_save("a", f"o {past.isoformat()}", "m") > f"m {now.isoformat()}", "a later save"


def test_a_correction_made_again_is_marked_and_rises(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        home.take([a_fact("Run the formatter.", "correction", importance=0.4), a_fact("Leave main.", "correction")])
        assert find_leading(home.store, SHOP)[0].content == "Leave main."
        home.take([a_fact("Run the formatter!", "correction", importance=0.4, day=1)])
        top = find_leading(home.store, SHOP)[0]
        assert top.content == "Run the formatter."
        assert repeat_mark(top)
