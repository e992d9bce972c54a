"""Compile: what the model is shown and asked again, what is set aside, and how promptly it runs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memoria.audit.state_checks import check_jobs
from memoria.commands import status
from memoria.daily import gate
from memoria.daily.gate import FIRST_ENTRIES, compile_due
from memoria.daily.ledger import SET_ASIDE, Ledger
from memoria.ground import clock
from memoria.ground.errors import ExpectedError
from wiki_home import PORT_PAGE, WikiHome, claim, entry, page

LATER = entry("b2", 17, context="The listener port moved to the socket `/run/shop.sock`.", title="Port of the listener")


def aside(wiki: WikiHome) -> list[tuple[str, str]]:
    return wiki.ledger(Ledger.failed_compiles)


def waiting(wiki: WikiHome) -> int:
    return wiki.ledger(Ledger.counts)["uncompiled"]


def invented(prompt: Any) -> Any:
    ident = prompt.material["entries"][0]["id"]
    return {"articles": [page("port", claim("The port is 4711", ident), claim("The host is `mars`", ident))]}


def test_claims_of_near_articles_are_shown_with_numbers_and_replaced_by_them(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(LATER)

    def answer(prompt: Any) -> Any:
        (article,) = prompt.material["articles"]
        shown = {row["text"]: row["number"] for row in article["claims"]}
        assert "claim 1 · 2026-11-16 · [Key Points] The port of the listener is 8080 (a1)" in prompt.text
        row = claim("The listener is on the socket `/run/shop.sock`", "b2")
        return {"articles": [page("port", {**row, "replaces": [shown["The port of the listener is 8080"]]},
                                  summary="The listener is on `/run/shop.sock`.")]}  # fmt: skip

    wiki.compile(answer)
    now, _, history = wiki.text("concepts/port").partition("## History")
    assert "8080" not in now
    assert "Until 2026-11-17: The port of the listener is 8080" in history
    assert "8080" not in wiki.text("index")


def test_of_a_long_page_the_claims_near_the_entries_are_shown(wiki: WikiHome) -> None:
    texts = [f"The {name} of the shop is as it is" for name in (f"thing{n}" for n in range(60))]
    wiki.compile(
        [page("port", claim("The port of the listener is 8080", "a1"), *(claim(text, "a1") for text in texts))]
    )
    wiki.log(LATER)
    wiki.compile([])
    (article,) = wiki.prompts[-1].material["articles"]
    assert "The port of the listener is 8080" in [row["text"] for row in article["claims"]]
    assert len(article["claims"]) < 60


def test_an_answer_that_is_mostly_refused_is_asked_for_once_more_with_the_reasons(wiki: WikiHome) -> None:
    def answer(prompt: Any) -> Any:
        if not prompt.material.get("refused"):
            return invented(prompt)
        assert "4711 not in the source" in prompt.text
        return {"articles": [PORT_PAGE]}

    wiki.compile(answer)
    assert "The port of the listener is 8080" in wiki.text("concepts/port")
    assert len(wiki.prompts) == 2
    assert aside(wiki) == []


def test_one_bad_claim_beside_good_ones_costs_no_second_call(wiki: WikiHome) -> None:
    wiki.compile([page("port", *PORT_PAGE["claims"], claim("The port is 4711", "a1"))])
    assert len(wiki.prompts) == 1
    assert aside(wiki) == []


def test_entries_whose_answers_are_refused_twice_are_set_aside_and_can_be_retried(
    wiki: WikiHome, capsys: pytest.CaptureFixture[str]
) -> None:
    wiki.compile(invented)
    assert len(wiki.prompts) == 2
    assert [name for name, _ in aside(wiki)] == ["a1"]
    assert "4711 not in the source" in aside(wiki)[0][1]
    assert waiting(wiki) == 0
    wiki.compile(invented)
    assert len(wiki.prompts) == 2, "nothing is asked for ever"
    assert not Path(wiki.home.paths.knowledge, "concepts/port.md").exists()
    wiki.run(status)
    assert "1 entry (`memoria compile --retry-failed`)" in capsys.readouterr().out
    assert "memoria compile --retry-failed" in "".join(finding.remedy for finding in check_jobs(wiki.home))
    wiki.compile([PORT_PAGE], "--retry-failed")
    assert "The port of the listener is 8080" in wiki.text("concepts/port")
    assert aside(wiki) == []


def test_what_is_good_in_an_answer_that_is_mostly_refused_is_written(wiki: WikiHome) -> None:
    bad = [claim(f"The port is {number}", "a1") for number in (4711, 4712)]
    wiki.compile([page("port", claim("The port of the listener is 8080", "a1"), *bad)])
    assert "The port of the listener is 8080" in wiki.text("concepts/port")
    assert [name for name, _ in aside(wiki)] == ["a1"]


def test_an_entry_that_was_set_aside_waits_again_when_a_person_edits_it(wiki: WikiHome) -> None:
    wiki.compile(invented)
    path = Path(wiki.home.paths.daily, "2026-11-16.md")
    path.write_text(path.read_text().replace("8080", "8443"))
    wiki.compile([page("port", claim("The port of the listener is 8443", "a1"))])
    assert "8443" in wiki.text("concepts/port")


def test_entries_that_are_answered_badly_again_and_again_are_set_aside(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIA_RETRY_S", ",")
    wiki = WikiHome()
    for _ in range(SET_ASIDE):
        assert waiting(wiki) or not wiki.prompts
        with pytest.raises(ExpectedError):
            wiki.compile(lambda prompt: "no JSON")
    assert waiting(wiki) == 0
    asked = len(wiki.prompts)
    wiki.compile(lambda prompt: "no JSON")
    assert len(wiki.prompts) == asked


def test_a_refused_claim_is_compiled_when_its_day_is_forced(wiki: WikiHome) -> None:
    wiki.compile([page("port", claim("The port is 4711", "a1"), claim("It is the listener", "a1"))])
    wiki.compile([PORT_PAGE], "--file", "daily/2026-11-16.md", "--force")
    assert "The port of the listener is 8080" in wiki.text("concepts/port")


# -- the first hour


NOW = clock.now()


def test_the_first_entries_do_not_wait_for_the_interval_and_later_ones_do() -> None:
    minute = NOW - timedelta(minutes=1)
    assert compile_due(1, 0, minute, NOW, 60)
    assert compile_due(1, FIRST_ENTRIES - 1, minute, NOW, 60)
    assert not compile_due(1, FIRST_ENTRIES, minute, NOW, 60)
    assert not compile_due(0, 0, minute, NOW, 60)
    assert not compile_due(1, 0, minute, NOW, 60, failed=True), "a model that fails is not asked by every worker"
    assert compile_due(1, 0, NOW - timedelta(minutes=61), NOW, 60, failed=True)


def test_a_compile_that_fails_makes_the_first_entries_wait(wiki: WikiHome, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_due() -> bool:
        return wiki.ledger(lambda ledger: gate.is_due(ledger, wiki.home))

    wiki.compile([PORT_PAGE])
    wiki.log(LATER)
    monkeypatch.setenv("MEMORIA_RETRY_S", ",")
    with pytest.raises(ExpectedError):
        WikiHome().compile(lambda prompt: "no JSON")
    assert not is_due()
    wiki.compile([page("port", claim("The listener moved", "b2"))])
    wiki.log(entry("c3", 18, context="The listener is quick."))
    WikiHome().compile([], "--dry-run")
    assert is_due()
