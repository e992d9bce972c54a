"""``memoria sync`` as a person runs it, on two machines."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from facts import a_fact
from memoria import cli
from memoria.exchange import rounds
from memoria.ground.home import Home
from memoria.statements.keeper import Keeper
from memoria.worker import together

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a verb on one of the machines, with something to type; returns what it printed, first the exit status."""

    def on(machine: str, *words: object, typed: str = "") -> str:
        monkeypatch.setenv("HOME", str(tmp_path / machine))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / machine / ".config"))
        monkeypatch.setenv("MEMORIA_HOME", str(tmp_path / machine / "memoria"))
        monkeypatch.setattr(rounds, "label", lambda: machine)
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        status = cli.main(list(map(str, words)))
        printed = capsys.readouterr()
        return f"{status} {printed.out}{printed.err}"

    return on


def learn(*contents: str) -> None:
    home = Home.open()
    with Keeper.at(home) as keeper:
        keeper.take([a_fact(content) for content in contents], "shop")


def known() -> set[str]:
    with Keeper.at(Home.open()) as keeper:
        return {fact.content for fact in keeper.store.facts()}


def words_in(printed: str) -> str:
    return next(row.strip() for row in printed.split("\n") if row.startswith("  ") and len(row.split()) == 12)


def test_the_same_command_on_each_machine_makes_one_memory(tmp_path: Path, run: Run) -> None:
    assert run("desk", "sync", "gihub.com/me").startswith("1 memoria: There is no folder")
    assert "host" in run("desk", "sync", f"file://{tmp_path}/host")
    assert not (tmp_path / "host").exists()
    (tmp_path / "photos" / "summer").mkdir(parents=True)
    assert "photos holds other things (summer)" in run("desk", "sync", tmp_path / "photos")
    (tmp_path / "shared" / ".stfolder").mkdir(parents=True)
    assert run("desk", "sync", tmp_path / "shared") == "0 Nothing new.\n"
    learn("Use pnpm.", "Use tabs.")
    assert run("desk", "sync") == "0 2 statements sent.\n"
    assert run("laptop", "sync", tmp_path / "shared") == "0 2 statements from desk.\n"
    assert known() == {"Use pnpm.", "Use tabs."}
    told = json.loads(run("laptop", "sync", "--status", "--json")[2:])
    assert [machine["label"] for machine in told["machines"]] == ["desk"]
    assert (told["encrypted"], told["held"], told["problem"], told["pairs"]) == (False, 0, "", [])


@pytest.mark.slow
def test_an_encrypted_exchange_asks_the_next_machine_for_twelve_words(tmp_path: Path, run: Run) -> None:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "host.git"], check=True)
    first = run("desk", "sync", tmp_path / "host.git", "--encrypt")
    learn("Use pnpm.")
    run("desk", "sync")
    wrong = run("laptop", "sync", tmp_path / "host.git", typed="abandon " * 11 + "about\n")
    assert wrong.startswith("1 ")
    assert "Nothing was changed" in wrong
    assert run("laptop", "sync", "--status").startswith("0 off"), "no address was kept either"
    assert "1 statement from desk" in run("laptop", "sync", tmp_path / "host.git", typed=words_in(first))
    assert known() == {"Use pnpm."}
    assert run("laptop", "sync", "--key") == f"0 {words_in(first)}\n"


@pytest.mark.slow
def test_a_new_key_locks_the_others_out_until_they_have_it(tmp_path: Path, run: Run) -> None:
    first = run("desk", "sync", tmp_path / "shared", "--encrypt")
    run("laptop", "sync", tmp_path / "shared", typed=words_in(first))
    learn("The zeppelin lands.")
    run("laptop", "sync")
    learn("Use pnpm.")
    second = run("desk", "sync", "--key", "new")
    assert "until then: laptop" in run("desk", "forget", "zeppelin", "--yes"), (
        "what it said of itself went with the key"
    )
    assert words_in(second) != words_in(first)
    assert all("asks for its twelve words" in run("laptop", "sync", *more) for more in ((), ("--status",)))
    assert "1 statement sent" in run("laptop", "sync", tmp_path / "shared", typed=words_in(second))
    assert "1 statement from laptop" in run("desk", "sync")


def test_off_exchanges_nothing_more_and_deletes_nothing(tmp_path: Path, run: Run) -> None:
    run("desk", "sync", tmp_path / "shared")
    learn("Use pnpm.")
    run("desk", "sync")
    assert run("desk", "sync", "--off").startswith("0 ")
    assert "Name a git address or a folder" in run("desk", "sync")
    assert "off: this machine meets no other" in run("desk", "sync", "--status")
    assert known() == {"Use pnpm."}
    first = run("laptop", "sync", tmp_path / "sealed", "--encrypt")
    assert "is not encrypted; use it without" in run("laptop", "sync", tmp_path / "shared", "--encrypt")
    assert "with the key that this machine has" in run("laptop", "sync", tmp_path / "new")
    assert words_in(first) in run("laptop", "sync", tmp_path / "shared"), "nothing else keeps it"
    assert "sync --key new" in run("laptop", "sync", "--encrypt")


def test_two_wordings_are_named_until_one_of_them_ends(tmp_path: Path, run: Run) -> None:
    run("desk", "sync", tmp_path / "shared")
    learn("Use pnpm here.")
    run("desk", "sync")
    run("laptop", "sync", tmp_path / "shared")
    for machine in ("desk", "laptop"):
        day = next((tmp_path / machine / "memoria" / "daily").glob("*.md"))
        day.write_text(day.read_text().replace("Use pnpm here. ^", f"Use pnpm on the {machine}. ^"))
        run(machine, "sync")
    shown = [page.read_text() for page in tmp_path.glob("laptop/**/page/*.md")]
    assert any("Use pnpm on the desk." in text for text in shown), "the next session knows what came"
    assert "two wordings" in run("laptop", "sync", "--status")
    assert "\n  1 pair of two wordings: " in run("laptop", "status")
    told = json.loads(run("laptop", "status", "--json")[2:])["sync"]
    (pair,) = told["pairs"]
    assert (pair["machine"], "delete one" in pair["settle"]) == ("desk", True)
    assert run("laptop", "learned", "delete", pair["other"]).startswith("0 ")
    assert "1 deletion sent" in run("laptop", "sync")
    assert "1 deletion from laptop" in run("desk", "sync")
    assert "two wordings" not in run("desk", "sync", "--status")


@pytest.mark.slow
def test_forget_says_who_was_not_met_and_what_a_host_may_keep(tmp_path: Path, run: Run) -> None:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "host.git"], check=True)
    run("desk", "sync", tmp_path / "host.git")
    run("laptop", "sync", tmp_path / "host.git")
    learn("The zeppelin lands on Friday.")
    run("laptop", "sync")
    run("desk", "sync")
    day = next((tmp_path / "laptop" / "memoria" / "daily").glob("*.md"))
    day.write_text(day.read_text().replace("lands on Friday. ^", "lands on Monday. ^"))
    printed = run("desk", "forget", "zeppelin", "--yes")
    assert "Not met since, and may hold it until then: laptop" in printed
    assert "git host" in printed
    assert run("laptop", "sync") == "0 1 forgotten here, 1 edit of it made here meanwhile.\n"
    assert known() == set()
    assert run("laptop", "sync") == "0 Nothing new.\n"


def test_a_memory_server_without_an_address_of_machines_is_told_by_its_own_line(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_API_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("MEMORY_API_KEY", "key")
    assert run("desk", "sync", "--status") == "0 memory server http://127.0.0.1:9: not asked yet\n"
    assert run("desk", "sync").startswith("1 memoria: ")
    assert "cannot be reached" in run("desk", "sync", "--status")


def test_what_cannot_be_reached_is_an_error_of_one_line_that_status_repeats(tmp_path: Path, run: Run) -> None:
    run("desk", "sync", tmp_path / "shared")
    (tmp_path / "shared").rename(tmp_path / "away")
    assert run("desk", "sync").startswith("1 memoria: ")
    learn("The zeppelin lands on Friday.")
    assert "hold it until the next exchange" in run("desk", "forget", "zeppelin", "--yes")
    Path(Home.open().paths.projects).write_text('{"folders": {"/home/ada/shop": "shop-bbbbbb"}}')
    assert "had not sent yet, and the project's name" in run("desk", "forget", "--project", "shop", "--yes")
    told = json.loads(run("desk", "sync", "--status", "--json")[2:])["problem"]
    assert "cannot be" in told
    assert all(told in run("desk", verb) for verb in ("status", "doctor"))
    together.run(Home.open(), is_news=True)
    assert not Path(Home.open().paths.notice).exists(), "nobody is told at each start that a machine is away"
    (tmp_path / "away").rename(tmp_path / "shared")
    together.run(Home.open(), is_news=True)
    assert json.loads(run("desk", "sync", "--status", "--json")[2:])["problem"] == ""
