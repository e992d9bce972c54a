"""Projects: what only the worker can find out about the folders that people work in, stored for the hooks.

Looks up the root commit of a repository, decides its project's key and writes the map that ``base/project.py`` reads.
The caller holds the worker lock. docs/decisions/0021-privacy.md gives the rules and their reasons.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from memoria.base import project, visibility
from memoria.base.atomic import PRIVATE
from memoria.base.paths import Paths
from memoria.ground import files, locks
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home

log = logging.getLogger(__name__)

GIT_SECONDS = 20.0  # for one question; a repository that takes longer is identified without its root commit
# Nothing of the project's configuration may start a program or reach a network.
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-replace-objects")
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class Projects(project.Known):
    """The map of one home, being brought up to date: of each folder the project's ``key``, its remote and commit."""

    __slots__ = ("path",)
    folders: dict[str, dict[str, str]]
    aliases: dict[str, str]

    def __init__(self, path: str) -> None:
        """Read the map in the file ``path``."""
        known = project.read(path)
        folders = {root: {"key": "", **about} for root, about in known.folders.items()}
        super().__init__(folders, dict(known.aliases))
        self.path = Path(path)

    def learn(self, cwds: Iterable[str], *, split_worktrees: bool = False) -> bool:
        """Take in what these working folders are; return whether the keys of stored texts have changed by it.

        A map that cannot be written is logged: the folders are looked at again by the next worker.
        """
        aliases, folders = dict(self.aliases), dict(self.folders)
        places = [project.place(cwd, split_worktrees) for cwd in dict.fromkeys(cwds) if cwd]
        for place in {place.root: place for place in places}.values():
            if place.git:
                self._learn(place)
            elif place.is_plain:
                self._learn_plain(place.root)
        if (self.aliases, self.folders) == (aliases, folders):
            return False
        try:
            self._write()
        except OSError as error:
            log.warning("%s cannot be written: %s", self.path, error)
            return False
        return self.aliases != aliases

    def forget(self, folders: Collection[str], key: str = "") -> None:
        """Remove these folders, and every former key of the project ``key``, from the map."""
        before = len(self.folders), len(self.aliases)
        self.folders = {root: known for root, known in self.folders.items() if root not in folders}
        self.aliases = {old: new for old, new in self.aliases.items() if self.current(old) != key}
        if (len(self.folders), len(self.aliases)) != before:
            self._write()

    def _learn_plain(self, root: str) -> None:
        """Take in a folder that is no repository: it is one project with such folders around it and below it.

        That is not so for the user's home folder and those above it, in which everything lies.
        """
        if _is_around(root, str(Path.home())) or root == str(Path.home()):
            return
        self.folders.setdefault(root, {"key": project.key_of_path(root)})
        for other, about in self.folders.items():
            outer, inner = (other, root) if _is_around(other, root) else (root, other)
            if _is_plain(about) and _is_around(outer, inner):
                self._alias(project.key_of_path(inner), self.current(project.key_of_path(outer)))

    def _learn(self, place: project.Place) -> None:
        before = self.folders.get(place.root, {})
        if _is_plain(before):
            before = {}  # it has become a repository
        commit = _root_commit(place.git, before.get("commit", ""))
        if place.remote and not self.is_proven(place):
            place.remote = ""
        if not place.remote and not commit:
            return  # nothing but its path identifies it, or git cannot answer now
        known = before if _is_same(before, place, commit) else {}
        key = self.current(self._key(place, commit, known))
        if known and known["key"] != key and self.is_renamed(place, known):
            self._alias(known["key"], key)
        self.folders[place.root] = {"key": key, "remote": place.remote, "commit": commit or known.get("commit", "")}
        path_key = project.key_of_path(place.root)
        if path_key != key:  # what another repository left under this path has its alias already
            self.aliases.setdefault(path_key, key)
        self._gather(commit)

    def is_proven(self, place: project.Place) -> bool:
        """Return whether a repository is what its remote says, as ``Known.is_proven``, or shares a newest commit."""
        others = [root for root, about in self.folders.items() if about.get("remote") == place.remote]
        return super().is_proven(place) or any(_share(place.git, project.place(root).git) for root in others)

    def _key(self, place: project.Place, commit: str, before: Mapping[str, str]) -> str:
        if place.remote:
            return project.key_of_remote(place.remote)
        if before:
            return before["key"]
        keys = {self.current(about["key"]) for about in self.folders.values() if about.get("commit") == commit}
        return keys.pop() if len(keys) == 1 else project.key_of_commit(place.root, commit)

    def _gather(self, commit: str) -> None:
        """Give folders without a remote to the only project with a remote that has their root commit."""
        same = [about for about in self.folders.values() if commit and about.get("commit") == commit]
        keys = {self.current(about["key"]) for about in same if about.get("remote")}
        if len(keys) == 1:
            key = keys.pop()
            for about in same:
                if not about.get("remote"):
                    self._alias(about["key"], key)

    def _alias(self, old: str, new: str) -> None:
        if self.current(old) != new:
            self.aliases[self.current(old)] = new

    def _write(self) -> None:
        stored = {"folders": dict(sorted(self.folders.items())), "aliases": dict(sorted(self.aliases.items()))}
        files.replace(self.path, json.dumps(stored, ensure_ascii=False), mode=PRIVATE)


def _is_plain(about: Mapping[str, str]) -> bool:
    """Return whether a folder is no repository."""
    return not (about.get("remote") or about.get("commit"))


def _is_around(outer: str, inner: str) -> bool:
    return inner.startswith(os.path.join(outer, ""))  # noqa: PTH118 (text)


def _share(one: str, other: str) -> bool:
    """Return whether one of two repositories has the newest commit of the other; a shallow one has no root commit."""
    for git, held in ((one, other), (other, one)):
        commit = (ask_git(git, "rev-parse", "HEAD") or "").strip()
        if commit and ask_git(held, "cat-file", "-e", f"{commit}^{{commit}}") is not None:
            return True
    return False


def _is_same(before: Mapping[str, str], place: project.Place, commit: str) -> bool:
    """Return whether the repository that was seen in a folder is the one that lies there now."""
    seen = before.get("commit")
    return seen == commit if seen and commit else before.get("remote", "") == place.remote


def see_folder(paths: Paths, project: str, folder: str) -> None:
    """Record that a session of the project (by key) worked in ``folder``; a known one costs one read."""
    if not folder or folder in visibility.folders(paths.folders).get(project, ()):
        return
    with locks.wait(Path(f"{paths.folders}.lock")):
        known = visibility.folders(paths.folders)
        _write_folders(paths, known | {project: [*known.get(project, ()), folder]})


def forget_folders(paths: Paths, folders: Collection[str]) -> None:
    """Remove these folders from the record of where sessions worked."""
    with locks.wait(Path(f"{paths.folders}.lock")):
        known = visibility.folders(paths.folders)
        rest = {key: [folder for folder in found if folder not in folders] for key, found in known.items()}
        rest = {key: found for key, found in rest.items() if found}
        _write_folders(paths, rest)


def _write_folders(paths: Paths, known: Mapping[str, list[str]]) -> None:
    files.replace(Path(paths.folders), json.dumps(known, ensure_ascii=False), mode=PRIVATE)


def labels(keys: Iterable[str], known: project.Known) -> dict[str, str]:
    """Return what to call each project: its name, with what tells it apart where two projects share the name.

    That is the owner of its remote or else the folder above its own (``client1-api``); the key when that is not known
    or also the same.
    """
    named: dict[str, list[str]] = {}
    for key in sorted(set(keys)):
        named.setdefault(project.name_of(key).casefold(), []).append(key)
    return {key: label for group in named.values() for key, label in _distinct_labels(group, known).items()}


def _distinct_labels(group: list[str], known: project.Known) -> dict[str, str]:
    if len(group) == 1:
        return {group[0]: project.name_of(group[0])}
    longer = {
        key: f"{above}-{project.name_of(key)}" if (above := _owner_or_parent(key, known)) else key for key in group
    }
    taken = [label.casefold() for label in longer.values()]
    return {key: label if taken.count(label.casefold()) == 1 else key for key, label in longer.items()}


def _owner_or_parent(key: str, known: project.Known) -> str:
    """Return the owner of the project's remote, or the name of the folder that holds the project's."""
    for root, about in sorted(known.folders.items()):
        if known.current(about.get("key", "")) == key:
            remote = about.get("remote", "").split("/")
            above = remote[-2] if len(remote) > 2 else Path(root).parent.name
            return "".join(letter if letter.isalnum() else "-" for letter in above).strip("-")
    return ""


def find(given: str, keys: Iterable[str], known: project.Known) -> str:
    """Return the key of the project that a person calls ``given``: a key, a name, or a repository or folder's name.

    Raise ExpectedError when none of ``keys`` is meant, with those that come near, or several are, with all of them.
    """
    keys = set(keys)
    if (current := known.current(given)) in keys:
        return current
    called = _names(keys, known)
    found = sorted(key for key in keys if given.casefold() in called[key])
    if len(found) == 1:
        return found[0]
    if found:
        rows = "".join(f"\n  {key}  {_place_text(key, known)}".rstrip() for key in found)
        raise ExpectedError(f"{given!r} is the name of {len(found)} projects; give one of their keys:{rows}")
    import difflib  # noqa: PLC0415 (only for a name that is not known)

    every = {name: key for key in sorted(keys) for name in called[key]}
    near = {every[name] for name in difflib.get_close_matches(given.casefold(), every)}
    there = (
        f"Did you mean {', '.join(sorted(near))}?" if near else f"There are: {', '.join(sorted(keys)) or 'none yet'}."
    )
    raise ExpectedError(f"no project is called {given!r}. {there}")


def resolve_folder(given: str, keys: Iterable[str], home: Home) -> str:
    """Return the key of the project that a person calls ``given``, as ``find`` does; also for a folder or ``.``."""
    if given in (".", "..") or os.sep in given or given.startswith("~"):
        folder = Path(given).expanduser().absolute()
        if folder.is_dir():
            return project.key_of(str(folder), home.settings, home.paths)
    return find(given, keys, project.read(home.paths.projects))


def _names(keys: set[str], known: project.Known) -> dict[str, set[str]]:
    """Return what each project may be called, in lower case."""
    called = {key: {key, project.name_of(key), label} for key, label in labels(keys, known).items()}
    for root, about in known.folders.items():
        key = known.current(about.get("key", ""))
        if key in called:
            parts = about.get("remote", "").split("/")
            called[key] |= {root, Path(root).name, *("/".join(parts[start:]) for start in range(len(parts)))}
    return {key: {name.casefold() for name in names if name} for key, names in called.items()}


def _place_text(key: str, known: project.Known) -> str:
    folders = [root for root, about in sorted(known.folders.items()) if known.current(about.get("key", "")) == key]
    return ", ".join(folders)


def _root_commit(git: str, known: str) -> str:
    """Return the repository's root commit, the oldest of several; ``""`` when it has none, or git cannot say."""
    if known and ask_git(git, "cat-file", "-e", f"{known}^{{commit}}") is not None:
        return known
    if Path(git, "shallow").exists():  # its oldest commit is where the clone was cut off
        return ""
    found = (ask_git(git, "rev-list", "--max-parents=0", "HEAD", "--") or "").split()
    return found[-1] if found else ""


def ask_git(git: str, *question: str, as_user: bool = False) -> str | None:
    """Return git's answer, None when it fails or takes too long; ``as_user``: by the user's own configuration."""
    import subprocess  # noqa: PLC0415 (only for a repository without a remote)

    environment = {**os.environ} if as_user else {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT}
    try:
        done = subprocess.run(
            [*_GIT, "--git-dir", git, *question],
            cwd=git, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            errors="replace", timeout=GIT_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
