from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import date, timedelta
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from as_before import same
from facts import BLOG, MONDAY, SHOP, a_fact, keeper
from home_of import run
from memoria.commands import flush
from memoria.daily.entry import Entry
from memoria.ground import clock
from memoria.ground.errors import ExpectedError, MemoryStoreError
from memoria.ground.home import Home
from memoria.pages import housekeeping
from memoria.statements import lines
from memoria.statements.fact import GLOBAL, Ending
from memoria.statements.keeper import Keeper
from memoria.statements.lines import Lines
from memoria.statements.store import Store


def logs(home: Keeper) -> str:
    return "\n".join(path.read_text() for path in sorted(home.lines.daily.folder.glob("*.md")))


def test_what_another_agent_brought_is_a_rule_once_the_user_says_it(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        brought = a_fact("Use pnpm, not npm.", "fact", origin="assistant", quote="pnpm it is", session="codex-1")
        again = a_fact("Take pnpm for installs.", "fact", day=0.5, origin="assistant")
        home.take([replace(brought, content=again.content), again], "shop")
        assert home.edit(brought.id, brought.content).seen == 1, "the other words were said twice"
        home.take([a_fact("Use pnpm, not npm.", "correction", day=1, quote="No, pnpm!", session="mine")], "shop")
        (held,) = home.store.facts()
        assert (held.kind, held.origin, held.quote, held.seen) == ("correction", "user", "No, pnpm!", 1)
        assert "- [correction] Use pnpm, not npm." in logs(home)
        home.take([a_fact("Use pnpm, not npm.", "fact", day=2, origin="assistant")], "shop")
        (held,) = home.store.facts()
        assert (held.kind, held.origin, held.quote) == ("correction", "user", "No, pnpm!")


def test_what_names_more_than_a_known_statement_repeats_it_not(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        home.take([a_fact("Before each commit here we run `mise run lint`.")])
        fuller = a_fact("Before each commit here we run `mise run lint` and `mise run test`.", day=1)
        assert home.take([fuller]).added == [fuller]


def contents(home: Keeper) -> list[str]:
    return [fact.content for fact in home.store.facts()]


@pytest.mark.parametrize("kind", ["preference", "correction", "decision", "fact", "operational"])
def test_the_users_latest_word_ends_the_older_one_of_whatever_kind(tmp_path: Path, kind: str) -> None:
    with keeper(tmp_path) as home:
        old = a_fact("Installs run with pnpm.", "correction")
        home.take([old])
        home.take([a_fact("From here on Bun does the installing.", kind, day=1, supersedes=(old.id,))])
        assert contents(home) == ["From here on Bun does the installing."]


@pytest.mark.parametrize("origin", ["assistant", "tool"])
def test_nobody_else_ends_what_the_user_said(tmp_path: Path, origin: str, caplog: pytest.LogCaptureFixture) -> None:
    with keeper(tmp_path) as home:
        old, own = a_fact("Installs run with pnpm."), a_fact("It writes a lock file.", "fact", origin="assistant")
        home.take([old, own])
        home.take([a_fact("The lock file is Bun's.", "fact", day=1, origin=origin, supersedes=(old.id, own.id))])
        home.take([], endings=[Ending(old.id, old.time + timedelta(days=2), origin)])
        assert home.store.get(old.id) == old
        assert contents(home) == [old.content, "The lock file is Bun's."], "beside the user's word, which stands"
        assert caplog.text.count(f"{old.id} stands") == 2


def test_what_holds_in_part_goes_on_also_when_another_statement_replaces_it(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        old = a_fact("Releases are cut on Tuesdays and tagged by hand.")
        home.take([old])
        new = a_fact("Releases are cut on Fridays.", day=2, supersedes=(old.id,))
        home.take([new], endings=[Ending(old.id, new.time, "user", remains="Releases are tagged by hand.")])
        assert contents(home) == ["Releases are tagged by hand.", "Releases are cut on Fridays."]


def test_a_later_successor_takes_the_place_of_an_earlier_one_and_the_end_stays(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        old, new = a_fact("Installs run with pnpm."), a_fact("The lock file is written by Bun.", day=3)
        home.take([old, new])
        first = Ending(old.id, old.time + timedelta(days=1), "user")
        home.take([], endings=[first, replace(first, time=first.time + timedelta(days=2), successor=new.id)])
        ended = home.get(old.id)
        assert (ended.ended, ended.successor) == (first.time, new.id)


def test_the_users_word_ends_a_later_guess_of_the_assistant(tmp_path: Path) -> None:
    """The session with the user's word was read late."""
    with keeper(tmp_path) as home:
        guess = a_fact("The API listens on port 9090.", "fact", day=2, origin="assistant")
        home.take([guess])
        home.take([a_fact("The API listens on port 8080.", "fact", day=1, supersedes=(guess.id,))])
        assert contents(home) == ["The API listens on port 8080."]


def test_an_older_word_does_not_end_what_was_said_again_since(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        tabs = a_fact("Use tabs for indentation, not spaces.")
        home.take([tabs, a_fact("Use tabs, not spaces, for indentation", day=3)])
        home.take([spaces := a_fact("Use spaces for indentation, not tabs.", day=1, supersedes=(tabs.id,))])
        assert contents(home) == ["Use tabs for indentation, not spaces."]
        assert home.get(spaces.id).successor == tabs.id


def test_several_facts_end_at_once_and_their_copies_with_them(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        one, two = a_fact("Installs run with pnpm."), a_fact("The lock file is pnpm-lock.yaml.", "fact")
        home.take([one, two])
        copy = replace(a_fact("Installs run with pnpm!", project=GLOBAL), session="server")
        home.adopt(copy)
        new = a_fact("Bun replaces pnpm and its lock file.", "decision", day=1, supersedes=(one.id, two.id))
        home.take([new])
        assert {fact.id for fact in home.store.facts(live=False) if fact.ended} == {one.id, two.id, copy.id}
        assert contents(home) == [new.content]
        assert home.get(new.id).supersedes == (one.id, two.id)
        assert logs(home).count(f'"successor": "{new.id}"') == 3


def test_what_ends_while_a_person_takes_its_line_out_waits_until_that_is_known(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        old = a_fact("Installs run with pnpm.")
        home.take([old, a_fact("The lock file is Bun's.")])
        (log,) = Path(home.lines.daily.folder).glob("*.md")
        text = log.read_text(encoding="utf-8")
        rows = text.splitlines(keepends=True)
        start = next(n for n, row in enumerate(rows) if old.id in row)
        end = next((n for n in range(start + 1, len(rows)) if rows[n].startswith("- ")), len(rows))
        log.write_text("".join(rows[:start] + rows[end:]), encoding="utf-8")
        home.take([], endings=[Ending(old.id, old.time + timedelta(days=1), "user")])
        assert len(list(home.outbox.items())) == 1
        home.refresh()
        home.drain()
        assert contents(home) == ["The lock file is Bun's."]
        assert list(home.outbox.items()) == []


def test_a_fact_is_taken_back_without_another_in_its_place(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        fact = a_fact("Installs run with pnpm.")
        home.take([fact])
        moment = fact.time + timedelta(days=1)
        ending = Ending(fact.id, moment, "user")
        for _ in range(2):
            home.take([], endings=[ending])
        assert contents(home) == []
        assert home.store.match("pnpm") == []
        assert home.lines.read(date(2026, 11, 16))[0].ended == moment
        again = a_fact(fact.content, day=2)
        assert home.take([again]).added == [again], "what ended is not what is repeated"


def test_what_is_no_item_is_set_aside_and_what_is_deleted_waits_no_more(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        fact, other = a_fact("Installs run with pnpm."), a_fact("Deploys happen on Mondays.")
        home.take([fact])
        for each in (fact, other):
            home.outbox.put({"id": each.id, "event": each.to_dict(), "project": SHOP})
        for event in ("", "x"):
            home.outbox.put({"id": "l-1", "event": event})
        Path(home.outbox.folder, "0.json").write_text("{")
        home.delete(fact.id)
        assert [body["id"] for body in home.outbox.items().values()] == [other.id, "l-1", "l-1"]
        home.drain()
        assert (contents(home), len(list(home.outbox.folder.glob("*.json.bak-*")))) == ([other.content], 3)
        assert not home.outbox.items()


@pytest.mark.parametrize("is_replaced", [True, False])
@pytest.mark.parametrize(("place", "other"), [(SHOP, BLOG), (BLOG, SHOP)])
def test_what_a_project_ends_goes_on_where_others_said_it_too(
    tmp_path: Path, place: str, other: str, is_replaced: bool
) -> None:
    with keeper(tmp_path) as home:
        tabs = a_fact("Use tabs for indentation, not spaces.")
        home.take([tabs, *(a_fact(tabs.content, day=1, project=key) for key in (BLOG, "docs-3c4d"))])
        spaces = a_fact("Use spaces for indentation, not tabs.", day=2, project=place, supersedes=(tabs.id,))
        over = Ending(tabs.id, spaces.time, "user", projects=(place,))
        if not is_replaced:
            home.narrow(home.get(tabs.id), (place,))  # as before a kill
        for _ in range(2):
            home.take([spaces] * is_replaced, endings=[over] * (not is_replaced))
        home.refresh()
        assert [fact.content for fact in home.store.facts(project=place)] == [spaces.content] * is_replaced
        for key in (other, "docs-3c4d"):
            assert [fact.content for fact in home.store.facts(project=key)] == [tabs.content]
        (ended,) = [fact for fact in home.store.facts(live=False, project=place) if fact.ended]
        assert (ended.successor, ended.quote) == (spaces.id * is_replaced, tabs.quote)
        back = Ending(tabs.id, spaces.time, "user", ended.successor).to_dict()
        home.outbox.put(back | {"resumed": back["ended"]})
        home.drain()
        assert tabs.content in [fact.content for fact in home.store.facts(project=place)]


def test_what_is_said_again_counts_for_the_one_of_its_project(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        for place in (BLOG, SHOP):
            home.store.put(MONDAY.date(), a_fact("Use tabs.", project=place))
        found = [home.find_repeated(a_fact("Use tabs.", day=1, project=place)) for place in (BLOG, SHOP)]
        assert [fact.project for fact in found if fact] == [BLOG, SHOP]


def test_what_is_said_again_after_its_end_in_a_project_goes_on_there_when_the_first_one_ends_it(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        tabs = a_fact("Use tabs for indentation, not spaces.")
        home.take([tabs, a_fact(tabs.content, day=1, project=BLOG)])
        for day, place in ((2, BLOG), (4, SHOP)):
            home.take([], endings=[Ending(tabs.id, MONDAY + timedelta(days=day), "user", projects=(place,))])
            home.take([a_fact(tabs.content, day=3, project=BLOG)] * (place == BLOG))
        assert [fact.projects for fact in home.store.facts()] == [(BLOG,)]


def test_the_nearest_facts_come_first_and_those_of_other_projects_never(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        home.take(
            [
                *(a_fact(f"Package number{n} belongs to team{n}.", "fact", day=n) for n in range(13)),
                a_fact("Carts are stored in Redis.", "fact", day=1),
                a_fact("Carts of the blog are stored in Redis.", "fact", day=1, project=BLOG),
                a_fact("Redis is started with docker compose.", "fact", day=1, project=GLOBAL),
            ]
        )
        near = home.store.find_near("Please move the carts out of Redis into Postgres.", SHOP)
        assert [fact.content for fact in near[:2]] == [
            "Carts are stored in Redis.",
            "Redis is started with docker compose.",
        ]
        assert len(near) == 5, "the latest are shown too, as what has changed may be said in other words"
        assert BLOG not in {fact.project for fact in near}
        assert len(home.store.find_near(" ".join(f"number{number}" for number in range(13)), SHOP)) == 12


def test_the_next_worker_brings_in_what_waits_even_without_a_session(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fact = a_fact("Use pnpm, not npm.")
    home = Home.open()
    with Keeper.at(home) as kept, monkeypatch.context() as broken:
        broken.setattr(Store, "put", _raise(sqlite3.OperationalError("disk I/O error")))
        with pytest.raises(MemoryStoreError):
            kept.take([fact])
        housekeeping.bring_in(kept)
        assert "could not be stored" in caplog.text
        assert len(kept.outbox.items()) == 1
    assert run(flush, home) == 0
    with Keeper.at(home) as kept:
        assert kept.store.facts() == [fact]
        assert not kept.outbox.items()
    assert fact.content in Path(home.paths.page, f"{SHOP}.md").read_text("utf-8")


@pytest.mark.parametrize("step", ["log", "store", "acknowledge"])
def test_a_crash_at_any_step_leaves_the_fact_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    old = a_fact("Use tabs for indentation, not spaces.")
    new = a_fact("Use spaces for indentation, not tabs.", day=1, supersedes=(old.id,))
    with keeper(tmp_path) as home:
        home.take([old])
        owner, name = {"log": (Lines, "add"), "store": (Store, "put"), "acknowledge": (Path, "unlink")}[step]
        fail, unlink = _raise(KeyboardInterrupt()), Path.unlink
        with monkeypatch.context() as broken:
            broken.setattr(
                owner, name, fail if owner is not Path else lambda path, *_, **more:
                fail() if path.parent == home.outbox.folder else unlink(path, **more),
            )  # fmt: skip
            with pytest.raises(KeyboardInterrupt):
                home.take([new])
    with keeper(tmp_path) as home:
        home.drain()
        assert [fact.content for fact in home.store.facts()] == [new.content]
        (left,) = home.store.facts()
        assert left.seen == 1
        assert logs(home).count(f"^{new.id}") == 1


def _raise(error: BaseException) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_a_quote_that_does_not_prove_new_words_gives_way_to_them(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        home.take([a_fact("The API listens on port 4200.", quote="the api is on 4200")])
        (fact,) = home.store.facts()
        quotes = [home.edit(fact.id, words, is_users=True).quote for words in (
            "The API is on port 4200.", "The API is on port 4400.",
        )]  # fmt: skip
        assert quotes == ["the api is on 4200", "The API is on port 4400."]


@pytest.mark.parametrize("years", [0, -4], ids=["", "the clock was set back"])
def test_a_persons_edit_in_the_log_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, years: int) -> None:
    now = clock.now() + timedelta(days=365 * years)
    monkeypatch.setattr(clock, "now", lambda: now)
    with keeper(tmp_path) as home:
        home.take([a_fact("Use pnpm, not npm."), a_fact("Write short functions.")])
        path = home.lines.daily.path(date(2026, 11, 16))
        home.lines.add(replace(late := a_fact("Ask Ada."), content="Ask Bob."), date(2026, 11, 16), "09:00", "shop")
        home.take([late])  # its line was edited before it was stored
    text = path.read_text().replace("Use pnpm, not npm.", "Use pnpm 9, never npm.")
    path.write_text("\n".join(row for row in text.split("\n") if "short functions" not in row))
    with keeper(tmp_path) as home:
        assert [fact.content for fact in home.store.facts()] == ["Use pnpm 9, never npm.", "Ask Bob."]
        copy = path.read_text()
        home.edit(home.store.facts()[0].id, "Use bun.")
    path.write_text(copy)
    with keeper(tmp_path) as home:
        assert [fact.content for fact in home.store.facts()] == ["Ask Bob.", "Use bun."], "an older copy says nothing"
        assert "Use bun." in path.read_text()


def test_a_statement_comes_from_the_entry_that_holds_it_or_from_those_of_its_session_on_its_day(tmp_path: Path) -> None:
    held, loose = a_fact("Use pnpm.", session="s1"), a_fact("Use tabs.", session="s1")
    with keeper(tmp_path) as home:
        for name, day, session in (("one", 16, "s1"), ("two", 17, "s1"), ("other", 16, "s2")):
            entry = Entry(name, date(2026, 11, day), "09:00", session, "shop", SHOP, "T")
            home.lines.daily.append(replace(entry, learned=(lines.to_learned(held),) * (name == "two")))
        home.refresh()
        assert home.sources(held) == ("daily/2026-11-17#^e-two",)
        assert home.sources(loose) == ("daily/2026-11-16#^e-one",)


def test_a_folder_that_is_away_deletes_nothing_and_changes_nothing_when_it_is_back(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        home.take([a_fact("Installs run with pnpm."), a_fact("Releases are cut on Fridays.", "fact", day=2)])
        home.refresh()
        before = logs(home)
        folder = home.lines.daily.folder.rename(tmp_path / "away")
        home.refresh()
        assert len(contents(home)) == 2
        folder.rename(home.lines.daily.folder)
        home.refresh()
        assert (logs(home), len(contents(home))) == (before, 2)
        moved = home.store.facts()[0]
        path = home.lines.daily.path(moved.time.date()).rename(tmp_path / "day.md")
        home.refresh()
        with pytest.raises(ExpectedError, match="which was moved or lost"):
            home.get(moved.id)
        path.rename(home.lines.daily.path(moved.time.date()))
        home.refresh()
        assert home.get(moved.id).content == moved.content


def test_what_a_fact_is_asked_as_survives_a_lost_store_and_is_taken_from_a_repetition(tmp_path: Path) -> None:
    fact = a_fact("Use pnpm, not npm, because of the lock file.")
    with keeper(tmp_path) as home:
        home.take([fact])
        home.take([a_fact(fact.content, "fact", day=1, importance=0.9, asked_as=("add a package",))])
    home.store.path.unlink()
    with keeper(tmp_path) as home:
        (known,) = home.store.facts()
        assert (known.id, known.asked_as) == (fact.id, ("add a package",))
        assert (known.kind, known.importance) == (fact.kind, 0.9)
        home.take([a_fact(fact.content, day=2, asked_as=("something else",))])
        assert home.store.facts()[0].asked_as == ("add a package",)


def test_statements_live_as_they_did_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the logs say, and what the store answers, after each step."""
    monkeypatch.setattr(clock, "now", lambda: MONDAY + timedelta(days=9))
    rows, known = list[str](), [""]
    with keeper(tmp_path) as home:
        store = home.store

        def told(step: str, outcome: object = "") -> None:
            text, before = logs(home), known[0]
            rows.extend([f"==== {step}", f"{outcome}"])
            rows.extend(row.rstrip() for row in unified_diff(before.splitlines(), text.splitlines(), n=0))
            for fact in store.facts(live=False):
                others = [store.current(fact), *store.superseded_facts(fact), *store.copies(fact), *store.twins(fact)]
                rows.append(f"{fact.id} {store.day(fact.id)} {[other and other.id for other in others]}")
            known[0] = text

        tabs, pnpm = a_fact("Use tabs in the Makefile."), a_fact("Use pnpm, not npm.", importance=0.9)
        told("two", home.take([tabs, pnpm], "shop"))
        told("repeated", home.take([a_fact("We use pnpm here, not npm!", day=1, keywords=("npm",))], "shop"))
        elsewhere, rain = a_fact(pnpm.content, "correction", day=1, project=BLOG), a_fact("It rains.", project=GLOBAL)
        told("elsewhere", home.take([elsewhere, rain]))
        spaces = a_fact("Indent by two spaces everywhere.", "correction", day=2, supersedes=(tabs.id,))
        told("superseded", home.take([spaces], "shop"))
        both = a_fact("Deploys go to eu-1 and to eu-2.", "operational", day=2)
        told("one more", home.take([both], "shop", endings=[Ending("l-none", MONDAY, "user")]))
        left = Ending(both.id, MONDAY + timedelta(days=3), "user", remains="Deploys go to eu-1.")
        told("in part", home.take([], endings=[left, Ending(pnpm.id, MONDAY, "assistant")]))
        told("edited", home.edit(spaces.id, "Use two spaces in the Makefile."))
        told("same", home.edit(spaces.id, "Use two spaces in the Makefile."))
        told("marked", home.edit(spaces.id, "Two spaces.", is_users=True))
        told("again by hand", home.edit(tabs.id, tabs.content, is_users=True))
        told("by Claude", home.take([a_fact("Two spaces.", "correction", day=4, origin="assistant", session="s-2")]))
        told("promoted", home.promote(pnpm.id))
        home.ask(pnpm.id, ("which tool",))
        home.ask(tabs.id, ("never asked",))
        told("asked")
        told("deleted", home.delete(rain.id))
        home.outbox.put({"id": "l-x", "event": {"kind": "fact"}, "project": "shop"})
        home.outbox.put({"id": both.id, "event": a_fact("It waits.").to_dict(), "project": "shop"})
        rows.append(f"{list(home.waiting_facts())}")
        told("drained", home.drain())
        for text in ("pnpm npm", "makefile", "rains", "?", ""):
            rows.append(f"{text}: {[fact.content for fact in store.match(text)]}")
            rows.append(f"{[fact.content for fact in store.find_near(text, SHOP)]} {len(store.match(text, BLOG))}")
        rows.append(
            f"{store.projects()} {store.count_of(MONDAY.date())} {store.entries()} {sorted(store.deleted_ids())}"
        )
        rows.append(f"{home.sources(pnpm)}")
        rows.append(
            f"{[fact.content for fact in store.deleted_facts()]} {[fact.id for fact in store.facts(project=SHOP)]}"
        )
        rows += [f"{fact.to_dict()}" for fact in store.facts(live=False)]
    same("read/statements.txt", rows)
