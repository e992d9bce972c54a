"""Project: which project a folder belongs to, found without running git.

The git common directory identifies a project, so that all worktrees of a repository are one project. A folder outside
any repository is a project of its own.
"""

from __future__ import annotations

import binascii
import os


class Project:
    """A project: its ``name`` for people, and its ``key`` (``<name>-<6 hex digits of a checksum of the path>``)."""

    __slots__ = ("key", "name", "root")

    def __init__(self, root: str) -> None:
        """Describe the project that the folder ``root`` identifies."""
        self.root = root
        base = os.path.basename(root.rstrip("/\\").replace("\\", "/")) or "home"
        self.name = (
            "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in base).strip(".-") or "home"
        )
        self.key = f"{self.name}-{binascii.crc32(root.encode('utf-8', 'replace')) & 0xFFFFFF:06x}"


def of(cwd: str, split_worktrees: bool = False) -> Project:
    """Return the project of a working folder, which need not exist any more."""
    folder = os.path.abspath(cwd) if cwd and not _is_windows_path(cwd) else cwd
    place = folder
    while place:
        marker = os.path.join(place, ".git")
        if os.path.isdir(marker):
            return Project(place)
        if os.path.isfile(marker):
            return Project(place if split_worktrees else _main_checkout(place, marker))
        parent = os.path.dirname(place)
        if parent == place:
            break
        place = parent
    return Project(folder)


def _main_checkout(place: str, marker: str) -> str:
    """Return the main checkout that a worktree's ``.git`` file points to, or the worktree when that is unclear."""
    try:
        with open(marker, encoding="utf-8") as file:
            text = file.read(4096)
        if not text.startswith("gitdir:"):
            return place
        git_dir = os.path.join(place, text[len("gitdir:") :].strip())
        with open(os.path.join(git_dir, "commondir"), encoding="utf-8") as file:
            common = os.path.abspath(os.path.join(git_dir, file.read(4096).strip()))
    except (OSError, UnicodeDecodeError):
        return place  # a submodule has no commondir: it is a project of its own
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _is_windows_path(path: str) -> bool:
    return len(path) > 2 and path[1] == ":" and path[2] in "\\/" and os.name != "nt"
