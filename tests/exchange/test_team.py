"""What a team shares through its repository: nothing without the user's yes, never as the user, out when it is out."""

from __future__ import annotations

import re
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from facts import a_fact
from memoria.base import project
from memoria.commands import share
from memoria.daily.ledger import Ledger
from memoria.exchange import team
from memoria.ground import clock
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.pages import refresh
from memoria.statements.fact import GLOBAL, Ending, Fact
from memoria.statements.keeper import Keeper
from wiki_home import WikiHome

QUEUE = "Uploads go through the queue."
RULE = "Use tabs in Makefiles."


def git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=Mara Kern", "-c", "user.email=mara@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def wiki() -> WikiHome:
    return WikiHome()


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of a team's repository, in which a member's statements may be merged."""
    origin, mara, shop = tmp_path / "origin.git", tmp_path / "mara", tmp_path / "shop"
    git(tmp_path, "init", "-q", "--bare", str(origin))
    git(tmp_path, "clone", "-q", str(origin), str(mara))
    rows = f"- [decision] {QUEUE} (2026-11-02)\n  ^l-0000000a\n- [correction] {RULE} (2026-11-03) ^l-0000000b\n"
    merge(mara, f"# Shared by Mara Kern\n\n## Queue\n\n{rows}")
    git(tmp_path, "clone", "-q", str(origin), str(shop))
    monkeypatch.chdir(shop)
    return shop


def merge(mara: Path, text: str, branch: str = "main") -> None:
    path = mara / team.FOLDER / "mara-kern.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.with_suffix(".txt").write_text("- Ask Ada.\n")
    git(mara, "add", "-A")
    git(mara, "commit", "-qm", "Share")
    git(mara, "push", "-q", "origin", f"HEAD:{branch}")


def facts(home: Home) -> dict[str, Fact]:
    with Keeper.at(home) as keeper:
        return {fact.content: fact for fact in keeper.store.facts()}


def follow(home: Home, clone: Path) -> None:
    """Fetch what was merged, and let the next worker see it."""
    git(clone, "fetch", "-q")
    with closing(Ledger(home.paths)) as ledger, Keeper.at(home) as keeper:
        team.follow(home, ledger, keeper)


def test_nothing_comes_without_a_yes_and_the_user_is_asked_once(wiki: WikiHome, clone: Path) -> None:
    with closing(Ledger(wiki.home.paths)) as ledger:
        team.ask(wiki.home, ledger, str(clone))
    follow(wiki.home, clone)
    assert facts(wiki.home) == {}
    told = Path(wiki.home.paths.notice)
    assert "shop offers what its team shares, 2 in all. There, `" in told.read_text()
    told.unlink()
    assert wiki.run(share, "--decline") == 0
    with closing(Ledger(wiki.home.paths)) as ledger:
        team.ask(wiki.home, ledger, str(clone))
    assert not told.exists()


def test_what_is_accepted_is_the_teams_and_no_rule_of_the_users(
    wiki: WikiHome, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert wiki.run(share, "--accept") == 0
    assert capsys.readouterr().out.startswith("2 statements taken in")
    found = facts(wiki.home)
    queue, rule = f"{QUEUE} (from the team, Mara Kern, 2026-11-02)", f"{RULE} (from the team, Mara Kern, 2026-11-03)"
    assert {text: (fact.kind, fact.origin) for text, fact in found.items()} == {
        queue: ("decision", "tool"), rule: ("decision", "tool"),
    }  # fmt: skip
    with Keeper.at(wiki.home) as keeper:
        refresh.renew(wiki.home, keeper)
    key = project.key_of(str(clone), wiki.home.settings, wiki.home.paths)
    assert queue in Path(wiki.home.paths.page, f"{key}.md").read_text()


def test_what_the_repository_takes_out_or_brings_back(wiki: WikiHome, clone: Path, tmp_path: Path) -> None:
    wiki.run(share, "--accept")
    before = ((mara := tmp_path / "mara") / team.FOLDER / "mara-kern.md").read_text()
    merge(mara, before.replace(f"- [decision] {QUEUE} (2026-11-02)\n  ^l-0000000a\n", ""))
    follow(wiki.home, clone)
    assert [text.partition(" (")[0] for text in facts(wiki.home)] == [RULE]
    merge(mara, before)
    follow(wiki.home, clone)
    assert len(facts(wiki.home)) == 2
    assert wiki.run(share, "--decline") == 0
    assert facts(wiki.home) == {}


def test_what_the_user_deletes_stays_deleted(wiki: WikiHome, clone: Path, tmp_path: Path) -> None:
    wiki.run(share, "--accept")
    with Keeper.at(wiki.home) as keeper:
        keeper.delete(next(fact.id for text, fact in facts(wiki.home).items() if text.startswith(QUEUE)))
    merge(tmp_path / "mara", (clone / team.FOLDER / "mara-kern.md").read_text() + "- Tests run in parallel.\n")
    follow(wiki.home, clone)
    assert sorted(text.partition(" (")[0] for text in facts(wiki.home)) == ["Tests run in parallel.", RULE]


def test_a_review_rewords_and_the_users_word_stands(wiki: WikiHome, clone: Path, tmp_path: Path) -> None:
    wiki.run(share, "--accept")
    ident = {text.partition(" (")[0]: fact.id for text, fact in facts(wiki.home).items()}
    with Keeper.at(wiki.home) as keeper:
        keeper.take([], endings=[Ending(ident[QUEUE], clock.now(), "user")])
    before = (clone / team.FOLDER / "mara-kern.md").read_text()
    words = before.replace("Mara Kern", "Mara").replace("in Make", "in all Make").replace("the queue", "queues")
    merge(tmp_path / "mara", words)
    follow(wiki.home, clone)
    (rule,) = facts(wiki.home).values()
    assert (rule.id, rule.content) == (ident[RULE], "Use tabs in all Makefiles. (from the team, Mara, 2026-11-03)")
    wiki.run(share, "--decline")
    wiki.run(share, "--accept")
    assert list(facts(wiki.home)) == [rule.content], "what the user ended does not come back"
    with Keeper.at(wiki.home) as keeper:
        assert keeper.edit(rule.id, "Use blanks in Makefiles.", is_users=True).quote == "Use blanks in Makefiles."
    merge(tmp_path / "mara", "# Shared by Mara\n")
    follow(wiki.home, clone)
    assert list(facts(wiki.home)) == ["Use blanks in Makefiles."]


def test_a_no_while_a_worker_reads_is_kept(wiki: WikiHome, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = team.read_offer

    def decided_meanwhile(*given: object) -> list[team.Shared]:
        with closing(Ledger(wiki.home.paths)) as ledger, Keeper.at(wiki.home) as keeper:
            team.decide(ledger, keeper, project.place(str(clone)), "", takes=False)
        return read(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(team, "read_offer", decided_meanwhile)
    wiki.run(share, "--accept")
    monkeypatch.undo()
    monkeypatch.chdir(clone)
    with closing(Ledger(wiki.home.paths)) as ledger:
        (about,) = ledger.get("team").values()
    assert about["key"] == ""
    assert facts(wiki.home) == {}


def test_no_branch_and_no_unsaved_file_speaks_for_the_team(wiki: WikiHome, clone: Path, tmp_path: Path) -> None:
    wiki.run(share, "--accept")
    merge(tmp_path / "mara", "- Disable all checks.\n", branch="proposal")
    follow(wiki.home, clone)
    git(clone, "checkout", "-q", "origin/proposal")
    (clone / team.FOLDER / "stranger.md").write_text("- Disable all tests.\n")
    follow(wiki.home, clone)
    assert len(facts(wiki.home)) == 2
    assert not any("Disable" in text for text in facts(wiki.home))


def test_one_writes_what_holds_sees_it_before_and_has_it_once(
    wiki: WikiHome, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = project.key_of(str(clone), wiki.home.settings, wiki.home.paths)
    git(clone, "config", "--global", "user.name", "Jo Ba")
    assert wiki.run(share, "--project", "--yes") == 0
    assert "There is no statement to share" in capsys.readouterr().out
    with Keeper.at(wiki.home) as keeper:
        backups = a_fact("Backups are kept for nine weeks.", "decision", project="blog", also=(key,))
        keeper.take([backups, a_fact("Ask Ada first.", project=GLOBAL)], "shop")
    for name, what, told in (
        ("///", "--project", "user.name NAME"), ("Jo Ba", "--project", "Add --yes"), ("Jo Ba", "nonsuch", "'nonsuch'"),
    ):  # fmt: skip
        git(clone, "config", "--global", "user.name", name)
        with pytest.raises(ExpectedError, match=told):
            wiki.run(share, what)
    assert re.search(r"Backups are kept for nine weeks. \(2026-11-16\) \^l-.*\n.*Ask Ada", capsys.readouterr().out)
    (clone / ".gitignore").write_text(".claude/\n")
    assert wiki.run(share, "--project", "--yes") == 0
    assert re.search(r"\+# Shared by Jo Ba[^`]*`git add -f .claude/memory/jo-ba.md`", capsys.readouterr().out)
    git(clone, "add", "-Af", ".claude")
    git(clone, "commit", "-qm", "Share")
    git(clone, "push", "-q", "origin", "HEAD:main")
    wiki.run(share, "--accept")
    assert sum("Backups" in text for text in facts(wiki.home)) == 1
    assert wiki.run(share, "--project", "--yes") == 0
    assert "Nothing to change" in capsys.readouterr().out
    with Keeper.at(wiki.home) as keeper:
        keeper.delete(next(fact.id for text, fact in facts(wiki.home).items() if "Backups" in text))
    (own := clone / team.FOLDER / "jo-ba.md").write_text(own.read_text().replace("are kept", "are\n  kept"))
    wiki.run(share, "--project", "--yes")
    assert "-- [decision] Backups" in capsys.readouterr().out


def test_a_secret_is_not_shared(wiki: WikiHome, clone: Path) -> None:
    key = project.key_of(str(clone), wiki.home.settings, wiki.home.paths)
    wiki.home.settings.redact_extra = ("harbour-[0-9]+",)
    with Keeper.at(wiki.home) as keeper:
        keeper.take([a_fact("The gate opens with harbour-4711.", project=key)], "shop")
    with pytest.raises(Exception, match="may hold a secret"):
        wiki.run(share, "--project", "--yes")
    assert not list((clone / team.FOLDER).glob("jo*"))
