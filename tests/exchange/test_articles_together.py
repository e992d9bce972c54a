"""The wiki of several machines: places are a set, prose is a person's, ends and history follow from the statements."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from exchange_lives import Killed
from facts import MONDAY, SHOP, a_fact
from home_lives import Machine
from memoria.exchange import rounds
from memoria.exchange.forms import Page
from memoria.exchange.record import prose_id
from memoria.exchange.records import Records
from memoria.pages import refresh
from memoria.statements.fact import Ending, Fact
from memoria.wiki import lines
from memoria.wiki.article import Article, Claim
from memoria.wiki.folder import Wiki
from memoria.worker import together

pytestmark = pytest.mark.slow

SLUG = "concepts/queue"


def path(machine: Machine, slug: str = SLUG) -> Path:
    return Wiki(machine.home.paths).path(slug)


def text(machine: Machine, slug: str = SLUG) -> str:
    return path(machine, slug).read_text()


def place(machine: Machine, heading: str, *contents: str, slug: str = SLUG, kind: str = "fact") -> list[Fact]:
    """Learn some statements and place them, as a compile does."""
    facts = [a_fact(content, kind, day=number / 100) for number, content in enumerate(contents)]
    with machine.at_work(), machine.keeper() as keeper:
        kept = keeper.take(facts, "shop")
        page = machine.wiki().get(slug)
        if page is None:
            page = Article.new(slug, slug.rpartition("/")[2].title(), "What is known of it.", MONDAY.date())
            page.give_to(SHOP)
        for fact in (*kept.added, *kept.repeated):
            page.add(lines.claim_of(fact, keeper.store), heading)
        path(machine, slug).parent.mkdir(parents=True, exist_ok=True)
        path(machine, slug).write_bytes(Wiki.encode(page))
        refresh.settle(machine.home, keeper)
    return facts


def save(machine: Machine, change: Callable[[str], str], slug: str = SLUG) -> None:
    before = text(machine, slug)
    path(machine, slug).write_text(change(before))
    assert text(machine, slug) != before


def meet(*machines: Machine) -> None:
    for machine in (*machines, *machines):
        machine.sync()
        machine.settle()


def rows(machine: Machine, heading: str, slug: str = SLUG) -> set[str]:
    """Return the texts of the lines under a heading."""
    every = Article(slug, text(machine, slug)).lines()
    return {claim.text for section, _, claim in every if section.is_headed(heading)}


def pairs(machine: Machine) -> list[dict[str, str]]:
    with machine.at_work(), Records.of(machine.home.paths) as records:
        return list(together.state(machine.home, records)["pairs"])


def killed_when_placed(step: str) -> None:
    if step == "exchange.placed":
        raise Killed


def same(*machines: Machine, slug: str = SLUG) -> bool:
    held = [{piece.id: piece.full_digest for piece in Page(slug, text(machine, slug)).pieces()} for machine in machines]
    return held[0] == held[1]


def test_a_copied_home_that_joins_tells_of_a_correction_once(desk: Machine, laptop: Machine) -> None:
    (fact,) = place(desk, "Behaviour", "The queue holds 500 jobs.")
    desk.settle()
    shutil.copytree(desk.folder, laptop.folder, dirs_exist_ok=True)
    desk.sync()
    with desk.at_work(), desk.keeper() as keeper:
        keeper.edit(fact.id, "We dropped the queue for good.")
    meet(desk, laptop)
    assert text(laptop) == text(desk)
    assert text(laptop).count("- Until ") == 1


def test_an_article_comes_as_it_is(desk: Machine, laptop: Machine) -> None:
    one, other = place(desk, "Behaviour", "The queue holds 500 jobs.", "A worker takes 20 at once.")
    place(desk, "Decisions", "It is kept on disk.", kind="decision")
    place(desk, "Behaviour", "A job is one file.", slug="concepts/job")
    with desk.at_work(), desk.keeper() as keeper:
        page = Article(SLUG, text(desk))
        sources = tuple(lines.claim_of(fact, keeper.store).sources[0] for fact in (one, other))
        page.add(Claim("So 25 rounds empty it.", sources), "Connections")
        page.relate("concepts/job", "Job", "what it holds")
        path(desk).write_bytes(Wiki.encode(page))
    save(desk, lambda page: page.replace("## Behaviour", "Ask Ada first.\n\nThen ask Bob.\n\n## Behaviour"))
    save(desk, lambda page: page + "\n## My notes\n\nAsk Ada before changing this.\n\n- milk\n- bread\n")
    meet(desk, laptop)
    assert text(laptop) == text(desk)
    save(laptop, lambda page: page.replace("Then ask Bob.\n\n", ""))
    meet(laptop, desk)
    assert text(laptop) == text(desk)
    with laptop.keeper() as keeper:
        assert keeper.store.placed_ids() == {fact.id for fact in desk.facts()}
    stamps = [path(machine).stat().st_mtime_ns for machine in (desk, laptop)]
    meet(desk, laptop)
    assert [path(machine).stat().st_mtime_ns for machine in (desk, laptop)] == stamps, "a second one writes nothing"


@pytest.mark.parametrize("first", [0, 1])
def test_a_line_that_two_people_replace_at_once_leaves_equal_pages(desk: Machine, laptop: Machine, first: int) -> None:
    said = ("We always test with mypy here, never pyright.", "We always use pnpm here, never npm.")
    place(desk, "Conventions", *said, "Tabs, no blanks.", kind="preference")
    meet(desk, laptop)
    for machine, words in ((desk, "this place"), (laptop, "that place")):
        save(machine, partial(re.sub, "here, never (npm|pyright).", f"in {words}."))
        machine.settle()
    meet(*((laptop, desk) if first else (desk, laptop)))
    meet(desk, laptop)
    assert text(laptop) == text(desk)
    lines_ = [row.partition(" [[")[0] for row in text(desk).split("\n") if row.lstrip().startswith("- ")]
    assert lines_[4] == "- Tabs, no blanks."
    assert [row for row in lines_ if "Until" in row] == [f"- Until 2026-12-16: {row}" for row in said]
    assert len({"".join(sorted("".join(map(each.daily.text, each.daily.days())))) for each in (desk, laptop)}) == 1


def test_what_both_made_by_themselves_and_add_to_one_article_stands_on_both(desk: Machine, laptop: Machine) -> None:
    place(desk, "Behaviour", "The queue holds 500 jobs.")
    place(laptop, "Behaviour", "It drops none.")
    meet(desk, laptop)
    assert same(desk, laptop)
    place(desk, "Gotchas", "It waits for the disk.", kind="debugging")
    place(laptop, "Gotchas", "It hangs when the disk is full.", kind="debugging")
    meet(desk, laptop)
    assert same(desk, laptop)
    assert rows(desk, "Behaviour") == {"The queue holds 500 jobs.", "It drops none."}
    assert rows(desk, "Gotchas") == {"It waits for the disk.", "It hangs when the disk is full."}


def test_an_end_is_an_end_on_every_page_of_every_machine(desk: Machine, laptop: Machine) -> None:
    (old,) = place(desk, "Behaviour", "The queue holds 500 jobs.")
    meet(desk, laptop)
    with laptop.at_work(), laptop.keeper() as keeper:
        new = a_fact("The queue holds 900 jobs.", "fact", day=1, supersedes=(old.id,))
        keeper.take([new], "shop", endings=[Ending(old.id, new.time, "user", new.id)])
    meet(laptop, desk)
    assert rows(desk, "Behaviour") == rows(laptop, "Behaviour") == {"The queue holds 900 jobs."}
    assert all("500" in str(rows(machine, "History")) for machine in (desk, laptop))
    assert same(desk, laptop)
    for machine in (desk, laptop):  # where its repository was renamed
        Path(machine.home.paths.projects).write_text(f'{{"aliases": {{"{SHOP}": "store-4d5e6f"}}}}')
    place(desk, "Gotchas", "It hangs when the disk is full.", kind="debugging")
    desk.sync()
    laptop.sync()
    assert rows(laptop, "Gotchas") == {"It hangs when the disk is full."}
    assert "  - Since then: The queue holds 900 jobs." in text(laptop)
    meet(desk, laptop)
    late = Machine("late", desk.folder.parent / "late", desk.home.settings.sync, random.Random(3))
    meet(late)
    assert rows(late, "Behaviour") == {"The queue holds 900 jobs."}
    assert any("500" in row for row in rows(late, "History"))


def test_nothing_that_comes_along_tells_what_was_worded_anew_or_forgotten(desk: Machine, laptop: Machine) -> None:
    fact, *_ = place(desk, "Behaviour", "The queue holds 500 jobs.", "It drops none.", "It waits.", "It is kept.")
    page = Article(SLUG, text(desk))
    page.summarise("It holds 500 jobs.")
    path(desk).write_bytes(Wiki.encode(page))
    meet(desk)
    with desk.at_work(), desk.keeper() as keeper:
        keeper.edit(fact.id, "The queue holds 900 jobs.")
    meet(desk, laptop)
    assert "The queue holds 900 jobs." in rows(desk, "Behaviour") & rows(laptop, "Behaviour")
    assert "500" not in text(desk).partition("## ")[0] + text(laptop).partition("## ")[0]
    for machine, word in zip((desk, laptop), ("wombats", "ferrets"), strict=True):
        with machine.at_work(), machine.keeper() as keeper:
            keeper.edit(fact.id, f"The queue holds {word}.")
        machine.settle()
        machine.sync()
    laptop.forget(next(each.id for each in laptop.facts() if "wombats" in each.content))
    meet(desk, laptop)
    for machine in (desk, laptop):
        assert b"wombats" not in path(machine).read_bytes() + Path(machine.home.paths.records).read_bytes()
    assert b"wombats" not in b"".join(each.read_bytes() for each in desk.folder.parent.glob("carrier/*/*"))


def test_what_a_person_takes_back_holds_again_everywhere(desk: Machine, laptop: Machine) -> None:
    (fact,) = place(desk, "Behaviour", "The queue holds 500 jobs.")
    meet(desk, laptop)
    end = Ending(fact.id, fact.time, "user")
    with desk.at_work(), desk.keeper() as keeper:
        keeper.take([], endings=[end])
    meet(desk, laptop)
    assert rows(laptop, "Behaviour") == set()
    with desk.at_work(), desk.keeper() as keeper:
        keeper.outbox.put({"id": fact.id, "resumed": end.time.isoformat(), "successor": ""})
        keeper.drain()
    meet(desk, laptop)
    assert rows(laptop, "Behaviour") == rows(desk, "Behaviour") == {"The queue holds 500 jobs."}


def test_a_line_that_a_person_deletes_ends_its_statement_everywhere(desk: Machine, laptop: Machine) -> None:
    place(desk, "Behaviour", "The queue holds 500 jobs.", "It drops none.")
    for machine in (desk, laptop):
        machine.sync()  # and nothing else before the person, who is faster than the worker
    save(laptop, lambda page: "\n".join(row for row in page.split("\n") if "500" not in row))
    meet(laptop, desk)
    assert rows(desk, "Behaviour") == {"It drops none."}
    assert [fact.content for fact in desk.facts() if fact.ended] == ["The queue holds 500 jobs."]


def test_a_line_that_stands_on_two_articles_is_taken_from_one(desk: Machine, laptop: Machine) -> None:
    (fact,) = place(desk, "Behaviour", "The queue holds 500 jobs.")
    place(desk, "Behaviour", "A job is one file.", slug="concepts/job")
    link = next(row for row in text(desk).split("\n") if "500" in row)
    save(desk, lambda page: page.replace("- A job", f"{link}\n- A job"), "concepts/job")
    meet(desk, laptop)
    save(laptop, lambda page: page.replace(f"{link}\n", ""), "concepts/job")
    meet(laptop, desk)
    assert rows(desk, "Behaviour", "concepts/job") == {"A job is one file."}
    assert rows(desk, "Behaviour") == {fact.content}
    assert [each.ended for each in desk.facts() if each.id == fact.id] == [None]


def test_a_line_is_taken_from_a_page_that_still_names_it_elsewhere(desk: Machine, laptop: Machine) -> None:
    (old,) = place(desk, "Behaviour", "The queue holds 500 jobs.")
    place(desk, "Behaviour", "A job is one file.", slug="concepts/job")
    new = a_fact("The queue holds 900 jobs.", "fact", day=1, supersedes=(old.id,))
    with desk.at_work(), desk.keeper() as keeper:
        keeper.take([new], "shop", endings=[Ending(old.id, new.time, "user", new.id)])
    meet(desk, laptop)
    link = next(row for row in text(desk).split("\n") if row.startswith("- The queue holds 900"))
    save(desk, lambda page: f"{page}\n{link}\n", "concepts/job")
    save(desk, lambda page: page.replace(f"{link}\n", ""))
    meet(desk, laptop)
    assert "Since then: The queue holds 900 jobs." in text(laptop)
    assert rows(laptop, "Behaviour") == rows(desk, "Behaviour") == set()


def test_a_line_that_a_person_moves_and_comments_on_moves_everywhere(desk: Machine, laptop: Machine) -> None:
    place(desk, "Behaviour", "The queue holds 500 jobs.", "It drops none.")
    meet(desk, laptop)
    link = next(row for row in text(laptop).split("\n") if "500" in row)
    nested = "  - why: see [[concepts/move]] first"
    save(laptop, lambda page: page.replace(f"{link}\n", "") + f"\n## Limits\n\n{link}\n{nested}\n")
    meet(laptop, desk)
    assert rows(desk, "Limits") == {"The queue holds 500 jobs."}
    assert nested in text(desk)
    for mark, form in (("\n- ", "\n1. "), ("\n1. ", "\n- ")):  # and it may have another form meanwhile
        path(laptop).write_text(text(laptop).replace(mark, form))
        meet(laptop, desk)
        assert ("History" in text(desk), text(desk).count("holds 500"), text(desk).count(f"{form}The")) == (False, 1, 1)


def test_prose_that_two_people_change_at_once_stands_twice_and_names_one(desk: Machine, laptop: Machine) -> None:
    place(desk, "Behaviour", "The queue holds 500 jobs.")
    save(desk, lambda page: page + "\n## My notes\n\nAsk Ada.\n")
    meet(desk, laptop)
    place(desk, "Gotchas", "It hangs when the disk is full.", kind="debugging")
    save(desk, lambda page: page.replace("## My notes\n\nAsk Ada.\n", "") + "\n## My notes\n\nAsk Ada on Mondays.\n")
    save(laptop, lambda page: page.replace("Ask Ada.", "Ask Bob."))
    meet(desk, laptop)
    assert same(desk, laptop)
    names, others = ([section.heading for section in Article(SLUG, text(home)).sections] for home in (desk, laptop))
    assert {"My notes"} < {"My notes", "My notes (desk)", "My notes (laptop)"} & set(names)
    assert names == others
    assert all(each in text(desk) for each in ("Ask Ada on Mondays.", "Ask Bob."))
    assert [pair["one"] for pair in pairs(laptop)] == ["My notes"]
    save(desk, lambda page: page.replace("Ask Bob.", "").replace("## My notes (laptop)", "").replace(
        "## My notes (desk)", ""))  # fmt: skip
    meet(desk, laptop)
    assert same(desk, laptop)
    assert pairs(laptop) == []
    save(desk, lambda page: re.sub(r"## Gotchas\n\n.*\n\n", "", page))
    place(laptop, "Gotchas", "It hangs on Mondays.", kind="debugging")
    meet(desk, laptop)
    names, others = ([section.heading for section in Article(SLUG, text(home)).sections] for home in (desk, laptop))
    assert names[:3] == others[:3] == ["Behaviour", "Gotchas", "My notes"]


def test_a_heading_that_stands_twice_is_exchanged_with_all_below_it(desk: Machine, laptop: Machine) -> None:
    place(desk, "Behaviour", "The queue holds 500 jobs.")
    save(desk, lambda page: page + "\n## Notes\n\nOne.\n\n## Limits\n\nNotes\n-----\n\nThree.\n")
    save(desk, lambda page: page.replace("## Behaviour", "Notes\n-----\n\nNone.\n\nBehaviour\n---------\n\n"))
    place(desk, "Behaviour", "It drops none.")
    meet(desk, laptop)
    for words in ("None.", "One.", "Three."):
        path(laptop).write_text(text(laptop).replace(words, f"Not {words.lower()}"))
        meet(laptop, desk)
    assert same(desk, laptop)
    for machine in (desk, laptop):
        assert len(rows(machine, "Behaviour")) == 2
        assert re.findall("Not .*", text(machine)) == ["Not none.", "Not one.", "Not three."]
    for change in (("What is known", "Mine.\nWhat is known"), ("Mine.\n", "")):  # above memoria's summary
        path(laptop).write_text(text(laptop).replace(*change))
        meet(laptop, desk)
        ours, theirs = (Article(SLUG, text(home)) for home in (desk, laptop))
        assert (ours.summary, ours.wrote_summary) == (theirs.summary, theirs.wrote_summary)


def test_an_article_that_a_person_deletes_goes_but_for_a_line_new_elsewhere(desk: Machine, laptop: Machine) -> None:
    place(desk, "Behaviour", "The queue holds 500 jobs.")
    for slug in ("concepts/job", "concepts/yard"):
        place(desk, "Behaviour", f"A {slug[9:]} is one file.", slug=slug)
    meet(desk, laptop)
    path(laptop).unlink()
    path(laptop, "concepts/yard").unlink()
    place(desk, "Behaviour", "It drops none.")
    for machine in (laptop, desk, laptop):  # each once: desk may be lost
        machine.sync()
    assert [path(desk, f"concepts/{name}").exists() for name in ("yard", "job")] == [False, True]
    assert rows(desk, "Behaviour") == rows(laptop, "Behaviour") == {"It drops none."}


def test_a_page_that_two_people_wrote_apart_is_gone_once_one_deletes_it(desk: Machine, laptop: Machine) -> None:
    for machine in (desk, laptop):
        place(machine, "Behaviour", "A job is one file.", slug="concepts/job")
        path(machine).write_text(f"# Printers\n\nMine.\n\n## Notes\n\nAsk {machine.name}.\n")
    meet(desk, laptop)
    assert all(word in text(home) for home in (desk, laptop) for word in ("Ask desk.", "Ask laptop."))
    path(desk).unlink()
    meet(desk, laptop)
    assert not [home for home in (desk, laptop) if path(home).exists()]


def test_an_article_that_two_people_empty_is_gone(desk: Machine, laptop: Machine) -> None:
    place(desk, "Behaviour", "The queue holds 500 jobs.")
    place(desk, "Behaviour", "A shed takes 20 jobs.", "A full shed is closed.", slug="concepts/shed")
    meet(desk, laptop)
    taken = [row for row in text(desk, "concepts/shed").splitlines(True) if row.startswith("- ")]
    save(laptop, lambda page: page.replace("## Behaviour\n\n", "## Behaviour\n\n" + "".join(taken)))
    path(laptop, "concepts/shed").unlink()
    save(desk, lambda page: page.replace(taken[1], ""), "concepts/shed")
    path(desk, "concepts/full").write_text(f"# Full\n\nBy hand.\n\n## Rules\n\n{taken[1]}")
    meet(laptop, desk, laptop)
    assert not [each for each in (desk, laptop) if path(each, "concepts/shed").exists()]
    assert rows(laptop, "Behaviour") == {"The queue holds 500 jobs.", "A shed takes 20 jobs.", "A full shed is closed."}
    assert text(laptop, "concepts/full") == text(desk, "concepts/full")


@pytest.mark.parametrize(("count", "missing"), [(5, 4), (3, 3)], ids=["too many", "the whole wiki"])
def test_articles_that_no_person_can_have_deleted_are_held(
    desk: Machine, laptop: Machine, count: int, missing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "MANY", 3)
    for number in range(count):
        place(desk, "Behaviour", f"Rule {number} holds.", f"Law {number} holds.", slug=f"concepts/page{number}")
    meet(desk, laptop)
    for number in range(missing):
        path(laptop, f"concepts/page{number}").unlink()
    for slug in ("concepts/one", "concepts/two"):  # which a compile writes before the person has answered
        laptop.sync()
        desk.sync()
        assert len(Wiki(desk.home.paths).slugs()) == count + (slug > "concepts/one")
        place(laptop, "Behaviour", f"It is {slug}.", slug=slug)
    laptop.sync(restored=True)
    assert len(Wiki(laptop.home.paths).slugs()) == count + 2
    assert same(desk, laptop, slug="concepts/page0")


@pytest.mark.parametrize("other", ["", "- The tide is high.\n"], ids=["the only log", "one of two"])
def test_a_day_that_is_deleted_with_a_yes_is_gone_everywhere(desk: Machine, laptop: Machine, other: str) -> None:
    day, told = desk.daily.path(MONDAY.date()), ("The gull is grey.", "The boat is blue.")
    day.parent.mkdir(parents=True)
    day.write_text("- " + "\n- ".join((*told, told[0])) + "\n")  # without a title, and one of them twice
    day.with_name("2026-11-01.md").write_text(other) if other else None
    desk.sync()
    place(desk, "Behaviour", *told)
    meet(desk, laptop)
    laptop.daily.path(MONDAY.date()).unlink()
    meet(laptop, desk)
    assert rows(laptop, "Behaviour") == rows(desk, "Behaviour") == {*told}, "nobody has said yes"
    laptop.sync(taken=True)
    meet(laptop, desk)
    for machine in (desk, laptop):
        assert (rows(machine, "Behaviour"), machine.daily.text(MONDAY.date())) == (set(), "")
        with machine.keeper() as keeper:
            found = [f"- {fact.content}\n" for fact in keeper.store.facts()]
            assert (found, keeper.store.lost_ids()) == ([other] * bool(other), {})


def test_a_kill_while_a_line_moves_from_one_page_to_another_ends_no_statement(desk: Machine, laptop: Machine) -> None:
    (fact,) = place(desk, "Behaviour", "The queue holds 500 jobs.")
    place(desk, "Behaviour", "A page is a page.", slug="concepts/zebra")
    place(desk, "Behaviour", "It drops none.")
    meet(desk, laptop)
    link = next(row for row in text(desk).split("\n") if "500" in row)
    save(desk, lambda page: page + f"\n{link}\n", "concepts/zebra")
    save(desk, lambda page: page.replace(f"{link}\n", ""))
    meet(desk)
    laptop.sync(killed_when_placed)
    assert "500" not in text(laptop)
    laptop.settle()
    meet(laptop, desk)
    assert same(desk, laptop, slug="concepts/zebra")
    assert [each.ended for each in laptop.facts() if each.id == fact.id] == [None]


def test_an_edit_after_a_kill_or_while_an_exchange_is_at_work_is_taken(desk: Machine, laptop: Machine) -> None:
    place(desk, "Behaviour", "The queue holds 500 jobs.")
    desk.sync()
    laptop.sync(killed_when_placed)
    save(laptop, lambda page: page.replace("500", "700"))
    meet(laptop, desk)
    assert rows(desk, "Behaviour") == rows(laptop, "Behaviour") == {"The queue holds 700 jobs."}
    place(desk, "Behaviour", "It drops none.")
    desk.sync()

    def edit(step: str) -> None:
        if step == "exchange.read":
            save(laptop, lambda page: page.replace("700", "900"))

    laptop.sync(edit)
    meet(laptop, desk)
    assert "The queue holds 900 jobs." in {each.content for each in desk.facts()}


def test_a_slug_that_is_none_or_a_page_of_another_version_harms_nobody(desk: Machine, laptop: Machine) -> None:
    place(desk, "Behaviour", "The queue holds 500 jobs.")
    with desk.at_work(), Records.of(desk.home.paths) as records, records.transaction():
        for slug in ("concepts/../../../out", "elsewhere/x", "/etc/x"):
            records.put(slug, "article", '{"title": "Out"}', ())
        records.put("concepts/aaa", "article", '{"called": "A page"}', ())
        records.put("concepts/yard", "article", '{"title": "Yard"}', ())
        records.put(f"concepts/yard#{prose_id('Notes')}", "prose", "## Notes\t\nA tree.", ())
    meet(desk, laptop)
    assert same(desk, laptop)
    assert "A tree." in text(laptop, "concepts/yard")
    assert not list(desk.folder.parent.rglob("out.md"))


def test_a_statement_that_is_written_on_an_article_alone_comes_with_it(desk: Machine, laptop: Machine) -> None:
    """As the claims of earlier versions are."""
    page = Article.new(SLUG, "Queue", "What is known of it.", MONDAY.date())
    page.give_to(SHOP)
    page.add(Claim("The queue holds 500 jobs.", (f"daily/{MONDAY.date()}#^e-aaa111",)), "Behaviour")
    page.add(Claim("Until 2026-01-02: It holds 20 jobs.", (f"daily/{MONDAY.date()}#^e-aaa112",)), "History")
    path(desk).parent.mkdir(parents=True)
    path(desk).write_bytes(Wiki.encode(page))
    meet(desk, laptop)
    assert text(laptop) == text(desk)
    with laptop.keeper() as keeper:
        assert [fact.content for fact in keeper.store.facts()] == ["The queue holds 500 jobs."]


def test_nothing_of_an_article_of_an_excluded_project_is_exchanged(desk: Machine, laptop: Machine) -> None:
    desk.home.settings.exclude = ("/jobs/secret",)
    Path(desk.home.paths.folders).write_text(f'{{"{SHOP}": ["/jobs/secret"]}}')
    place(desk, "Behaviour", "The queue holds 500 jobs.")
    place(laptop, "Behaviour", "A shed takes 20 jobs.", slug="concepts/shed")  # is sent, and not taken in there
    meet(desk, laptop)
    assert [path(laptop).exists(), path(desk, "concepts/shed").exists()] == [False, False]
    assert b"queue" not in b"".join(each.read_bytes() for each in desk.folder.parent.glob("carrier/*/*")).lower()


def test_what_is_forgotten_leaves_the_articles_of_all(desk: Machine, laptop: Machine) -> None:
    """Also one that an exchange was writing when it was killed."""
    place(desk, "Behaviour", "The zeppelin lands on Friday.", "It drops none.")
    save(desk, lambda page: page + "\n## My notes\n\nThe zeppelin is Ada's.\n\nAsk Bob.\n")
    meet(desk, laptop)
    assert "zeppelin" in text(laptop)
    place(desk, "Behaviour", "It has no end.")
    desk.sync()

    def reached(name: str) -> None:
        if name == "files.replaced" and list((laptop.folder / "knowledge").rglob("*.swap")):
            raise Killed

    laptop.sync(reached)
    assert list(laptop.folder.rglob("*.swap"))
    laptop.forget("zeppelin")
    assert [path for path in laptop.folder.rglob("*.*") if path.is_file() and b"zeppelin" in path.read_bytes()] == []
    meet(laptop, desk)
    assert rows(desk, "Behaviour") == rows(laptop, "Behaviour") == {"It drops none.", "It has no end."}
    assert [("zeppelin" in text(each), "Ask Bob." in text(each)) for each in (desk, laptop)] == 2 * [(False, True)]
    assert b"zeppelin" not in b"".join(each.read_bytes() for each in desk.folder.parent.glob("carrier/*/*"))
    for behind in (0, 1):
        with laptop.at_work():
            assert len(together.spread_forgetting(laptop.home)) == behind, "also who has not heard of a text alone"
        laptop.forget("ask bob")


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_line_reworded_unseen_goes_with_its_statement(desk: Machine, laptop: Machine, is_sent: bool) -> None:
    [fact] = place(desk, "Behaviour", "The zeppelin lands on Friday.")
    meet(desk, laptop)
    for day in ("Saturday.", "Sunday."):
        save(laptop, partial(re.sub, "[A-Z][a-z]+day[.]", day))
        laptop.settle()
    [line] = [fact for fact in laptop.facts() if not fact.ended]
    said = a_fact("It comes in spring.", "fact", day=40, supersedes=(line.id,))
    with laptop.at_work(), laptop.keeper() as keeper:
        keeper.take([said], "shop", endings=[Ending(line.id, said.time, "user", said.id)])
    meet(*(laptop, desk) * is_sent)
    desk.forget(fact.id)
    desk.sync()
    with laptop.at_work():
        together.run(laptop.home, is_news=True)
    assert Path(laptop.home.paths.exchanged).stat().st_mode & 0o777 == 0o600
    notice = Path(laptop.home.paths.notice)
    assert ("2 edits of it made here" in (notice.read_text() if notice.exists() else "")) is not is_sent
    meet(laptop, desk)
    assert [("zeppelin" in text(one), len(one.facts())) for one in (desk, laptop)] == 2 * [(is_sent, 2 * is_sent + 1)]


def test_a_rewording_of_what_another_kept_stays(desk: Machine, laptop: Machine) -> None:
    """Who forgot the first words knew what had come in their place, though not in which words it stands here now."""
    place(desk, "Behaviour", "The zeppelin lands on Friday.")
    save(desk, partial(re.sub, "[A-Z][a-z]+day[.]", "Sunday."))
    desk.settle()
    save(desk, partial(re.sub, "The zeppelin lands", "It comes"))
    desk.settle()
    meet(desk, laptop)
    [line] = [fact for fact in laptop.facts() if not fact.ended]
    day = laptop.daily.path(laptop.daily.days()[-1])
    day.write_text(day.read_text().replace(f"{line.content} ^", "It comes on Monday. ^"))
    desk.forget("zeppelin")
    meet(desk, laptop)
    assert [fact.content for machine in (desk, laptop) for fact in machine.facts()] == 2 * ["It comes on Monday."]


@pytest.mark.parametrize("is_edited", [False, True])
def test_a_heading_that_is_forgotten_leaves_what_stands_below_it(
    desk: Machine, laptop: Machine, is_edited: bool
) -> None:
    place(desk, "Behaviour", "The queue holds 500 jobs.")
    save(desk, lambda page: page + "\n## Zeppelin contacts\n\nCall Ada.\n\nMail the zeppelin.\n\n## Tail\n\nAsk Bob.\n")
    meet(desk, laptop)
    if is_edited:
        save(laptop, lambda page: page.replace("Call Ada.", "Call Eve."))
    desk.forget("zeppelin")
    meet(desk, laptop)
    for machine in (desk, laptop):
        assert [word in text(machine) for word in ("## (forgotten)", "Ask Bob.", "## Tail")] == [True] * 3
        assert "zeppelin" not in text(machine).casefold()
        assert ("Call Eve." if is_edited else "Call Ada.") in text(machine)
    assert same(desk, laptop)


def test_an_article_that_is_forgotten_whole_is_missed_by_nobody(desk: Machine, laptop: Machine) -> None:
    """Its name is as forgotten as what it says, also where it was edited meanwhile."""
    name = "concepts/zeppelin-berth"
    place(desk, "Behaviour", "The zeppelin lands on Friday.")
    place(desk, "Behaviour", "It has two doors.", slug=name)
    save(desk, lambda page: page + "\n## Doors\n\nAsk Bob.\n", name)
    meet(desk, laptop)
    save(laptop, lambda page: page + "\n## Roof\n\nAsk Ada.\n", name)
    laptop.sync()
    files = ((each, each.read_bytes()) for each in desk.folder.parent.rglob("*.records"))
    segment, said = next((each, data) for each, data in files if b"Ask Ada" in data)
    save(laptop, lambda page: page.replace("Ask Bob.", "Ask Eve."), name)
    desk.forget("zeppelin")
    assert b"zeppelin" not in b"".join(each.read_bytes() for each in desk.folder.rglob("*.*") if each.is_file())
    meet(desk, laptop)
    for machine in (desk, laptop):
        with machine.at_work(), Records.of(machine.home.paths) as records:
            assert not together.state(machine.home, records)["held"]
        assert machine.wiki().slugs() == []
    segment.write_bytes(said)  # by a program that lags, of a machine that comes no more
    desk.sync()
    assert not [path for path in desk.folder.parent.rglob("*") if path.is_file() and b"zeppelin" in path.read_bytes()]
