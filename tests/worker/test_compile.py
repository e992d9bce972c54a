"""Compile: its input, a person's edits, repeated runs, bad answers, and how its changes are shown and undone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bench.crash import COMPILE
from facts import a_fact
from memoria.commands import compile as compiling
from memoria.daily import gate
from memoria.daily.gate import compile_due
from memoria.daily.ledger import SET_ASIDE, Ledger
from memoria.ground import clock, projects
from memoria.ground.errors import ExpectedError
from memoria.statements.keeper import Keeper
from memoria.worker import worker
from places import ROOT
from wiki_home import IS, LISTENS, PORT_PAGE, WikiHome, answer_of, entry, placed, stated

SLUG = "concepts/port"
LATER = entry("b2", 17, learned=stated("The host of the listener is local.", "It waits for 20 s."), title="Move")
SCRIPT = {"places": [{"id": f"${text}", "article": "port"} for text in (LISTENS, IS)],
          "articles": [{"slug": "port", "title": "Port"}]}  # fmt: skip


def waiting(wiki: WikiHome) -> int:
    return wiki.ledger(Ledger.counts)["uncompiled"]


def aside(wiki: WikiHome) -> list[tuple[str, str]]:
    return wiki.ledger(Ledger.failed_compiles)


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_an_article_is_written_beside_what_has_its_name_and_is_no_page(
    wiki: WikiHome, tmp_path: Path, kind: str
) -> None:
    concepts = wiki.wiki.folder / "concepts"
    concepts.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(concepts / "port.md")
    else:
        (tmp_path / "elsewhere.md").write_text("Mine.")
        (concepts / "port.md").symlink_to(tmp_path / "elsewhere.md")
    assert wiki.compile([PORT_PAGE]) == 0
    (slug,) = wiki.wiki.slugs()
    assert slug != SLUG
    assert "8080" in wiki.text(slug)
    assert kind == "pipe" or (tmp_path / "elsewhere.md").read_text() == "Mine."


@pytest.mark.parametrize("words", [(), ("--all",), ("--all", "--force"), ("--file", "daily/2026-11-16.md")])
def test_a_second_compile_of_unchanged_logs_changes_no_article(wiki: WikiHome, words: tuple[str, ...]) -> None:
    wiki.compile([PORT_PAGE])
    before = wiki.files()
    wiki.compile([PORT_PAGE], *words)
    after = wiki.files()
    if "--force" in words:  # asked to do it again, it says that it did
        del before["log.md"], after["log.md"]
    assert after == before
    with pytest.raises(ExpectedError, match=r"There is no daily log .*17\.md; name one of "):
        wiki.compile([PORT_PAGE], "--file", "daily/2026-11-17.md")


def day_file(wiki: WikiHome) -> Path:
    return Path(wiki.home.paths.daily, "2026-11-16.md")


def is_due(wiki: WikiHome, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a worker's run, long after the last compile, starts one."""
    started: list[list[str]] = []
    later = clock.now() + timedelta(days=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    monkeypatch.setattr("memoria.capture.detach.start", lambda way, _: started.append(way))
    worker.work(wiki.home)
    monkeypatch.undo()
    return any("compile" in way for way in started)


# -- a person's hand in the daily log


def test_a_line_that_a_person_changes_in_a_log_changes_the_wiki_without_a_compile(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki.compile([PORT_PAGE])
    assert not is_due(wiki, monkeypatch)
    day_file(wiki).write_text(day_file(wiki).read_text().replace("8080", "8443"))
    assert not is_due(wiki, monkeypatch)
    current, _, history = wiki.text(SLUG).partition("## History")
    assert "8443" in current
    assert "8080" not in current
    assert "8080" in history


def test_a_line_that_a_person_adds_to_an_entry_is_a_statement_of_theirs(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki.compile([PORT_PAGE])
    text = day_file(wiki).read_text()
    day_file(wiki).write_text(text.replace("\n^e-a1", "\n- [preference] The proxy listens on 9443.\n\n^e-a1"))
    assert is_due(wiki, monkeypatch)
    wiki.compile([placed("port")])
    assert "The proxy listens on 9443. [[daily/2026-11-16#^l-" in wiki.text(SLUG)
    assert not is_due(wiki, monkeypatch)


@pytest.mark.parametrize(
    "heading", ["", "### Plans\n\n**Action Items:**\n- [ ] Ask.\n#### Hosts\n", "## By hand\n\n**Hosts:**\n\n"]
)
def test_a_part_that_a_person_wrote_becomes_statements_once_and_more_when_it_grows(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch, heading: str
) -> None:
    wiki.compile([PORT_PAGE])
    with day_file(wiki).open("a") as file:
        file.write(f"\n{heading}- The staging host is `quoll.example`.\n- It restarts on Mondays.\n- [ ] a to-do\n")
    assert is_due(wiki, monkeypatch)
    wiki.compile([placed("staging")])
    assert "The staging host is `quoll.example`. [[daily/2026-11-16#^l-" in wiki.text("concepts/staging")
    assert "to-do" not in wiki.text("concepts/staging")
    with Keeper.at(wiki.home) as keeper:
        (fact,) = (fact for fact in keeper.store.facts() if "quoll" in fact.content)
    assert (fact.origin, fact.project) == ("user", "*")
    assert not is_due(wiki, monkeypatch)
    text = day_file(wiki).read_text()
    day_file(wiki).write_text(text.replace("- [ ] a to-do", "- It has 4 cores.\n- [ ] a to-do"))
    assert is_due(wiki, monkeypatch)
    wiki.compile([placed("staging")])
    assert "It has 4 cores." in wiki.text("concepts/staging")


def test_a_part_by_hand_is_compiled_without_a_model_beside_a_session(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORIA_MODEL", "offline")
    with day_file(wiki).open("a") as file:
        file.write("\n### My own note\n\nThe staging host is `quoll.example`, and it is restarted on Mondays.\n")
    home = WikiHome()
    home.run(compiling, "--dry-run")
    assert "by hand is not counted yet" in capsys.readouterr().out
    home.run(compiling, "--all")
    assert (waiting(home), aside(home)) == (0, [])
    texts = {name: text for name, text in home.files().items() if name.startswith("concepts/")}
    assert sorted(texts) == ["concepts/notes.md", "concepts/shop.md"]
    assert b"quoll.example" in texts["concepts/notes.md"]
    assert LISTENS.encode() in texts["concepts/shop.md"]


def test_a_page_that_a_person_deleted_does_not_come_back_from_the_same_entry(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    Path(wiki.home.paths.knowledge, f"{SLUG}.md").unlink()
    Path(wiki.home.paths.ledger).write_bytes(b"spoiled")
    wiki.log(LATER)
    wiki.compile([placed("host")])
    assert (wiki.wiki.slugs(), LISTENS in wiki.text("concepts/host")) == (["concepts/host"], False)


def test_a_persons_edits_are_in_the_next_prompt_and_on_the_page_after_it(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.edit(SLUG, "title: Port", "title: The door\nowner: Mara")
    wiki.edit(SLUG, "## Behaviour", "## My own\n\nKeep **this**.\n\n## Behaviour")
    wiki.log(LATER)
    wiki.compile([placed("the-door", title="The door")])
    assert "The door" in wiki.prompts[-1].text
    text = wiki.text(SLUG)
    for kept in ("owner: Mara", "## My own\n\nKeep **this**.\n", "- The host of the listener is local. [["):
        assert kept in text
    assert "[[concepts/port|The door]]" in wiki.text("index")


def test_a_page_that_changes_under_the_compile_is_placed_on_again(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(LATER)

    def answer(prompt: Any) -> Any:
        wiki.edit(SLUG, "## Behaviour", "Saved while the model thought.\n\n## Behaviour")
        return answer_of(prompt, placed("port"))

    wiki.compile(answer)
    assert "Saved while the model thought" in wiki.text(SLUG)
    assert "The host of the listener is local" in wiki.text(SLUG)


# -- bad answers


def test_an_answer_that_is_mostly_refused_is_asked_for_once_more_with_the_reasons(wiki: WikiHome) -> None:
    def answer(prompt: Any) -> Any:
        if not prompt.material.get("refused"):
            return {"places": [{"id": f"l-none{number}", "article": "port"} for number in range(3)]}
        assert "'l-none0' was not shown" in prompt.text
        return answer_of(prompt, PORT_PAGE)

    wiki.compile(answer)
    assert LISTENS in wiki.text(SLUG)
    assert len(wiki.prompts) == 2


def test_what_no_answer_places_is_not_lost(wiki: WikiHome) -> None:
    with Keeper.at(wiki.home) as keeper:
        keeper.take([a_fact("The lid is green.", session="")])  # of no entry
    wiki.compile(lambda _: {"places": [{"id": f"l-none{number}", "article": "port"} for number in range(3)]})
    assert all(text in wiki.text("concepts/shop") for text in (LISTENS, "The lid is green."))
    assert (waiting(wiki), aside(wiki)) == (0, [])
    notes = [note[3] for note in wiki.ledger(lambda ledger: ledger.notes("refused"))]
    assert ["\n" in note for note in notes] == [False] * 3


@pytest.fixture
def days(monkeypatch: pytest.MonkeyPatch) -> WikiHome:
    """A home in which every entry is a batch of its own."""
    monkeypatch.setenv("MEMORIA_LIMIT_CALL_CHARS", "2000")
    monkeypatch.setenv("MEMORIA_LIMIT_RETRY_S", ",")
    home = WikiHome()
    home.log(*(entry(f"d{day}", day, learned=stated(f"Dock {day} is {'long ' * 50}")) for day in range(10, 17)))
    return home


def about(prompt: Any) -> set[str]:
    return {row["id"][2:5] for row in prompt.material["statements"]}


def test_a_batch_that_is_answered_badly_does_not_keep_the_later_ones_waiting(days: WikiHome) -> None:
    def answer(prompt: Any) -> Any:
        return "no JSON" if about(prompt) & {"d10", "d12", "d13"} else answer_of(prompt, placed("docks"))

    with pytest.raises(ExpectedError, match=r"3 entries waiting"):
        days.compile(answer)
    assert waiting(days) == 3
    text = "".join(text.decode() for text in days.files().values())
    assert all(f"Dock {day} is" in text for day in (11, 14, 15, 16))


def test_an_entry_at_fault_is_found_in_its_batch_set_aside_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIA_LIMIT_RETRY_S", ",")
    wiki = WikiHome()
    wiki.log(*(entry(f"d{day}", day, title=f"Dock {day}", learned=stated(f"Dock {day} is open."))
               for day in range(17, 24)))  # fmt: skip
    with Keeper.at(wiki.home) as keeper:
        keeper.take([a_fact("The lid is green.", session="")])  # of no entry
    wiki.compile(lambda prompt: "no JSON" if "d20" in about(prompt) else answer_of(prompt, placed("docks")))
    ((ident, reason),) = aside(wiki)
    assert (ident, reason.startswith("Dock 20: ")) == ("d20", True)
    text = "".join(text.decode() for text in wiki.files().values())
    assert [f"Dock {day} is open." in text for day in range(17, 24)].count(True) == 6
    assert "The lid is green." in text
    assert waiting(wiki) == 0, "neither the one nor the others wait"
    asked = len(wiki.prompts)
    wiki.log(*(entry(f"e{day}", day, learned=stated(f"Pier {day} is open.")) for day in range(17, 24)))
    with pytest.raises(ExpectedError):
        wiki.compile(lambda _: "no JSON")
    assert len(wiki.prompts) == asked + 6, "three alone are answered badly, and nothing else is asked"
    wiki.compile([placed("docks")], "--retry-failed")
    assert aside(wiki) == []
    assert "Dock 20 is open." in "".join(text.decode() for text in wiki.files().values())


def test_entries_that_are_answered_badly_again_and_again_are_set_aside(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIA_LIMIT_RETRY_S", ",")
    wiki = WikiHome()
    for _ in range(SET_ASIDE):
        assert waiting(wiki) or not wiki.prompts
        with pytest.raises(ExpectedError):
            wiki.compile(lambda _: "no JSON")
    assert waiting(wiki) == 0
    asked = len(wiki.prompts)
    wiki.compile(lambda _: "no JSON")
    assert len(wiki.prompts) == asked


# -- when


NOW = clock.now()


def test_the_first_entries_do_not_wait_for_the_interval_and_later_ones_do() -> None:
    minute = NOW - timedelta(minutes=1)
    asked = [compile_due(*given, minute, NOW, 60) for given in ((1, 0), (1, 11), (1, 12), (0, 0))]
    assert asked == [True, True, False, False]
    assert not compile_due(1, 0, minute, NOW, 60, failed=True), "a model that fails is not asked by every worker"
    assert compile_due(1, 0, NOW - timedelta(minutes=60), NOW, 60, failed=True)


def test_a_compile_that_fails_makes_the_first_entries_wait(wiki: WikiHome, monkeypatch: pytest.MonkeyPatch) -> None:
    def due() -> bool:
        return wiki.ledger(lambda ledger: gate.is_due(ledger, wiki.home))

    wiki.compile([PORT_PAGE])
    wiki.log(LATER)
    monkeypatch.setenv("MEMORIA_LIMIT_RETRY_S", ",")
    with pytest.raises(ExpectedError):
        WikiHome().compile(lambda _: "no JSON")
    assert not due()
    wiki.compile([placed("port")])
    wiki.log(entry("c3", 18, learned=stated("The listener is quick.")))
    WikiHome().compile([], "--dry-run")
    assert due()


@pytest.mark.slow
def test_a_compile_that_is_due_ends_and_is_not_due_for_what_can_never_be_done(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    projects.see_folder(wiki.home.paths, "hidden-1a2b3c", str(hidden))
    other = entry("h1", 17, learned=stated("Hidden."), project="hidden", project_key="hidden-1a2b3c")
    wiki.log(other, entry("g1", 18), LATER)
    worker.work(wiki.home)
    (hidden / ".memoria-off").touch()
    Path(wiki.home.paths.daily, "2026-11-18.md").unlink()
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps({"compile": [SCRIPT]}))
    words = [sys.executable, str(ROOT / "scripts" / "compile.py"), "--due"]
    env = {**os.environ, "MEMORIA_MODEL": f"scripted:{answers}"}
    subprocess.run(words, env=env, timeout=60, check=True)
    assert Path(f"{answers}.calls").read_text().count('"compile"') == 1
    assert not is_due(wiki, monkeypatch)
    (hidden / ".memoria-off").unlink()
    assert is_due(wiki, monkeypatch), "what was hidden waited"


def test_undo_brings_the_wiki_back_and_entries_wait_again(wiki: WikiHome, capsys: pytest.CaptureFixture[str]) -> None:
    wiki.compile([PORT_PAGE])
    before = wiki.files()
    wiki.log(LATER)
    wiki.compile([placed("port")])
    wiki.ledger(lambda ledger: ledger.put(gate.COMPILED, "2026-01-01T00:00:00Z"))
    with pytest.raises(ExpectedError, match="2 steps can be undone, not 0"):
        wiki.undo("--steps", "0")
    wiki.undo()
    assert not wiki.ledger(lambda ledger: gate.is_due(ledger, wiki.home)), "it waits for one interval"
    assert wiki.files() == before
    assert wiki.ledger(Ledger.counts)["uncompiled"] == 1
    assert "1 entry waiting again" in capsys.readouterr().out
    wiki.edit(SLUG, "8080", "9090")
    wiki.compile([placed("port")])
    assert "1 article brought up to date with the logs and your edits" in capsys.readouterr().out
    assert "The host of the listener is local" in wiki.text(SLUG)


@pytest.mark.slow
@pytest.mark.parametrize("step", [name for name in COMPILE if name != "compile.locked"])
def test_a_compile_killed_anywhere_is_in_the_wiki_once_after_the_next(wiki: WikiHome, step: str) -> None:
    script = Path(wiki.home.paths.home, "answers.json")
    script.write_text(json.dumps({"compile": [SCRIPT]}))
    environ = {**os.environ, "MEMORIA_MODEL": f"scripted:{script}", "MEMORIA_HOME": wiki.home.paths.home}
    command = [sys.executable, str(Path(ROOT, "scripts/compile.py"))]
    run = subprocess.run(command, env={**environ, "MEMORIA_KILL_AT": step}, check=False, capture_output=True)
    assert run.returncode == -9
    subprocess.run(command, env=environ, check=True, capture_output=True)
    assert wiki.text(SLUG).count("The port of the listener is 8080. [[") == 1
    assert wiki.text("log").count("- Took in: ") == 1
    assert wiki.ledger(Ledger.counts)["uncompiled"] == 0
    calls = Path(f"{script}.calls").read_text().count("\n")
    assert calls == (2 if step in ("compile.answered", "transaction.staged") else 1)


def test_everything_but_markdown_can_be_lost(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    before = wiki.files()
    for name in ("ledger.db", "index.db"):
        for path in Path(wiki.home.paths.state).glob(f"{name}*"):
            path.write_bytes(b"spoiled") if path.name == name else path.unlink()
    wiki.compile([PORT_PAGE])
    assert wiki.files() == before
