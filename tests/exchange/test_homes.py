"""Homes that exchange their memory: what stands in the files of one stands in those of all."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing, nullcontext
from datetime import date, timedelta
from pathlib import Path
from unittest import mock

import pytest

import home_lives
from as_before import digest, same
from exchange_lives import Killed
from facts import BLOG, MONDAY, SHOP, a_fact
from home_lives import Life, Machine
from home_of import run
from memoria.commands import show, status, why
from memoria.daily import gate
from memoria.daily.entry import Entry, marker_line, tombstone
from memoria.daily.ledger import Ledger
from memoria.exchange.carriers import Folder
from memoria.exchange.record import unseal
from memoria.exchange.records import Records
from memoria.ground import locks
from memoria.ground.errors import ExpectedError
from memoria.pages import refresh
from memoria.reader.pages import home as reader_home
from memoria.statements import lines
from memoria.statements.fact import Ending, Fact
from memoria.statements.keeper import Keeper
from memoria.worker import together

pytestmark = pytest.mark.slow


def learn(machine: Machine, *contents: str, **given: object) -> list[Fact]:
    facts = [a_fact(content, **given) for content in contents]  # type: ignore[arg-type]
    with machine.at_work(), machine.keeper() as keeper:
        keeper.take(facts, "shop")
    return facts


def reword(machine: Machine, ident: str, content: str) -> None:
    with machine.at_work(), machine.keeper() as keeper:
        keeper.edit(ident, content)


def write_entry(machine: Machine, ident: str = "aaa111", *statements: Fact) -> None:
    learned = tuple(map(lines.to_learned, statements))
    machine.daily.append(Entry(
        id=ident, day=MONDAY.date(), time="10:05" if ident == "desk01" else "09:30", session="s-1", model="m",
        project="shop", project_key=SHOP, title="Fix the queue", context="It was slow.", learned=learned,
        key_exchanges=("asked → answered",), action_items=("Write the test",), turns=(f"k{ident}",),
    ))  # fmt: skip


def day(machine: Machine) -> Path:
    return machine.daily.path(MONDAY.date())


def save(machine: Machine, old: str, new: str) -> None:
    """Let a person replace some words of the day in their editor."""
    text = day(machine).read_text()
    assert old in text
    day(machine).write_text(text.replace(old, new))


def meet(*machines: Machine) -> None:
    for machine in (*machines, *machines):
        machine.sync()


def contents(machine: Machine) -> set[str]:
    return {fact.content for fact in machine.facts()}


@pytest.mark.parametrize(("days", "compilers"), [(-30, ["desk"]), (-20, ["desk", "laptop"])])
def test_an_entry_is_compiled_where_it_was_written_and_after_a_week_anywhere(
    desk: Machine, laptop: Machine, days: int, compilers: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    write_entry(desk)
    meet(desk, laptop)
    found = []
    for machine in (desk, laptop):
        machine.skew = timedelta(days=days)
        with machine.at_work(), closing(Ledger(machine.home.paths)) as ledger:
            found += [machine.name for _ in gate.waiting_entries(ledger, machine.home)]
            assert status.gather(machine.home)["uncompiled"] == found.count(machine.name)
    assert found == compilers
    with pytest.raises(ExpectedError, match="heard on desk"):
        run(show, laptop.home, "e-aaa111")
    run(why, laptop.home, "e-aaa111")
    assert "1 turn of it: heard on desk" in capsys.readouterr().out


def test_of_two_merges_unknown_to_each_other_no_wording_returns_or_stands_twice(desk: Machine, laptop: Machine) -> None:
    (fact,) = learn(desk, "Use npm.")
    meet(desk, laptop)
    for machine, content in ((desk, "Use two."), (laptop, "Use seven.")):
        reword(machine, fact.id, content)
    desk.sync()
    reword(desk, fact.id, "Use nine.")
    laptop.sync()  # merges seven and two, and has not sent that yet
    desk.sync()  # merges seven and nine
    meet(laptop, desk)
    assert [sorted(each.content for each in m.facts()) for m in (desk, laptop)] == 2 * [["Use nine.", "Use seven."]]


def test_what_comes_is_as_it_was_written_and_a_second_exchange_writes_nothing(desk: Machine, laptop: Machine) -> None:
    learn(desk, "Use pnpm, not npm.")
    write_entry(desk, "aaa111", *(a_fact(f"Shed {n} is full.", "decision", day=n / 99) for n in range(4)))
    meet(desk, laptop)
    assert day(laptop).read_text() == day(desk).read_text()
    with laptop.keeper() as keeper:
        assert {fact.content for fact in keeper.store.facts()} == contents(desk)
    before = {path: path.stat().st_mtime_ns for path in desk.folder.parent.glob("*/*/*.[rm]*")}  # segments and days
    meet(desk, laptop)
    assert {path: path.stat().st_mtime_ns for path in desk.folder.parent.glob("*/*/*.[rm]*")} == before
    with Records.of(laptop.home.paths) as records:
        assert records.due_ids() == [], "nothing is looked at again"


def test_two_people_change_different_things_of_one_entry(desk: Machine, laptop: Machine) -> None:
    write_entry(desk, "aaa111", a_fact("The queue holds 500 jobs.", "decision"))
    meet(desk, laptop)
    save(desk, "- [ ] Write the test", "- [x] Write the test")
    save(laptop, "It was slow.", "It was slow at night.")
    learn(laptop, "The queue holds 500 jobs.", kind="decision", day=2, session="s-2")  # said again
    meet(laptop, desk)
    assert day(laptop).read_text() == (text := day(desk).read_text())
    assert text.count("### Session") == 1
    assert "- [x] Write the test" in text
    assert "It was slow at night." in text
    assert [fact.seen for fact in desk.facts()] == [2]
    day(laptop).rename(day(laptop).with_name("2026-11-22.md"))  # by a person
    meet(laptop, desk)
    learn(laptop, "Use tabs.")
    meet(laptop, desk)
    assert "- [x] Write the test" in desk.daily.path(date(2026, 11, 22)).read_text()


def test_a_persons_own_notes_travel_whole_before_a_compile_has_seen_them(desk: Machine, laptop: Machine) -> None:
    write_entry(desk)
    note = "Before the release:\n\n- [ ] Call Bob\n- [ ] Rotate the pager\n\nAsk Ada.\n\nThen again:\n\nAsk Ada.\n"
    day(desk).write_text(f"{day(desk).read_text()}\n- [ ] Buy rope\n\n{note}")
    desk.sync()
    laptop.sync()
    day(laptop).write_text(day(laptop).read_text().replace("- [ ] Call Bob", "- [x] Call Bob"))
    meet(laptop, desk)
    assert day(laptop).read_text() == day(desk).read_text()
    assert "\n\n- [x] Call Bob\n- [ ] Rotate the pager\n" in day(desk).read_text()
    assert [day(desk).read_text().count(said) for said in ("Before the release:", "Ask Ada. ^l-")] == [1, 2]
    for machine in (desk, laptop):
        save(machine, "Rotate the pager", f"Rotate the {machine.name}")
    meet(desk, laptop)
    assert day(desk).read_text().count("- [ ] Buy rope\n") == 2, "in no other words than the person's"


def test_two_wordings_at_once_both_stand_and_the_second_names_its_machine(desk: Machine, laptop: Machine) -> None:
    (fact,) = learn(desk, "Use pnpm here.", quote="pnpm!")
    write_entry(desk)
    meet(desk, laptop)
    for machine, name in ((desk, "on the desk"), (laptop, "on the laptop")):
        save(machine, "Use pnpm here.", f"Use pnpm {name}.")
        save(machine, "It was slow.", f"It was slow {name}.")
    meet(desk, laptop)
    assert desk.pieces() == laptop.pieces()
    assert contents(desk) == {"Use pnpm on the desk.", "Use pnpm on the laptop."}
    (second,) = [each for each in desk.facts() if each.id != fact.id]
    assert second.beside.split()[0] == fact.id
    assert second.beside.split()[1] in second.content
    titles = [entry.title for entry in desk.daily.entries(MONDAY.date())]
    assert titles[0] == "Fix the queue"
    assert titles[1] in ("Fix the queue (desk)", "Fix the queue (laptop)")


def test_a_second_wording_has_the_first_ones_boxes_and_goes_by_its_own_edit(desk: Machine, laptop: Machine) -> None:
    """Also where a kill comes before it is noted what the file holds, the first time and beside another wording."""
    write_entry(desk)
    desk.sync()
    laptop.sync(lambda step: killed(step == "files.replaced" and "slow" in laptop.daily.text(MONDAY.date())))
    save(laptop, "It was slow.", "It was slow on the laptop.")
    save(desk, "It was slow.", "It was slow on the desk.")
    laptop.sync()
    assert day(laptop).read_text().count("It was slow") == 1
    desk.sync(lambda step: killed(step == "files.replaced" and day(desk).read_text().count("It was slow") == 2))
    (title,) = [entry.title for entry in desk.daily.entries(MONDAY.date()) if "(" in entry.title]
    name = title.partition("(")[2].rstrip(")")
    save(desk, f"It was slow on the {name}.", "It was slow for a minute.")
    meet(desk, laptop)
    save(laptop, "- [ ] Write the test", "- [x] Write the test")
    meet(laptop, desk)
    text = day(desk).read_text()
    assert day(laptop).read_text() == text
    assert (text.count("It was slow"), text.count("for a minute"), text.count("- [x] Write the test")) == (2, 1, 2)


def test_two_wordings_of_an_entry_have_the_same_boxes_until_one_is_changed(desk: Machine, laptop: Machine) -> None:
    write_entry(desk)
    meet(desk, laptop)
    save(laptop, "It was slow.", "It was slow on the laptop.")
    save(desk, "It was slow.", "It was slow on the desk.")
    meet(desk, laptop)
    (second,) = [entry.title for entry in desk.daily.entries(MONDAY.date()) if "(" in entry.title]
    boxes = [("- [ ]", "- [x]", 2), ("- [x]", "- [ ]", 0), ("- [ ]", "- [x]", 2)]
    for box, other, ticked in (*boxes, ("- [x]", "- [ ]", 1)):
        if ticked == 1:
            save(desk, f"It was slow on the {second.partition('(')[2][:-1]}.", "It was slow for a minute.")
            meet(desk, laptop)
        parts = day(laptop).read_text().split("### Session")
        parts = [part if "(laptop)" in part or "(desk)" in part else part.replace(box, other) for part in parts]
        day(laptop).write_text("### Session".join(parts))
        meet(laptop, desk)
        assert day(laptop).read_text() == day(desk).read_text()
        assert day(desk).read_text().count("- [x] Write the test") == ticked


def test_a_new_wording_is_known_as_one_where_the_store_of_statements_is_lost(desk: Machine, laptop: Machine) -> None:
    learn(desk, "Use npm.")
    meet(desk, laptop)
    Path(laptop.home.paths.facts).unlink()
    save(laptop, "Use npm.", "Use seven.")
    save(desk, "Use npm.", "Use two.")
    meet(laptop, desk)
    assert contents(desk) == contents(laptop) == {"Use seven.", "Use two."}


def test_two_wordings_stand_when_the_first_changes_on_both_or_the_second_goes(desk: Machine, laptop: Machine) -> None:
    (fact,) = learn(desk, "Use pnpm here.", quote="pnpm!")
    meet(desk, laptop)
    save(desk, "Use pnpm here.", "Use pnpm on the desk.")
    save(laptop, "Use pnpm here.", "Use pnpm on the laptop.")
    meet(desk, laptop)
    first, second = sorted(desk.facts(), key=lambda each: each.id != fact.id)
    for machine in (desk, laptop):
        save(machine, first.content, f"Use npm on the {machine.name}.")
    meet(desk, laptop)
    assert contents(desk) == contents(laptop) == {"Use npm on the desk.", "Use npm on the laptop.", second.content}
    with laptop.at_work(), laptop.keeper() as keeper:
        keeper.delete(second.id)
    meet(laptop, desk)
    assert contents(desk) == contents(laptop) == {"Use npm on the desk.", "Use npm on the laptop."}


def test_a_person_who_deletes_a_line_deletes_it_on_all_machines(desk: Machine, laptop: Machine) -> None:
    learn(desk, "Use pnpm.", "Use tabs.")
    meet(desk, laptop)
    for text in (day(laptop).read_text(), "# Daily Log\n"):  # a copy, which they empty again
        day(laptop).with_name("2026-11-20.md").write_text(text)
        meet(laptop, desk)
        assert contents(desk) == contents(laptop) == {"Use pnpm.", "Use tabs."}
    save(laptop, "- [", "- \\[")  # by a formatter
    meet(laptop, desk)
    assert {fact.kind for fact in laptop.facts()} == {fact.kind for fact in desk.facts()} != {"fact"}
    save(laptop, "Use tabs. ^l-", "Use tabs.\n  ^l-")
    meet(laptop, desk)
    assert contents(desk) == {"Use pnpm.", "Use tabs."}
    rows = day(laptop).read_text().split("\n")
    first = next(number for number, row in enumerate(rows) if "Use pnpm." in row)
    day(laptop).write_text("\n".join([*rows[:first], *rows[first + 3 :]]))
    meet(laptop, desk)
    assert contents(desk) == contents(laptop) == {"Use tabs."}


ANEW = "# Daily Log\n\n### Learned (09:00) · shop\n\n- [fact] What is said after it. ^l-0000000z\n"


SAID = f"# Daily Log\n\nIt rained.\n\n^e-bbb222\n\n{marker_line('bbb222', 's', 'x', SHOP, 'm')}\n"


@pytest.mark.parametrize(("count", "left"), [(3, ""), (3, ANEW), (3, SAID), (30, "# Daily Log\n")])
def test_too_much_that_is_missing_at_once_is_held_until_a_person_says_what_it_is(
    desk: Machine, laptop: Machine, count: int, left: str
) -> None:
    write_entry(desk, "aaa111", *(a_fact(f"Rule {number} of this house.") for number in range(count)))
    desk.sync()
    laptop.sync()
    day(laptop).write_text(left) if left else day(laptop).unlink()
    for restored in (False, True):
        laptop.sync(restored=restored)
        with laptop.at_work():
            together.run(laptop.home, is_news=True)
        assert Path(laptop.home.paths.notice).exists() is not restored, "what waits is asked for until it is answered"
        desk.sync()
        assert len(desk.facts()) - count in (0, 1)
    assert contents(laptop) == contents(desk)
    day(laptop).write_text(left) if left else day(laptop).unlink()
    laptop.sync(taken=True)
    desk.sync()
    assert len(desk.facts()) == len(laptop.facts()) == (left == ANEW)


def test_an_item_or_paragraph_that_a_person_wrapped_is_one_statement_everywhere(desk: Machine, laptop: Machine) -> None:
    day(desk).parent.mkdir(parents=True)
    told = "## Mine\n\nEve came\n1999. She\nleft.\n\n- Ada mends\nrows\n  daily.\n"
    day(desk).write_text(f"{told}- [ ] Call Bob\n  today.\n\nTim\nsang.\n")
    desk.sync()
    with desk.at_work(), desk.keeper() as keeper:
        keeper.take([], endings=[Ending(desk.facts()[-1].id, MONDAY + timedelta(days=9), "user")])
    meet(desk, laptop)
    assert "\nTim sang. ^l-" in day(laptop).read_text(), "as it was written, without a bullet"
    save(laptop, "[ ]", "[x]")
    save(laptop, "## Mine\n", "## Mine\n\nSaid\nlate.\n")
    meet(laptop, desk)
    for row in ("Ada", "rows", "daily", "Eve", "She"):
        save(desk, row, f"{row} too")
        meet(desk, laptop)
    assert contents(laptop) == {"Ada too mends rows too daily too.", "Eve too came 1999. She too left.", "Tim sang."}
    rows = r"late.\n\nEve too came\n1999. She too\nleft. \^l-.*- Ada too mends\nrows too\n  daily too. \^l-"
    assert re.search(rf"(?s){rows}.*- \[x\] Call Bob\n  today.\n", day(desk).read_text())
    day(desk).write_text(re.sub(r"(?s)Eve.*?\n(?=- \[)", "", day(desk).read_text()))
    meet(desk, laptop)
    assert contents(laptop) == {"Tim sang."}


def test_a_day_whose_save_stopped_at_the_end_of_any_line_deletes_nothing(desk: Machine, laptop: Machine) -> None:
    write_entry(desk, "aaa111", a_fact("The queue holds 500 jobs.", "fact"))
    meet(desk, laptop)
    whole = day(desk).read_text()
    rows = whole.splitlines(keepends=True)
    first = next(number for number, row in enumerate(rows) if row.startswith("### Session"))
    for count in range(first + 1, len(rows) - 1):
        day(desk).write_text("".join(rows[:count]))
        meet(desk, laptop)
        assert contents(laptop) == {"The queue holds 500 jobs."}, rows[count - 1]
    day(desk).write_text(whole)
    meet(desk, laptop)
    assert day(laptop).read_text() == day(desk).read_text() == whole


def test_an_old_copy_of_the_files_takes_nothing_back(desk: Machine, laptop: Machine) -> None:
    """A new machine whose daily logs were copied over before the last corrections."""
    learn(desk, "Use npm here.", quote="npm")
    write_entry(desk)
    desk.sync()
    laptop.daily.folder.mkdir(parents=True)
    day(laptop).write_text(day(desk).read_text())
    save(desk, "Use npm here.", "Use pnpm here.")
    save(desk, "It was slow.", "It was slow at night.")
    meet(desk, laptop)
    assert contents(laptop) == contents(desk) == {"Use pnpm here."}
    assert day(laptop).read_text() == day(desk).read_text()


def test_two_homes_that_lived_apart_keep_what_both_had(desk: Machine, laptop: Machine) -> None:
    learn(desk, "Use pnpm.")
    learn(laptop, "Use tabs.")
    for machine in (desk, laptop):
        for ident in ("shared", f"{machine.name}01"):  # the first from a transcript that lay on both
            write_entry(machine, ident)
    meet(desk, laptop)
    assert desk.pieces() == laptop.pieces()
    assert contents(desk) == {"Use pnpm.", "Use tabs."}
    ids = {tuple(entry.id for entry in machine.daily.entries(MONDAY.date())[2:]) for machine in (desk, laptop)}
    assert ids == {("desk01",)}, "it is the latest"


def test_what_stands_here_already_does_not_count_as_having_come(desk: Machine, laptop: Machine) -> None:
    for machine in (desk, laptop):
        write_entry(machine, "shared")
    learn(desk, "Use pnpm.")
    desk.sync()
    with laptop.at_work(), Records.of(laptop.home.paths) as records:
        done = together.exchange(laptop.home, records, together.carrier_of(laptop.home))
    assert done.line == "1 statement from desk, 1 entry sent"


def test_what_only_a_conflict_copy_of_a_day_holds_is_exchanged(desk: Machine, laptop: Machine) -> None:
    for machine, ident in zip((desk, laptop), ("desk01", "laptop01"), strict=True):
        write_entry(machine, ident)
    copy = day(desk).with_name(f"{day(desk).stem} (laptop's conflicted copy 2026-11-24).md")
    day(laptop).rename(copy)
    meet(desk, laptop)
    assert sorted(entry.id for entry in laptop.daily.entries(MONDAY.date())) == ["desk01", "laptop01"]
    assert not copy.exists()


@pytest.mark.parametrize(("old", "new"), [("It was slow.", "It was slow on Mondays."), ("- [ ] Write", "- [x] Write")])
def test_a_person_who_saves_while_the_exchange_writes_is_not_overwritten(
    desk: Machine, laptop: Machine, old: str, new: str
) -> None:
    write_entry(desk)
    meet(desk, laptop)
    save(desk, "It was slow.", "It was slow at night.")
    desk.sync()
    saved: list[str] = []

    def reached(step: str) -> None:
        if step == "files.compared" and not saved:
            saved.append(step)
            save(laptop, old, new)

    laptop.sync(reached)
    meet(laptop, desk)
    assert all(said in day(each).read_text() for each in (desk, laptop) for said in ("It was slow at night.", new))


def test_nothing_of_an_excluded_project_is_exchanged(desk: Machine, laptop: Machine) -> None:
    for machine, key in ((desk, SHOP), (laptop, BLOG)):
        machine.home.settings.exclude = ("/jobs/secret",)
        Path(machine.home.paths.folders).write_text(f'{{"{key}": ["/jobs/secret"]}}')
    learn(desk, "Use pnpm.")
    learn(desk, "Write posts in Markdown.", project=BLOG)  # is sent, and not taken in there
    write_entry(desk)
    learn(desk, "Be kind.", project="*")
    meet(desk, laptop)
    assert contents(laptop) == {"Be kind."}
    assert b"pnpm" not in b"".join(path.read_bytes() for path in desk.folder.parent.glob("carrier/*/*"))
    desk.home.settings.exclude = laptop.home.settings.exclude = ()
    meet(desk, laptop)
    assert contents(laptop) == {"Be kind.", "Use pnpm.", "Write posts in Markdown."} == contents(desk)


def test_a_carrier_that_was_replaced_by_an_empty_one_is_filled_again(desk: Machine, laptop: Machine) -> None:
    learn(desk, "Use pnpm.")
    meet(desk, laptop)
    carrier = Folder(desk.folder.parent / "carrier")
    for machine, name in carrier.list_files():
        (carrier.root / machine / name).unlink()
    laptop.sync()
    assert "Use pnpm." in str([list(unseal(data, None)) for _, data in carrier.read(carrier.list_files())])


def killed(now: bool) -> None:
    if now:
        raise Killed


def texts(desk: Machine) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(desk.folder.parent.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()


@pytest.mark.parametrize("hindrance", ["", "worker", "files.replaced"])
def test_what_is_forgotten_on_one_machine_is_forgotten_on_all(desk: Machine, laptop: Machine, hindrance: str) -> None:
    """Also where a worker is in the way when the others hear of it, or the exchange is killed while it writes."""
    write_entry(desk)
    save(desk, "asked → answered", "asked of the zeppelin → answered")
    meet(desk, laptop)
    save(desk, "asked of the zeppelin → answered", "asked → answered")
    save(desk, "It was slow.", "The zeppelin was slow.")
    fact, _ = learn(desk, "Use the zeppelin.", "The zeppelin lands on Friday.")
    for words in ("Use npm.", "Use pnpm."):  # the last of which the laptop has not heard of when it forgets
        meet(desk, laptop)
        with desk.at_work(), desk.keeper() as keeper:
            keeper.edit(fact.id, words, is_users=True)
    assert "zeppelin" in day(laptop).read_text()
    laptop.forget("zeppelin")
    laptop.sync()
    with locks.take(Path(desk.home.paths.worker_lock)) if hindrance == "worker" else nullcontext():
        desk.sync(lambda step: killed(step == hindrance))
    meet(laptop, desk)
    assert [path for path, data in texts(desk) if b"zeppelin" in data.lower()] == []
    assert contents(desk) == {"Use pnpm."}
    ids = [[entry.id for entry in machine.daily.entries(MONDAY.date())] for machine in (desk, laptop)]
    assert ids == [["aaa111"]] * 2, "each was cut in its own way"
    learn(desk, "Nothing else goes.")
    meet(desk, laptop)
    assert contents(laptop) == {"Use pnpm.", "Nothing else goes."}


@pytest.mark.parametrize("place", [0, 1])
def test_one_of_two_wordings_that_is_forgotten_leaves_every_folder(desk: Machine, laptop: Machine, place: int) -> None:
    (fact,) = learn(desk, "Use pnpm here.")
    meet(desk, laptop)
    for machine in (desk, laptop):
        save(machine, "Use pnpm here.", f"Use {machine.name}pm here.")
        learn(machine, *(f"{machine.name} {number} is on." for number in range(3)))  # stay in the same file there
    meet(desk, laptop)
    said = [each for each in desk.facts() if "pm here" in each.content]
    gone, kept = sorted(said, key=lambda each: (each.id == fact.id) == bool(place))
    desk.forget(gone.id)
    meet(desk, laptop)
    assert contents(desk) == contents(laptop)
    assert [each for each in contents(desk) if "pm here" in each] == [kept.content]
    word = gone.content.split()[1]
    assert [path for path, data in texts(desk) if word.encode() in data and path.parent.name != "replaced"] == []


def test_what_was_deleted_here_and_is_forgotten_elsewhere_is_in_no_file(desk: Machine, laptop: Machine) -> None:
    fact, other = learn(desk, "The zeppelin lands on Friday.", "The Zeppelin is grey.")
    meet(desk, laptop)
    old = day(desk).read_text()
    with desk.at_work(), desk.keeper() as keeper:
        keeper.delete(fact.id)
    laptop.forget(fact.id)
    meet(laptop, desk)
    laptop.forget(other.id)
    laptop.sync()
    desk.sync(lambda step: step == "exchange.read" and day(desk).write_text(re.sub(".*eppelin.*\n", "", old)))
    for told in ("also in no earlier version", "also where an old copy of the day is put back"):
        meet(laptop, desk)
        assert [path for path, data in texts(desk) if b"zeppelin" in data.lower()] == [], told
        day(desk).write_text(old)


def test_pages_are_renewed_when_something_came_and_only_then(desk: Machine, laptop: Machine) -> None:
    learn(desk, "Use pnpm.")
    desk.sync()
    for is_news in (True, False):
        with laptop.at_work(), mock.patch.object(refresh, "renew") as renew:
            together.run(laptop.home, is_news=True)
        assert renew.called == is_news
    day(laptop).unlink()
    with laptop.at_work(), mock.patch.object(refresh, "renew") as renew, Records.of(laptop.home.paths) as records:
        together.exchange(laptop.home, records, None, taken=True)
    assert renew.called, "what a person deleted has gone"


def test_the_user_is_told_that_a_newer_version_wrote_the_records(desk: Machine) -> None:
    desk.sync()
    with Records.of(desk.home.paths) as records:
        records.db.execute("PRAGMA user_version = 99")
    with desk.at_work():
        together.run(desk.home, is_news=True)
    assert "update memoria" in Path(desk.home.paths.notice).read_text()


def test_an_entry_that_is_forgotten_leaves_its_turns_alone_for_good(desk: Machine, laptop: Machine) -> None:
    write_entry(desk, "aaa111", a_fact("Use pnpm."), a_fact("Use tabs."))
    meet(desk, laptop)
    for machine in (desk, laptop):  # at once
        machine.forget("e-aaa111")
    meet(desk, laptop)
    assert "slow" not in day(laptop).read_text()
    assert laptop.daily.read(MONDAY.date()).tombstones() == [("aaa111", ("kaaa111",))]
    assert not contents(laptop)


def test_a_new_machine_gets_the_tombstones(desk: Machine, laptop: Machine) -> None:
    learn(desk, "Use pnpm.")
    write_entry(desk)
    for target in ("zeppelin", "e-aaa111"):
        desk.forget(target)
    stones = [("aaa111", ("kaaa111",)), ("-", ("k1",)), ("-", ("k2",))]  # turns that had no entry, the last two
    desk.daily.edit(MONDAY.date(), lambda text: text.append("\n".join(tombstone(*stone) for stone in stones[1:])))
    meet(desk, laptop)
    learn(laptop, "The zeppelin lands on Friday.")  # said on a machine that had not been met
    meet(laptop, desk)
    assert contents(laptop) == contents(desk) == {"Use pnpm."}
    assert sorted(laptop.daily.read(MONDAY.date()).tombstones()) == sorted(stones)


def test_the_same_over_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "host.git"], check=True)
    life = Life(tmp_path, 7, 2, str(tmp_path / "host.git"))
    assert life.play(16) == []


@pytest.mark.parametrize("seed", range(4))
def test_random_lives_end_as_before(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_lives, "SECONDS", itertools.count())
    life = Life(tmp_path, seed, 2 + seed % 2)
    assert life.play(30) == []
    tops = [Path(top) for each in life.machines for top in (each.home.paths.daily, each.home.paths.knowledge)]
    files = [path for top in tops for path in sorted(top.rglob("*.md"))]
    same(f"read/life{seed}.txt", (f"{digest([path.read_bytes()])} {path.relative_to(tmp_path)}" for path in files))


def test_lives_that_once_ended_with_a_fault_end_well(tmp_path: Path) -> None:
    with mock.patch.object(home_lives, "SECONDS", itertools.count()):
        assert Life(tmp_path / "1", 520620, 2).play(40) == [], "both of two wordings go, deleted on two machines"
        assert Life(tmp_path / "2", 4100918, 4).play(40) == [], "a summary made anew is told to the others"
        assert Life(tmp_path / "3", 5100669, 3).play(40) == [], "a third wording stands, which came with the second"


def test_page_and_reader_say_when_machines_met_and_what_waits_for_a_person(desk: Machine, laptop: Machine) -> None:
    learn(desk, "Uploads go through the queue.")
    meet(desk, laptop)
    for machine, change in zip((desk, laptop), ("wait in the queue", "pass the queue"), strict=True):
        save(machine, "go through the queue", change)
    meet(desk, laptop)
    with Keeper.at(desk.home) as keeper:
        refresh.renew(desk.home, keeper)
    assert "Other machines, last met: laptop 2026-12-16." in Path(desk.home.paths.page_of(SHOP)).read_text()
    (need,) = [need for need in reader_home.needs(desk.home) if "other words" in need.title]
    assert "wait in the queue" in need.text
    assert "pass the queue" in need.text
