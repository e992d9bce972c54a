"""Answers contain only links that code has looked up; without a model the passages are the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from facts import a_fact
from home_of import DAY, article, catalogued, entry, run, scripted
from memoria.commands import query
from memoria.ground.home import Home
from memoria.ground.markdown import links
from memoria.mcp import search
from memoria.mcp.calls import Session
from memoria.statements import lines
from memoria.statements.keeper import Keeper

LOCK = f"daily/{DAY}#^e-01aa"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("MEMORIA_MODEL", "offline")
    home = Home.open()
    first = entry(home, "01aa", "Flush race", context="Hold `worker.lock` before reading the spool.")
    entry(home, "01bb", "Deploy", context="Deploys run on Fridays with `make ship`.")
    article(home, "concepts/worker-lock", "Worker lock", ("Hold `worker.lock` before reading the spool.", "01aa"))
    article(home, "concepts/deploys", "Deploys", ("Deploys run on Fridays with `make ship`.", "01bb"))
    catalogued(home, first)
    return home


def answering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, *rests_on: str) -> tuple[Home, Path]:
    script = scripted(tmp_path, monkeypatch, query=[{"text": answer, "rests_on": list(rests_on)}])
    return Home.open(), script


def test_an_answer_is_printed_with_the_links_it_rests_on(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, script = answering(
        tmp_path, monkeypatch, f"Hold `worker.lock` first. [[concepts/worker-lock]] [[{LOCK}]]", "concepts/worker-lock"
    )
    assert run(query, home, "when", "is", "the", "worker", "lock", "held?") == 0
    shown = capsys.readouterr().out
    assert f"Hold `worker.lock` first. [[concepts/worker-lock]] [[{LOCK}]]" in shown
    assert "- [[concepts/worker-lock]] Worker lock" in shown
    asked = json.loads(Path(f"{script}.calls").read_text().splitlines()[0])["text"]
    assert "<passages-" in asked
    assert "<question-" in asked


def test_answers_say_when_the_index_is_being_built(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session(home, "x-000000", "s")
    monkeypatch.setattr(home.settings, "search_wait_s", 0.0)
    lacking = "The search index is being brought up to date"
    assert run(query, home, "worker", "lock") == 0
    assert lacking in capsys.readouterr().err
    assert lacking in search.search(session, {"query": "worker lock"})
    assert lacking in search.query(session, {"question": "worker lock?"})
    monkeypatch.setattr(home.settings, "search_wait_s", 60.0)
    assert run(query, home, "worker", "lock") == 0
    assert lacking not in capsys.readouterr().err


def test_an_answer_from_a_learned_fact_links_to_it(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gauge = a_fact("The harbour gauge stands on the mole.", project="shop-aaaaaa")
    ref = f"daily/{entry(home, '01cc', 'Gauge', learned=(lines.to_learned(gauge),)).day}#^{gauge.id}"
    home, script = answering(tmp_path, monkeypatch, f"It stands on the mole. [[{ref}]]", ref)
    assert run(query, home, "Where is the harbour gauge?") == 0
    shown = capsys.readouterr().out
    assert f"It stands on the mole. [[{ref}]]" in shown
    assert "do not resolve" not in shown
    assert gauge.content in json.loads(Path(f"{script}.calls").read_text().splitlines()[0])["text"]


def test_what_was_remembered_without_a_session_is_answered_from(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    with Keeper.at(home) as keeper:
        keeper.take([a_fact("Herons nest in the old quarry.", session="")])
    assert run(query, home, "Where do herons nest?") == 0
    assert "Herons nest in the old quarry." in capsys.readouterr().out


def test_a_link_that_leads_nowhere_is_not_printed_as_one_and_is_named(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, _ = answering(
        tmp_path, monkeypatch,
        f"Held early. [[concepts/invented]] [[daily/{DAY}#^e-99zz]] [[concepts/worker-lock#No such part]]",
        "concepts/other",
    )  # fmt: skip
    assert run(query, home, "worker lock") == 0
    shown = capsys.readouterr().out
    assert links(shown) == []
    for name in ("concepts/invented", f"daily/{DAY}#^e-99zz", "concepts/worker-lock#No such part", "concepts/other"):
        assert name in shown.split("do not resolve: ")[1]


def test_without_a_language_model_the_passages_are_printed(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(query, home, "worker lock spool") == 0
    shown = capsys.readouterr().out
    assert "the setting `model` is offline" in shown
    assert "[[concepts/worker-lock]]" in shown
    assert "Hold `worker.lock` before reading the spool." in shown
