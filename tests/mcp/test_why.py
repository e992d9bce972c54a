"""Why: from a claim to its words, as the archive keeps them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from home_of import DAY, article, line, run, talk
from memoria.commands import learned as learned_facts
from memoria.commands import search, show, why
from memoria.ground.home import Home
from memoria.transcripts.archive import Archive
from memoria.transcripts.screen import Tombstones

CLAIM = "Hold `worker.lock` before reading the spool."


@pytest.fixture
def home() -> Home:
    home = Home.open()
    said = line(1, "user", "Why do entries stand twice?"), line(2, "assistant", "The lock comes too late. \x1b[31m")
    talk(home, "01aa", "Flush race", [*said])
    article(home, "concepts/worker-lock", "Worker lock", (CLAIM, "01aa"), ("By hand.", ""))
    return home


def test_a_claim_leads_to_the_words_that_were_said(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(why, home, "worker.lock", "before", "the", "spool") == 0
    shown = capsys.readouterr().out.replace("**", "")
    assert CLAIM in shown
    assert f"[[daily/{DAY}#^e-01aa]] · 14:05 · shop · Flush race" in shown
    assert "user: Why do entries stand twice?" in shown
    assert "assistant: The lock comes too late." in shown
    assert "\x1b" not in shown


def test_what_was_forgotten_is_not_shown_though_the_archive_still_has_it(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    Tombstones(home.paths).add("The lock comes too late.")
    assert run(why, home, "concepts/worker-lock") == 0
    shown = capsys.readouterr().out
    assert "Why do entries stand twice" in shown
    assert "too late" not in shown
    assert "1 turn of it: not shown" in shown


def test_when_the_archive_has_nothing_any_more_the_answer_says_so(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    Archive.of(home.paths).remove("01aa")
    run(why, home, "concepts/worker-lock")
    assert "2 turns of it: no longer kept" in capsys.readouterr().out
    Path(home.paths.daily, f"{DAY}.md").unlink()
    run(why, home, "concepts/worker-lock")
    assert "known; `memoria verify` says whether its day is gone" in capsys.readouterr().out
    Path(home.paths.daily, "2026-11-02.md").write_text(
        "### Learned (09:00) · shop\n\n- [fact] It is 20 %. ^l-aaaa1111\n"
    )
    cited = "# VAT\n\n## Decisions\n\n- It is 20 %. [[daily/2026-11-02#^l-aaaa1111|2 Nov]]\n"
    (vat := Path(home.paths.knowledge, "concepts", "vat.md")).write_text(cited)
    run(why, home, "concepts/vat")
    assert "known: it was written by hand, or came from elsewhere" in capsys.readouterr().out
    vat.write_text("# VAT\n\nWe charge 20 %.\n")
    assert run(why, home, "concepts/vat") == 0, "an article by hand"


def test_of_a_long_conversation_only_the_turns_that_say_it_are_shown_with_its_words_marked(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [line(100 + n, ("user", "assistant")[n % 2], f"Chatter {n}.") for n in range(40)]
    said[21] = line(121, "assistant", "Take the walrus before reading the ledger.")
    talk(home, "01bb", "Ledger", said)
    article(home, "concepts/ledger", "Ledger", ("Take the walrus before the ledger.", "01bb"))
    run(why, home, "concepts/ledger")
    shown = capsys.readouterr().out
    assert "**Take** the **walrus** before reading the **ledger.**" in shown
    assert "user: Chatter 20." in shown, "the prompt that it answers"
    assert shown.count("Chatter") == 1
    assert "2 of 40 turns; all of it: `" in shown


@pytest.mark.parametrize(
    "named", ["e-01aa", "^e-01aa", f"[[daily/{DAY}#^e-01aa|Flush race]]", "l-7f3a91kc", "^l-7f3a91kc"]
)
def test_an_entry_and_a_fact_are_traced_by_their_id(home: Home, capsys: pytest.CaptureFixture[str], named: str) -> None:
    log = Path(home.paths.daily, f"{DAY}.md")
    learned = "**Learned:**\n\n- [fact] The lock comes too late. ^l-7f3a91kc\n  > The lock comes too late.\n"
    log.write_text(log.read_text().replace("\n^e-01aa", f"\n{learned}\n^e-01aa"))
    run(why, home, named)
    shown = capsys.readouterr().out
    assert "assistant: The lock comes too late." in shown.replace("**", "")
    assert run(show, home, named) == 0
    assert "The lock comes too late." in capsys.readouterr().out
    assert run(search, home, named, "--json") == 0
    paths = {found["entry"] for found in json.loads(capsys.readouterr().out)["results"]}
    assert named.strip("^[]").split("^")[-1].split("|")[0] in paths
    assert run(learned_facts, home, "list", named) == 0
    assert "l-7f3a91kc" in capsys.readouterr().out
