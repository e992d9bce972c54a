"""Outbox: a persistent queue of work items, one small file each, oldest first.

A file is written and synced before the work is attempted, and removed only when the work is done. One that is no item
is renamed to ``<name>.bak-<time>``, never deleted. This module does not know the meaning of the items.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoria.ground import files


@dataclass(frozen=True, slots=True)
class Item:
    """One work item: its file's ``path`` and its ``body``."""

    path: Path
    body: dict[str, Any]

    def done(self) -> None:
        """Remove the item, whose work is done."""
        self.path.unlink(missing_ok=True)


class Outbox:
    """A folder of waiting work items."""

    def __init__(self, folder: Path) -> None:
        """The folder is created by the first ``put``."""
        self.folder = folder
        self._count = 0

    def put(self, body: Mapping[str, Any]) -> Item:
        """Add an item, which is on disk on return; raise OSError when it cannot be written."""
        self._count += 1
        item = Item(self.folder / f"{time.time_ns():020d}-{os.getpid()}-{self._count:04d}.json", dict(body))
        text = json.dumps({"body": item.body, "attempts": 0}, ensure_ascii=False)  # version 0.2.0 counted attempts
        files.replace(item.path, text + "\n", mode=0o600)
        return item

    def waiting(self) -> list[Item]:
        """Return the waiting items, oldest first, with those that version 0.2.0 set aside; rename what is none."""
        items = []
        for path in sorted(
            [*self.folder.glob("*.json"), *self.folder.glob("aside/*.json")], key=lambda path: path.name
        ):
            try:
                items.append(Item(path, dict(json.loads(path.read_text(encoding="utf-8"))["body"])))
            except FileNotFoundError:
                continue  # another process has done it meanwhile
            except (ValueError, KeyError, TypeError):
                files.set_aside(path)
        return items
