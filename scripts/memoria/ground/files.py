"""Files: write so that a crash leaves the old content or the new, never a mixture.

Knows bytes and folders, not what they mean.
"""

from __future__ import annotations

import logging
from pathlib import Path

from memoria.base import atomic
from memoria.ground import clock

log = logging.getLogger(__name__)


def replace(path: Path, data: str | bytes, *, mode: int | None = None) -> None:
    """Replace the content of ``path`` with ``data`` in one step, synced to disk.

    An existing file keeps its mode. A new file, like a missing folder, is open to those that its folder is open to.
    Raises OSError (disk full, read-only) and leaves the old file as it was.
    """
    make_folder(path.parent)
    payload = data.encode() if isinstance(data, str) else data
    if mode is None:
        try:
            mode = path.stat().st_mode & 0o777
        except FileNotFoundError:
            mode = new_mode(path.parent)
    atomic.replace(str(path), payload, mode=mode, is_durable=True, step="files")


def make_folder(folder: Path) -> None:
    """Make a folder, and missing ones above it, open to those that the folder above is open to."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=folder.parent.stat().st_mode & 0o777, exist_ok=True)


def new_mode(folder: Path) -> int:
    """Return the mode of a new file in ``folder``, open to those that the folder is open to."""
    return folder.stat().st_mode & 0o666


def sweep(folder: Path) -> None:
    """Remove the temporary files that killed processes left in ``folder``; the caller holds its writers' lock."""
    for path in folder.glob(".*.tmp"):
        if path.name.split(".")[-2].isdigit():
            path.unlink(missing_ok=True)


def set_aside(path: Path) -> Path:
    """Rename an unreadable file to ``<name>.bak-<UTC time>``, log a warning and return the new path."""
    aside = path.with_name(f"{path.name}.bak-{clock.now():%Y%m%dT%H%M%S.%fZ}")
    path.replace(aside)
    log.warning("%s cannot be read; it was renamed to %s", path, aside.name)
    return aside


def sha256(data: str | bytes) -> str:
    """Return the 64 hexadecimal digits of the SHA-256 of bytes, or of a text as UTF-8, ``?`` for lone surrogates."""
    import hashlib  # noqa: PLC0415 (loads OpenSSL, 3 ms, and most processes have nothing to identify)

    return hashlib.sha256(data.encode("utf-8", "replace") if isinstance(data, str) else data).hexdigest()


def short_id(text: str) -> str:
    """Return eight letters and digits that stand for a text: 40 bits of its SHA-256."""
    number = int(sha256(text)[:10], 16)
    return "".join("0123456789abcdefghjkmnpqrstvwxyz"[number >> shift & 31] for shift in range(35, -1, -5))
