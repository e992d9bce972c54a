"""Once a day a model says which of the most similar statements still hold, and what ended can be taken back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from facts import MONDAY, SHOP, a_fact
from memoria.commands import compile as compiling
from memoria.daily.ledger import Call, Ledger
from memoria.ground import clock
from memoria.ground import home as ground
from memoria.ground.errors import OverBudgetError
from memoria.index.index import Index
from memoria.models.protocol import Prompt
from memoria.pages import refresh
from memoria.statements import lines
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.wiki import index_page
from memoria.wiki.transaction import Transactions
from memoria.worker import consolidation
from memoria.worker.compiler import Compile
from scripted_model import Scripted
from wiki_home import WikiHome, entry, placed, stated

pytestmark = pytest.mark.slow

QUEUE = "Uploads of the shop go through the queue."
DIRECT = "Uploads of the shop go straight to the bucket, past the queue."
AGAIN = "The shop sends its uploads through the queue before anything else."
KEEPS = "Backups of the database are kept for nine weeks."

Answer = Callable[[Prompt], dict[str, Any]]


class Home(WikiHome):
    """A home whose facts and claims are consolidated by an answer."""

    def learn(self, *facts: Fact) -> None:
        with Keeper.at(self.home) as keeper:
            keeper.take(facts)
            refresh.renew(self.home, keeper)

    def facts(self, *, live: bool = True) -> dict[str, Fact]:
        with Keeper.at(self.home) as keeper:
            return {fact.content: fact for fact in keeper.store.facts(live=live)}

    def claims(self, slug: str) -> list[str]:
        article = self.wiki.get(slug)
        assert article
        return [each.text for each in article.claims]

    def consolidate(self, verdict: str | Answer) -> Scripted:
        """Ask now, whatever was asked today; ``verdict``: for every pair, or a function of the prompt."""
        model = Scripted(verdict if callable(verdict) else lambda prompt: same_for_all(prompt, verdict))
        with patch("memoria.models.chain.from_settings", lambda *_: model), closing(Compile.of(self.home)) as compile_:
            compile_.prepare()
            run = consolidation.Consolidation(
                self.home, compile_.ledger, compile_.index, compile_.model, compile_.keeper
            )
            run.run(run.likeliest())
        return model

    def compile_due(self, verdict: str = "both", **settings: str) -> list[str]:
        """Run a compile as the worker does; return the tasks that the model was asked."""
        variables = {
            "MEMORIA_COMPILE_INTERVAL_MIN": "0",
            **{f"MEMORIA_{name}": value for name, value in settings.items()},
        }
        with patch.dict(os.environ, variables):
            home = ground.Home.open()
        model = Scripted(lambda prompt: {"places": []} if prompt.task == "compile" else same_for_all(prompt, verdict))
        with patch("memoria.models.chain.from_settings", lambda *_: model), patch.object(self, "home", home):
            self.run(compiling, "--due")
        return [prompt.task for prompt in model.prompts]

    def search(self, words: str, kind: str) -> str:
        with Index(self.home.paths.index) as index:
            return " ".join(part for hit in index.search(words, kinds=(kind,)) for part in hit.passages)

    def page(self) -> str:
        return Path(self.home.paths.page, f"{SHOP}.md").read_text()


def same_for_all(prompt: Prompt, verdict: str) -> dict[str, Any]:
    pairs = prompt.material["pairs"]
    return {"pairs": [{"pair": number, "verdict": verdict, "why": "a test"} for number, _ in enumerate(pairs, 1)]}


def about(prompt: Prompt, winner: str) -> dict[str, Any]:
    """Answer that the statement with these words holds in every pair that has it."""
    rows = []
    for number, pair in enumerate(prompt.material["pairs"], 1):
        sides = [name for name in ("first", "second") if pair[name]["text"] == winner]
        rows.append({"pair": number, "verdict": sides[0] if sides else "both"})
    return {"pairs": rows}


@pytest.fixture
def home() -> Home:
    return Home()


def two_facts(home: Home) -> tuple[Fact, Fact]:
    old, new = a_fact(QUEUE, "decision"), a_fact(DIRECT, "decision", day=1)
    home.learn(old, new)
    assert set(home.facts()) == {QUEUE, DIRECT}, "the premise: nothing ends them without a model"
    return old, new


def placed_facts(home: Home) -> tuple[Fact, Fact]:
    """Two facts that contradict each other, each on an article of its own."""
    old, new = a_fact(QUEUE, "decision"), a_fact(DIRECT, "decision", day=1, session="s-2")
    keeps = a_fact(KEEPS, "decision", day=1, session="s-2")
    home.log(replace(entry("a1"), learned=(lines.learned(old),)))
    home.log(replace(entry("b2", 18), learned=(lines.learned(new), lines.learned(keeps))))
    home.log(replace(entry("c3", 18), learned=(lines.learned(a_fact("Uploads are resumed.", session="s-3")),)))
    uploads = [old.id, a_fact("Uploads are resumed.", session="s-3").id]
    assert home.compile([placed("uploads", *uploads), placed("bucket", new.id, keeps.id)]) == 0
    assert QUEUE in home.claims("concepts/uploads")
    return old, new


# -- contradictions and repetitions


def test_of_two_facts_that_contradict_each_other_the_older_ends_everywhere(home: Home) -> None:
    old, new = two_facts(home)
    model = home.consolidate("second")
    (prompt,) = model.prompts
    assert f"{old.id} · 2026-11-16 · user · {QUEUE}" in prompt.text
    assert set(home.facts()) == {DIRECT}
    ended = home.facts(live=False)[QUEUE]
    assert (ended.successor, ended.ended) == (new.id, new.time)
    assert QUEUE not in home.search("uploads queue", "fact")
    assert QUEUE not in home.page()
    assert DIRECT in home.page()


def test_what_ends_moves_to_the_history_and_what_holds_takes_its_place(home: Home) -> None:
    placed_facts(home)
    home.consolidate("second")
    assert DIRECT in home.claims("concepts/uploads")
    _, _, history = home.text("concepts/uploads").partition("## History")
    assert QUEUE in history
    assert f"Since then: {DIRECT}" in history


def test_of_two_facts_that_say_the_same_the_older_ends_and_what_it_says_stays_true(home: Home) -> None:
    old = a_fact(QUEUE, "decision", session="s-a1")
    home.log(replace(entry("a1"), learned=(lines.learned(old),)))
    assert home.compile([placed("uploads")]) == 0
    home.learn(a_fact(AGAIN, "decision", day=1))
    assert set(home.facts()) == {QUEUE, AGAIN}
    home.consolidate(lambda prompt: same_for_all(prompt, "same"))
    assert set(home.facts()) == {AGAIN}
    assert home.facts(live=False)[QUEUE].repetition
    assert home.claims("concepts/shop") == [AGAIN], "it stands in the place of the other"
    assert home.compile_due() == [], "its entry has not changed in what it says"


@pytest.mark.parametrize(
    ("newer", "verdict", "stay"),
    [
        ({}, "first", {QUEUE, DIRECT}),  # the user's newest word does not yield to an older one
        ({"origin": "assistant", "kind": "fact"}, "second", {QUEUE, DIRECT}),  # nor the user's to an assistant's
        ({"origin": "assistant", "kind": "fact"}, "first", {QUEUE}),
        ({"origin": "assistant", "kind": "fact"}, "same", {QUEUE}),
    ],
)
def test_the_users_latest_word_wins_whatever_the_model_says(
    home: Home, newer: dict[str, Any], verdict: str, stay: set[str]
) -> None:
    home.learn(a_fact(QUEUE, "decision"), a_fact(DIRECT, day=1, **{"kind": "decision", **newer}))
    home.consolidate(verdict)
    assert set(home.facts()) == stay


def test_what_was_said_again_while_the_model_thought_does_not_end(home: Home) -> None:
    old, _ = two_facts(home)

    def answer(prompt: Prompt) -> dict[str, Any]:
        with Keeper.at(home.home) as keeper:
            keeper.write(replace(old, last=MONDAY + timedelta(days=3), seen=2))
        return same_for_all(prompt, "second")

    home.consolidate(answer)
    assert set(home.facts()) == {QUEUE, DIRECT}
    assert Transactions.of(home.home.paths).steps() == [], "and nothing is written"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Worker 3 of the shop listens on port 9001.", "Worker 4 of the shop listens on port 9002."),
        ("Production is hosted at Fly in Frankfurt.", "Staging is hosted at Fly in Frankfurt."),
        ("Use tabs, not spaces, in Makefiles.", "Use spaces, not tabs, in Python."),
    ],
)
def test_look_alike_subjects_are_no_candidates(one: str, other: str) -> None:
    first, second = a_fact(one), a_fact(other, day=1)
    assert list(consolidation.pairs([first, second])) == []


# -- when, and what it costs


def test_a_few_pairs_wait_for_more(home: Home) -> None:
    two_facts(home)
    home.log(entry("a1", learned=stated(KEEPS)))
    assert home.compile_due() == ["compile"]


def test_a_compile_asks_at_most_once_a_day(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consolidation, "MIN_PAIRS", 1)
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    two_facts(home)
    home.log(entry("a1", learned=stated(KEEPS)))
    assert home.compile_due() == ["compile", "consolidate"]
    home.learn(a_fact("Uploads of the shop skip the queue on Sundays.", day=3))
    home.log(entry("b2", 17, learned=stated("Tides are computed.")))
    assert home.compile_due() == ["compile"], "not twice on one day, although there is something new to ask"
    now += timedelta(days=1)
    home.log(entry("c3", 18, learned=stated("Harmonics are summed.")))
    assert home.compile_due() == ["compile", "consolidate"]


def test_a_pair_is_asked_about_once(home: Home) -> None:
    two_facts(home)
    assert len(home.consolidate("both").prompts) == 1
    assert home.consolidate("second").prompts == []
    assert set(home.facts()) == {QUEUE, DIRECT}


def test_it_stays_within_the_budget_and_is_booked(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consolidation, "MIN_PAIRS", 1)
    two_facts(home)
    home.log(entry("a1", learned=stated(KEEPS)))
    home.compile_due()
    with closing(Ledger.of(home.home.paths)) as ledger:
        booked = [call.task for _, call in ledger.calls_since(clock.now() - timedelta(days=1))]
        assert booked == ["compile", "consolidate"]
        ledger.put(consolidation.KNOWN, [])
        ledger.book(Call("flush", "another", SHOP, "ok", 1_000, 1_000, 5.0, 1.0))
    with patch.dict(os.environ, {"MEMORIA_DAILY_BUDGET_USD": "1"}):
        home.home = ground.Home.open()
    with pytest.raises(OverBudgetError):
        home.consolidate("second")
    assert {QUEUE, DIRECT} <= set(home.facts())


def test_bad_verdicts_cost_only_themselves(home: Home) -> None:
    two_facts(home)
    rows = ["second", {"pair": 9, "verdict": "first"}, {"pair": "x"}, {"pair": "1", "verdict": " Second "}]
    home.consolidate(lambda _: {"pairs": rows})
    assert set(home.facts()) == {DIRECT}


# -- diff, undo and kills


def test_diff_shows_and_undo_takes_back_facts_and_claims(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = placed_facts(home)
    before = home.files()
    home.consolidate("second")
    assert QUEUE not in home.facts()
    capsys.readouterr()
    assert home.diff() == 0
    shown = capsys.readouterr().out
    assert f"{old.id} gave way to {new.id}: a test\n-{QUEUE}\n {DIRECT}\n" in shown
    assert f": {QUEUE}" in next(row for row in shown.splitlines() if row.startswith("+- Until 2026-11-1"))
    assert home.undo() == 0
    assert "1 fact current again" in capsys.readouterr().out
    assert home.files() == before
    assert home.facts()[QUEUE].ended is None
    assert QUEUE in home.search("uploads queue", "fact")
    assert QUEUE in home.page()
    assert home.consolidate("second").prompts == [], "what was taken back is not asked about again"
    assert QUEUE in home.claims("concepts/uploads")


def test_a_fact_that_a_person_changed_since_is_left_alone_by_undo(home: Home) -> None:
    old, _ = two_facts(home)
    home.consolidate("second")
    with Keeper.at(home.home) as keeper:
        keeper.delete(old.id)
    assert home.undo() == 0
    assert set(home.facts(live=False)) == {DIRECT}


RUN = """
from memoria.commands import undo
from memoria.ground.home import Home
from scripted_model import Scripted
from memoria.worker.compiler import Compile
from memoria.worker.consolidation import Consolidation
from unittest.mock import patch
import argparse
home = Home.open()
model = Scripted(lambda prompt: {"pairs": [
    {"pair": number, "verdict": "second"} for number, _ in enumerate(prompt.material["pairs"], 1)]})
"""
CONSOLIDATE = """
with patch("memoria.models.chain.from_settings", lambda *_: model):
    all = Compile.of(home)
    all.prepare()
    run = Consolidation(home, all.ledger, all.index, all.model, all.keeper)
    run.run(run.likeliest())
"""
UNDO = """
undo.command(argparse.Namespace(show=None, list=False, steps=1), home)
"""
KILLS = [
    "transaction.staged",
    "transaction.journaled",
    "transaction.swapped:1",
    "transaction.swapped:2",
    "transaction.closed",
]


def killed(what: str, at: str) -> int:
    scripts = str(Path(consolidation.__file__).parents[2])
    support = str(Path(__file__).parents[1] / "support")
    environment = {**os.environ, "MEMORIA_KILL_AT": at, "PYTHONPATH": os.pathsep.join((scripts, support))}
    return subprocess.run([sys.executable, "-c", RUN + what], env=environment, check=False).returncode


def state(home: Home) -> tuple[bool, bool, bool]:
    """Whether the old statement holds, stands on its article, and in its history, after the next worker's steps."""
    Transactions.of(home.home.paths).recover()
    with Keeper.at(home.home) as keeper:
        keeper.drain()
        refresh.renew(home.home, keeper)
        assert keeper.outbox.waiting() == keeper.outbox.set_aside() == []
    history = "- Until 2026-11-1" in home.text("concepts/uploads")
    return QUEUE in home.facts(), QUEUE in home.claims("concepts/uploads"), history


@pytest.mark.skipif(os.name == "nt", reason="kills as POSIX knows them")
@pytest.mark.parametrize("at", KILLS)
def test_a_run_killed_anywhere_ends_a_statement_everywhere(home: Home, at: str) -> None:
    placed_facts(home)
    assert killed(CONSOLIDATE, at) == -signal.SIGKILL
    assert state(home) == (False, False, True)


@pytest.mark.skipif(os.name == "nt", reason="kills as POSIX knows them")
@pytest.mark.parametrize("at", KILLS[1:])
def test_an_undo_killed_anywhere_lets_a_statement_hold_again_everywhere(home: Home, at: str) -> None:
    placed_facts(home)
    home.consolidate("second")
    assert state(home) == (False, False, True)
    assert killed(UNDO, at) == -signal.SIGKILL
    assert state(home) == (True, True, False)


def test_a_page_that_a_person_saves_meanwhile_is_read_again(home: Home) -> None:
    placed_facts(home)
    original, saved = index_page.commit, threading.Event()

    def racing(*given: Any, **named: Any) -> None:
        if not saved.is_set():
            home.edit("concepts/uploads", "# Uploads", "# Uploads\n\nMine.")
            saved.set()
        original(*given, **named)

    with patch("memoria.wiki.settle.commit", racing):
        home.consolidate("second")
    assert saved.is_set()
    assert "Mine." in home.text("concepts/uploads")
    assert QUEUE not in home.claims("concepts/uploads")
