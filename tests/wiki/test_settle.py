"""Articles show what their statements say, and statements take what a person writes in articles; no model is asked."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from difflib import unified_diff
from pathlib import Path

import pytest

from as_before import bent, digest, same
from exchange_lives import Killed
from memoria.base import failpoints
from memoria.daily.daily_log import DailyLog
from memoria.ground import clock
from memoria.index.index import Index
from memoria.pages import refresh
from memoria.statements.fact import MAX_STORED, Ending, Fact
from memoria.statements.keeper import Keeper
from memoria.wiki import lint_rules
from memoria.wiki.lint_rules import Snapshot
from memoria.wiki.settle import Settle
from wiki_home import IS, LISTENS, PORT_PAGE, JsonObject, WikiHome, entry, placed, stated

NOW_9090 = "The port of the listener is 9090."
SLUG = "concepts/port"


class Home(WikiHome):
    """A home whose two statements stand on one article."""

    def settle(self, *, takes_all: bool = False) -> Settle:
        with Keeper.at(self.home) as keeper, Index(self.home.paths.index) as index:
            settle = Settle(self.home, keeper, index, takes_all=takes_all)
            settle.run()
            return settle

    def facts(self, *, live: bool = True) -> dict[str, Fact]:
        with Keeper.at(self.home) as keeper:
            return {fact.content: fact for fact in keeper.store.facts(live=live)}

    def change(self, change: Callable[[Keeper], object]) -> None:
        with Keeper.at(self.home) as keeper:
            change(keeper)
        self.settle()

    def end(self, ident: str, successor: str = "", *, repetition: bool = False) -> None:
        """Let a statement have ended two days ago."""
        ending = Ending(ident, clock.now() - timedelta(days=2), "user", successor, repetition)
        self.change(lambda keeper: keeper.take([], endings=[ending]))

    def parts(self, slug: str = SLUG) -> tuple[str, str]:
        """Return what the article tells now, and its history."""
        now, _, history = self.text(slug).partition("## History")
        return now, history


@pytest.fixture
def home(wiki: WikiHome) -> Home:
    made = Home()
    made.compile([{**PORT_PAGE, "summary": "The listener is on port 8080."}])
    assert made.settle().held == 0
    return made


def test_a_line_follows_its_statement_to_another_day_and_goes_when_that_is_deleted(home: Home) -> None:
    daily = DailyLog(home.home.paths)
    home.change(lambda keeper: keeper.edit("l-a10", "The port of the listener is 8080 now."))  # writes its time down
    text = daily.text(date(2026, 11, 16))
    daily.path(date(2026, 11, 17)).write_text(text)
    daily.path(date(2026, 11, 16)).unlink()
    home.settle()
    assert "[[daily/2026-11-17#^l-a10|17 Nov]]" in home.text(SLUG)
    home.compile([])
    pages = Path(home.home.paths.page)
    assert [path for path in pages.glob("*.md") if "8080 now" in path.read_text()]
    daily.path(date(2026, 11, 17)).unlink()
    home.log(entry("c4", 17, learned=stated("Pumps are blue.")))  # which makes the file again
    home.settle()
    assert "8080" in home.text(SLUG), "a log that is lost may come back"
    daily.path(date(2026, 11, 17)).write_text("".join(row for row in text.splitlines(True) if "8080" not in row))
    home.compile([])
    assert "8080" not in home.text(SLUG)
    assert not [path for path in pages.glob("*.md") if "8080 now" in path.read_text()], "a compile tells it"


def test_a_sentence_about_two_statements_ends_with_one_of_them(home: Home) -> None:
    home.log(entry("c3", 19, learned=stated("Pumps restart the listener of the shop.")))
    texts = ("Pumps restart the listener of the shop on its port.", "The port is for what accepts clients.")
    about = [{"text": text, "ids": ["l-a10", other]} for text, other in zip(texts, ("l-c30", "l-a11"), strict=True)]
    home.compile([placed("port", connections=about)])
    assert "[[daily/2026-11-16#^l-a10|16 Nov]] [[daily/2026-11-19#^l-c30|19 Nov]]" in home.parts()[0]
    home.end("l-a10")
    assert [[text in part for text in texts] for part in home.parts()] == [[False, False], [True, True]]
    days = [home.home.zone.day(clock.now() - timedelta(days=ago)) for ago in (0, 2)]
    assert [home.text(SLUG).count(f"- Until {day}: ") for day in days] == [0, 3], "the day on which it ended"


def test_a_line_says_what_its_statement_says_now_also_when_a_copy_from_before_comes_back(home: Home) -> None:
    before = home.text(SLUG)
    other = "The listener has the port 8080."
    home.change(lambda keeper: keeper.edit("l-a10", other))
    assert f"- {other} [[daily" in home.text(SLUG)
    home.edit(SLUG, home.text(SLUG), before)
    home.settle()
    assert f"- {other} [[daily" in home.text(SLUG)
    assert other in home.facts()


@pytest.mark.parametrize("is_past", [False, True])
def test_a_line_follows_words_that_another_machine_writes_whatever_those_here_were(home: Home, is_past: bool) -> None:
    theirs = "The listener uses the port 8080."
    if is_past:
        home.end("l-a10")

    def exchanged(keeper: Keeper) -> None:
        fact, day = keeper.get("l-a10"), date(2026, 11, 16)
        merged = replace(fact, content=theirs, worded=clock.now())  # its history does not name the words here
        assert keeper.lines.change(merged, day)
        keeper.take_over(merged, day)

    home.change(exchanged)
    assert f"{theirs} [[daily" in home.parts()[is_past]
    assert LISTENS not in home.text(SLUG)
    own = "It is the port 8080 that it uses."
    home.edit(SLUG, theirs, own)
    home.change(lambda keeper: keeper.edit("l-a10", "The listener has the port 8080."))
    assert not is_past or own in home.parts()[1], "a person's words in the history stay"


def test_the_history_says_what_holds_instead_in_present_words_on_whatever_page_that_stands(home: Home) -> None:
    home.log(entry("c3", 19, learned=stated(NOW_9090, "The host is alpha.")))
    home.compile([placed("hosts")])
    home.end("l-a10", "l-c30")
    assert f"Since then: {NOW_9090}" in home.parts()[1]
    home.change(lambda keeper: keeper.edit("l-c30", "Its port is 9191."))
    assert "Since then: Its port is 9191. [[daily" in home.parts()[1]
    home.change(lambda keeper: keeper.delete("l-c30"))
    assert "9090" not in home.text("concepts/hosts")


def test_a_page_says_that_nothing_of_it_holds_while_it_is_so(home: Home) -> None:
    for fact in home.facts().values():
        home.end(fact.id)
    assert "\nNothing of this holds any longer.\n" in home.text(SLUG)
    home.change(lambda keeper: keeper.write(replace(keeper.get("l-a10"), ended=None)))
    assert f"\n{LISTENS}\n" in home.text(SLUG)


def test_a_summary_tells_nothing_that_a_person_deleted_from_log_and_article_at_once(home: Home) -> None:
    daily = DailyLog(home.home.paths)
    path = daily.path(date(2026, 11, 16))
    path.write_text("".join(row for row in path.read_text().splitlines(True) if LISTENS not in row))
    home.edit(SLUG, next(row for row in home.text(SLUG).splitlines(True) if row.startswith(f"- {LISTENS}")), "")
    home.settle()
    assert "8080" not in home.text(SLUG)


def test_what_another_project_says_instead_is_not_told_and_what_holds_again_is_no_history(home: Home) -> None:
    there = Fact("fact", "The port of the bank is 1234.", 0.5, "user", "bank-1a2b3c", clock.now(), "l-bank0001")
    home.change(lambda keeper: keeper.take([there]))
    home.end("l-a10", there.id)
    assert LISTENS in home.parts()[1]
    assert "1234" not in home.text(SLUG)
    home.change(lambda keeper: keeper.write(replace(keeper.get("l-a10"), ended=None, successor="")))
    assert [LISTENS in part for part in home.parts()] == [True, False]
    row = next(row for row in home.text(SLUG).split("\n") if row.startswith("project: "))
    home.edit(SLUG, row, "project: ''")  # as of 0.1.0, whose pages hold what all projects say
    home.end("l-a10", there.id, repetition=True)
    assert [words in home.text(SLUG) for words in ("1234", LISTENS)] == [True, False]


# -- a person's hand


@pytest.mark.parametrize(("old", "new", "words"), [
    (LISTENS, "The listener has the port 8080.", "The listener has the port 8080."),
    (" [[daily/2026-11-16#^l-a10|16 Nov]]", "", LISTENS),
])  # fmt: skip
def test_a_line_in_other_words_or_without_its_link_is_the_same_statement(
    home: Home, old: str, new: str, words: str
) -> None:
    home.edit(SLUG, old, new)
    home.settle()
    assert home.facts()[words].id == "l-a10"
    assert f"- [fact] {words} ^l-a10" in DailyLog(home.home.paths).text(date(2026, 11, 16))
    assert f"- {words} [[daily/2026-11-16#^l-a10|16 Nov]]" in home.text(SLUG)
    assert home.parts()[1] == ""


@pytest.mark.parametrize("name", [SLUG, "concepts/renamed"])
@pytest.mark.parametrize("text", [NOW_9090, "The port of the listener is not 8080.", "The port of Caddy is 8080."])
def test_a_line_that_says_otherwise_is_the_users_and_ends_the_old(home: Home, text: str, name: str) -> None:
    home.edit(SLUG, f"{LISTENS} [[daily/2026-11-16#^l-a10|16 Nov]]", f"{text} [[daily/2026-11-16#^l-a10]] ^door")
    Path(home.home.paths.knowledge, f"{SLUG}.md").rename(Path(home.home.paths.knowledge, f"{name}.md"))
    home.settle()
    facts = home.facts(live=False)
    new, old = facts[text], facts[LISTENS]
    assert (new.origin, old.successor, old.ended is not None) == ("user", new.id, True)
    now, history = home.parts(name)
    assert re.search(rf"- {re.escape(text)} \[\[daily/{home.home.zone.day(clock.now())}#\^{new.id}\|.*]] \^door\n", now)
    assert LISTENS in history
    home.edit(name, f": {LISTENS}", ": It was of no use.")
    assert home.settle().held == 0
    assert list(home.facts(live=False)) == list(facts), "a second look finds nothing new"


def test_a_line_whose_statement_was_deleted_is_another_statement_in_other_words(home: Home) -> None:
    daily = DailyLog(home.home.paths).path(date(2026, 11, 16))
    daily.write_text("".join(row for row in daily.read_text().splitlines(True) if "8080" not in row))
    home.edit(SLUG, LISTENS, NOW_9090)
    home.settle()
    new = home.facts()[NOW_9090]
    assert (new.origin, LISTENS in home.facts(live=False)) == ("user", False)
    assert f"- {NOW_9090} [[daily/{home.home.zone.day(clock.now())}#^{new.id}|" in home.parts()[0]


def test_a_deleted_line_ends_its_statement_and_one_of_two_only_its_place(home: Home) -> None:
    second = Path(home.home.paths.knowledge, "concepts", "hosts.md")
    row = next(row for row in home.text(SLUG).split("\n") if "8080" in row and row.startswith("- "))
    second.write_text(f"---\ntitle: Hosts\n---\n\n# Hosts\n\n## Behaviour\n\n{row}\n")
    gone, back = (f"{row}\n", ""), ("## Behaviour\n", f"## Behaviour\n\n{row}\n")
    for change in (gone, back, gone):  # it moves, comes back as a copy, and goes again
        home.edit(SLUG, *change)
        home.settle()
        assert LISTENS in home.facts(), "it stands on the other article"
    second.write_text(second.read_text().replace(f"{row}\n", ""))
    home.settle()
    assert LISTENS not in home.facts()
    assert home.facts(live=False)[LISTENS].successor == ""


@pytest.mark.parametrize("place", [SLUG, "concepts/mine", "mine/ports", "concepts/port (conflicted copy)"])
def test_a_line_that_was_taken_out_and_stands_again_somewhere_holds(home: Home, place: str) -> None:
    row = next(row for row in home.text(SLUG).split("\n") if "8080" in row and row.startswith("- "))
    path = Path(home.home.paths.knowledge, f"{place}.md")
    path.parent.mkdir(exist_ok=True)
    is_article = place in (SLUG, "concepts/mine")
    home.edit(SLUG, f"{row}\n", "")
    if is_article:
        home.settle()
        home.edit(SLUG, next(row for row in home.text(SLUG).splitlines(True) if row.startswith(f"- {IS}")), "")
        home.settle()
        assert home.facts() == {}
    path.write_text((path.read_text() if path.exists() else "# Mine\n\n## Behaviour\n\n## History\n")
                    .replace("## History", f"{row}\n\n## History"))  # fmt: skip
    home.settle()
    assert (LISTENS in home.facts(), IS in home.facts()) == ("copy" not in place, not is_article)
    assert path.read_text().count(row) == 1


def test_rows_of_the_history_whose_heading_is_gone_go_back_there_and_say_nothing_new(home: Home) -> None:
    home.log(entry("b2", 17, learned=stated(NOW_9090)))
    home.compile([PORT_PAGE])
    home.end("l-a10", "l-b20")
    before, facts = home.text(SLUG), home.facts().keys()
    home.edit(SLUG, "## History\n\n", "")
    home.settle()
    assert (home.text(SLUG), home.facts().keys()) == (before, facts)


def test_an_end_that_a_kill_left_waiting_is_told(home: Home) -> None:
    home.compile([PORT_PAGE])
    home.change(lambda keeper: keeper.outbox.put(Ending("l-a10", clock.now(), "user").to_dict()))
    home.compile([])
    assert LISTENS not in home.text(SLUG).partition("## History")[0]


def test_a_persons_summary_loses_what_ended_and_nothing_else(home: Home) -> None:
    article = home.wiki.get(SLUG)
    assert article
    home.edit(SLUG, f"\n{article.summary}\n", f"\n{LISTENS} Ask Mara about it. {IS}\n")
    home.settle()
    home.end("l-a10")
    home.end("l-a11")
    assert "\nAsk Mara about it.\n" in home.parts()[0], "nothing holds, so that both others tell what ended"


def test_a_new_bullet_is_a_statement_and_a_persons_own_list_is_none(home: Home) -> None:
    secret = "- The token is ghp_" + "a1B2" * 9 + "."
    home.edit(
        SLUG,
        "## Behaviour\n",
        f"## To buy\n\n- cables\n\n## Behaviour\n\n- The lamp is green.\n- [ ] Paint it.\n{secret}\n",
    )
    home.edit(SLUG, LISTENS, secret[2:])
    home.settle()
    facts = home.facts()
    told = home.text(SLUG).count(secret), any("ghp_" in content for content in facts), LISTENS in facts
    assert told == (2, False, True)
    lamp = facts["The lamp is green."]
    assert (lamp.origin, lamp.kind, lamp.importance, lamp.quote) == ("user", "fact", 0.9, lamp.content)
    assert {"cables", "Paint it.", "[ ] Paint it."}.isdisjoint(facts)
    assert f"- The lamp is green. [[daily/{home.home.zone.day(clock.now())}#^" in home.text(SLUG)
    assert "- cables\n" in home.text(SLUG)
    home.log(entry("b2", 17, learned=stated(NOW_9090)))
    home.compile([placed("port", lamp.id, "l-b20", section="Lamps")])
    above, _, below = home.parts()[0].partition("## Lamps")
    assert (f"- {lamp.content}" in above, NOW_9090 in below) == (True, True), "a person's stays where it was written"


@pytest.mark.parametrize("size", [MAX_STORED, MAX_STORED + 1])
def test_what_is_longer_than_a_statement_may_be_is_left_alone(home: Home, size: int) -> None:
    texts = [f"The port of the {name} is 9090.".ljust(size, "x") for name in ("listener", "lamp")]
    home.edit(SLUG, LISTENS, texts[0])
    home.edit(SLUG, "## Behaviour\n", f"## Behaviour\n\n- {texts[1]}\n")
    home.settle()
    is_taken = size == MAX_STORED
    assert [text in home.facts() for text in (*texts, LISTENS)] == [is_taken, is_taken, not is_taken]


@pytest.mark.parametrize(("mark", "form"), [
    *(("\n- ", form) for form in ("\n1. ", "\n2) ", "\n• ", "\n  - ", "\n> - ", "\n| ", "\n \n", "\n* ")),
    (" is 8080. [[daily/2026-11-16#^l-a10|16 Nov]]", "\n  is 8080. [[daily/2026-11-16#^l-a10|16\n  Nov]]"),
    (f"\n- {IS}", f"\n\t- {IS}"), (f"\n- {IS}", f" {IS}"), ("\n## ", "\n### "), ("## Behaviour", "Behaviour\n-------"),
    ("[[daily/2026-11-16#^l-a10|16 Nov]]", "[16 Nov](../../daily/2026-11-16.md#^l-a10)"),
])  # fmt: skip
def test_statements_hold_in_whatever_form_their_lines_are(home: Home, mark: str, form: str) -> None:
    home.edit(SLUG, mark, form)
    before = (home.text(SLUG), home.facts(live=False))
    home.settle()
    assert (home.text(SLUG), home.facts(live=False)) == before
    home.log(entry("b2", 17, learned=stated("It starts at noon.")))
    home.compile([PORT_PAGE], "--force")
    told = " ".join(home.text(SLUG).split())
    assert [told.count(f"{text} [") for text in (LISTENS, IS, "It starts at noon.")] == [1, 1, 1]
    home.edit(SLUG, form, mark)
    home.settle()
    assert (home.text(SLUG).count("\n- "), len(home.facts()), home.parts()[1]) == (3, 3, "")
    home.edit(SLUG, f"\n- {LISTENS} [[daily/2026-11-16#^l-a10|16 Nov]]", "")
    home.settle()
    assert LISTENS not in home.facts()


def test_a_row_that_is_left_alone_is_named_when_its_statement_ends(home: Home) -> None:
    home.edit(SLUG, f"\n- {LISTENS}", f"\n\n{LISTENS}".replace(" is ", "\nis "))  # as a paragraph that wraps
    assert lint_rules.findings(Snapshot(home.home)) == []
    home.end("l-a10")
    assert [LISTENS in each.text for each in lint_rules.findings(Snapshot(home.home))] == [True]


def test_an_edit_between_a_killed_step_and_the_next_look_is_taken(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(step: str) -> None:
        if step == "transaction.journaled":
            raise Killed

    home.log(entry("b2", 18, learned=stated(NOW_9090)))
    with monkeypatch.context() as killing, suppress(Killed):
        killing.setattr(failpoints, "reach", reached)
        home.end("l-a10", "l-b20")
    home.edit(SLUG, "It is the listener", "Nothing else is the listener")
    home.settle()
    assert any("Nothing else is the listener" in content for content in home.facts())


@pytest.mark.parametrize("kept", [0.5, 0.0])
def test_half_a_save_ends_nothing(home: Home, kept: float) -> None:
    path = Path(home.home.paths.knowledge, f"{SLUG}.md")
    whole = path.read_text()
    path.write_text(whole[: int(len(whole) * kept)])
    home.settle()
    home.settle()
    path.write_text(whole)
    home.settle()
    assert set(home.facts()) == {LISTENS, IS}
    assert path.read_text() == whole


def test_a_file_that_stays_short_is_a_persons_after_a_minute(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(home.home.paths.knowledge, f"{SLUG}.md")
    path.write_text(path.read_text().partition("- It is the listener")[0].rstrip())
    home.settle()
    assert IS in home.facts()
    later = clock.now() + timedelta(minutes=2)
    monkeypatch.setattr(clock, "now", lambda: later)
    home.settle()
    assert IS not in home.facts()


@pytest.mark.slow
def test_more_than_a_person_changes_is_held_until_they_say_so(wiki: WikiHome) -> None:
    home = Home()
    texts = [f"Pump {number} of the shop is blue." for number in range(40)]
    home.log(*(entry(f"p{n}", 18, learned=stated(text)) for n, text in enumerate(texts)))
    home.compile([placed("pumps")])
    slug = "concepts/pumps"
    home.settle()
    home.edit(slug, " is blue.", " is red.")
    told = Path(home.home.paths.notice)
    assert home.settle().held > 20
    home.change(lambda keeper: refresh.settle(home.home, keeper))
    assert "compile --force" in told.read_text()
    assert set(texts) <= set(home.facts())
    assert home.text(slug).count(" is red.") >= 40, "what a person saved stays"
    assert home.settle(takes_all=True).held == 0
    assert {text.replace("blue", "red") for text in texts} <= set(home.facts())
    home.change(lambda keeper: refresh.settle(home.home, keeper))
    assert not told.exists()


@pytest.mark.parametrize("text", ["", NOW_9090])
def test_a_line_that_a_person_takes_out_or_changes_ends_in_the_articles_project_alone(home: Home, text: str) -> None:
    key = home.facts()[LISTENS].project
    home.change(lambda keeper: keeper.write(replace(keeper.get("l-a10"), also=("bank-1a2b3c",))))
    row = next(row for row in home.text(SLUG).splitlines(True) if row.startswith(f"- {LISTENS}"))
    home.edit(SLUG, row, f"- {text}\n" if text else "")
    home.settle()
    assert home.facts()[LISTENS].projects == ("bank-1a2b3c",)
    assert [LISTENS in part for part in home.parts()] == [False, True]
    home.undo()
    with Keeper.at(home.home) as keeper:
        told = [[fact.content for fact in keeper.store.facts(project=place)] for place in (key, "bank-1a2b3c")]
    assert [LISTENS in contents for contents in told] == [True, True]


def test_an_undone_step_is_no_persons_deletion(home: Home) -> None:
    home.log(entry("b2", 18, learned=stated("The host of the listener is local.", "It starts at noon.")))
    home.compile([placed("host")])
    home.undo()
    home.settle()
    assert "The host of the listener is local." in home.facts()
    home.log(entry("c3", 19, learned=stated(NOW_9090)))
    home.end("l-a10", "l-c30")
    for _ in range(2):
        assert [NOW_9090 in part for part in home.parts()] == [True, True], "also when its placing was undone"
        home.undo()
        home.settle()


def test_no_undo_brings_back_what_was_deleted_or_stops_the_next_one(home: Home) -> None:
    home.log(entry("b2", 17, learned=stated("It starts at noon.")))
    home.compile([PORT_PAGE])
    home.change(lambda keeper: keeper.delete("l-a10"))
    for is_told in (True, False):
        home.undo()
        assert [text in home.text(SLUG) for text in ("It starts at noon.", LISTENS)] == [is_told, False]


# -- articles of earlier versions, and by hand


@pytest.mark.parametrize("is_everywhere", [False, True])
def test_an_article_that_was_never_read_gets_ids_where_its_lines_stand(wiki: WikiHome, is_everywhere: bool) -> None:
    home = Home()
    if is_everywhere:
        home.change(lambda keeper: keeper.promote("l-a10"))
    path = Path(home.home.paths.knowledge, "concepts", "old.md")
    path.parent.mkdir(parents=True)
    path.write_text(
        text := "---\ntitle: Old\nupdated: '2026-10-14'\nproject: shop · shop-1a2b3c\n---\n\n# Old\n\nIn short.\n\n"
        "## Behaviour\n\n- Uploads use the queue. [[daily/2026-10-14#^e-zz9|14 Oct]]\n"
        "- The port of the listener is 8080. [[daily/2026-11-16#^e-a1|16 Nov]]\n- By a person.\n"
    )
    home.settle()
    facts = home.facts()
    old, hand = facts["Uploads use the queue."], facts["By a person."]
    assert f"- Uploads use the queue. [[daily/2026-10-14#^e-zz9|14 Oct]] ^{old.id}\n" in home.text("concepts/old")
    assert (old.project, old.origin, old.time.date()) == ("shop-1a2b3c", "assistant", date(2026, 10, 14))
    assert hand.origin == "user"
    assert "8080. [[daily/2026-11-16#^l-a10|16 Nov]]" in home.text("concepts/old"), "the statement that says the same"
    home.end(old.id)
    now, history = home.parts("concepts/old")
    is_past = "Uploads use the queue. [[daily/2026-10-14#^l-" in history  # it is written in the log of its day now
    assert ("Uploads" in now, is_past) == (False, True)
    home.settle()
    assert "Uploads use the queue." not in home.facts()
    home.end("l-a10")
    path.with_name("older.md").write_text(text)
    home.settle()
    assert ["8080" in part for part in home.parts("concepts/older")] == [False, True], "what ended before it was read"


def test_what_an_article_alone_tells_goes_with_it(wiki: WikiHome) -> None:
    home = Home()
    path = Path(home.home.paths.knowledge, "concepts", "old.md")
    path.parent.mkdir(parents=True)
    path.write_text(
        text := "# Old\n\n## Behaviour\n\n* Uploads\nuse [[the]]\n  queue.\n- Two.\n\n  More.\n- Three.\n  - no\n"
    )
    home.settle()
    assert home.facts()["Uploads use [[the]] queue."].importance == 0.5
    assert re.sub(r" \^l-[0-9a-z]+", "", path.read_text()) == text
    path.rename(path.with_name("renamed.md"))
    home.settle()
    assert "Uploads use [[the]] queue." in home.facts()
    path.with_name("renamed.md").unlink()
    home.settle()
    assert "Uploads use [[the]] queue." not in home.facts()


@pytest.mark.slow
def test_a_wiki_lives_as_it_did_before(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """All that compiles, ends, edits by hand, forgetting and undoing leave, and all that a model was asked."""
    moments = (datetime(2026, 11, 20, tzinfo=UTC) + timedelta(hours=number) for number in itertools.count())
    last = [next(moments)]
    monkeypatch.setattr(clock, "now", lambda: last[0])
    monkeypatch.setenv("MEMORIA_TZ", "UTC")
    rows: list[str] = []
    home, known = Home(), dict[str, bytes]()

    def told(step: str) -> None:
        last[0] = next(moments)
        files, out = home.files(), capsys.readouterr()
        rows.extend(["", f"==== {step}", *out.out.splitlines(), *out.err.splitlines()])
        rows.extend(f"? {row}" for each in home.prompts for row in each.text.partition("\n<")[2].splitlines())
        home.prompts.clear()
        for name in sorted(files.keys() | known.keys()):
            pair = (known.get(name, b"").decode().splitlines(), files.get(name, b"").decode().splitlines())
            rows.extend(row.rstrip() for row in unified_diff(*pair, name, name, n=0))
        known.clear()
        known.update(files)

    home.log(entry("a1", 16, learned=stated(LISTENS, IS), title="Port"), entry("b2", 17, learned=stated(NOW_9090)))
    home.log(
        entry("b3", 17, learned=stated("Ada keeps the listener.", "It logs to `port.log`.", kind="decision")),
        entry("s1", 17, project="sea", project_key="sea-9f9f9f", learned=stated("Tides rise.", "Tides fall.")),
    )
    ends: JsonObject = {"id": "l-a10", "by": "l-b20"}
    link: JsonObject = {"from": "port", "to": "logs", "why": "it  writes them"}
    both: JsonObject = {"text": "The listener of the shop logs to `port.log`.", "ids": ["l-a11", "l-b31"]}
    home.compile([
        placed("port", "l-a10", "l-a11", "l-b20", title="Port", summary="The listener is on port 9090.", ends=[ends]),
        placed("logs", "l-b30", "l-b31", "l-none", title="Logs", section="Own topic", aliases=["Log"], links=[link]),
        placed("tides", "l-s10", "l-s11", title="Tides", connections=[both, {**both, "text": "Mars has two moons."}]),
    ])  # fmt: skip
    told("compiled")
    home.compile([])
    told("compiled again")
    told_then = stated("The listener speaks TLS.", "Listeners are named.", "Ports are numbers.", "Numbers are odd.")
    home.log(entry("c4", 18, learned=told_then, title="TLS"))
    port = placed("port", "l-c40", title="Listener", summary="It speaks Welsh.")
    home.compile([port, placed("naming", "l-c41"), placed("number", "l-c42", "l-c43", title="42")])
    told("another day")
    home.end("l-b20", "l-c40")
    told("ended")
    slug = next(name.removesuffix(".md") for name, data in home.files().items() if IS.encode() in data)
    home.edit(slug, IS, "It is the *one* listener of the shop.")
    home.edit(slug, "## Behaviour\n", "## Behaviour\n\n- A line of Ada's.\n- It is loud [[daily/2026-11-17#^e-b2]]\n")
    home.settle()
    told("edited")
    stamp = home.wiki.path(slug).stat().st_mtime_ns
    home.edit(slug, "- A line of Ada's.", "- Another line of hers.")
    os.utime(home.wiki.path(slug), ns=(stamp, stamp))  # as a sync program may leave it
    home.settle(takes_all=True)
    told("edited again")
    home.change(lambda keeper: keeper.delete("l-c40"))
    told("deleted")
    home.undo()
    told("undone")
    rows += [f"{fact.to_dict()}" for fact in home.facts(live=False).values()]
    paths = (home.wiki.path(slug), Path(home.home.paths.daily, "2026-11-17.md"))
    same("read/wiki.txt", itertools.chain(rows, *(bent_by_hand(home, path) for path in paths)))


def bent_by_hand(home: Home, path: Path) -> Iterator[int]:
    """Yield digests of the files and statements that stay when a person changes a file anywhere."""
    front, head, bare = path.read_text("utf-8").rpartition("---\n")
    for bits in bent(bare.split("\n"), 25):
        path.write_text(front + head + "\n".join(bits), "utf-8")
        home.settle()
        stored = [fact.to_dict() for fact in home.facts(live=False).values()]
        yield digest([*stored, *sorted(home.files().items()), path.read_text("utf-8")])
