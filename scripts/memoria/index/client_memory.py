"""Client memory: Claude Code's own memory files, as documents that can be found beside memoria's.

The client writes ``<config>/projects/<folder>/memory/MEMORY.md`` and topic files beside it, where ``<folder>`` is the
project's path with every character other than letters and digits replaced by a hyphen. The files are only read. Their
project is determined from the folder's transcripts, or from a folder on disk that would have this name, and then
stored. A folder whose project cannot be determined, or whose project is excluded, is left out, and so is one for which
the client's own memory is switched off or elsewhere: the client itself does not read it then. Where the user's settings
name another folder for all projects, that one is read (docs/decisions/0077-other-memories.md).
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memoria.base import exclude, project
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground import files
from memoria.ground.redact import Redactor
from memoria.index import documents
from memoria.index.documents import Document
from memoria.transcripts import client_files
from memoria.transcripts.screen import Tombstones

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 200_000  # read from one file; the client itself loads the first 200 lines or 25,000 bytes of MEMORY.md
OFF_VARIABLE = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"  # of Claude Code 2.1.330
OFF_SETTING = "autoMemoryEnabled"
DIRECTORY_SETTING = "autoMemoryDirectory"
HEADS = 5  # transcripts searched for their working folder, the latest first


@dataclass(frozen=True, slots=True)
class Memory:
    """One file of the client's memory: its path, time (ns) and size; ``cwd`` is the working folder it is about.

    ``cwd`` is empty when the file is about all projects.
    """

    path: str
    cwd: str
    stamp: tuple[int, int]


class ClientMemory:
    """The client's own memory of all projects that are not excluded."""

    def __init__(self, folder: Path, paths: Paths, settings: Settings) -> None:
        """``folder`` is the client's folder of projects."""
        self.folder = folder
        self.paths = paths
        self.settings = settings
        self.places = Path(paths.client_memory)  # the client's folder -> working folder, once known
        self.redactor = Redactor(settings.redact_extra)
        self.tombstones = Tombstones.of(paths)

    @classmethod
    def of(cls, paths: Paths) -> ClientMemory:
        """Return the memory of this user's client under the current settings: what is excluded now is not found."""
        return cls(client_files.folder(os.environ), paths, Settings.load())

    def listed(self) -> list[Memory]:
        """Return every file that may be read; lists each project's folder and calls ``stat`` on each file."""
        own = _settings(self.folder.parent)
        if not self.settings.client_memory or _is_off(own):
            return []
        if chosen := _folder_in(own):
            return self._at(chosen)
        known = self._known()
        before = dict(known)
        found: list[Memory] = []
        for name in self._folders():
            cwd = known.get(name) or self._owner(name)
            if cwd:
                known[name] = cwd
                theirs = _settings(Path(cwd, ".claude"))
                is_here = not _folder_in(theirs) and not _is_off(theirs)
                if is_here and not exclude.reason(cwd, self.settings, self.paths):
                    folder = os.path.join(self.folder, name, "memory")  # noqa: PTH118 (called for every search)
                    found += [Memory(path, cwd, stamp) for path, stamp in _files(folder)]
        if known != before:
            self._remember(known)
        return found

    def _at(self, folder: str) -> list[Memory]:
        """Return the files of the one folder that the user's settings name for all projects."""
        if exclude.reason(folder, self.settings, self.paths):
            return []
        return [Memory(path, "", stamp) for path, stamp in _files(folder)]

    def text(self, memory: Memory) -> str:
        """Return the file's text, redacted and without forgotten texts; raise OSError when it cannot be read."""
        with Path(memory.path).open("rb") as file:
            text = file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
        return self.redactor.redact(self.tombstones.without(text))

    def project(self, memory: Memory) -> str:
        """Return the key of the project that the file is about, ``""`` for all projects."""
        return project.of(memory.cwd, self.settings, self.paths).key if memory.cwd else ""

    def document(self, memory: Memory) -> list[Document]:
        """Return the file as a document; raise OSError when it cannot be read."""
        day = documents.day_of(memory.stamp[0])
        return [documents.memory(Path(memory.path).as_posix(), self.text(memory), self.project(memory), day)]

    def sources(self) -> dict[str, tuple[tuple[int, int], Callable[[], Iterable[Document]]]]:
        """Return each file by a unique name, with its stamp and a function that reads it."""
        return {f"client/{memory.path}": (memory.stamp, partial(self.document, memory)) for memory in self.listed()}

    def _folders(self) -> Iterator[str]:
        """Yield the projects that have a memory folder."""
        try:
            with os.scandir(self.folder) as entries:
                folders = sorted((entry.name, entry.path) for entry in entries)
        except OSError:
            return
        yield from (name for name, path in folders if os.path.isdir(f"{path}/memory"))  # noqa: PTH112 (as above)

    def _owner(self, name: str) -> str:
        """Return the working folder that a folder of the client belongs to; ``""`` when it cannot be determined."""
        latest = sorted(client_files.transcripts_in(self.folder / name), key=lambda found: -found.changed_ns)[:HEADS]
        for found in latest:
            try:
                cwd = client_files.head(found.path).cwd
            except OSError:
                continue
            if cwd:
                return cwd
        return next(_named_like(name, Path("/")), "")

    def _known(self) -> dict[str, str]:
        try:
            stored = json.loads(self.places.read_bytes())
        except (OSError, ValueError):
            return {}
        return {str(name): str(cwd) for name, cwd in stored.items()} if isinstance(stored, dict) else {}

    def _remember(self, known: dict[str, str]) -> None:
        try:
            files.replace(self.places, json.dumps(known, ensure_ascii=False), mode=0o600)
        except OSError as error:  # it is determined again next time
            log.info("%s cannot be written: %s", self.places, error)


def _settings(folder: Path) -> dict[str, object]:
    """Return the client's settings in a folder, those of settings.local.json before the others."""
    found: dict[str, object] = {}
    variables: dict[str, object] = {}
    for name in ("settings.json", "settings.local.json"):
        try:
            stored = json.loads((folder / name).read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(stored, dict):
            found |= stored
            variables |= stored["env"] if isinstance(stored.get("env"), dict) else {}
    return {**found, "env": variables}


def _is_off(settings: Mapping[str, object]) -> bool:
    """Return whether the client's own memory is switched off, in its environment or in these settings."""
    said = os.environ.get(OFF_VARIABLE, "").strip().lower()
    if said in ("1", "true", "yes", "on"):
        return True
    if said in ("0", "false", "no", "off"):  # the client then ignores its settings
        return False
    variables = settings["env"]
    off = str(variables.get(OFF_VARIABLE, "")) if isinstance(variables, dict) else ""
    return settings.get(OFF_SETTING) is False or off.strip().lower() in ("1", "true", "yes", "on")


def _folder_in(settings: Mapping[str, object]) -> str:
    """Return the folder that the settings name for the memory; ``""`` for none, or one that the client does not take.

    It takes an absolute path, also below ``~/``, that is not a root.
    """
    chosen = settings.get(DIRECTORY_SETTING)
    if not isinstance(chosen, str):
        return ""
    path = Path(chosen).expanduser() if chosen.startswith("~/") else Path(chosen)
    return os.path.normpath(path) if path.is_absolute() and len(str(path)) > 2 and "\0" not in chosen else ""


def folder_name(path: str) -> str:
    """Return the client's name for a project's folder."""
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def _named_like(name: str, base: Path) -> Iterator[str]:
    """Yield every folder below ``base`` whose whole path the client would give this name."""
    start = folder_name(str(base)).rstrip("-") + "-"
    if not name.startswith(start):
        return
    try:
        with os.scandir(base) as entries:
            below = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for path in below:
        called = folder_name(path)
        if called == name:
            yield path
        elif name.startswith(called + "-"):
            yield from _named_like(name, Path(path))


def _files(folder: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield Markdown files at any depth, without links and unreadable files."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(entry.path)
                elif entry.name.endswith(".md") and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    yield entry.path, (status.st_mtime_ns, status.st_size)
    except OSError:
        return
