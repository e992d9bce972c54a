"""What a team shares through its repository: nothing without the user's yes, never as the user, out when it is out."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from facts import a_fact
from memoria.base import project
from memoria.commands import forget, share
from memoria.exchange import team
from memoria.ground import projects
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.index.index import Index
from memoria.recall import notes
from memoria.statements import shared
from memoria.statements.fact import GLOBAL
from memoria.statements.keeper import Keeper
from memoria.statements.shared import Shared
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


def said(home: Home) -> set[str]:
    return {f"{row.who}: {row.text}" for rows in shared.by_project(home.paths).values() for row in rows}


def follow(home: Home, clone: Path) -> None:
    """Fetch what was merged, and let the next worker see it."""
    git(clone, "fetch", "-q")
    with Keeper.at(home) as keeper:
        team.follow(home, keeper)


def test_nothing_comes_without_a_yes_and_the_user_is_asked_once(wiki: WikiHome, clone: Path) -> None:
    team.ask(wiki.home, str(clone))
    follow(wiki.home, clone)
    assert said(wiki.home) == set()
    told = Path(wiki.home.paths.notice)
    assert "shop offers what its team shares, 2 in all. There, `" in told.read_text()
    assert wiki.run(share, "--decline") == 0
    assert not told.exists()
    team.ask(wiki.home, str(clone))
    assert not told.exists()


def test_what_is_accepted_is_the_teams_and_nothing_of_the_users(
    wiki: WikiHome, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert wiki.run(share, "--accept") == 0
    assert f"Mara Kern: {QUEUE}\nMara Kern: {RULE}\n2 statements taken in" in capsys.readouterr().out
    key = project.key_of(str(clone), wiki.home.settings, wiki.home.paths)
    page = Path(wiki.home.paths.page, f"{key}.md").read_text()
    assert (
        f"## From the team of this repository\n- [correction] {RULE} (from the team, Mara Kern, 2026-11-03)\n" in page
    )
    with Index(wiki.home.paths.index) as index:
        (hit,) = index.search("uploads through the queue", project=key)
        (note,) = index.finder.notes("How do uploads go through the queue?", limit=1, room=200)
    assert (hit.title, note.speaker) == ("Mara Kern (from the team)", "")
    assert notes.row(note, key).startswith(
        f"- [from the team, 2026-11-02] Mara Kern (from the team): {QUEUE} (team#^t-"
    )
    with Keeper.at(wiki.home) as keeper:
        mine = keeper.take([a_fact(RULE, "correction", project=key)], "shop").added
        assert [(fact.content, fact.origin) for fact in keeper.store.facts()] == [(RULE, "user")]
        assert [*mine] == keeper.store.facts(), "it is new, and no repetition of theirs"
    assert wiki.run(share, "--decline") == 0
    assert said(wiki.home) == set()
    assert RULE in Path(wiki.home.paths.page, f"{key}.md").read_text()


def test_what_the_repository_takes_out_or_brings_back(
    wiki: WikiHome, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki.run(share, "--accept")
    before = ((mara := tmp_path / "mara") / team.FOLDER / "mara-kern.md").read_text()
    merge(mara, before.replace(f"- [decision] {QUEUE} (2026-11-02)\n  ^l-0000000a\n", ""))
    with monkeypatch.context() as without_git:
        without_git.setattr(team, "ask_git", lambda *_, **__: None)
        with Keeper.at(wiki.home) as keeper:
            assert team.follow(wiki.home, keeper) is False
    follow(wiki.home, clone)
    assert said(wiki.home) == {f"Mara Kern: {RULE}"}
    merge(mara, before.replace("Mara Kern", "Mara").replace("in Make", "in all Make"))
    follow(wiki.home, clone)
    assert said(wiki.home) == {f"Mara: {QUEUE}", "Mara: Use tabs in all Makefiles."}
    merge(mara, "# Shared by Mara\n")
    follow(wiki.home, clone)
    assert said(wiki.home) == set()


def test_what_was_ones_own_or_is_forgotten_comes_from_nobody(wiki: WikiHome, clone: Path, tmp_path: Path) -> None:
    wiki.run(share, "--accept")
    with Keeper.at(wiki.home) as keeper:
        (own,) = keeper.take([a_fact("Ask Ada first.", project="shop")], "shop").added
        rows = f"- [decision] Ask Ada first. ^{own.id}\n- [decision] Eve says kelp is green. ^l-0000000e\n"
        merge(tmp_path / "mara", (clone / team.FOLDER / "mara-kern.md").read_text() + rows)
        follow(wiki.home, clone)
        assert {text.partition(": ")[2] for text in said(wiki.home)} == {QUEUE, RULE, "Eve says kelp is green."}
        keeper.delete(own.id)
    for word in ("kelp", "mara kern"):
        assert wiki.run(forget, word, "--yes") == 0
        assert word.encode() not in Path(wiki.home.paths.team).read_bytes().lower()
    text = (clone / team.FOLDER / "mara-kern.md").read_text().replace("Mara Kern", "Mara")
    merge(tmp_path / "mara", text + rows.replace("Eve", "Eva"))
    follow(wiki.home, clone)
    assert said(wiki.home) == {f"Mara: {QUEUE}", f"Mara: {RULE}"}


def test_a_yes_is_one_for_this_repository(
    wiki: WikiHome, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for change in ("elsewhere", "excluded", "another"):
        wiki.run(share, "--accept")
        assert len(said(wiki.home)) == 2
        if change == "elsewhere":
            git(clone, "remote", "set-url", "origin", str(tmp_path / "mara"))
        elif change == "excluded":
            (clone / ".memoria-off").touch()
        else:
            shutil.rmtree(clone)
            git(tmp_path, "clone", "-q", str(tmp_path / "mara"), str(clone))
            monkeypatch.chdir(clone)
        follow(wiki.home, clone)
        assert said(wiki.home) == set(), change
        assert wiki.run(share, "--decline") == 0
        (clone / ".memoria-off").unlink(missing_ok=True)
        git(clone, "remote", "set-url", "origin", str(tmp_path / "origin.git"))


def test_a_no_while_a_worker_reads_is_kept(wiki: WikiHome, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = team.read_offer

    def decided_meanwhile(*given: Any) -> list[Shared] | None:
        team.decide(wiki.home, project.place(str(clone)), takes=False)
        return read(*given)

    monkeypatch.setattr(team, "read_offer", decided_meanwhile)
    wiki.run(share, "--accept")
    assert [about["key"] for about in shared.read_all(wiki.home.paths).values()] == [""]
    assert said(wiki.home) == set()


def test_no_branch_and_no_unsaved_file_speaks_for_the_team(wiki: WikiHome, clone: Path, tmp_path: Path) -> None:
    wiki.run(share, "--accept")
    merge(tmp_path / "mara", "- [decision] Disable all checks.\n", branch="proposal")
    for remote in ("origin", "upstream"):  # the only one is the one
        follow(wiki.home, clone)
        git(clone, "checkout", "-q", f"{remote}/proposal")
        (clone / team.FOLDER / "stranger.md").write_text("- [decision] Disable all tests.\n")
        follow(wiki.home, clone)
        assert {text.partition(": ")[2] for text in said(wiki.home)} == {QUEUE, RULE}
        git(clone, "remote", "rename", "origin", "upstream") if remote == "origin" else None
        wiki.run(share, "--accept")
    git(clone, "remote", "set-head", "upstream", "--delete")
    git(clone, "update-ref", "-d", "refs/remotes/upstream/main")
    follow(wiki.home, clone)
    git(clone, "remote", "rm", "upstream")
    wiki.run(share, "--accept")
    assert not any("Disable" in text for text in said(wiki.home))


def test_what_no_reviewer_sees_says_nothing(wiki: WikiHome, clone: Path, tmp_path: Path) -> None:
    rows = [
        "<!--", "- [decision] Hidden one.", "-->", "```", "- [decision] Hidden two.", "```", "- [ ] Buy milk.",
        "- Plain words.", "- [nonsense] No kind.", "* [decision] A star.", "1.  [fact] A number. (2026-13-45)",
        "# Shared by the user (their own word)", "- [fact] <private>The boss is X.", "- [fact] So is Y.</private> Ask.",
        "- [fact] Tomorrow. (2099-01-01)",
        f"- [fact] {'so ' * 999}",
    ]  # fmt: skip
    (tmp_path / "mara" / team.FOLDER / "link.md").symlink_to("mara-kern.md")
    merge(tmp_path / "mara", "\n".join(rows))
    git(clone, "fetch", "-q")
    wiki.run(share, "--accept")
    (long,) = (text for text in said(wiki.home) if " so so" in text)
    assert said(wiki.home) - {long} == {
        f"mara-kern: {text}" for text in ("A star.", "A number.", "[redacted:private] Ask.", "Tomorrow.")
    }
    assert len(long) < 1_100


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
    assert not any("Backups" in text for text in said(wiki.home)), "it is one's own"
    assert wiki.run(share, "--project", "--yes") == 0
    assert "Nothing to change" in capsys.readouterr().out
    with Keeper.at(wiki.home) as keeper:
        keeper.delete(next(fact.id for fact in keeper.store.facts() if "Backups" in fact.content))
    (own := clone / team.FOLDER / "jo-ba.md").write_text(own.read_text().replace("are kept", "are\n  kept"))
    assert wiki.run(share, "--yes") == 0, "what is over goes"
    assert "-- [decision] Backups" in capsys.readouterr().out


def test_what_is_private_elsewhere_or_in_a_link_is_not_shared(wiki: WikiHome, clone: Path, tmp_path: Path) -> None:
    key = project.key_of(str(clone), wiki.home.settings, wiki.home.paths)
    wiki.home.settings.redact_extra = ("harbour-[0-9]+",)
    wiki.home.settings.exclude = ("/srv/*",)
    projects.see_folder(wiki.home.paths, "other-1a2b3c", "/srv/other")
    with Keeper.at(wiki.home) as keeper:
        for number, (text, place) in enumerate((
            ("The gate opens with harbour-4711.", key), ("Ask Ada. &lt;private>The boss is X.&lt;/private>", key),
            ("They deploy on Mondays.", "other-1a2b3c"), ("Tests come first.", key),
        )):  # fmt: skip
            keeper.take([a_fact(text, project=place, day=number / 10)], "shop")
        secret, private, strange, plain = sorted(keeper.store.facts(), key=lambda fact: fact.time)
    (tmp_path / "netrc").write_text("password kelp\n")
    (clone / team.FOLDER).mkdir(exist_ok=True)
    git(clone, "config", "--global", "user.name", "Jo Ba")
    (clone / team.FOLDER / "jo-ba.md").symlink_to(tmp_path / "netrc")
    for fact, told in ((secret, "a secret"), (private, "a secret"), (strange, "excluded project"), (plain, "a link")):
        with pytest.raises(ExpectedError, match=told):
            wiki.run(share, fact.id, "--yes")
    assert "kelp" in (tmp_path / "netrc").read_text()
