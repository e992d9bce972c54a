"""The prepared page: what leads it, what is not on it, and that it stays the same while knowledge does."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from facts import BLOG, MONDAY, SHOP, a_fact
from home_of import DAY, article, entry, run
from memoria.base import fence
from memoria.base.project import key_of_path
from memoria.capture.hook import Event
from memoria.commands import forget, learned
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.pages import refresh
from memoria.recall.session_start import session_start
from memoria.statements.fact import GLOBAL, Fact
from memoria.statements.keeper import Keeper


@pytest.fixture
def home() -> Home:
    return Home.open()


def learn(home: Home, *facts: Fact) -> None:
    with Keeper.at(home) as keeper:
        keeper.take(facts)


def page(home: Home, project: str = SHOP) -> str:
    """The project's page as the worker prepares it."""
    ledger = Ledger(home.paths)
    DailyLog(home.paths).refresh(ledger)
    ledger.close()
    with Keeper.at(home) as keeper:
        refresh.renew(home, keeper)
    return Path(home.paths.page, f"{project}.md").read_text("utf-8")


def leads(home: Home, project: str = SHOP) -> list[str]:
    return re.findall(r"^- \[.*$", page(home, project).split("\n## ")[1], re.MULTILINE)


def test_the_page_leads_with_what_matters_most_here(home: Home) -> None:
    short = a_fact("Write short functions.", importance=0.8)
    learn(
        home,
        a_fact("The logo is blue.", "fact", importance=0.3, beside=f"{short.id} desk"),
        a_fact("Old preference about commas.", importance=0.8, day=-400),
        short,
        a_fact("Answer in British English.", importance=0.8, project=GLOBAL),
        a_fact("Quote every path.", importance=0.9, project=BLOG),
        a_fact("Never use float for money.", "correction", importance=0.9),
    )
    assert leads(home) == [
        "- [correction] Never use float for money. (2026-11-16)", "- [preference] Write short functions. (2026-11-16)",
        "- [preference] Answer in British English. (2026-11-16, everywhere)",
        "- [preference] Old preference about commas. (2025-10-12)",
        f"- [fact] The logo is blue. (2026-11-16, so on desk, otherwise in {short.id})",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "語" * 85], ids=["ASCII", "Latin", "CJK"])
def test_a_folder_name_of_any_length_costs_no_project_its_page(home: Home, name: str) -> None:
    folders = [f"/home/ada/{name}", f"/home/eve/{name}"]
    keys = [key_of_path(folder) for folder in folders]
    for number, key in enumerate(keys):
        learn(home, a_fact(f"Only project {number} knows it.", project=key))
    learn(home, a_fact("Quote every path.", project=SHOP))
    assert leads(home) == ["- [preference] Quote every path. (2026-11-16)"]
    for number, folder in enumerate(folders):
        told = session_start(Event({"cwd": folder, "source": "startup"}), home.settings, home.paths)
        assert f"Only project {number} knows it." in json.dumps(told)
        assert f"Only project {1 - number}" not in json.dumps(told)
    page(home)
    assert Path(home.paths.page_of(keys[0])).exists(), "pages in use are not cleared away"


def section(text: str, heading: str) -> list[str]:
    """The rows of a section of the page."""
    part = text.partition(f"## {heading}\n")[2].partition("\n\n")[0]
    return [row for row in part.split("\n") if row.startswith("- ")]


def test_rules_of_the_person_come_before_facts_of_any_importance(home: Home) -> None:
    learn(
        home,
        a_fact("The price list lies in prices.csv.", "fact", importance=1.0),
        a_fact("Money is counted in cents.", "decision", importance=1.0),
        a_fact("Write short functions.", importance=0.15, day=-300),
        a_fact("Never use float for money.", "correction", importance=0.2, day=-200),
        a_fact("Run the formatter.", "correction", importance=0.15, day=-400),
    )
    learn(home, a_fact("Run the formatter!", "correction", importance=0.15, day=-399))
    kinds = re.findall(r"^- \[([^]]*)\]", page(home), re.MULTILINE)
    assert kinds == ["correction, corrected twice", "correction", "preference", "decision", "fact"]


def test_what_the_last_sessions_worked_on_calls_for_its_facts(home: Home) -> None:
    """Facts of the same kind and weight: the one that the title of the last session names comes first."""
    names = ("harbour", "lantern", "orchard", "glacier", "rounding", "saddle")
    learn(home, *(a_fact(f"The {name} table has one row for each day.", "fact", importance=0.5) for name in names))
    entry(home, "aa11", "Half-up in rounding", project_key=SHOP)
    assert "rounding" in leads(home)[0]


def test_a_session_of_several_entries_is_told_once_where_it_stopped(home: Home) -> None:
    entry(home, "aa11", "Choose pnpm", project_key=SHOP, context="Begun.")
    entry(home, "aa12", "Move to pnpm", project_key=SHOP, context="Half done.")
    text = page(home)
    assert "Move to pnpm. Half done." in text
    assert "Choose pnpm" not in text


def test_what_the_last_sessions_were_about_is_said_once(home: Home) -> None:
    entry(home, "aa11", "Half-up in rounding", project_key=SHOP, context="Half-up in rounding was chosen.")
    entry(home, "aa12", "Tides", project_key=SHOP, context="The water rises.", session="s2")
    entry(home, "aa13", "", project_key=SHOP, session="s3")  # of which nothing holds any more
    log = Path(home.paths.daily, f"{DAY}.md")
    log.write_text(log.read_text().replace("water rises.\n", "water <!-- no\nmore --> rises.\n<!-- Ask Ada. -->\n"))
    rows = re.findall(r"^- .*, shop: (.*)$", page(home), re.MULTILINE)
    assert rows == ["Tides. The water rises.", "Half-up in rounding was chosen."]


@pytest.mark.parametrize("way", ["learned", "forget", "by hand"])
def test_what_was_forgotten_is_absent_at_once(home: Home, way: str) -> None:
    wrong = a_fact("The pangolin runs on Tuesdays.", "fact")
    learn(home, wrong, a_fact("Write short functions."))
    before = page(home)
    assert "pangolin" in before
    if way == "learned":
        assert run(learned, home, "delete", wrong.id) == 0
    elif way == "forget":
        assert run(forget, home, "pangolin", "--yes") == 0
    else:
        day = Path(home.paths.daily, "2026-11-16.md")
        day.write_text(re.sub(r"- \[fact\] The pangolin.*\n(?:  .*\n)*", "", day.read_text()))
        page(home)
    after = Path(home.paths.page, f"{SHOP}.md").read_text("utf-8")
    assert "pangolin" not in after
    assert "Write short functions." in after


def test_the_page_is_byte_for_byte_the_same_however_late_it_is(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    learn(home, *(a_fact(f"Fact number {n} about {'abcdefgh'[n]}.", importance=0.5, day=-60 * n) for n in range(8)))
    article(home, "concepts/money", "Money")
    entry(home, "aa11", "Rounding", project_key=SHOP)
    before = page(home)
    monkeypatch.setattr(clock, "now", lambda: MONDAY + timedelta(days=900))
    assert page(home) == before


@pytest.mark.slow
@pytest.mark.parametrize("limit", [9_500, 4_000, 1_200])
def test_a_page_keeps_its_limit_by_dropping_items(home: Home, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIA_LIMIT_PAGE_CHARS", str(limit))
    facts = [a_fact(f"Rule {n} of house {n * 7}: " + f"word{n} " * (n % 40) + "end.", "operational") for n in range(90)]
    learn(home, *facts)
    home = Home.open()
    text = page(home)
    assert len(text) <= limit
    rows = re.findall(r"^- \[operational\] (.*) \(2026-11-16\)$", text, re.MULTILINE)
    whole = {fence.defuse(fact.content) for fact in facts}
    assert rows
    assert set(rows) <= whole
    assert text.count("\n- [") == len(rows), "no item is cut"


def test_where_there_is_no_page_what_holds_everywhere_is_told(home: Home) -> None:
    learn(
        home,
        a_fact("Never use float for money.", "correction", importance=1.0),
        a_fact("Answer in British English.", importance=0.3, project=GLOBAL),
    )
    everywhere = "- [preference] Answer in British English. (2026-11-16)"
    assert leads(home, "global") == [everywhere], "a folder that nothing is known of is told nothing of other projects"


def test_a_fact_that_returned_in_a_second_project_holds_in_every_one_by_one_command(home: Home) -> None:
    first = a_fact("Use pnpm, not npm.")
    learn(home, first)
    assert "pnpm" in page(home)
    learn(home, a_fact("Use pnpm, not npm.", project=BLOG, day=1))
    assert run(learned, home, "promote", first.id) == 0
    assert "[preference] Use pnpm, not npm. (said 2 times, last 2026-11-17)" in page(home, "global")
    assert not Path(home.paths.page, f"{SHOP}.md").exists(), "nothing is known of it that the global page does not say"
