"""Outbox: a persistent queue of work items, one small file each, oldest first.

A file is written and synced before the work is attempted, and removed only when the work is done. After too many
failures it is moved to ``aside/``, never deleted. This module does not know the meaning of the items.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memoria.ground import files

log = logging.getLogger(__name__)

MAX_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Item:
    """One work item: its file's ``name``, its ``body``, the number of failed attempts and the last ``reason``."""

    name: str
    body: dict[str, Any]
    attempts: int = 0
    reason: str = ""


class Outbox:
    """A folder of waiting work items."""

    def __init__(self, folder: Path) -> None:
        """The folder is created by the first ``put``."""
        self.folder = folder
        self.aside = folder / "aside"
        self._count = 0

    def put(self, body: Mapping[str, Any]) -> Item:
        """Add an item, which is on disk on return; raise OSError when it cannot be written."""
        self._count += 1
        name = f"{time.time_ns():020d}-{os.getpid()}-{self._count:04d}.json"
        item = Item(name, dict(body))
        self._write(self.folder / name, item)
        return item

    def waiting(self) -> list[Item]:
        """Return the waiting items, oldest first; set aside a file that cannot be read."""
        return self._read(self.folder)

    def set_aside(self) -> list[Item]:
        """Return the items that were set aside, oldest first."""
        return self._read(self.aside)

    def done(self, item: Item) -> None:
        """Remove an item whose work is done."""
        (self.folder / item.name).unlink(missing_ok=True)

    def failed(self, item: Item, reason: str) -> None:
        """Record a failed attempt; set the item aside after ``MAX_ATTEMPTS``."""
        worse = Item(item.name, item.body, item.attempts + 1, reason[:500])
        if worse.attempts < MAX_ATTEMPTS:
            self._write(self.folder / item.name, worse)
            return
        self._write(self.aside / item.name, worse)
        self.done(item)
        log.warning("set aside after %d failures (%s): %s", worse.attempts, worse.reason, self.aside / item.name)

    def retry(self) -> int:
        """Put all items that were set aside back into the queue; return how many there were."""
        items = self.set_aside()
        for item in items:
            self._write(self.folder / item.name, Item(item.name, item.body))
            (self.aside / item.name).unlink(missing_ok=True)
        return len(items)

    def forget(self, ident: str) -> None:
        """Remove all items about one id (``body["id"]``), including those set aside."""
        for folder in (self.folder, self.aside):
            for item in self._read(folder):
                if item.body.get("id") == ident:
                    (folder / item.name).unlink(missing_ok=True)

    def _read(self, folder: Path) -> list[Item]:
        items = []
        for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            try:
                stored = json.loads(path.read_text(encoding="utf-8"))
                items.append(
                    Item(path.name, dict(stored["body"]), int(stored["attempts"]), str(stored.get("reason", "")))
                )
            except FileNotFoundError:
                continue  # another process has done it meanwhile
            except (ValueError, KeyError, TypeError) as error:
                log.warning("%s cannot be read: %s", path, error)
                files.set_aside(path)
        return items

    def _write(self, path: Path, item: Item) -> None:
        text = json.dumps({"body": item.body, "attempts": item.attempts, "reason": item.reason}, ensure_ascii=False)
        files.replace(path, text + "\n", mode=0o600)
