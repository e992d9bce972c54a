"""What the user excludes is ignored, and nothing else is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memoria.base.exclude import MARKER, Excluder
from memoria.base.paths import MAX_PATH
from places import ROOT


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
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
        ("", [], ["/a", "/"]),
        ("/a/*b*c", ["/a/xbxc", "/a/bc/d"], ["/a/xb", "/a/cb"]),
    ],
)
def test_a_pattern_excludes_the_folder_and_all_below_and_no_other(
    pattern: str, inside: list[str], outside: list[str]
) -> None:
    excluder = Excluder([pattern])
    assert [path for path in inside if not excluder.matches(path)] == []
    assert [path for path in outside if excluder.matches(path)] == []


def test_a_tilde_is_the_home_folder() -> None:
    assert Excluder(["~/diary"]).matches(str(Path.home() / "diary" / "2026"))
    assert not Excluder(["~/diary"]).matches("/diary")


def test_the_reason_names_what_excluded_it() -> None:
    assert Excluder(["/x", "/jobs/*"]).reason("/jobs/a") == "/jobs/*"


def test_a_marker_excludes_its_folder_and_all_below(tmp_path: Path) -> None:
    deep = tmp_path / "project" / "src"
    deep.mkdir(parents=True)
    assert not Excluder().matches(str(deep))
    marker = tmp_path / "project" / MARKER
    marker.touch()
    assert Excluder().reason(str(deep)) == str(marker)
    assert not Excluder().matches(str(tmp_path))


def test_a_folder_behind_a_link_is_excluded_by_its_real_name(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    assert Excluder(["secret"]).matches(str(tmp_path / "link"))
    assert Excluder(["link"]).matches(str(tmp_path / "link"))


def test_a_link_that_is_excluded_excludes_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for pattern in (f"{tmp_path}/link", f"{tmp_path}/link/*ee*", f"{tmp_path}/link/.."):
        assert Excluder([pattern]).matches(str(tmp_path / "real" / "deep")), pattern
    assert not Excluder([f"{tmp_path}/link"]).matches(str(tmp_path))
    (tmp_path / "real" / MARKER).touch()
    (tmp_path / "short").symlink_to(tmp_path / "real" / "deep")
    assert Excluder().matches(str(tmp_path / "short")), "the marker lies above what the link leads to"


def test_a_pattern_and_a_folder_may_go_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert Excluder(["~/../x"]).matches(str(tmp_path / "x" / "src"))
    assert Excluder([f"{tmp_path}/x"]).matches(f"{tmp_path}/y/../x")


def test_a_marker_that_is_a_link_to_nothing_counts(tmp_path: Path) -> None:
    (tmp_path / MARKER).symlink_to(tmp_path / "team" / "off")
    assert Excluder().matches(str(tmp_path))


@pytest.mark.parametrize("by", ["marker", "pattern"])
def test_the_worktrees_of_an_excluded_repository_are_excluded(tmp_path: Path, by: str) -> None:
    main, tree, other = tmp_path / "api", tmp_path / "elsewhere" / "fix", tmp_path / "elsewhere" / "other"
    for words in (
        ("init", "-q", str(main)), ("-C", str(main), "commit", "-q", "--allow-empty", "-m", "x"),
        ("-C", str(main), "worktree", "add", "-q", str(tree)), ("init", "-q", str(other)),
    ):  # fmt: skip
        subprocess.run(["git", "-c", "user.name=m", "-c", "user.email=m@example.com", *words], check=True)
    (tree / "src").mkdir()
    if by == "marker":
        (main / MARKER).touch()
    excluder = Excluder([str(main)] if by == "pattern" else [])
    assert excluder.matches(str(tree / "src"))
    assert not excluder.matches(str(other))


@pytest.mark.parametrize("cwd", ["", "relative/path", ".", "/nul\0byte"])
def test_a_folder_that_is_not_known_is_not_excluded(cwd: str) -> None:
    assert not Excluder(["*"]).matches(cwd)


def test_a_hostile_pattern_takes_no_time() -> None:
    assert not Excluder(["/" + "*a" * 60 + "*b"]).matches("/" + "a" * 3000)


def test_it_imports_nothing_slow() -> None:
    code = "import os, sys; before = set(sys.modules); import memoria.base.exclude"
    code += "; print(sorted(set(sys.modules) - before))"
    answer = subprocess.run(
        [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'scripts')!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == (
        "['__future__', 'memoria', 'memoria.base', 'memoria.base.exclude', 'memoria.base.paths']"
    )


def test_a_folder_whose_name_no_system_can_write_is_compared_with_the_patterns() -> None:
    assert Excluder(["secret"]).matches("/secret/\ud800")
    assert not Excluder(["secret"]).matches("/open/\ud800")


def test_a_path_longer_than_any_can_be_costs_no_more_than_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("os.path.exists", asked.append)
    assert not Excluder(["secret"]).matches("/a" * 200_000)
    assert len(asked) <= MAX_PATH
    assert Excluder(["secret"]).matches("/secret" + "/a" * 200_000)
