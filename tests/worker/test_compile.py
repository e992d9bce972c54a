"""Compile: its input, a person's edits, repeated runs, and how its changes are shown and undone."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memoria.base.failpoints import COMPILE
from memoria.commands import compile as compiling
from memoria.commands import lint
from memoria.daily.ledger import Ledger
from memoria.ground import clock, projects
from memoria.ground.errors import DropRefusedError, ExpectedError, NothingToUndoError
from memoria.worker import worker
from memoria.worker.compiler import Compile
from places import ROOT
from wiki_home import PORT, PORT_PAGE, WikiHome, claim, entry, page

LATER = entry("b2", 17, context="The port of the listener is 9090, and the host is local.", title="Move")


def notes(wiki: WikiHome, kind: str) -> list[str]:
    ledger = Ledger.of(wiki.home.paths)
    try:
        return [note[3] for note in ledger.notes(kind)]
    finally:
        ledger.close()


def test_what_is_not_supported_is_named_in_the_ledger(wiki: WikiHome) -> None:
    wiki.compile([page("port", claim("The port is 8081", "a1"), claim("It is the listener", "a1"))])
    assert "8081" not in wiki.text("concepts/port")
    assert any("8081 not in the source" in note for note in notes(wiki, "refused"))


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
    assert slug != "concepts/port"
    assert "8080" in wiki.text(slug)
    assert kind == "pipe" or (tmp_path / "elsewhere.md").read_text() == "Mine."


def test_entries_of_a_project_with_its_own_endpoint_share_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    projects = {"shop": {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}}}
    monkeypatch.setenv("MEMORIA_PROJECTS", json.dumps(projects))
    run = Compile.of(WikiHome().home)
    keys = ["harbour-bbbbbb", "dock-cccccc", "shop-aaaaaa", "shop-aaaaaa", "dock-cccccc"]
    entries = [dataclasses.replace(PORT, project_key=key) for key in keys]
    batches = [[made.project_key for made in batch] for batch in run.batches(entries)]
    assert batches == [keys[:2], keys[2:4], keys[4:]]


@pytest.mark.parametrize("words", [(), ("--all",), ("--all", "--force"), ("--file", "daily/2026-11-16.md")])
def test_a_second_compile_of_unchanged_logs_changes_no_article(wiki: WikiHome, words: tuple[str, ...]) -> None:
    wiki.compile([PORT_PAGE])
    before = wiki.files()
    wiki.compile([PORT_PAGE], *words)
    after = wiki.files()
    if "--force" in words:  # asked to do it again, it says that it did
        del before["log.md"], after["log.md"]
    assert after == before


def day_file(wiki: WikiHome) -> Path:
    return Path(wiki.home.paths.daily, "2026-11-16.md")


def is_due(wiki: WikiHome, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a worker's run, long after the last compile, starts one."""
    started: list[list[str]] = []
    later = clock.now() + timedelta(days=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    monkeypatch.setattr("memoria.capture.detach.start", lambda ways, _: started.extend(ways))
    worker.work(wiki.home)
    monkeypatch.undo()
    return any("compile" in way for way in started)


def test_an_entry_that_a_person_edited_makes_a_compile_due_and_the_wiki_follows(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki.compile([PORT_PAGE])
    assert not is_due(wiki, monkeypatch)
    day_file(wiki).write_text(day_file(wiki).read_text().replace("8080", "8443"))
    assert is_due(wiki, monkeypatch)
    wiki.compile([page("port", claim("The port of the listener is 8443", "a1"))])
    current, _, history = wiki.text("concepts/port").partition("## History")
    assert "8443" in current
    assert "8080" not in current
    assert "8080" in history
    assert not is_due(wiki, monkeypatch)


def test_a_paragraph_that_a_person_added_to_an_entry_is_compiled(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki.compile([PORT_PAGE])
    text = day_file(wiki).read_text()
    day_file(wiki).write_text(text.replace("\n^e-a1", "\n**Mine:** the proxy listens on 9443.\n\n^e-a1"))
    assert is_due(wiki, monkeypatch)
    wiki.compile([page("port", claim("The proxy listens on 9443", "a1"))])
    assert "9443" in wiki.text("concepts/port")
    assert not is_due(wiki, monkeypatch)


@pytest.mark.parametrize("heading", ["", "### Afternoon\n\n", "## By hand\n\n#### Hosts\n\n"])
def test_a_part_that_a_person_wrote_is_compiled_once_and_again_when_edited(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch, heading: str
) -> None:
    wiki.compile([PORT_PAGE])
    with day_file(wiki).open("a") as file:
        file.write(f"\n{heading}The staging host is `quoll.example`.\n")
    written = day_file(wiki).read_text()
    assert is_due(wiki, monkeypatch)

    def answer(prompt: Any) -> Any:
        (material,) = prompt.material["entries"]
        stated = [part for part in material["context"].splitlines() if "quoll" in part or "wallaby" in part]
        return {"articles": [page("staging", *(claim(part, material["id"]) for part in stated))]}

    wiki.compile(answer)
    assert "quoll.example" in wiki.text("concepts/staging")
    assert wiki.run(lint, "--structural-only") == 0  # the source resolves
    assert day_file(wiki).read_text().startswith(written)  # only lines below it were added
    assert not is_due(wiki, monkeypatch)
    day_file(wiki).write_text(day_file(wiki).read_text().replace("quoll", "wallaby"))
    assert is_due(wiki, monkeypatch)
    wiki.compile(answer)
    assert "wallaby" in wiki.text("concepts/staging").partition("## History")[0]
    assert not is_due(wiki, monkeypatch)


def test_an_edit_whose_compile_was_undone_waits_again(wiki: WikiHome, monkeypatch: pytest.MonkeyPatch) -> None:
    wiki.compile([PORT_PAGE])
    day_file(wiki).write_text(day_file(wiki).read_text().replace("8080", "8443"))
    wiki.compile([page("port", claim("The port of the listener is 8443", "a1"))])
    wiki.undo()
    assert is_due(wiki, monkeypatch)


def test_a_superseded_claim_does_not_come_back_when_all_is_forced(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(LATER)
    wiki.compile([page("port", claim("The port of the listener is 9090", "b2"))])
    before = wiki.text("concepts/port")
    both = [PORT_PAGE, page("port", claim("The port of the listener is 9090", "b2"))]
    wiki.compile(both, "--all", "--force")
    assert wiki.text("concepts/port") == before


def test_a_claim_that_a_person_deleted_does_not_come_back_from_the_same_entry(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.edit("concepts/port", "- It is the listener [[daily/2026-11-16#^e-a1|16 Nov]]\n", "")
    wiki.compile([PORT_PAGE], "--all", "--force")
    assert "It is the listener" not in wiki.text("concepts/port")


def test_a_claim_that_a_person_reworded_stays_as_they_put_it(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.edit("concepts/port", "It is the listener", "My own words about it")
    wiki.compile([PORT_PAGE], "--all", "--force")
    assert wiki.text("concepts/port").count("- ") == PORT_COUNT
    assert "It is the listener" not in wiki.text("concepts/port")


PORT_COUNT = 3  # two claims and the frontmatter's source


def test_a_page_that_a_person_deleted_does_not_come_back_from_the_same_entry(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    Path(wiki.home.paths.knowledge, "concepts/port.md").unlink()
    wiki.compile([PORT_PAGE], "--all", "--force")
    assert not Path(wiki.home.paths.knowledge, "concepts/port.md").exists()


def test_a_persons_edits_are_in_the_next_prompt_and_on_the_page_after_it(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.edit("concepts/port", "title: port", "title: The door\nowner: Mara")
    wiki.edit("concepts/port", "## Key Points", "## My own\n\nKeep **this**.\n\n## Key Points")
    wiki.log(LATER)
    wiki.compile([page("the-door", claim("The host is local", "b2"), title="The door")])
    assert "The door" in wiki.prompts[-1].text
    text = wiki.text("concepts/port")
    for kept in ("owner: Mara", "## My own\n\nKeep **this**.\n", "- The host is local [["):
        assert kept in text
    assert "[[concepts/port|The door]]" in wiki.text("index")


def test_a_page_that_changes_under_the_compile_is_drafted_again(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(LATER)

    def answer(prompt: Any) -> Any:
        wiki.edit("concepts/port", "It is the listener", "Saved while the model thought")
        return {"articles": [page("port", claim("The host is local", "b2"))]}

    wiki.compile(answer)
    text = wiki.text("concepts/port")
    assert "Saved while the model thought" in text
    assert "The host is local" in text


def test_a_page_that_is_saved_between_draft_and_swap_is_drafted_again(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memoria.wiki.transaction import Transactions  # noqa: PLC0415

    wiki.compile([PORT_PAGE])
    wiki.log(LATER)
    commit = Transactions.commit
    times: list[int] = []

    def late(self: Any, *args: Any, **named: Any) -> Any:
        if not times:
            times.append(1)
            wiki.edit("concepts/port", "It is the listener", "Saved at the last moment")
        return commit(self, *args, **named)

    monkeypatch.setattr(Transactions, "commit", late)
    wiki.compile([page("port", claim("The host is local", "b2"))])
    assert "Saved at the last moment" in wiki.text("concepts/port")
    assert "The host is local" in wiki.text("concepts/port")


def test_a_compile_that_would_drop_most_of_a_page_is_refused_and_forced(wiki: WikiHome) -> None:
    texts = [f"Fact {word} of the listener" for word in ("one", "two", "three", "four", "five")]
    wiki.compile([page("port", *(claim(text, "a1") for text in texts))])
    wiki.log(LATER)
    before = wiki.files()
    answer = [page("port", *(claim(f"{text} no more", "b2", supersedes=text) for text in texts))]
    with pytest.raises(ExpectedError, match=r"5 of its 5 claims.*--force"):
        wiki.compile(answer)
    assert wiki.files() == before
    assert wiki.ledger(Ledger.counts)["uncompiled"] == 1
    assert notes(wiki, "compile-refused")
    assert issubclass(DropRefusedError, ExpectedError)
    wiki.compile(answer, "--all", "--force")
    assert "no more" in wiki.text("concepts/port")


@pytest.fixture
def days(monkeypatch: pytest.MonkeyPatch) -> WikiHome:
    """A home in which every entry is a batch of its own."""
    monkeypatch.setenv("MEMORIA_CALL_CHARS", "2000")
    monkeypatch.setenv("MEMORIA_RETRY_S", ",")
    home = WikiHome()
    home.log(*(entry(f"d{day}", day, title=f"Port {day}", context="long " * 300) for day in range(10, 17)))
    return home


def test_a_batch_that_is_answered_badly_does_not_keep_the_later_ones_waiting(days: WikiHome) -> None:
    def answer(prompt: Any) -> Any:
        ident = prompt.material["entries"][0]["id"]
        return "no JSON" if ident in ("d10", "d12", "d13") else {"articles": [page(ident, claim("A port", ident))]}

    with pytest.raises(ExpectedError, match=r"3 entries waiting"):
        days.compile(answer)
    assert days.ledger(Ledger.counts)["uncompiled"] == 3
    assert sorted(name for name in days.files() if name.startswith("concepts/")) == [
        f"concepts/d{day}.md" for day in (11, 14, 15, 16)
    ]


def test_a_model_that_answers_badly_throughout_is_not_asked_about_every_batch(days: WikiHome) -> None:
    with pytest.raises(ExpectedError, match=r"7 entries waiting"):
        days.compile(lambda prompt: "no JSON")
    assert len(days.prompts) == 3


def test_an_entry_at_fault_is_found_in_its_batch_set_aside_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIA_RETRY_S", ",")
    wiki = WikiHome()
    wiki.log(*(entry(f"d{day}", day, title=f"Port {day}", context=f"Dock {day} is open.") for day in range(17, 24)))

    def answer(prompt: Any) -> Any:
        idents = [part["id"] for part in prompt.material["entries"]]
        return "no JSON" if "d20" in idents else {"articles": [page(name, claim("A port", name)) for name in idents]}

    wiki.compile(answer)
    ((ident, reason),) = wiki.ledger(Ledger.failed_compiles)
    assert (ident, reason.startswith("Port 20: ")) == ("d20", True)
    assert len([name for name in wiki.files() if name.startswith("concepts/")]) == 6
    assert wiki.ledger(Ledger.counts)["uncompiled"] == 0, "neither the one nor the others wait"


def test_a_part_by_hand_is_compiled_without_a_model_beside_a_session(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIA_MODEL", "offline")
    with day_file(wiki).open("a") as file:
        file.write("\n### My own note\n\nThe staging host is `quoll.example`, and it is restarted on Mondays.\n")
    home = WikiHome()
    home.run(compiling, "--all")
    assert home.ledger(Ledger.counts)["uncompiled"] == 0
    assert home.ledger(Ledger.failed_compiles) == []
    assert any(b"quoll.example" in text for text in home.files().values())


def test_a_page_of_no_project_is_told_apart_from_one_of_the_same_name(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    with day_file(wiki).open("a") as file:
        file.write("\n### My own note\n\nThe staging port is `quoll.example`, and its listener `wallaby.example`.\n")

    def answer(prompt: Any) -> Any:
        (ident,) = [part["id"] for part in prompt.material["entries"]]
        claims = [
            claim(f"The {what} is `{name}.example`", ident)
            for what, name in (("port", "quoll"), ("listener", "wallaby"))
        ]
        return {"articles": [page("port", *claims)]}

    wiki.compile(answer)
    text = wiki.text("concepts/port-general")
    assert "# port (general)" in text
    assert "project:" not in text


def test_a_compile_that_is_due_ends_and_is_not_due_for_what_can_never_be_done(
    wiki: WikiHome, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    projects.see_folder(wiki.home.paths, "hidden-1a2b3c", str(hidden))
    wiki.log(entry("h1", 17, context="Hidden.", project="hidden", project_key="hidden-1a2b3c"), entry("g1", 18), LATER)
    worker.work(wiki.home)
    (hidden / ".memoria-off").touch()
    Path(wiki.home.paths.daily, "2026-11-18.md").unlink()
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps({"compile": [{"articles": [PORT_PAGE]}]}))
    words = [sys.executable, str(ROOT / "scripts" / "compile.py"), "--due"]
    env = {**os.environ, "MEMORIA_MODEL": f"scripted:{answers}", "MEMORIA_CONSOLIDATE": "false"}
    subprocess.run(words, env=env, timeout=60, check=True)
    assert Path(f"{answers}.calls").read_text().count('"compile"') == 1
    assert not is_due(wiki, monkeypatch)
    (hidden / ".memoria-off").unlink()
    assert is_due(wiki, monkeypatch), "what was hidden waited"


def test_what_is_refused_is_named_on_one_line_whatever_the_model_put_into_it(wiki: WikiHome) -> None:
    wiki.compile([page("port", claim("The\nport is 8081", "a1"), title="Port\n8 articles created")])
    assert len(notes(wiki, "refused")) == 1
    assert "\n" not in notes(wiki, "refused")[0]


def test_undo_brings_the_wiki_back_and_its_entries_wait_again(
    wiki: WikiHome, capsys: pytest.CaptureFixture[str]
) -> None:
    wiki.compile([PORT_PAGE])
    before = wiki.files()
    wiki.log(LATER)
    wiki.compile([page("port", claim("The host is local", "b2"))])
    wiki.undo()
    assert wiki.files() == before
    assert wiki.ledger(Ledger.counts)["uncompiled"] == 1
    assert "1 entry waiting again" in capsys.readouterr().out
    wiki.compile([page("port", claim("The host is local", "b2"))])
    assert "The host is local" in wiki.text("concepts/port")


def test_undo_takes_several_steps_and_says_when_there_are_not_that_many(
    wiki: WikiHome, capsys: pytest.CaptureFixture[str]
) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(LATER)
    wiki.compile([page("port", claim("The host is local", "b2"))])
    with pytest.raises(NothingToUndoError, match="2 steps"):
        wiki.undo("--steps", "3")
    wiki.undo("--list")
    assert "  1  compile of 1 entry: concepts/port.md" in capsys.readouterr().out
    wiki.undo("--steps", "2")
    assert wiki.files() == {}
    assert wiki.ledger(Ledger.counts)["uncompiled"] == 2


def test_diff_shows_what_the_last_compile_did(wiki: WikiHome, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NothingToUndoError):
        wiki.diff()
    wiki.compile([PORT_PAGE])
    wiki.log(LATER)
    wiki.compile([page("port", claim("The port of the listener is 9090", "b2"))])
    capsys.readouterr()
    wiki.diff()
    out = capsys.readouterr().out
    assert "--- a/concepts/port.md\n+++ b/concepts/port.md\n" in out
    assert "\n-- The port of the listener is 8080 [[" in out
    assert "\n+- The port of the listener is 9090 [[" in out
    wiki.diff("2")
    assert "--- /dev/null\n+++ b/concepts/port.md\n" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("step", [name for name in COMPILE if name != "compile.locked"])
def test_a_compile_killed_anywhere_is_in_the_wiki_once_after_the_next(wiki: WikiHome, step: str) -> None:
    script = Path(wiki.home.paths.home, "answers.json")
    script.write_text(json.dumps({"compile": [{"articles": [PORT_PAGE]}]}))
    environ = {**os.environ, "MEMORIA_MODEL": f"scripted:{script}", "MEMORIA_HOME": wiki.home.paths.home}
    command = [sys.executable, str(Path(ROOT, "scripts/compile.py"))]
    run = subprocess.run(command, env={**environ, "MEMORIA_KILL_AT": step}, check=False, capture_output=True)
    assert run.returncode == -9
    subprocess.run(command, env=environ, check=True, capture_output=True)
    assert wiki.text("concepts/port").count("The port of the listener is 8080 [[") == 1
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


def test_a_home_of_nothing_compiles_to_nothing() -> None:
    wiki = WikiHome()
    wiki.compile([])
    assert wiki.files() == {}
