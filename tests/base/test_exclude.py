"""What the user excludes is ignored, and nothing else is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memoria.base.exclude import MARKER, exclusion


@pytest.mark.parametrize(("pattern", "inside", "outside"), [
    ("/jobs/secret", ["/jobs/secret", "/jobs/secret/a/b"], ["/jobs/secret2", "/jobs", "/x/jobs/secret"]),
    ("/jobs/secret/", ["/jobs/secret", "/jobs/secret/a"], ["/jobs"]),
    ("/jobs/*/legal", ["/jobs/acme/legal", "/jobs/acme/legal/x"], ["/jobs/legal", "/jobs/a/b/legal"]),
    ("/jobs/**/legal", ["/jobs/legal", "/jobs/a/b/legal/c"], ["/legal", "/other/legal"]),
    ("**/clients/**", ["/clients", "/home/a/clients/x"], ["/home/a/client"]),
    ("clients/acme", ["/home/a/clients/acme/src"], ["/home/a/clients/other"]),
    ("client-*", ["/home/a/client-1", "/home/client-x/src"], ["/home/a/client", "/home/a/my-client-1"]),
    ("notes?", ["/a/notes1"], ["/a/notes", "/a/notes12"]),
    ("*", ["/a", "/a/b"], []),
    ("/", [], ["/a"]),
    (".", [], ["/a"]),
    ("/.", [], ["/a"]),
    ("", [], ["/a", "/"]),
    ("/a/*b*c", ["/a/xbxc", "/a/bc/d"], ["/a/xb", "/a/cb"]),
])  # fmt: skip
def test_a_pattern_excludes_the_folder_and_all_below_and_no_other(
    pattern: str, inside: list[str], outside: list[str]
) -> None:
    assert [path for path in inside if not exclusion(path, [pattern])] == []
    assert [path for path in outside if exclusion(path, [pattern])] == []


@pytest.mark.parametrize("home", ["~", "$HOME", "${HOME}"])
def test_a_pattern_may_name_the_home_folder_as_a_shell_does(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ana")
    monkeypatch.setenv("USERPROFILE", "/home/ana")
    assert exclusion("/home/ana/jobs/a", [f"{home}/jobs"])
    assert not exclusion("/home/ben/jobs/a", [f"{home}/jobs"])


def test_a_marker_excludes_its_folder_and_all_below(tmp_path: Path) -> None:
    deep = tmp_path / "project" / "src"
    deep.mkdir(parents=True)
    assert not exclusion(str(deep), ())
    marker = tmp_path / "project" / MARKER
    marker.touch()
    assert exclusion(str(deep), ()) == str(marker)
    assert not exclusion(str(tmp_path), ())


def test_a_link_is_excluded_by_both_names_and_with_it_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert all(exclusion(str(tmp_path / "link"), [name]) for name in ("link", "real"))
    for pattern in (f"{tmp_path}/link", f"{tmp_path}/link/*ee*", f"{tmp_path}/link/.."):
        assert exclusion(str(tmp_path / "real" / "deep"), [pattern]), pattern
    assert not exclusion(str(tmp_path), [f"{tmp_path}/link"])
    (tmp_path / "real" / MARKER).touch()
    (tmp_path / "short").symlink_to(tmp_path / "real" / "deep")
    assert exclusion(str(tmp_path / "short"), ()), "the marker lies above what the link leads to"


@pytest.mark.parametrize("by", ["marker", "pattern"])
def test_the_worktrees_of_an_excluded_repository_are_excluded(tmp_path: Path, by: str) -> None:
    main, tree, other = tmp_path / "api", tmp_path / "elsewhere" / "fix", tmp_path / "elsewhere" / "other"
    for words in (
        ("init", "-q", str(main)), ("-C", str(main), "commit", "-q", "--allow-empty", "-m", "x"),
        ("-C", str(main), "worktree", "add", "-q", str(tree)), ("init", "-q", str(other)),
        ("init", "-q", str(tree.parent)),
    ):  # fmt: skip
        subprocess.run(["git", "-c", "user.name=m", "-c", "user.email=m@example.com", *words], check=True)
    (tree / "src").mkdir()
    if by == "marker":
        (main / MARKER).touch()
    patterns = [str(main)] if by == "pattern" else []
    assert exclusion(str(tree / "src"), patterns)
    assert not exclusion(str(other), patterns)


def test_a_hostile_pattern_takes_no_time() -> None:
    assert not exclusion("/" + "a" * 3000, ["/" + "*a" * 60 + "*b"])
