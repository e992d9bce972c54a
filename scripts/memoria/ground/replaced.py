"""Replaced files: what memoria has replaced is kept for a while, because an editor may still write into it.

An editor that saves in place and opened a file before memoria replaced it writes into a file that has no name any
more. Such a save is found here and becomes a conflict copy beside the file. Each replaced file has a record with its
path and the digest of its content. Where the state folder is on another disk the file stays hidden in its own folder.
"""

from __future__ import annotations

import errno
import itertools
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memoria.base import atomic
from memoria.ground import clock, files, home_files
from memoria.ground.files import sha256

log = logging.getLogger(__name__)

CLOSED_S = 5  # kept when nobody had it open: longer than opening a file can take
OPEN_S = 24 * 3600  # kept when somebody had it open, or the system cannot tell
CONFLICT = ".conflict-"
STILL_S = 0.05  # without leases: what is not written to for so long is complete

_numbers = itertools.count()


def read(path: Path, patience: float) -> bytes:
    """Return a file's content, waiting at most ``patience`` seconds for an editor that is writing it."""
    with home_files.open_regular(path) as file:
        end = time.monotonic() + patience
        while is_being_written(file.fileno()) and time.monotonic() < end:
            time.sleep(0.002)
        return file.read()


def write_conflict_copy(path: Path, data: bytes, like: Path) -> Path:
    """Write a save that could not be merged beside ``path``, with the mode of ``like``; return the copy's path."""
    copy = path.with_name(f"{path.name}{CONFLICT}{clock.now():%Y%m%dT%H%M%S.%fZ}")
    files.replace(copy, data, mode=like.stat().st_mode & 0o777)
    log.warning("%s was saved while memoria wrote it; that save is in %s", path, copy.name)
    return copy


def conflict_copies(*folders: Path) -> list[Path]:
    """Return the conflict copies below these folders, which a person has not merged and deleted yet."""
    return sorted(path for folder in folders for path in folder.rglob(f"*{CONFLICT}*") if path.is_file())


class Replaced:
    """The replaced files that are kept in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, aside: Path, path: Path, content: bytes) -> None:
        """Take over the file ``aside``, which had the name ``path`` and this content.

        A file that cannot be kept now (disk full) stays where it is, for ``Exchange.recover``.
        """
        try:
            self._keep(aside, path, content)
        except OSError as error:
            log.warning("%s cannot be kept in %s (%s)", aside, self.folder, error)

    def _keep(self, aside: Path, path: Path, content: bytes) -> None:
        with aside.open("rb") as file:
            is_closed = is_open_for_writing(file.fileno()) is False
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"{time.time_ns()}-{os.getpid()}-{next(_numbers)}"
        record = {"path": str(path), "digest": sha256(content), "closed": is_closed}
        try:
            self._take(aside, self.folder / f"{name}.old", name, record)
        except OSError:  # another disk
            self._take(aside, aside.with_name(f".{name}.kept"), name, record)

    def _take(self, aside: Path, kept: Path, name: str, record: dict[str, Any]) -> None:
        """Rename the file, after its record is written: without one nobody would find it."""
        atomic.replace(str(self.folder / f"{name}.json"), json.dumps({**record, "kept": str(kept)}).encode())
        aside.rename(kept)

    def settle(self, *, everything: bool = False) -> list[Path]:
        """Write a conflict copy of every late save and remove what was kept for long enough; return the copies.

        With ``everything``, nothing is kept, not even what an editor has open.
        """
        copies = []
        for place, record in self._records():
            kept = Path(record["kept"])
            try:
                data = read(kept, 1 if everything else 0)
            except FileNotFoundError:
                place.unlink(missing_ok=True)
                continue
            is_late = sha256(data) != record["digest"] and bool(data)
            if is_late and (everything or not _is_open(kept)):
                copies.append(write_conflict_copy(Path(record["path"]), data, kept))
            elif not everything and time.time() - record["at"] < (CLOSED_S if record["closed"] else OPEN_S):
                continue
            kept.unlink(missing_ok=True)
            place.unlink(missing_ok=True)
        if everything:
            import shutil  # noqa: PLC0415 (slow, and only for an uninstall)

            shutil.rmtree(self.folder, ignore_errors=True)
        return copies

    def _records(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        for place in sorted(self.folder.glob("*.json")):
            try:
                record = json.loads(home_files.read(place))
                kept = {key: record[key] for key in ("path", "kept", "digest", "closed")}
                # when it was kept, in seconds since the epoch, as its name says: a copy of it has other times
                yield place, kept | {"at": int(place.name.partition("-")[0]) / 1e9}
            except FileNotFoundError:  # another process has settled it
                continue
            except (ValueError, KeyError, TypeError, home_files.RefusedFileError):
                place.with_suffix(".old").unlink(missing_ok=True)
                place.unlink(missing_ok=True)


def _is_open(path: Path) -> bool:
    with path.open("rb") as file:
        return is_being_written(file.fileno())


def is_being_written(descriptor: int) -> bool:
    """Return whether another process may be in the middle of writing this file, which is open for reading.

    Where the system does not tell who has a file open, it is watched for a moment: its time alone says nothing, since
    clocks differ and copies keep the time of what they are copies of.
    """
    held = is_open_for_writing(descriptor)
    if held is not None:
        return held
    before = os.fstat(descriptor)
    time.sleep(STILL_S)
    after = os.fstat(descriptor)
    return (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)


if sys.platform == "linux":
    import fcntl
    import signal

    def is_open_for_writing(descriptor: int) -> bool | None:
        """Return whether anyone has the file open for writing; None when the system does not tell."""
        try:
            # A process that opens the file in this moment waits for microseconds, and we are sent a signal: one that
            # is ignored by default, because the usual one would end the process.
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError as error:
            return True if error.errno == errno.EAGAIN else None
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False

else:

    def is_open_for_writing(descriptor: int) -> bool | None:  # noqa: ARG001 (the same signature as on Linux)
        """Return None: this system does not tell whether anyone has the file open for writing."""
        return None
