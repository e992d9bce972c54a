"""Project: which project a folder belongs to, found without running git.

A repository is identified by its remote, so that all clones and worktrees of it are one project wherever they lie.
Where other folders are known to have that remote, it must hold a commit of theirs as well, because anyone can write a
remote into a folder that is to be unpacked. A repository without a remote is identified by its root commit, which the
worker looks up (``ground/projects.py``) and stores in a small map of folders. What remains is identified by its path,
or by that of the folder around it that held a session. Project keys that were written before a folder's identity was
known, or before its remote changed, are aliases of the present key in the same map: whoever reads a stored key resolves
it with ``aliases``. docs/decisions/0021-privacy.md gives the reasons.

Everything that is read lies in the repository's own git folder, in regular files of this user, and only their first
64 KiB are read.
"""

from __future__ import annotations

import os
import stat

from memoria.base import quickjson
from memoria.base.paths import MAX_PATH, regular, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoria.base.paths import Paths
    from memoria.base.settings import Settings

MAX_BYTES = 65_536  # read of one file; a longer configuration is read as far as that
MAX_NAME = 50  # characters of a repository's name in its key, which also names a file
MAX_ALIASES = 8  # longest chain that is followed
MAX_PACKS = 50  # of a repository's packs that are looked into
_PACK_INDEX, _NAMES = b"\377tOc\0\0\0\2", 8 + 4 * 256  # how an index begins, and where its names do

NO_ALIASES: Mapping[str, str] = {}

_SCHEMES = ("ssh", "git", "http", "https", "git+ssh", "ssh+git")
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Place:
    """A working folder's ``root`` (the main checkout, or the folder itself) and its repository's ``remote``.

    ``git`` is the repository's git folder, empty when there is none that may be trusted. ``remote`` is ``host/path``,
    empty when the repository has no remote on a server. ``is_plain``: whether nothing on the path says it is a
    repository.
    """

    __slots__ = ("git", "is_plain", "remote", "root")

    def __init__(self, root: str, git: str = "", is_plain: bool = False) -> None:
        """Read the remote of the repository at ``root``, whose git folder is ``git``."""
        self.root = root
        self.git = git
        self.is_plain = is_plain
        self.remote = _remote(git) if git else ""


class Known:
    """The map in the state folder: what is known of each folder (by its root), and the aliases of project keys."""

    __slots__ = ("aliases", "folders")

    def __init__(self, folders: Mapping[str, Mapping[str, str]], aliases: Mapping[str, str]) -> None:
        self.folders = folders
        self.aliases = aliases

    def is_proven(self, place: Place) -> bool:
        """Return whether a repository is what its remote says: a known folder, the first one, or it has a commit."""
        if not place.remote or self.folders.get(place.root, {}).get("remote") == place.remote:
            return bool(place.remote)  # at once, for hooks
        others = [about for about in self.folders.values() if about.get("remote") == place.remote]
        return not others or any(_has_commit(place.git, about.get("commit", "")) for about in others)

    def is_renamed(self, place: Place, before: Mapping[str, str]) -> bool:
        """Return whether the repository itself has moved to another remote: no other folder still uses the old one."""
        old = before.get("remote", "")
        others = (root for root, about in self.folders.items() if old and about.get("remote") == old)
        return old != place.remote and not any(root != place.root and os.path.isdir(root) for root in others)

    def key_at(self, place: Place) -> str:
        """Return the key of a folder's project, ``""`` when only its path identifies it.

        A repository that has moved to another remote keeps its key until the worker looks.
        """
        here = self.folders.get(place.root) or (self._nearest_known(place.root) if place.is_plain else None) or {}
        has_moved = self.is_renamed(place, here) and _has_commit(place.git, here.get("commit", ""))
        return here.get("key", "") if has_moved or not self.is_proven(place) else key_of_remote(place.remote)

    def _nearest_known(self, folder: str) -> Mapping[str, str] | None:
        """Return what is known of the nearest folder around this one that is no repository and held a session."""
        while (parent := os.path.dirname(folder)) != folder:
            folder = parent
            about = self.folders.get(folder)
            if about and not (about.get("remote") or about.get("commit")):
                return about
        return None

    def current(self, key: str) -> str:
        """Return the present key of the project that ``key`` was written for."""
        for _ in range(MAX_ALIASES):
            if key not in self.aliases:
                break
            key = self.aliases[key]
        return key


def key_of(cwd: str, settings: Settings, paths: Paths) -> str:
    """Return the key (``<name>-<6 hex digits>``) of a working folder's project; the folder may exist no more."""
    found = place(cwd, settings.split_worktrees)
    map_ = read(paths.projects)
    return map_.current(map_.key_at(found) or key_of_path(found.root))


def place(cwd: str, split_worktrees: bool = False) -> Place:
    """Return the place of a working folder, by looking for ``.git`` in it and the folders above it."""
    folder = os.path.abspath(cwd) if cwd and not _is_windows_path(cwd) else cwd
    root = folder if len(folder) <= MAX_PATH else ""  # no folder has a longer one
    while root:
        marker = os.path.join(root, ".git")
        mode = _mode(marker)
        if stat.S_ISDIR(mode):
            return Place(root, marker if _is_own(marker) else "")
        if stat.S_ISREG(mode):
            return _follow_git_file(root, marker, split_worktrees)
        if stat.S_ISLNK(mode) and os.path.isdir(marker):
            return Place(root)  # its git folder lies elsewhere, and anybody may have put the link there
        parent = os.path.dirname(root)
        if parent == root:
            break
        root = parent
    return Place(folder, is_plain=True)


def read(path: str) -> Known:
    """Return the map in the file ``path``, as it is now; an empty one when it cannot be read."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return Known({}, {})
    stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
    found = _cache.get(path)
    if found is None or found[0] != stamp:
        found = _cache[path] = (stamp, _load(path))
    return found[1]


_cache: dict[str, tuple[object, Known]] = {}


def aliases(path: str) -> Mapping[str, str]:
    """Return each key that may be stored and is no longer used, with the present key of its project."""
    found = read(path)
    return {key: found.current(key) for key in found.aliases}


def digest_of(aliases: Mapping[str, str]) -> str:
    """Return a text that differs for other aliases, ``""`` for none."""
    if not aliases:
        return ""
    import binascii  # noqa: PLC0415 (a shared object, and only for who has renamed a project)

    return f"{binascii.crc32(repr(sorted(aliases.items())).encode('utf-8', 'replace')):08x}"


def key_of_path(root: str) -> str:
    """Return the key of a folder that nothing but its path identifies."""
    return _key(_name(root), root)


def key_of_remote(remote: str) -> str:
    """Return the key of the repository at ``host/path``."""
    return _key(_name(remote)[:MAX_NAME], "remote " + remote)


def key_of_commit(root: str, commit: str) -> str:
    """Return the key of a repository without a remote, found at ``root`` when its root commit was first looked up."""
    return _key(_name(root)[:MAX_NAME], "commit " + commit)


def name_of(key: str) -> str:
    """Return the name in a project's key."""
    return key.rpartition("-")[0] or key


def name_beside(key: str, own: str) -> str:
    """Return what a session of the project ``own`` calls another: its name, its key where the names are the same."""
    return key if name_of(key).lower() == name_of(own).lower() else name_of(key)


def key_in(text: str) -> str:
    """Return the key in an article's ``project`` (``name · key``); ``""``, for all projects, when it holds none."""
    key = text.rpartition(" · ")[2].strip()
    digits = key.rpartition("-")[2]
    return key if len(digits) == 6 and not digits.strip("0123456789abcdef") else ""


def remote_identity(url: str) -> str:
    """Return ``host/path`` for a remote's URL, the same for every protocol, user and port; ``""`` for a local path."""
    if "://" in url:
        scheme, _, rest = url.partition("://")
        host, _, path = rest.partition("/")
        if scheme.lower() not in _SCHEMES:
            return ""
    else:
        host, _, path = url.partition(":")
        if "/" in host or "\\" in host or len(host) < 2 or path.startswith(":"):  # a path, a drive, a helper
            return ""
    host = host.rpartition("@")[2].lower().partition(":")[0]
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if parts and parts[-1].endswith(".git"):
        parts[-1] = parts[-1][: -len(".git")]
    if not host or not parts or not parts[-1] or ".." in parts:
        return ""
    return "/".join([host, *parts])


def _key(name: str, identity: str) -> str:
    """Return a key with the last digits of the identity's CRC-32, which takes less than ``binascii`` to be loaded."""
    rest = 0xFFFFFFFF
    for byte in identity.encode("utf-8", "replace"):
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0xEDB88320 & -(rest & 1))
    return f"{name}-{~rest & 0xFFFFFF:06x}"


def _name(path: str) -> str:
    base = os.path.basename(path.rstrip("/\\").replace("\\", "/")) or "home"
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in base).strip(".-") or "home"


def _load(path: str) -> Known:
    try:
        stored = quickjson.loads(text_of(path))
    except (OSError, ValueError):
        return Known({}, {})
    if not isinstance(stored, dict):
        return Known({}, {})
    folders, names = stored.get("folders"), stored.get("aliases")
    return Known(
        {root: _texts(about) for root, about in folders.items()} if isinstance(folders, dict) else {}, _texts(names)
    )


def _texts(found: object) -> dict[str, str]:
    return {name: value for name, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}


def _follow_git_file(root: str, marker: str, split_worktrees: bool) -> Place:
    """Return the place of a folder with a ``.git`` file: a worktree's main checkout, or a submodule.

    The file is only believed when the git folder that it names points back, or lies in the repository around it:
    otherwise a folder that was unpacked from somewhere could pass for any project.
    """
    text = _read(marker)
    if not text.startswith("gitdir:"):
        return Place(root)
    git = os.path.realpath(os.path.join(root, text[len("gitdir:") :].strip().split("\0")[0]))
    common = _read(os.path.join(git, "commondir")).strip()
    if not common:
        return Place(root, git if _is_submodule(root, git) else "")
    back = _read(os.path.join(git, "gitdir")).strip()
    if split_worktrees or not back or os.path.realpath(os.path.join(git, back)) != os.path.realpath(marker):
        return Place(root)
    common = os.path.realpath(os.path.join(git, common))
    if os.path.dirname(os.path.dirname(git)) != common or not _is_own(common):
        return Place(root)
    return Place(os.path.dirname(common) if os.path.basename(common) == ".git" else common, common)


def _is_submodule(root: str, git: str) -> bool:
    """Return whether ``git`` is this user's and lies in the git folder of a repository around ``root``."""
    outer = os.path.dirname(os.path.realpath(root))
    while True:
        if git.startswith(os.path.join(outer, ".git", "modules") + os.sep):
            return _is_own(git)
        parent = os.path.dirname(outer)
        if parent == outer:
            return False
        outer = parent


def _remote(git: str) -> str:
    """Return the identity of the remote ``origin``, or of the only remote."""
    found: dict[str, str] = {}
    section = ""
    for row in _read(os.path.join(git, "config")).splitlines():
        line = row.strip()
        if line.startswith("["):
            title, _, line = line[1:].partition("]")
            kind, _, name = title.partition(" ")
            section = name.strip().strip('"') if kind.lower() == "remote" else ""
        name, _, value = line.partition("=")
        if section and name.strip().lower() == "url":
            found.setdefault(section, remote_identity(_value(value)))
    if "origin" in found:
        return found["origin"]
    return next(iter(found.values())) if len(found) == 1 else ""


def _has_commit(git: str, commit: str) -> bool:
    """Return whether a repository has a commit: as a file, or by name in the index of one of its packs."""
    try:
        name = bytes.fromhex(commit)
    except ValueError:
        return False
    objects = os.path.join(git, "objects")
    packs = os.path.join(objects, "pack")
    if not name or stat.S_ISREG(_mode(os.path.join(objects, commit[:2], commit[2:]))):
        return bool(name)
    try:
        indexes = [file for file in os.listdir(packs) if file.endswith(".idx")][:MAX_PACKS]
    except OSError:
        return False
    return any(_lists(os.path.join(packs, file), name) for file in indexes)


def _lists(index: str, name: bytes) -> bool:
    """Return whether a pack's index (version 2) lists an object: 256 counts by first byte, then all names in order."""
    try:
        with open(index, "rb", opener=lambda path, _: regular(path, _FLAGS)) as file:
            head = file.read(_NAMES)
            low, high = 0, int.from_bytes(head[-4:], "big")  # the last count is that of all
            while head.startswith(_PACK_INDEX) and low < high:
                middle = (low + high) // 2
                file.seek(_NAMES + middle * len(name))
                found = file.read(len(name))
                if found == name:
                    return True
                low, high = (middle + 1, high) if found < name else (low, middle)
    except OSError:
        pass
    return False


def _value(text: str) -> str:
    text = text.strip()
    if text.startswith('"'):
        return text[1:].partition('"')[0]
    return text.partition(" #")[0].partition(" ;")[0].rstrip()


def _read(path: str) -> str:
    """Return the first ``MAX_BYTES`` of a regular file of this user, ``""`` for anything else; waits for nothing."""
    try:
        descriptor = os.open(path, _FLAGS)
    except (OSError, ValueError):
        return ""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not _is_mine(status):
            return ""
        return os.read(descriptor, MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except (OSError, ValueError):
        return 0


def _is_own(folder: str) -> bool:
    try:
        status = os.lstat(folder)
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(status.st_mode) and _is_mine(status)


def _is_mine(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def _is_windows_path(path: str) -> bool:
    return path[1:3] in (":\\", ":/") and os.name != "nt"
