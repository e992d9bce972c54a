"""A person's save is never overwritten: every writer of daily logs and pages, every kind of editor, every moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bench import races
from editors import EDITORS, RacingPerson
from facts import MONDAY, a_fact
from home_of import DAY, catalogued, run
from home_of import article as add_article
from home_of import entry as add_entry
from memoria.commands import forget
from memoria.daily import daily_log
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground.errors import FileBusyError
from memoria.ground.home import Home
from memoria.pages import housekeeping
from memoria.statements.lines import Lines
from memoria.wiki import index_page
from memoria.wiki.transaction import Transactions
from wiki_home import WikiHome, entry, placed, stated

pytestmark = pytest.mark.slow

BEFORE = "The port is 8080, because the gateway holds 80."
AFTER = "The host is local, because nothing else listens."
SECRET = "The merger with Quaggasoft closes in May."
FACT = a_fact("Use pnpm in this shop.")


@dataclass
class Race:
    """A writer about to write ``path``; ``holds`` says whether its own change stands in the text."""

    path: Path
    write: Callable[[], object]
    holds: Callable[[str], bool]


def append(home: Home) -> Race:
    daily = DailyLog(home.paths)
    daily.append(entry("a1", context=BEFORE))
    return Race(daily.path(entry("a1").day), lambda: daily.append(entry("b2")), lambda text: "^e-b2" in text)


def append_to_a_new_day(home: Home) -> Race:
    daily = DailyLog(home.paths)
    daily.folder.mkdir(parents=True, exist_ok=True)
    return Race(daily.path(entry("a1").day), lambda: daily.append(entry("b2")), lambda text: "^e-b2" in text)


def with_a_fact(home: Home) -> tuple[Lines, Path]:
    lines = Lines(DailyLog(home.paths))
    lines.add(FACT, MONDAY.date(), "10:00", "shop")
    return lines, lines.daily.path(MONDAY.date())


def add_fact(home: Home) -> Race:
    lines, path = with_a_fact(home)
    other = a_fact("Never push on a Friday.")
    return Race(path, lambda: lines.add(other, MONDAY.date(), "11:00", "shop"), lambda text: f"^{other.id}" in text)


def change_fact(home: Home) -> Race:
    lines, path = with_a_fact(home)
    changed = replace(FACT, content="Use yarn in this shop.")
    return Race(path, lambda: lines.change(changed, MONDAY.date()), lambda text: "Use yarn" in text)


def remove_fact(home: Home) -> Race:
    lines, path = with_a_fact(home)
    return Race(path, lambda: lines.remove(FACT.id, MONDAY.date()), lambda text: FACT.content not in text)


def forget_from_a_day(home: Home) -> Race:
    add_entry(home, "01aa", "Merger", context=SECRET)
    path = DailyLog(home.paths).path(DAY)
    return Race(path, lambda: run(forget, home, "--yes", SECRET), lambda text: "Quaggasoft" not in text)


def tombstone(home: Home) -> Race:
    add_entry(home, "01aa", "Merger", context=SECRET)
    path = DailyLog(home.paths).path(DAY)
    return Race(path, lambda: run(forget, home, "--yes", "^e-01aa"), lambda text: "forgotten entry=01aa" in text)


def forget_from_a_page(home: Home) -> Race:
    add_entry(home, "01aa", "Merger", context=SECRET)
    add_entry(home, "01bb", "Port", context=BEFORE)
    add_article(home, "concepts/deals", "Deals", (SECRET, "01aa"), (BEFORE, "01bb"))
    path = Path(home.paths.knowledge, "concepts/deals.md")
    return Race(path, lambda: run(forget, home, "--yes", SECRET), lambda text: "Quaggasoft" not in text)


def compiled(home: Home) -> tuple[WikiHome, Path]:
    wiki = WikiHome()
    wiki.log(entry("a1", learned=stated(BEFORE, "It is the listener of the shop.")))
    wiki.compile([placed("port")])
    wiki.log(entry("b2", day=17, learned=stated(AFTER)))
    return wiki, Path(home.paths.knowledge, "concepts/port.md")


def compile_(home: Home) -> Race:
    wiki, path = compiled(home)
    return Race(path, lambda: wiki.compile([placed("port")]), lambda text: AFTER[:-1] in text)


def undo(home: Home) -> Race:
    wiki, path = compiled(home)
    wiki.compile([placed("port")])
    return Race(path, wiki.undo, lambda text: AFTER[:-1] in text)  # left alone, and it says so


WRITERS: dict[str, Callable[[Home], Race]] = {
    made.__name__: made
    for made in (
        append, append_to_a_new_day, add_fact, change_fact, remove_fact, forget_from_a_day, tombstone,
        forget_from_a_page, compile_, undo,
    )
}  # fmt: skip


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("MEMORIA_MODEL", "offline")
    return Home.open()


# All of an exchange's moments and editors with the one writer, each of the others with one of them.
MOMENTS = [(save, step) for save in EDITORS for step in ("files.written", "files.compared")]
RACES = [(name, *MOMENTS[number % len(MOMENTS)]) for number, name in enumerate(WRITERS)]
RACES += [("compile_", *moment) for moment in MOMENTS if ("compile_", *moment) not in RACES]


@pytest.mark.parametrize(("writer", "save", "step"), RACES)
def test_a_save_in_the_moment_of_writing_stands_and_so_does_what_was_written(
    home: Home, writer: str, save: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    race = WRITERS[writer](home)
    with monkeypatch.context() as patch:
        person = RacingPerson(patch, race.path, EDITORS[save], step)
        race.write()
    assert len(person.saved) == 1, "the test can fail"
    text = race.path.read_text("utf-8")
    assert text.count(person.saved[0]) == 1
    assert race.holds(text)
    assert [path.name for path in race.path.parent.iterdir() if not path.name.endswith(".md")] == []


@pytest.mark.parametrize("writer", [forget_from_a_page, compile_])
def test_a_save_after_the_page_was_read_and_before_it_was_planned_stands(
    home: Home, writer: Callable[[Home], Race], monkeypatch: pytest.MonkeyPatch
) -> None:
    race = writer(home)
    catalogued(home)
    pages = index_page.pages
    saves: list[str] = []

    def planning(*given: Any) -> Any:
        if not saves:
            saves.append("Saved while memoria planned.")
            race.path.write_text(f"{race.path.read_text('utf-8')}\n{saves[0]}\n", "utf-8")
        return pages(*given)

    with monkeypatch.context() as patch:
        patch.setattr(index_page, "pages", planning)
        race.write()
    text = race.path.read_text("utf-8")
    assert saves[0] in text
    assert race.holds(text)


def test_a_day_that_is_saved_again_and_again_is_refused_and_neither_save_nor_entry_is_lost(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daily_log, "TRIES", 3)
    race = append(home)
    with monkeypatch.context() as patch:
        person = RacingPerson(patch, race.path, EDITORS["rename"], "files.compared", times=100)
        with pytest.raises(FileBusyError, match=r"2026-11-16\.md keeps being saved"):
            race.write()
    text = race.path.read_text("utf-8")
    assert len(person.saved) == 3
    assert all(line in text for line in person.saved)
    race.write()
    assert race.holds(race.path.read_text("utf-8"))


def test_undo_restores_what_was_saved_while_the_page_was_compiled(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    race = compile_(home)
    with monkeypatch.context() as patch:
        person = RacingPerson(patch, race.path, EDITORS["rename"], "files.compared")
        race.write()
    Transactions(home.paths).undo()
    text = race.path.read_text("utf-8")
    assert person.saved[0] in text
    assert AFTER[:-1] not in text


@pytest.mark.parametrize("name", [".2026-11-16.md.swp", "2026-11-16.md~", "#2026-11-16.md#", ".#2026-11-16.md"])
def test_the_files_of_editors_are_no_content_and_are_never_deleted(home: Home, ledger: Ledger, name: str) -> None:
    race = append(home)
    for folder in (race.path.parent, Path(home.paths.knowledge, "concepts")):
        folder.mkdir(parents=True, exist_ok=True)
        if name.startswith(".#"):
            (folder / name).symlink_to("someone@somewhere.1234")
        else:
            (folder / name).write_text(f"### Session (10:00) · x · y\n{SECRET}\n")
    race.write()
    housekeeping.clean(home.paths)
    DailyLog(home.paths).sweep()
    wiki = WikiHome()
    wiki.compile([placed("port")])
    assert SECRET not in str(wiki.prompts)
    DailyLog(home.paths).refresh(ledger)
    assert len(ledger.entries()) == 2
    for folder in (race.path.parent, Path(home.paths.knowledge, "concepts")):
        assert name in [path.name for path in folder.iterdir()]


@pytest.mark.parametrize(("kind", "saves", "slow_ms"), [("append", 20, 5), ("compile", 3, 5)])
def test_no_save_is_lost_that_races_a_real_process(tmp_path: Path, kind: str, saves: int, slow_ms: float) -> None:
    tally = races.race(kind, saves, tmp_path, slow_ms)
    assert (tally.saves.total(), tally.lost, tally.refused) == (saves, 0, 0)
