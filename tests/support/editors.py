"""How editors save a file, and a save at the moment in which memoria is about to exchange it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memoria.base import failpoints

Save = Callable[[Path, bytes], None]


def by_rename(path: Path, data: bytes) -> None:
    """Write a new file and rename it over the old one (gedit, Kate, sed -i)."""
    target = Path(os.path.realpath(path))
    new = target.with_name(f".goutputstream-{target.name}")
    new.write_bytes(data)
    new.replace(target)


def in_place(path: Path, data: bytes) -> None:
    """Truncate the file and write it anew (Obsidian, VS Code, nano)."""
    path.write_bytes(data)


def by_backup(path: Path, data: bytes) -> None:
    """Rename the old file to a backup, write a new one and delete the backup (vim)."""
    target = Path(os.path.realpath(path))
    backup = target.with_name(f"{target.name}~")
    target.rename(backup)
    target.write_bytes(data)
    backup.unlink()


EDITORS = {"rename": by_rename, "in place": in_place, "backup": by_backup}


class RacingPerson:
    """Saves ``path`` with one more line, once or ``times``, when memoria reaches ``step`` in its exchange."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path, save: Save, step: str, times: int = 1) -> None:
        self.path = path
        self.save = save
        self.left = times
        self.saved: list[str] = []
        self.step = step
        monkeypatch.setattr(failpoints, "reach", self.reached)

    def reached(self, step: str) -> None:
        if step == self.step and self.left and self._is_under_way():
            self.left -= 1
            line = f"Saved by hand, number {len(self.saved)}."
            self.saved.append(line)
            text = self.path.read_bytes() if self.path.exists() else b""
            self.save(self.path, text + f"\n{line}\n".encode())

    def _is_under_way(self) -> bool:
        """Return whether it is this file that is exchanged; a file that is removed has no successor to be seen."""
        target = Path(os.path.realpath(self.path))
        return any(target.parent.glob(f".{target.name}.*.swap")) or not any(self.path.parent.glob(".*.swap"))
