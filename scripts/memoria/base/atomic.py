"""Atomic: replacing a file so that a crash leaves the old content or the new, never a mixture.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import errno
import os

from memoria.base import failpoints

PRIVATE = 0o600  # as everything in the state folder is
# What file systems answer that cannot sync a folder (some network shares); the rename itself is done there too.
CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def replace(path: str, data: bytes, *, mode: int = PRIVATE, is_durable: bool = False, step: str = "") -> None:
    """Replace ``path`` by ``data`` in one step; ``is_durable``: once this returns, a power cut does not undo it.

    The temporary file is hidden and beside the target, so that the rename stays within one file system. OSError (disk
    full, read-only) leaves the old file as it was. ``step`` names the failpoints, ``<step>.written`` and
    ``<step>.replaced``.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), mode)
    try:
        try:
            write_all(descriptor, data)
            if is_durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        failpoints.reached(step + ".written")
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    failpoints.reached(step + ".replaced")
    if is_durable:
        sync_folder(folder)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data``, however many calls it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: str) -> None:
    """Make what was renamed into ``folder``, or removed from it, durable, where folders can be synced."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows has no folder handles; the rename stands there too
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise
    finally:
        os.close(descriptor)
