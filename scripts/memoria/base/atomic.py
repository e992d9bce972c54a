"""Atomic: replacing a file so that a crash leaves the old content or the new, never a mixture."""

from __future__ import annotations

import os
import time

from memoria.base import failpoints
from memoria.base import paths as places

PAUSES_S = (0.01, 0.02, 0.05, 0.1, 0.2)  # between the attempts to replace a file on Windows
PRIVATE = 0o600  # the mode of every file in the state folder


def replace(path: str, data: bytes, *, mode: int = PRIVATE, is_durable: bool = False, step: str = "") -> None:
    """Replace the content of ``path`` with ``data`` in one step.

    With ``is_durable``, a power cut after the return does not undo the change. The temporary file is hidden and lies
    beside the target, so that the rename stays within one file system. ``step`` names the failpoints,
    ``<step>.written`` and ``<step>.replaced``. Raises OSError (disk full, read-only) and leaves the old file as it was.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | places.BINARY, mode)
    try:
        try:
            write_all(descriptor, data)
            if is_durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        failpoints.reach(step + ".written")
        put(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    failpoints.reach(step + ".replaced")
    if is_durable:
        sync_folder(folder)


def put(source: str, target: str) -> None:
    """Rename ``source`` to ``target`` in one step; on Windows wait a moment for who has ``target`` open."""
    for pause_s in PAUSES_S if places.WINDOWS else ():
        try:
            os.replace(source, target)
        except PermissionError:  # a reader, an indexer or a virus scanner has it open
            time.sleep(pause_s)
        else:
            return
    os.replace(source, target)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data``, in as many calls as it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: str) -> None:
    """Make renames into ``folder`` and removals from it durable, where the file system can sync folders."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows has no folder handles; the rename has succeeded
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if not _cannot_sync(error):
            raise
    finally:
        os.close(descriptor)


def _cannot_sync(error: OSError) -> bool:
    """Return whether the file system cannot sync a folder (some network shares); the rename itself has succeeded."""
    import errno  # noqa: PLC0415 (where a sync failed)

    return error.errno in (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
