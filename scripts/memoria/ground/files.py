"""Files: writing so that a crash leaves the old content or the new, never a mixture.

Knows bytes and folders, not what they mean.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from memoria.base import failpoints
from memoria.ground import clock

log = logging.getLogger(__name__)


def sync_folder(folder: Path) -> None:
    """Make renames inside ``folder`` durable (a no-op where folders cannot be opened, as on Windows)."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:  # some network file systems refuse; the rename itself stands
        log.debug("cannot sync %s: %s", folder, error)
    finally:
        os.close(descriptor)


def private(path: str, flags: int) -> int:
    """An ``opener`` for ``open``: what it creates is its owner's alone, as all of the state folder is."""
    return os.open(path, flags, 0o600)


def replace(path: Path, data: str | bytes, *, mode: int | None = None) -> None:
    """Replace ``path`` by ``data`` in one step, synced; parents are made, an existing file's mode is kept.

    The temporary file is hidden and beside the target, so that the rename stays within one file system. OSError
    (disk full, read-only) leaves the old file as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    payload = data.encode() if isinstance(data, str) else data
    if mode is None:
        try:
            mode = path.stat().st_mode & 0o777
        except FileNotFoundError:
            mode = 0o644
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        failpoints.reached("files.written")
        temporary.replace(path)
        failpoints.reached("files.replaced")
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sweep(folder: Path) -> None:
    """Remove what killed writers of ``replace`` left in ``folder``; the caller holds the lock of its writers."""
    for path in folder.glob(".*.tmp"):
        if path.name.split(".")[-2].isdigit():
            path.unlink(missing_ok=True)


def set_aside(path: Path) -> Path:
    """Move a file that cannot be read out of the way as ``<name>.bak-<UTC time>``, and say so; returns the new path."""
    aside = path.with_name(f"{path.name}.bak-{clock.now():%Y%m%dT%H%M%S.%fZ}")
    path.replace(aside)
    log.warning("%s cannot be read; it was kept as %s and is made anew", path, aside.name)
    return aside
