"""A project is known by its remote, wherever it lies; nothing in a repository can make a hook wait, fail or lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memoria.base import project
from memoria.base.paths import Paths
from memoria.base.settings import Settings

SSH, HTTPS = "git@git.example.com:client1/api.git", "https://git.example.com/client1/api"


def repository(folder: Path, remote: str = "") -> Path:
    git = folder / ".git"
    git.mkdir(parents=True)
    section = f'[remote "origin"]\n\turl = {remote}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n' if remote else ""
    (git / "config").write_text(f"[core]\n\tbare = false\n{section}")
    return folder


def key(folder: Path, paths: Paths, **given: bool) -> str:
    settings = Settings.load({})
    for name, value in given.items():
        setattr(settings, name, value)
    return project.key_of(str(folder), settings, paths)


@pytest.mark.parametrize("url", [
    SSH, HTTPS, f"{HTTPS}.git", f"{HTTPS}/", "https://user:token@GIT.example.com:8443/client1/api.git",
    "ssh://git@git.example.com:2222/client1/api.git", "git://git.example.com//client1/api",
    "git.example.com:client1/api", "git+ssh://git@git.example.com/client1/./api.git/",
])  # fmt: skip
def test_one_repository_is_one_project_whatever_its_remote_is_written_like(url: str) -> None:
    assert project.remote_identity(url) == "git.example.com/client1/api"
    assert project.remote_identity("gh:api") == "gh/api", "a short name of ~/.ssh/config"


@pytest.mark.parametrize(
    "url", ["/srv/git/api.git", "../api", "file:///srv/git/api.git", "C:\\src\\api", "ext::sh -c x", "", ":", "a:b:..",
            "./a:b/c", ".\\a:b/c", "https://", "https://host", "https://host/../../x", "host:", "https://host/.git"]
)  # fmt: skip
def test_a_local_path_and_what_is_no_address_identify_nothing(url: str) -> None:
    assert project.remote_identity(url) in ("", "a:b:..")


def test_two_clones_are_one_project_and_two_repositories_of_one_name_are_two(tmp_path: Path, paths: Paths) -> None:
    one, two = repository(tmp_path / "a" / "api", SSH), repository(tmp_path / "b" / "api-copy", HTTPS)
    other = repository(tmp_path / "c" / "api", SSH.replace("client1", "client2"))
    (one / "packages" / "web").mkdir(parents=True)
    config = two / ".git" / "config"
    config.write_text(config.read_text().replace("origin", "only").replace(HTTPS, f'"{HTTPS}" ; of the server'))
    assert key(one, paths) == key(two, paths) == key(one / "packages" / "web", paths)
    assert key(other, paths) != key(one, paths)
    assert key(one, paths).startswith("api-")
    assert key(repository(tmp_path / "my.app_v2 x"), paths).startswith("my.app_v2-x-")
    assert [project.place(folder).root for folder in ("C:/api", r"C:\api")] == ["C:/api", r"C:\api"], "on Windows"


def test_worktrees_are_their_repository_unless_they_are_to_be_split(tmp_path: Path, paths: Paths) -> None:
    main, tree = repository(tmp_path / "api", SSH), tmp_path / "api-fix"
    store = main / ".git" / "worktrees" / "api-fix"
    store.mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {store}\n")
    (store / "commondir").write_text("../..\n")
    (store / "gitdir").write_text(f"{tree}/.git\n")
    assert key(tree, paths) == key(main, paths)
    assert key(tree, paths, split_worktrees=True) == project.key_of_path(str(tree))
    assert key(main, paths, split_worktrees=True) == key(main, paths)
    thief = tmp_path / "unpacked"  # names the git folder of a repository that knows nothing of it
    thief.mkdir()
    (thief / ".git").write_text(f"gitdir: {store}\n")
    assert key(thief, paths) == project.key_of_path(str(thief))


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path, paths: Paths) -> None:
    outer = repository(tmp_path / "shop", SSH)
    inner, modules = outer / "lib" / "dates", outer / ".git" / "modules" / "lib" / "dates"
    inner.mkdir(parents=True)
    modules.mkdir(parents=True)
    (inner / ".git").write_text("gitdir: ../../.git/modules/lib/dates\n")
    (modules / "config").write_text('[remote "origin"]\n\turl = https://git.example.com/lib/dates\n')
    assert key(inner, paths) == project.key_of_remote("git.example.com/lib/dates")
    (tmp_path / ".git").write_text(f"gitdir: {modules}\n")  # of no repository around it
    assert key(tmp_path, paths) == project.key_of_path(str(tmp_path))


def _put(path: Path, kind: str, elsewhere: Path) -> None:
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to({"elsewhere": elsewhere, "itself": path, "device": Path("/dev/zero")}[kind])


def test_identity_is_read_from_regular_files_of_the_repository_alone(tmp_path: Path, paths: Paths) -> None:
    victim = repository(tmp_path / "secret", SSH)
    folder = repository(tmp_path / "unpacked")
    config, alone = folder / ".git" / "config", project.key_of_path(str(folder))
    for kind in ("elsewhere", "itself", "device", "fifo", "folder"):
        config.unlink()
        _put(config, kind, victim / ".git" / "config")
        assert key(folder, paths) == alone, kind
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / ".git").symlink_to(victim / ".git")
    assert key(linked, paths) == project.key_of_path(str(linked))


def test_a_repository_of_another_owner_is_not_believed(
    tmp_path: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "shared", SSH)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert key(folder, paths) == project.key_of_path(str(folder))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"folders": 3, "aliases": []}', '{"aliases": {"a-000000": 4}}', '{"folders": {"/x": []}}']
)
def test_a_broken_map_is_an_empty_one(tmp_path: Path, paths: Paths, text: str) -> None:
    Path(paths.state).mkdir(parents=True)
    Path(paths.projects).write_text(text)
    folder = tmp_path / "plain"
    assert key(folder, paths) == project.key_of_path(str(folder))
