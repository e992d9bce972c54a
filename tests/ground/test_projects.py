"""What the worker learns of folders: a repository keeps its project through moves, and forks stay apart."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from memoria.base import project
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground.errors import ExpectedError
from memoria.ground.projects import Projects, find, labels

UPSTREAM, FORK = "https://git.example.com/up/api", "https://git.example.com/me/api"


def git(folder: Path, *words: str) -> None:
    who = {"GIT_AUTHOR_NAME": "m", "GIT_AUTHOR_EMAIL": "m@example.com"}
    who |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in who.items()}
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1", **who}
    subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True)


def repository(folder: Path, remote: str = "", said: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", f"first of {folder} {said}")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def clone(source: Path, folder: Path, remote: str = "") -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, folder)
    if remote:
        git(folder, "config", "remote.origin.url", remote)
    return folder


def learn(paths: Paths, *folders: Path) -> bool:
    Path(paths.state).mkdir(parents=True, exist_ok=True)
    return Projects(paths.projects).learn(map(str, folders))


def key(paths: Paths, folder: Path) -> str:
    return project.key_of(str(folder), Settings.load({}), paths)


def stored(paths: Paths, old: str) -> str:
    return project.aliases(paths.projects).get(old, old)


def test_a_renamed_folder_without_a_remote_keeps_its_key(tmp_path: Path, paths: Paths) -> None:
    folder = repository(tmp_path / "api")
    by_path = key(paths, folder)
    assert learn(paths, folder)
    before = key(paths, folder)
    assert stored(paths, by_path) == before, "what was written before git was asked is the same project's"
    moved = folder.rename(tmp_path / "service")
    learn(paths, moved)
    assert key(paths, moved) == before
    assert stored(paths, project.key_of_path(str(moved))) == before, "what was written before this was noticed"
    (empty := tmp_path / "empty").mkdir()
    git(empty, "init", "-q")
    assert not learn(paths, moved, empty), "nothing is new the second time, and nothing is known of one without commits"


def test_a_map_that_cannot_be_written_is_logged(tmp_path: Path, paths: Paths, caplog: pytest.LogCaptureFixture) -> None:
    folder = repository(tmp_path / "shop")
    Path(paths.projects).mkdir(parents=True)
    assert not learn(paths, folder)
    assert f"{paths.projects} cannot be written: " in caplog.text


def test_a_repository_that_was_begun_anew_in_its_folder_is_a_project_of_its_own(tmp_path: Path, paths: Paths) -> None:
    folder = repository(tmp_path / "api")
    learn(paths, folder)
    before = key(paths, folder)
    shutil.rmtree(folder)
    learn(paths, repository(folder, said="anew"))
    assert key(paths, folder) != before


def test_a_folder_that_an_archive_brings_along_passes_for_no_known_repository(tmp_path: Path, paths: Paths) -> None:
    folder = repository(tmp_path / "api")
    learn(paths, folder)
    packed = shutil.make_archive(str(tmp_path / "api"), "tar", folder)
    (other := tmp_path / "unpacked").mkdir()
    shutil.unpack_archive(packed, other, filter="tar")
    assert (other / ".git" / "description").stat().st_mtime == (folder / ".git" / "description").stat().st_mtime
    assert key(paths, other) == project.key_of_path(str(other))


def test_what_two_clones_wrote_by_their_paths_becomes_one_project(tmp_path: Path, paths: Paths) -> None:
    one = repository(tmp_path / "a" / "api", UPSTREAM)
    two = clone(one, tmp_path / "b" / "api2")
    old = [project.key_of_path(str(folder)) for folder in (one, two)]
    learn(paths, one, two)
    assert {stored(paths, each) for each in old} == {key(paths, one)} == {key(paths, two)}


def test_forks_are_apart_and_a_local_clone_belongs_to_the_only_remote(tmp_path: Path, paths: Paths) -> None:
    local = repository(tmp_path / "local")
    learn(paths, local)
    before = key(paths, local)
    upstream = clone(local, tmp_path / "up", UPSTREAM)
    git(upstream, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    learn(paths, upstream)
    assert key(paths, local) == key(paths, upstream) == stored(paths, before)
    fork = clone(local, tmp_path / "fork", FORK)
    learn(paths, fork, upstream, local)
    assert key(paths, fork) != key(paths, upstream) == key(paths, local)


def test_a_repository_that_gets_a_remote_or_another_one_stays_the_same_project(tmp_path: Path, paths: Paths) -> None:
    folder = repository(tmp_path / "api")
    learn(paths, folder, repository(tmp_path / "other"))
    alone = key(paths, folder)
    git(folder, "remote", "add", "origin", UPSTREAM)
    assert key(paths, folder) == alone, "its first session has the page"
    learn(paths, folder)
    first = key(paths, folder)
    assert stored(paths, alone) == first != alone
    git(folder, "remote", "set-url", "origin", FORK)
    assert key(paths, folder) == first
    learn(paths, folder)
    assert stored(paths, first) == key(paths, folder) != first
    git(folder, "remote", "set-url", "origin", UPSTREAM)
    learn(paths, folder)
    assert stored(paths, alone) == stored(paths, first) == key(paths, folder)
    learn(paths, other := clone(folder, tmp_path / "clone"))
    git(other, "remote", "set-url", "origin", FORK + "2")
    assert key(paths, other) != key(paths, folder), "one of two clones may have become a fork"
    git(folder, "remote", "set-url", "origin", FORK + "3")
    shutil.rmtree(other)
    assert key(paths, folder) == stored(paths, first)
    shutil.rmtree(folder)
    assert key(paths, repository(folder, FORK + "3", said="anew")) != stored(paths, first)


def test_a_remote_alone_gives_an_unpacked_folder_no_known_project(tmp_path: Path, paths: Paths) -> None:
    known = repository(tmp_path / "api", UPSTREAM)
    learn(paths, known)
    unpacked = repository(tmp_path / "unpacked", UPSTREAM, said="by someone who knows the address")
    git(unpacked, "gc", "-q")
    assert key(paths, unpacked) == project.key_of_path(str(unpacked))
    learn(paths, unpacked)
    assert key(paths, unpacked) not in (key(paths, known), project.key_of_remote("git.example.com/up/api"))
    other = repository(tmp_path / "other", "https://git.example.com/up/other")
    assert key(paths, other) == project.key_of_remote("git.example.com/up/other"), "nothing is known of it yet"


def test_a_second_clone_has_the_project_in_its_first_session(tmp_path: Path, paths: Paths) -> None:
    known = repository(tmp_path / "api", UPSTREAM)
    for number in range(40):
        git(known, "commit", "-q", "--allow-empty", "-m", str(number))
    learn(paths, known)
    packed, loose = tmp_path / "packed", clone(known, tmp_path / "loose")
    git(tmp_path, "clone", "-q", "--no-local", str(known), str(packed))
    git(packed, "config", "remote.origin.url", UPSTREAM)
    assert not list((packed / ".git" / "objects").glob("[0-9a-f]?"))
    assert key(paths, packed) == key(paths, loose) == key(paths, known)
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{known}", str(shallow))
    git(shallow, "config", "remote.origin.url", UPSTREAM)
    before = key(paths, shallow)
    learn(paths, shallow)
    assert key(paths, shallow) == stored(paths, before) == key(paths, known)


def test_folders_below_one_that_held_a_session_belong_to_it_but_not_below_the_home_folder(
    tmp_path: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    app = tmp_path / "me" / "app"
    below = app / "web" / "src"
    inner = repository(app / "lib")
    below.mkdir(parents=True)
    learn(paths, tmp_path / "me", tmp_path, below)
    before = key(paths, below)
    assert before != key(paths, app), "the home folder holds everything"
    learn(paths, app)
    assert key(paths, app) == project.key_of_path(str(app)) == key(paths, below) == stored(paths, before)
    assert key(paths, app / "docs") == key(paths, app), "it has its page before a worker looks"
    assert key(paths, inner) != key(paths, app)
    assert key(paths, tmp_path / "me" / "application") != key(paths, app)


def test_a_repository_cannot_have_the_worker_run_anything(tmp_path: Path, paths: Paths) -> None:
    folder, ran = repository(tmp_path / "api"), tmp_path / "ran"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.alternateRefsCommand", "gpg.program"):
        git(folder, "config", name, str(script))
    git(folder, "config", "core.hooksPath", str(tmp_path))
    git(folder, "config", "log.showSignature", "true")
    learn(paths, folder)
    assert key(paths, folder) != project.key_of_path(str(folder))
    assert not ran.exists()


def known(**keys: tuple[str, str]) -> project.Known:
    """Projects by key (``_`` for ``-``), with root and remote."""
    named = {key.replace("_", "-"): about for key, about in keys.items()}
    return project.Known({root: {"key": key, "remote": remote} for key, (root, remote) in named.items()}, {})


KNOWN = known(
    api_111111=("/w/client1/api", "git.example.com/client1/api"),
    api_222222=("/w/client2/api", ""),
    shop_333333=("/w/webshop", "git.example.com/me/shop"),
)
KEYS = ("api-111111", "api-222222", "shop-333333")


@pytest.mark.parametrize(("given", "meant"), [
    ("shop", "shop-333333"), ("SHOP", "shop-333333"), ("webshop", "shop-333333"), ("me/shop", "shop-333333"),
    ("client2-api", "api-222222"), ("api-111111", "api-111111"), ("/w/client1/api", "api-111111"),
])  # fmt: skip
def test_a_person_may_name_a_project_as_they_know_it(given: str, meant: str) -> None:
    assert find(given, KEYS, KNOWN) == meant


def test_projects_of_one_name_are_told_apart_by_the_owner_or_else_the_folder() -> None:
    two = known(api_111111=("/w/one/api", "host/api"), api_222222=("/w/x/api", "host/two/api"))
    called = {"api-111111": "one-api", "api-222222": "two-api", "shop-333333": "shop"}
    assert labels(KEYS, two) == called


@pytest.mark.parametrize(("given", "parts"), [
    ("api", ("2 projects", "api-111111  /w/client1/api", "api-222222  /w/client2/api")),
    ("shpo", ("Did you mean", "shop-333333")), ("zzzzzz", ("There are: ", *KEYS)),
])  # fmt: skip
def test_an_unknown_name_is_an_error_with_suggestions_and_an_ambiguous_one_lists_the_keys(
    given: str, parts: Iterable[str]
) -> None:
    with pytest.raises(ExpectedError) as error:
        find(given, KEYS, KNOWN)
    for part in parts:
        assert part in str(error.value)
