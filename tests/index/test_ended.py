"""The record of a day is not shown as what holds: what its statements or a person say of it is left out."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from as_before import bent, same
from facts import BLOG, MONDAY, SHOP, a_fact
from memoria.amending import forget_plan, removal
from memoria.commands import learned
from memoria.daily.entry import Learned
from memoria.index import sources
from memoria.index.ended import NOTHING, UNCITED, Ended, Past, drop_ended, mark_title
from memoria.index.index import Index
from memoria.pages import refresh
from memoria.statements import lines
from memoria.statements.keeper import Keeper
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn
from places import TESTS
from wiki_home import WikiHome, entry, placed, stated

FIVE, TEN = "The gauge is read every 5 minutes.", "The gauge is read every 10 minutes."
HAS = "The gauge has 5 minutes of slack between two lamps."  # of the entry that learned the other
DRIFT = "The drift of the gauge is corrected with `drift.csv`."


@pytest.fixture
def home() -> WikiHome:
    """A wiki with an article made of an entry whose prose says what its statements say."""
    home = WikiHome()
    title = "Read the gauge every 5 minutes"
    home.log(entry("a1", title=title, context=FIVE, key_exchanges=(FIVE, DRIFT, HAS), learned=stated(FIVE, DRIFT)))
    assert home.compile([placed("gauge", title="The gauge")]) == 0
    renew(home)
    return home


def renew(home: WikiHome) -> None:
    with Keeper.at(home.home) as keeper:
        refresh.renew(home.home, keeper)


def found(home: WikiHome, query: str, kind: str = "entry", *, anew: bool = False) -> list[str]:
    """Return the titles and passages that a search finds."""
    if anew:
        Path(home.home.paths.index).unlink()
    with Index(home.home.paths.index) as index:
        sources.refresh(index, home.home.paths)
        return [text for hit in index.search(query, kinds=(kind,)) for text in (hit.title, *hit.passages)]


def the_page(home: WikiHome) -> str:
    return Path(home.home.paths.page, f"{SHOP}.md").read_text()


def test_an_entry_does_not_say_what_ended(home: WikiHome) -> None:
    assert FIVE in found(home, "gauge minutes"), "the premise: it is found"
    assert FIVE in the_page(home)
    home.log(entry("b2", 18, learned=stated(TEN)))
    home.compile([placed("gauge", ends=[{"id": "l-a10", "by": "l-b20"}])])
    renew(home)
    texts = found(home, "gauge minutes")
    assert "Read the gauge every 5 minutes (until 2026-11-18)" in texts
    assert all(FIVE not in text and HAS not in text for text in texts)
    assert any(DRIFT in text for text in found(home, "drift gauge"))
    assert "5 minutes" not in the_page(home)
    home.log(entry("b1", title="Look around", context=f"{FIVE} The lamp is new."))  # in no statement of its own
    texts = found(home, "gauge minutes lamp")
    assert "Look around" in texts
    assert all(FIVE not in text for text in texts)


def test_what_was_said_again_is_as_ended_in_the_entries_and_turns_that_repeat_it(home: WikiHome) -> None:
    home.log(entry("b2", 18, title="Look around", context=f"{FIVE} The lamp is new."))
    Archive.of(home.home.paths, 1).keep("b2", date(2026, 11, 18), [Turn("t", "user", f"{FIVE} The lamp is old.")])
    with Keeper.at(home.home) as keeper:
        told = replace(a_fact(FIVE, "fact", day=2), origin=keeper.get("l-a10").origin)
        assert [fact.id for fact in keeper.take([told]).repeated] == ["l-a10"]
    texts = [*found(home, "gauge minutes lamp"), *found(home, "gauge minutes lamp", "turn")]
    assert sum(FIVE in text for text in texts) == 4, "the premise"
    home.log(entry("c3", 19, learned=stated(TEN)))
    home.compile([placed("gauge", ends=[{"id": "l-a10", "by": "l-c30"}])])
    renew(home)
    texts = [*found(home, "gauge minutes lamp"), *found(home, "gauge minutes lamp", "turn"), the_page(home)]
    assert [sum(words in text for text in texts) for words in (FIVE, "lamp is new", "lamp is old")] == [0, 2, 1]
    with Keeper.at(home.home) as keeper:
        keeper.take([replace(told, id="l-again", time=told.time + timedelta(days=3))])
    renew(home)
    texts = found(home, "gauge minutes lamp", anew=True)
    assert any(f"{FIVE} The lamp is new" in text for text in texts), "it holds again"


def test_what_was_said_again_on_another_day_is_known_by_all_its_words() -> None:
    told = "Calls of the bank API are retried 3 times.", "Calls of the ledger API are retried 3 times."
    fact = replace(a_fact(told[0]), ended=MONDAY + timedelta(days=9))
    past = Ended(again=lambda _: [fact]).beside("2026-11-20", fact.project)
    assert drop_ended(" ".join(told), past) == told[1]


def test_an_entry_does_not_say_what_a_person_put_right_in_an_article(home: WikiHome) -> None:
    home.edit("concepts/gauge", f"- {FIVE}", f"- {TEN}")
    renew(home)
    assert all(FIVE not in text for text in found(home, "gauge minutes"))
    assert "5 minutes" not in the_page(home)


def the_deleted(home: WikiHome) -> str:
    """Delete the fact of an entry whose conversation is archived; return its id."""
    fact = a_fact("Each bed gets 12 litres.", "decision", session="s-c3", quote="jedes Beet bekommt 12 Liter")
    home.log(replace(entry("c3", 17, context=f"{fact.content} Beds were planned."), learned=(lines.to_learned(fact),)))
    told = Turn("t", "user", "Noch etwas: jedes Beet bekommt 12 Liter. Die Pumpe ist alt.")
    Archive.of(home.home.paths, 1).keep("c3", date(2026, 11, 17), [told])
    assert any("12 Liter" in text for text in found(home, "Beet Liter", "turn")), "the premise: it is found"
    assert home.run(learned, "delete", fact.id) == 0
    return fact.id


def test_no_record_says_the_fact_that_a_person_deleted(home: WikiHome) -> None:
    ident = the_deleted(home)
    renew(home)
    for anew in (False, True):
        texts = found(home, "Beet Liter Pumpe", "turn", anew=anew) + found(home, "litres planned")
        assert {"Die Pumpe ist alt.", "Beds were planned."} <= {text.removeprefix("Noch etwas: ") for text in texts}
        assert not any(litres in text for text in texts for litres in ("12 Liter", "12 litres"))
    with Keeper.at(home.home) as keeper:
        assert [fact.id for fact in keeper.store.deleted_facts()] == [ident]


@pytest.mark.parametrize(("what", "kind"), [("c3", "entry"), ("12 litres", "text"), (SHOP, "project")])
def test_forget_removes_what_is_known_of_deletions(home: WikiHome, what: str, kind: str) -> None:
    the_deleted(home)
    with Keeper.at(home.home) as keeper:
        for fact in [a_fact(f"The shed of {place} is red.", project=place, session="") for place in (SHOP, BLOG)]:
            keeper.take([fact])
            keeper.delete(fact.id)
    removal.carry_out(home.home, forget_plan.plan(home.home, what, kind))
    with Keeper.at(home.home) as keeper:
        assert {fact.project for fact in keeper.store.deleted_facts()} == {BLOG, BLOG if kind == "project" else SHOP}


HETZNER, AWS = "Production is hosted at Hetzner, because the data must stay.", "Production is hosted at AWS."


def test_a_title_that_names_what_no_longer_holds_says_so() -> None:
    past, title = [Past(HETZNER, f"2026-11-{day}", AWS) for day in (17, 18)], "Move production to Hetzner"
    assert mark_title(title, [Past(HETZNER, "", AWS)]) == f"{title} (no longer holds)"
    assert mark_title(title, past) == f"{title} (until 2026-11-18)"
    assert mark_title("Host production", past) == "Host production"
    near = [Past("The API is on port 4100.", "2026-11-18", "The API is on 4200, for monitoring has port 4100.")]
    said = [mark_title("API on port 4100", near, (Learned("fact", "x", "l-x", ended=over),)) for over in (True, False)]
    assert said == ["API on port 4100 (until 2026-11-18)", "API on port 4100"]
    learned = (Learned("fact", HETZNER, "l-gone", ended=True), Learned("fact", DRIFT, "l-holds"))
    ended = entry("a1", title=title, context=f"{HETZNER} {DRIFT}", decisions=(HETZNER, DRIFT), lessons=(DRIFT,))
    ended = replace(ended, learned=learned, key_exchanges=(HETZNER,))
    told = NOTHING.drop_ended(ended)  # by its log alone
    assert (told.title, told.context, told.lessons) == (f"{title} (no longer holds)", DRIFT, (DRIFT,))
    assert (told.decisions, told.key_exchanges) == ((DRIFT,), ())


def test_texts_say_name_and_speak_of_what_ended_as_they_did_before() -> None:
    told, rows = json.loads((TESTS / "fixtures" / "ended.json").read_text("utf-8")), list[str]()
    for content, instead, quote in told["past"]:
        past, rows = Past(content, "", instead, quote), [*rows, "", content]
        for text in told["texts"]:
            far = replace(past, cited=False, least=UNCITED)
            said = [past.is_said_by(text), far.is_said_by(text), past.is_named_in(text)]
            rows.append(f"{''.join('01'[each] for each in (*said, past.is_spoken_in(text)))} {text}")
        texts = [" ".join(words) for words in bent(f"{content} {quote or instead}".split(" "), 90)]
        found = ((past.is_said_by(text), past.is_named_in(text), past.is_spoken_in(text)) for text in texts)
        rows += ["".join("01"[each] for each in said) for said in zip(*found, strict=True)]
    same("read/ended.txt", rows)
