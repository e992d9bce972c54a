"""What a memory server may and may not do to what people know: restored, replaced, failing, shared, skewed, old."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from facts import MONDAY, SHOP, Synced, a_fact, keeper, meet, records_of, refused, said, server_state, sync
from home_of import run
from memoria.amending import forget_plan, proof, removal
from memoria.audit.checks import BROKEN, OK
from memoria.base.paths import Paths
from memoria.commands import doctor, status
from memoria.commands import sync as sync_command
from memoria.daily.day_text import DayText, LearnedLine
from memoria.exchange.memory_server import Memory, Server
from memoria.exchange.rounds import Round
from memoria.exchange.rows import MOST_FORMER, to_memory
from memoria.ground import locks
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.statements.fact import GLOBAL, Fact
from memoria.statements.keeper import Keeper
from memoria.transcripts.screen import Tombstones
from memoria.worker import together, worker
from memory_server import KEY, OTHER_KEY, MemoryServer

pytestmark = pytest.mark.slow

PNPM, SHORT, TUESDAY = "Use pnpm, not npm.", "Write short functions.", "Deploys go out on Tuesdays."


def learned(home: Keeper, *contents: str) -> list[Fact]:
    facts = [a_fact(content) for content in contents]
    home.take(facts)
    return facts


def daily(home: Keeper) -> str:
    return home.lines.daily.path(MONDAY.date()).read_text(encoding="utf-8")


def foreign(server: MemoryServer, content: str, **given: object) -> dict[str, object]:
    server.store({"content": content, "tags": "auto-learned", "expanded_keywords": "one two", **given})
    return dict(server.memories[server.sequence])


def test_many_rows_are_written_with_one_look_at_the_day(
    server: MemoryServer, here: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that has held facts for years brings thousands at once, of the day on which they were imported."""
    looks: list[int] = []
    learned_of = DayText.facts

    def counted(text: DayText) -> Iterator[LearnedLine]:
        looks.append(1)
        return learned_of(text)

    monkeypatch.setattr(DayText, "facts", counted)
    counts = []
    for number in (20, 60):
        for row in range(number):
            foreign(server, f"Gauge {row} of {number} is read at noon.")
        looks.clear()
        sync(here, server)
        counts.append(len(looks))
    assert len(said(here)) == 80
    assert counts[1] <= counts[0] + 10, "not one for each row"


# -- restored or replaced


def test_a_server_whose_numbers_begin_again_rewrites_and_deletes_nothing(server: MemoryServer, here: Keeper) -> None:
    first, second = learned(here, PNPM, SHORT)
    sync(here, server)
    server.replace()
    others = [foreign(server, "The wombat owns the invoices."), foreign(server, "The gull is grey.")]
    server.one("default", "DELETE", 2, {})
    others[1] = dict(server.memories[2])
    here.edit(first.id, "Use pnpm 9.")
    here.delete(second.id)
    assert sync(here, server).problems == ()
    assert sync(here, server).problems == ()
    assert [server.memories[1], server.memories[2]] == others
    assert said(here) == ["The wombat owns the invoices.", "Use pnpm 9."]
    assert server.live() == ["The wombat owns the invoices.", "Use pnpm 9."]


def test_a_server_restored_from_a_backup_gets_back_what_it_lost_and_changes_nothing_here(
    server: MemoryServer, here: Keeper, there: Keeper
) -> None:
    edited, deleted, untouched = learned(here, PNPM, SHORT, "The gull is grey.")
    sync(here, server)
    sync(there, server)
    backup = server.backup()
    here.edit(edited.id, "Use pnpm 9.")
    here.delete(deleted.id)
    late = a_fact(TUESDAY)
    here.take([late])
    sync(here, server)
    sync(there, server)
    server.restore(backup)
    learned(there, "Name tests as promises.")  # gets the number that TUESDAY had
    meet(server, there, here, there, here)
    wanted = sorted(["Use pnpm 9.", "The gull is grey.", TUESDAY, "Name tests as promises."])
    assert said(here) == said(there) == server.live() == wanted
    assert untouched.content in daily(here)


def test_an_edit_pushed_after_the_backup_stands_until_it_is_seen_again(server: MemoryServer, here: Keeper) -> None:
    (fact,) = learned(here, PNPM)
    sync(here, server)
    sync(here, server)
    backup = server.backup()
    here.edit(fact.id, "Use pnpm 9.")
    sync(here, server)
    server.restore(backup)
    sync(here, server)
    assert said(here) == server.live() == ["Use pnpm 9."]


def test_another_users_key_takes_nothing_with_it(server: MemoryServer, here: Keeper) -> None:
    (fact,) = learned(here, PNPM)
    sync(here, server)
    server.store({"content": "Mine alone.", "tags": ""}, "other")
    assert sync(here, server, key=OTHER_KEY).problems == ()
    rows = [(row["user_id"], row["content"], row["deleted_at"]) for row in server.memories.values()]
    assert rows == [("default", PNPM, None), ("other", "Mine alone.", None), ("other", PNPM, None)]
    here.edit(fact.id, "Use pnpm 9.")
    sync(here, server)
    assert server.memories[1]["content"] == "Use pnpm 9."
    assert said(here) == ["Mine alone.", "Use pnpm 9."]


# -- rows of other programs


def test_a_row_of_another_program_keeps_text_keywords_and_tags_whatever_happens(
    server: MemoryServer, here: Keeper, there: Keeper
) -> None:
    rows = [foreign(server, PNPM), foreign(server, "The gull is grey.")]
    learned(here, PNPM)
    meet(server, here, there)
    for fact in here.store.facts():
        here.edit(fact.id, fact.content.replace(".", " indeed."))
    sync(here, server)
    assert sorted(server.live()) == sorted([PNPM, "The gull is grey.", *said(here)])
    for fact in here.store.facts():
        here.delete(fact.id)
    sync(here, server)
    sync(here, server)
    assert [server.memories[1], server.memories[2]] == rows
    assert said(here) == [], "and what was deleted here is not taken in again"
    assert server.live() == sorted([PNPM, "The gull is grey."])


@pytest.mark.parametrize("project", [GLOBAL, SHOP])
def test_another_programs_deletion_of_its_equal_memory_leaves_ours(
    server: MemoryServer, here: Keeper, project: str
) -> None:
    here.take([a_fact(PNPM, project=project)])
    foreign(server, "use pnpm, not npm", category="preferences")
    sync(here, server)
    server.one("default", "DELETE", 1, {})
    sync(here, server)
    assert said(here) == server.live() == [PNPM]


def test_a_fact_that_is_another_programs_memory_follows_it(server: MemoryServer, here: Keeper) -> None:
    foreign(server, "The gull is grey.")
    sync(here, server)
    server.one("default", "PUT", 1, {"content": "The gull is white."})
    sync(here, server)
    assert said(here) == ["The gull is white."]
    server.one("default", "DELETE", 1, {})
    sync(here, server)
    assert said(here) == []
    assert server.written() == []


@pytest.mark.parametrize("theirs_first", [True, False])
def test_what_the_servers_hook_learned_too_is_one_fact(server: MemoryServer, here: Keeper, theirs_first: bool) -> None:
    if theirs_first:
        foreign(server, "use  pnpm, not npm")
        learned(here, PNPM)
    else:
        learned(here, PNPM)
        sync(here, server)
        foreign(server, "use  pnpm, not npm")
    for _ in range(3):
        sync(here, server)
    assert said(here) == [PNPM]
    assert len(server.live()) == (1 if theirs_first else 2), "no row of ours beside an equal one"
    assert server_state(here)["waiting"] == 0


def test_a_row_shared_by_somebody_else_is_not_written(server: MemoryServer, here: Keeper) -> None:
    (fact,) = learned(here, PNPM)
    sync(here, server)
    server.memories[1]["user_id"] = "other"
    server.shared = {1}
    row = dict(server.memories[1])
    here.edit(fact.id, "Use pnpm 9.")
    sync(here, server)
    assert server.memories[1] == row


# -- absence


@pytest.mark.parametrize("skew", [-1, 1])
def test_a_deletion_stays_one_however_far_the_servers_clocks_are_apart(
    server: MemoryServer, here: Keeper, there: Keeper, skew: float
) -> None:
    server.skew = timedelta(hours=skew)
    one, two = learned(here, PNPM, SHORT)
    meet(server, here, there, here)
    there.delete(two.id)
    there.edit(one.id, "Use pnpm 9.")
    sync(there, server)
    meet(server, here, there)
    assert said(here) == ["Use pnpm 9."]
    meet(server, here, there)
    assert said(here) == said(there) == server.live() == ["Use pnpm 9."]


def test_a_listing_that_is_cut_short_is_no_absence(server: MemoryServer, here: Keeper) -> None:
    learned(here, PNPM, SHORT)
    sync(here, server)
    server.hidden = {2}
    for _ in range(3):  # what was missing is sent again, and when it is there after all, the older row stays
        sync(here, server)
    assert said(here) == server.live() == sorted([PNPM, SHORT])
    assert sync(here, server) == Synced()


def test_rows_that_are_lost_there_are_sent_again_after_another_listing(server: MemoryServer, here: Keeper) -> None:
    learned(here, *(f"{hashlib.sha256(bytes([number])).hexdigest()} is a name." for number in range(60)))
    sync(here, server)
    server.memories.clear()
    server.requests.clear()
    assert sync(here, server).pushed == 60
    assert len([path for method, path in server.requests if method == "GET"]) <= 4
    assert len(said(here)) == 60


@pytest.mark.parametrize("status", [500, 502, 503, "cut", "junk"])
def test_a_failing_listing_deletes_nothing_and_is_repeated(
    server: MemoryServer, here: Keeper, there: Keeper, status: int | str
) -> None:
    learned(here, PNPM, SHORT)
    sync(here, server)
    learned(there, TUESDAY)
    sync(there, server)
    server.fault_for["GET /api/memories/sync"] = status
    before = daily(here)
    assert sync(here, server).problems
    assert daily(here) == before
    server.fault_for.clear()
    assert sync(here, server) == Synced(pulled=1)
    assert said(here) == sorted([PNPM, SHORT, TUESDAY])


# -- failures


@pytest.mark.parametrize("status", [500, 502, 503])
def test_an_outage_reverts_no_edit_and_brings_back_no_deletion(server: MemoryServer, here: Keeper, status: int) -> None:
    edited, deleted = learned(here, PNPM, SHORT)
    sync(here, server)
    here.edit(edited.id, "Use pnpm 9.")
    here.delete(deleted.id)
    learned(here, TUESDAY)
    server.fault_for.update(dict.fromkeys(("POST", "PUT", "DELETE"), status))
    for _ in range(8):
        assert sync(here, server).problems
    assert said(here) == sorted(["Use pnpm 9.", TUESDAY])
    assert refused(here) == {}
    server.fault_for.clear()
    sync(here, server)
    assert said(here) == server.live() == sorted(["Use pnpm 9.", TUESDAY])


def test_a_line_that_the_server_refuses_stays_as_the_person_wrote_it(
    server: MemoryServer, here: Keeper, there: Keeper
) -> None:
    (fact,) = learned(here, PNPM)
    meet(server, here, there)
    path = here.lines.daily.path(MONDAY.date())
    path.write_text(path.read_text().replace(PNPM, "word " * 300 + "end"))
    here.refresh()
    sync(here, server)
    assert list(refused(here)) == [fact.id]
    there.edit(fact.id, "Use pnpm 9.")
    sync(there, server)
    for _ in range(3):
        sync(here, server)
    assert any("word word" in each for each in said(here))
    assert "Use pnpm 9." in said(here), "the other wording stands too"


@pytest.mark.parametrize("status", [403, 404, 409, 413, 422, 500])
def test_a_row_that_may_not_be_written_is_that_rows_trouble(server: MemoryServer, here: Keeper, status: int) -> None:
    (fact,) = learned(here, PNPM)
    sync(here, server)
    here.edit(fact.id, "Use pnpm 9.")
    learned(here, SHORT)
    server.fault_for["PUT /api/memories/1"] = status
    done = sync(here, server)
    assert done.pushed == 1, "it holds up no other"
    if status != 500:  # the server's own trouble may be over soon
        assert (done.problems, list(refused(here))) == ((), [fact.id])
    assert not server_state(here)["denied"]
    assert said(here) == sorted(["Use pnpm 9.", SHORT])


def test_a_key_that_may_not_write_sets_nothing_aside(server: MemoryServer, here: Keeper) -> None:
    learned(here, PNPM)
    server.fault_for["POST"] = 403
    assert sync(here, server).problems
    assert server_state(here)["denied"]
    assert refused(here) == {}


def test_what_a_proxy_answers_sets_nothing_aside_and_drops_no_row(server: MemoryServer, here: Keeper) -> None:
    (fact,) = learned(here, PNPM)
    sync(here, server)
    here.edit(fact.id, "Use pnpm 9.")
    learned(here, SHORT)
    for code in (302, 307, 400, 403, 404, 407, 413, 451):
        server.fault_for.update(dict.fromkeys(("POST", "PUT", "DELETE"), f"proxy {code}"))
        assert f"answered {code}" in sync(here, server).problems[0]
        assert not server_state(here)["denied"]
        assert refused(here) == {}
    server.fault_for.clear()
    assert sync(here, server) == Synced(pushed=2)
    assert said(here) == server.live() == sorted(["Use pnpm 9.", SHORT])


def test_a_listing_may_take_longer_than_a_call(server: MemoryServer, here: Keeper) -> None:
    learned(here, PNPM)
    server.fault_for["GET /api/memories/sync"] = "late"
    assert sync(here, server, timeout=1) == Synced(pushed=1)


def test_the_rows_of_one_server_are_not_given_to_the_next(server: MemoryServer, here: Keeper) -> None:
    foreign(server, "The gull is grey.")
    foreign(server, "The wombat owns the invoices.")
    learned(here, PNPM)
    sync(here, server)
    with MemoryServer() as other:
        sync(here, other)
        assert other.live() == [PNPM]
        gull = next(fact for fact in here.store.facts() if "gull" in fact.content)
        here.edit(gull.id, "The gull is white.")
        sync(here, other)
        assert other.live() == ["The gull is white.", PNPM], "the user's own words are"


@pytest.mark.parametrize("way", ["slow", "drip"])
def test_a_server_that_hangs_costs_one_deadline(server: MemoryServer, here: Keeper, way: str) -> None:
    learned(here, PNPM)
    server.fault_for.update(dict.fromkeys(("GET", "POST"), way))
    assert "cannot be reached" in sync(here, server, timeout=0.5).problems[0]
    assert len(server.requests) == 1
    assert Server(server.url, KEY).timeout <= 5


# -- both at once


@pytest.mark.parametrize("first", ["here", "there"])
def test_of_two_edits_both_stand_everywhere_and_name_each_other(
    server: MemoryServer, here: Keeper, there: Keeper, first: str
) -> None:
    (fact,) = learned(here, PNPM)
    meet(server, here, there)
    here.edit(fact.id, "Use pnpm 9.")
    there.edit(fact.id, "Use bun.")
    for home in (here, there, here, there) if first == "here" else (there, here, there, here):
        sync(home, server)
    assert said(here) == said(there) == server.live() == ["Use bun.", "Use pnpm 9."]
    for home in (here, there):
        (beside,) = [each for each in home.store.facts() if each.beside]
        assert beside.beside.startswith(f"{fact.id} ")
        assert sync(home, server) == Synced()
    other = next(each for each in there.store.facts() if each.beside)
    there.delete(other.id)
    meet(server, there, here)
    assert len(said(here)) == len(server.live()) == 1


def test_what_is_deleted_of_two_wordings_leaves_the_other(server: MemoryServer, here: Keeper, there: Keeper) -> None:
    (fact,) = learned(here, PNPM)
    meet(server, here, there)
    here.edit(fact.id, "Use bun.")
    there.edit(fact.id, "Use pnpm 9.")
    meet(server, here, there, here, there)
    for home in (here, there):
        assert said(home) == ["Use bun.", "Use pnpm 9."]
    left = next(each.content for each in there.store.facts() if each.beside)
    there.delete(fact.id)
    meet(server, there, here, there)
    assert said(here) == said(there) == server.live() == [left]
    assert sync(here, server) == Synced()


def test_an_edit_that_overtook_another_unseen_takes_nothing_from_it(
    server: MemoryServer, here: Keeper, there: Keeper
) -> None:
    (fact,) = learned(here, PNPM)
    meet(server, here, there)
    row = dict(server.memories[1])
    there.edit(fact.id, "Use bun.")
    sync(there, server)
    theirs = server.memories[1] | {"updated_at": server.now()}
    server.memories[1] = row
    here.edit(fact.id, "Use pnpm 9.")
    sync(here, server)
    server.memories[1] = theirs | {"updated_at": server.now()}  # was sent in the same moment, and came later
    meet(server, here, there, here)
    assert said(here) == said(there) == server.live() == ["Use bun.", "Use pnpm 9."]


def test_a_row_that_changes_between_the_listing_and_our_writing_loses_no_wording(
    server: MemoryServer, here: Keeper, there: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fact,) = learned(here, PNPM)
    meet(server, here, there, here)
    ask = Server.listing

    def asked(self: Server) -> list[Memory]:
        page = ask(self)
        monkeypatch.setattr(Server, "listing", ask)
        there.edit(fact.id, "Use bun.")
        sync(there, server)
        return page

    here.edit(fact.id, "Use pnpm 9.")
    monkeypatch.setattr(Server, "listing", asked)
    meet(server, here, here, there, here)
    assert said(here) == said(there) == server.live() == ["Use bun.", "Use pnpm 9."]


def test_an_end_that_was_taken_back_is_taken_back_everywhere(server: MemoryServer, here: Keeper, there: Keeper) -> None:
    (fact,) = learned(here, PNPM)
    meet(server, here, there)
    there.write(replace(there.get(fact.id), ended=MONDAY + timedelta(days=3)))
    meet(server, there, here)
    assert said(here) == []
    there.write(replace(there.get(fact.id), ended=None))
    meet(server, there, here, there)
    assert said(here) == said(there) == [PNPM]


def test_a_forgotten_text_does_not_come_back_by_a_row(server: MemoryServer, here: Keeper) -> None:
    Tombstones(Paths(str(here.lines.daily.folder.parent))).add("quaggasoft")
    foreign(server, "The merger with Quaggasoft closes in May.")
    sync(here, server)
    assert said(here) == []


def test_what_is_excluded_is_sent_no_more(server: MemoryServer, here: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    server.fault_for["POST"] = 503
    learned(here, PNPM)
    sync(here, server)
    monkeypatch.setattr(Round, "hides", property(lambda _: lambda key: key == SHOP))
    server.fault_for.clear()
    server.store(to_memory(a_fact(SHORT)).changes())
    assert sync(here, server) == Synced(), "nor counted as sent"
    assert (said(here), server.live()) == ([PNPM], [SHORT])


def test_a_line_that_a_person_changes_while_the_exchange_runs_is_not_overwritten(
    server: MemoryServer, here: Keeper, there: Keeper
) -> None:
    (fact,) = learned(here, PNPM)
    meet(server, here, there)
    there.edit(fact.id, "Use bun.")
    sync(there, server)
    path = here.lines.daily.path(MONDAY.date())
    path.write_text(path.read_text().replace(PNPM, "Use yarn."))  # saved after the exchange read the logs
    sync(here, server)
    sync(here, server)
    assert "Use yarn." in daily(here)
    assert said(here) == server.live() == ["Use bun.", "Use yarn."]


def test_words_that_the_server_would_tell_back_otherwise_are_left(server: MemoryServer, here: Keeper) -> None:
    learned(here, PNPM)
    sync(here, server)
    path = here.lines.daily.path(MONDAY.date())
    path.write_text(path.read_text().replace(PNPM, "Use [[pnpm]], as in ^e-abc123 said."))
    here.refresh()
    before = daily(here)
    for _ in range(3):
        sync(here, server)
    assert daily(here) == before
    assert sync(here, server) == Synced()
    server.memories[1]["tags"] += ",seen:5"
    assert sync(here, server) == Synced(pulled=1)
    assert before.partition(" ^l-")[0] in daily(here)


# -- a state of memoria 0.1.0


def test_rows_of_0_2_0_are_known_by_their_ids_and_nothing_is_sent_twice(tmp_path: Path, server: MemoryServer) -> None:
    with keeper(tmp_path / "home") as home:
        first, second = learned(home, PNPM, SHORT)
        foreign(server, "The gull is grey.")
        for _ in range(2):
            sync(home, server)
        for path in Path(home.store.path.parent).glob("exchange.db*"):
            path.unlink()
        for row in server.memories.values():
            row["tags"] = ",".join(part for part in row["tags"].split(",") if not part.startswith("was:"))
        server.requests.clear()
        for _ in range(2):
            assert sync(home, server) == Synced()
        assert server.written() == []
        (number,) = [number for number, row in server.memories.items() if row["content"] == PNPM]
        tags = server.memories[number]["tags"] + ",edited:2026-11-20T09:00:00.000+00:00/0123456789abcdef"
        told = {"content": "Use pnpm 9.", "tags": tags}  # by a machine that has 0.2.0 still
        server.one("default", "PUT", number, told)
        home.edit(second.id, "Write very short functions.")
        sync(home, server)
        assert said(home) == server.live()
        assert said(home) == sorted(["Use pnpm 9.", "Write very short functions.", "The gull is grey."])
        assert home.get(first.id).wordings == (PNPM,)


@pytest.mark.parametrize("replaced", [True, False])
def test_links_and_work_of_an_earlier_memoria_are_checked_before_they_are_used(
    tmp_path: Path, server: MemoryServer, replaced: bool
) -> None:
    with keeper(tmp_path / "home") as home:
        kept, edited, deleted = learned(home, PNPM, SHORT, TUESDAY)
        sync(home, server)
        home.edit(edited.id, "Write very short functions.")
        home.delete(deleted.id)
        path = home.store.path
        records_of(home).db.execute("DELETE FROM rows")
    _as_of_010(path, {kept.id: 1, edited.id: 2, deleted.id: 3})
    rows = []
    if replaced:
        server.replace()
        rows = [foreign(server, f"The gull is number {number}.") for number in range(3)]
    with keeper(tmp_path / "home") as home:
        for _ in range(2):
            assert sync(home, server).problems == ()
        ours = [PNPM, "Write very short functions."]
        assert said(home) == server.live() == sorted([*ours, *(str(row["content"]) for row in rows)])
        assert [server.memories[number + 1] for number in range(len(rows))] == rows


def _as_of_010(path: Path, numbers: dict[str, int]) -> None:
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE links")
        db.executescript("DROP TABLE gone; DROP TABLE articles; DROP TABLE places; DROP INDEX facts_of_day")
        db.executescript("ALTER TABLE facts DROP COLUMN entry; CREATE TABLE judged (session TEXT, turn TEXT)")
        db.execute("CREATE TABLE links (id TEXT PRIMARY KEY, server INTEGER NOT NULL UNIQUE, digest TEXT NOT NULL)")
        db.executemany("INSERT INTO links VALUES (?, ?, 'x')", numbers.items())
        db.execute("DELETE FROM meta WHERE key = 'home'")
        db.execute("PRAGMA user_version = 2")
    db.close()


@pytest.mark.parametrize("delay_s", [0, 0.3])
def test_a_line_that_was_deleted_and_put_back_stays_however_long_the_server_takes(
    server: MemoryServer, here: Keeper, there: Keeper, monkeypatch: pytest.MonkeyPatch, delay_s: float
) -> None:
    ask = Server._call

    def slow(self: Server, *given: Any, **more: Any) -> Any:
        answer = ask(self, *given, **more)
        time.sleep(delay_s)  # on its way back
        return answer

    (fact,) = learned(here, PNPM)
    for number in range(MOST_FORMER):
        here.edit(fact.id, f"Use pnpm {number}.")
        sync(here, server)
    here.edit(fact.id, PNPM)
    meet(server, here, there)
    path = here.lines.daily.path(MONDAY.date())
    before = path.read_text()
    here.delete(fact.id)
    meet(server, here, there)
    assert said(there) == []
    path.write_text(before)
    here.refresh()
    monkeypatch.setattr(Server, "_call", slow)
    meet(server, here, there)
    assert said(here) == said(there) == server.live() == [PNPM]


# -- the worker and the person


@pytest.fixture
def named(server: MemoryServer, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("MEMORY_API_URL", server.url)
    monkeypatch.setenv("MEMORY_API_KEY", KEY)
    return Home.open()


def test_the_command_and_the_doctor_say_what_a_proxy_answers_and_what_is_refused(
    server: MemoryServer, named: Home
) -> None:
    (sound,) = doctor.check_memory_server(named)
    assert (sound.level, server.written()) == (OK, [])
    server.fault_for["GET"] = "proxy 302"
    with pytest.raises(ExpectedError, match="answered 302"):
        run(sync_command, named)
    (broken,) = doctor.check_memory_server(named)
    assert (broken.level, "answered 302" in broken.text) == (BROKEN, True)
    server.fault_for.clear()
    server.fault_for["POST"] = 422
    with Keeper.at(named) as kept:
        learned(kept, PNPM)
    with pytest.raises(ExpectedError, match=r"refused 1 fact .*422"):
        run(sync_command, named)


def test_the_exchange_never_runs_under_the_workers_lock_and_what_came_is_on_the_page(
    server: MemoryServer, named: Home, there: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned(there, TUESDAY)
    sync(there, server)
    free = []
    ask = Server.user

    def asked(self: Server) -> str:
        with locks.take(Path(named.paths.worker_lock)) as mine:
            free.append(mine)
        return ask(self)

    monkeypatch.setattr(Server, "user", asked)
    with Keeper.at(named) as kept:
        learned(kept, PNPM)
    worker.work(named)
    assert free == [True]
    assert server.live() == [TUESDAY, PNPM]
    assert TUESDAY in "".join(path.read_text() for path in Path(named.paths.page).glob("*.md"))


@pytest.mark.parametrize(("fault", "is_sensitive"), [("", False), ("cut", False), ("", True)])
def test_forgotten_words_are_deleted_in_a_row_that_is_there_again(
    server: MemoryServer, named: Home, fault: str, is_sensitive: bool
) -> None:
    """The server was restored, or its answer broke off when the row was stored."""
    server.fault_for = {"POST": fault} if fault else {}
    with Keeper.at(named) as kept:
        learned(kept, "The quagga merges in May.")
    together.run(named, is_news=False)
    server.memories[1]["is_sensitive"] = is_sensitive
    backup = server.backup()
    removal.carry_out(named, forget_plan.plan(named, "quagga"))
    together.run(named, is_news=False)
    assert server.live() == []
    server.restore(backup)
    together.run(named, is_news=False)
    assert server.live() == []


def test_the_reason_of_a_refusal_keeps_no_forgotten_word(server: MemoryServer, named: Home) -> None:
    with Keeper.at(named) as kept:
        (fact,) = learned(kept, PNPM)
        kept.edit(fact.id, "quagga " * 300)
        together.run(named, is_news=False)
        assert "quagga" in refused(kept)[fact.id]
    removal.carry_out(named, forget_plan.plan(named, "quagga"))
    assert asyncio.run(proof.search(named, ["quagga"])).is_clean


def test_what_the_server_refuses_is_in_status_and_told_once_at_a_sessions_start(
    server: MemoryServer, named: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with Keeper.at(named) as kept:
        (fact,) = learned(kept, PNPM)
        kept.edit(fact.id, "word " * 300)
        together.run(named, is_news=False)
        notice = Path(named.paths.notice)
        assert "refuses 1 fact" in notice.read_text()
        notice.unlink()  # a session's start has shown it
        together.run(named, is_news=False)
        assert not notice.exists()
    run(status, named)
    shown = capsys.readouterr().out
    assert "1 refused" in shown
    assert fact.id in shown
    with Keeper.at(named) as kept:
        kept.edit(fact.id, "Use pnpm 9.")
        together.run(named, is_news=False)
    run(status, named)
    assert "memory server in order; 0 waiting\n" in capsys.readouterr().out


def test_an_exchange_with_nothing_to_do_costs_the_same_for_each_fact(tmp_path: Path, server: MemoryServer) -> None:
    def cost(size: int) -> int:
        """Return how many lines are run, a loop within one each time: work, not time."""
        server.replace()
        lines = 0

        def count(frame: object, event: str, argument: object) -> Any:
            nonlocal lines
            lines += event == "line"
            return count

        with keeper(tmp_path / str(size)) as home:
            for number in range(size):
                name = hashlib.sha256(str(number).encode()).hexdigest()
                fact = a_fact(f"{name} is a name.", "fact", day=number % 20)
                server.store(to_memory(fact).changes())
            sync(home, server, timeout=60)
            before = sys.gettrace()
            sys.settrace(count)
            try:
                done = sync(home, server, timeout=60)
            finally:
                sys.settrace(before)
            assert done == Synced()
        return lines

    small, large = cost(50), cost(200)
    assert large < 3 * small, "four times as many, and what a run costs at all"
