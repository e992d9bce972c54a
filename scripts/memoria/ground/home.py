"""Home: the settings, paths and time zone that every command receives, and the settings file as a person writes it.

Daily logs and wiki are readable by their owner alone, unless the setting ``shared_home`` is on. On POSIX systems this
is a matter of modes, 0700 and 0600. On Windows the folders inherit the access control list of the folder they lie in.
"""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoria.base import invocation, state
from memoria.base.atomic import PRIVATE
from memoria.base.paths import Paths, holds_memory, other_memories
from memoria.base.settings import MEND_CONFIG, Settings, config_path
from memoria.ground.clock import Zone
from memoria.ground.errors import FileBusyError, HomeRefusedError, SavedMeanwhileError
from memoria.ground.swap import Swap

SAVES = 20  # of a person, that a change of the settings gives way to
OTHERS = 0o077  # what group and others may do

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Home:
    """One user's memoria."""

    settings: Settings
    paths: Paths
    zone: Zone
    scratch: str = ""  # the state of one who only reads, where there is no memory yet

    @classmethod
    def open(cls, *, reads: bool = False) -> Home:
        """Return the home that is chosen; make its folders when they are missing, and record it when it is found.

        One who only ``reads`` makes no home: where there is none, the state is a scratch folder until ``leave``.
        Raises HomeRefusedError when the settings cannot be read, the state belongs to a newer memoria or the folder
        cannot be written.
        """
        settings = Settings.load()
        if settings.refusal:
            raise HomeRefusedError(settings.refusal, MEND_CONFIG)
        paths = Paths.of(settings)
        is_begun = Path(paths.version).exists() or holds_memory(paths.home)
        scratch = ""
        if reads and not is_begun:
            import tempfile  # noqa: PLC0415 (only where there is no memory yet)

            scratch = tempfile.mkdtemp(prefix="memoria-")
            paths = Paths(paths.home, scratch)
        try:
            state.open_state(paths)
        except state.StateError as error:
            raise HomeRefusedError(error.what, error.remedy) from error
        except OSError as error:
            raise HomeRefusedError(
                f"cannot use {paths.state} ({error.strerror or error})", "make it writable or set MEMORIA_STATE"
            ) from error
        if not scratch:
            make_folders(paths, is_shared=settings.shared_home)
        if not reads and not settings.home:
            with suppress(OSError, ValueError, FileBusyError):  # a file that cannot be written is left as it is
                change_config(Swap(paths), {"home": paths.home})
        return cls(settings, paths, Zone(settings.tz), scratch)

    def leave(self) -> None:
        """Remove the scratch folder of one who only read."""
        if self.scratch:
            import shutil  # noqa: PLC0415 (as above)

            shutil.rmtree(self.scratch, ignore_errors=True)

    def tighten(self) -> None:
        """Take away what others may do in daily logs and wiki, if their folder allows it and belongs to this user.

        A folder is changed after what it holds, so that its mode says whether the rest is done; a killed run is
        repeated. Links below the two folders are not followed, because what they lead to may be shared on purpose.
        """
        if self.settings.shared_home or os.name == "nt":
            return
        for name in (self.paths.daily, self.paths.knowledge):
            folder = Path(os.path.realpath(name))
            if not _is_open_to_others(folder):
                continue
            for parent, _, names in os.walk(folder, topdown=False):
                for path in (*(Path(parent, name) for name in names), Path(parent)):
                    if _is_open_to_others(path):
                        with suppress(OSError):  # a file system without modes, or a file that was deleted meanwhile
                            path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~OTHERS)
            log.info("%s is now readable by its owner only", folder)

    def second_memories(self) -> list[tuple[str, str]]:
        """Return what holds memory and is not read, or is gone, and what to do about each."""
        gone = (
            f"your memory at {self.paths.home} is gone (moved, or its disk is not mounted)",
            f"put it back, or say where with {invocation.command('config set home FOLDER')}; what was said meanwhile "
            "is read from the transcripts. If it is lost, delete the file `gone` in the state folder",
        )
        return [gone] * Path(self.paths.gone).exists() + [
            (f"{other} holds memory too, and nothing of it is read",
             f"use it instead with {invocation.command(f'config set home {invocation.quote(other)}')}, or move it away")
            for other in other_memories(self.paths.home)
        ]  # fmt: skip


def make_folders(paths: Paths, *, is_shared: bool) -> None:
    """Make the folders of daily logs and wiki where they are missing; their files follow the modes of these folders.

    A folder that cannot be made is left to its writer, who reports the error.
    """
    for folder in (paths.daily, paths.knowledge):
        with suppress(OSError):
            Path(folder).mkdir(mode=0o777 if is_shared else 0o700, parents=True)


def change_config(exchange: Swap, values: Mapping[str, Any]) -> Path:
    """Set values in config.json, or remove those that are None; return its path.

    What a person saves at the same moment is kept. Raise FileBusyError when the file keeps being saved, ValueError when
    it holds no JSON object.
    """
    path = Path(config_path(os.environ))
    for _ in range(SAVES):
        before = exchange.read(path)
        stored = json.loads((before or b"{}").decode("utf-8-sig"))
        if not isinstance(stored, dict):
            raise ValueError(f"{path} must hold one JSON object")
        removed = {name for name, value in values.items() if value is None}
        after = {name: value for name, value in {**stored, **values}.items() if name not in removed}
        data = json.dumps(after, indent=2, ensure_ascii=False) + "\n"
        with suppress(SavedMeanwhileError):
            if after != stored:
                exchange.replace(path, data.encode(), before, mode=PRIVATE)
                path.chmod(PRIVATE)  # it may hold keys, also when it was there before
            return path
    raise FileBusyError(path)


def _is_open_to_others(path: Path) -> bool:
    """Return whether others may do anything with a file or folder of this user."""
    try:
        status = path.lstat()
    except OSError:
        return False
    is_ours = hasattr(os, "getuid") and status.st_uid == os.getuid()
    return is_ours and not stat.S_ISLNK(status.st_mode) and bool(status.st_mode & OTHERS)
