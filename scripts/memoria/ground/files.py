"""Files: writing so that a crash leaves the old content or the new, never a mixture.

Knows bytes and folders, not what they mean.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from memoria.base import atomic
from memoria.ground import clock

log = logging.getLogger(__name__)


def private(path: str, flags: int) -> int:
    """An ``opener`` for ``open``: what it creates is its owner's alone, as all of the state folder is."""
    return os.open(path, flags, atomic.PRIVATE)


def replace(path: Path, data: str | bytes, *, mode: int | None = None) -> None:
    """Replace ``path`` by ``data`` in one step, synced; parents are made, an existing file's mode is kept.

    OSError (disk full, read-only) leaves the old file as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    payload = data.encode() if isinstance(data, str) else data
    if mode is None:
        try:
            mode = path.stat().st_mode & 0o777
        except FileNotFoundError:
            mode = 0o644
    atomic.replace(str(path), payload, mode=mode, is_durable=True, step="files")


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
