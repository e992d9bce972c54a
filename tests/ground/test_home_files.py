"""What lies among the daily logs and articles and is none of them stops nothing, is not shown, and is named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from home_of import DAY, article, entry
from memoria.audit import checks
from memoria.ground import home_files
from memoria.ground.home import Home

SECRET = "the quaggamire password"
VERBS = (
    ("flush",), ("search", "quaggamire"), ("lint",), ("doctor",), ("status",), ("compile",), ("verify",),
    ("forget", "nobody said this", "--as", "text", "--yes"), ("forget", "fridays", "--as", "text", "--yes"),
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with an entry and an article, and beside each something that is no file of the home."""
    monkeypatch.setenv("MEMORIA_MODEL", "offline")
    home = Home.open()
    entry(home, "a1", "Deploys", decisions=("Deploy on fridays only",))
    article(home, "concepts/deploys", "Deploys", ("Deploy on fridays only", "a1"))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text(f"# Secret\n\n{SECRET}\n")
    for folder, names in (
        (Path(home.paths.daily), [f"2026-11-0{day}" for day in range(1, 6)]),
        (Path(home.paths.knowledge, "concepts"), ["pipe", "zero", "secret", "nowhere", "huge"]),
    ):
        pipe, zero, secret, nowhere, huge = (folder / f"{name}.md" for name in names)
        os.mkfifo(pipe)
        zero.symlink_to("/dev/zero")
        secret.symlink_to(outside / "secret.md")
        nowhere.symlink_to(folder / "gone.md")
        with huge.open("wb") as file:
            file.truncate(home_files.MAX_BYTES + 1)
        (folder / "folder").symlink_to(outside)
    os.mkfifo(Path(home.paths.knowledge, "pipe.md"))
    if sys.platform == "linux":
        Path(os.fsdecode(os.fsencode(home.paths.knowledge) + b"/concepts/caf\xe9.md")).write_text("# Café\n")
    return home


@pytest.mark.slow
@pytest.mark.parametrize("words", VERBS, ids=lambda words: " ".join(words[:2]))
def test_what_is_no_file_of_the_home_stops_no_verb_and_is_not_shown(home: Home, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "memoria.cli", *words], env={**os.environ, "MEMORIA_PYTHON": sys.executable},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert done.returncode in (0, 1), done
    if words[0] == "doctor":
        assert all(name in done.stdout for name in ("not read: ", "2026-11-01.md", "2026-11-02.md"))
    if words[:2] == ("forget", "fridays"):
        assert "fridays" not in Path(home.paths.daily, f"{DAY}.md").read_text()


def test_the_doctor_says_of_each_what_it_is(home: Home) -> None:
    assert [slug for slug, _ in home_files.articles(home.paths.knowledge)] == ["concepts/deploys"]
    assert [day for day, _ in home_files.days(home.paths.daily)] == [DAY.isoformat()]
    found = {each.name: each.reason for each in home_files.other_files(home.paths.knowledge, is_daily=False)}
    assert found == {
        **({"concepts/caf?.md": "has a name that is no UTF-8"} if sys.platform == "linux" else {}),
        "concepts/folder": "is a link to a folder", "concepts/huge.md": "is larger than 64 MiB",
        "concepts/nowhere.md": "is a link to nothing", "concepts/pipe.md": "is no regular file",
        "concepts/secret.md": "is a link that leads out of the folder",
        "concepts/zero.md": "is a link that leads out of the folder", "pipe.md": "is no regular file",
    }  # fmt: skip
    for folder, why in ((home.paths.knowledge, home_files.NOT_AN_ARTICLE), (home.paths.daily, home_files.NOT_A_DAY)):
        Path(folder, "2026-02-30.md").touch()
        left = home_files.other_files(folder, is_daily=folder == home.paths.daily)
        assert why in [each.reason for each in left if each.name == "2026-02-30.md"]
    (named,) = checks.check_files(home)
    assert named.text.endswith(" and more")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_a_file_of_another_user_is_not_read_unless_its_folder_is_theirs_too(home: Home) -> None:
    folder = Path(home.paths.knowledge, "concepts")
    os.chown(folder / "deploys.md", 12345, 12345)
    assert list(home_files.articles(home.paths.knowledge)) == []
    with pytest.raises(home_files.RefusedFileError, match="another user"):
        home_files.read(folder / "deploys.md", home.paths.knowledge)
    os.chown(folder, 12345, 12345)  # as on a disk that another system wrote
    assert [slug for slug, _ in home_files.articles(home.paths.knowledge)] == ["concepts/deploys"]


def test_a_link_within_its_folder_and_a_folder_that_is_a_link_are_read(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "concepts").mkdir(parents=True)
    (vault / "concepts" / "one.md").write_text("# One\n")
    (vault / "concepts" / "two.md").symlink_to("one.md")
    (tmp_path / "knowledge").symlink_to(vault)
    slugs = [slug for slug, _ in home_files.articles(tmp_path / "knowledge")]
    assert slugs == ["concepts/one", "concepts/two"]
    assert home_files.text(tmp_path / "knowledge" / "concepts" / "two.md", tmp_path / "knowledge") == "# One\n"


def test_a_copy_of_a_sync_program_is_told_from_a_page_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "concepts"
    folder.mkdir()
    page = "---\ntitle: Plan\n---\n"
    copies = (
        "plan.sync-conflict-20261121-101112-ABCDEFG", "plan (conflicted copy 2026-11-21)", "plan 2", "plan (1)",
        "plan_conflict-20261121-101112", "plan (in Konflikt stehende Kopie von Ada 2026-11-21)",
        "plan (Copie en conflit de Ada 2026-11-21)",
    )  # fmt: skip
    own = ("plan", "plan-2", "plan 3", "conflicts", "other (conflicting views)")
    for name in (*copies, *own):
        (folder / f"{name}.md").write_text(page.replace("Plan", "Other") if name == "plan 3" else page)
    assert sorted(slug for slug, _ in home_files.articles(tmp_path)) == sorted(f"concepts/{name}" for name in own)
    found = {each.name: each.original for each in home_files.other_files(tmp_path, is_daily=False)}
    assert found == {f"concepts/{name}.md": "concepts/plan.md" for name in copies}
