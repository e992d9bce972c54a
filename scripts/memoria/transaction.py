"""Transaction: several files replaced together, so that a kill leaves all old or, after recovery, all new.

Stage the new texts, write the journal (the point of no return), swap file by file, drop the journal. Whoever opens the
wiki next finishes a journal that is left. What stood before is kept for ``undo``. A file that a person changed in the
meantime is never overwritten. Knows files, not what stands in them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path

from memoria import clock, files, steps

log = logging.getLogger(__name__)

KEPT_STEPS = 20  # how many transactions can be undone


class ChangedError(Exception):
    """A file is not what it was when it was read; nothing was written."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"changed meanwhile: {', '.join(names)}")
        self.names = names


def digest(data: bytes | None) -> str:
    """What a file's content is known by; ``""`` for no file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


class Transactions:
    """The transactions on the files below ``root``; ``folder`` holds the journal and what can be undone."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.journal = folder / "journal.json"

    def recover(self) -> bool:
        """Finish what a killed run began; True when there was something. The caller holds the compile lock."""
        try:
            step = json.loads(self.journal.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return False
        except ValueError:
            files.set_aside(self.journal)
            return False
        self._swap(self.folder / step["name"], step["files"])
        return True

    def commit(self, changes: Mapping[str, bytes | None], read: Mapping[str, str], label: str) -> str:
        """Replace the files named (relative to the root) by their new content, None to remove; returns the step's name.

        ``read`` maps each name to ``digest`` of what it was made from; ChangedError, and nothing written, when a file
        is something else by now.
        """
        changes = {name: data for name, data in changes.items() if digest(data) != read.get(name, "")}
        if not changes:
            return ""
        stale = [name for name in changes if digest(self._content(name)) != read.get(name, "")]
        if stale:
            raise ChangedError(stale)
        name = f"{clock.now():%Y%m%dT%H%M%S%f}"
        step = self.folder / name
        rows = []
        for number, (path, data) in enumerate(sorted(changes.items())):
            before = self._content(path)
            if before is not None:
                files.replace(step / f"{number}.old", before, mode=0o600)
            if data is not None:
                files.replace(step / f"{number}.new", data, mode=0o600)
            rows.append({"path": path, "number": number, "before": digest(before), "after": digest(data)})
        plan = {"name": name, "label": label, "files": rows}
        files.replace(step / "step.json", json.dumps(plan, indent=1), mode=0o600)
        steps.reached("transaction.staged")
        files.replace(self.journal, json.dumps(plan), mode=0o600)
        steps.reached("transaction.journaled")
        self._swap(step, rows)
        self._trim()
        return name

    def _swap(self, step: Path, rows: list[dict[str, object]]) -> None:
        for row in rows:
            path = str(row["path"])
            if digest(self._content(path)) == row["before"]:
                self._put(path, _optional(step / f"{row['number']}.new"))
                steps.reached("transaction.swapped")
            elif digest(self._content(path)) != row["after"]:
                log.warning("%s was changed by hand during a compile; the hand's version stands", path)
        self.journal.unlink(missing_ok=True)
        files.sync_folder(self.folder)
        steps.reached("transaction.closed")

    def steps(self) -> list[dict[str, object]]:
        """The steps that can be undone, newest first: name, label, files."""
        found = sorted(self.folder.glob("*/step.json"), reverse=True) if self.folder.is_dir() else []
        return [json.loads(path.read_text(encoding="utf-8")) for path in found]

    def undo(self) -> tuple[str, list[str], list[str]]:
        """Bring back what stood before the newest step.

        Returns its label, the files restored, and those left alone because a person changed them since. LookupError
        when there is nothing to undo.
        """
        steps = self.steps()
        if not steps:
            raise LookupError("there is nothing to undo")
        step = self.folder / str(steps[0]["name"])
        restored, kept = [], []
        for row in steps[0]["files"]:  # type: ignore[attr-defined]
            path = str(row["path"])
            if digest(self._content(path)) == row["after"]:
                self._put(path, _optional(step / f"{row['number']}.old"))
                restored.append(path)
            elif digest(self._content(path)) != row["before"]:
                kept.append(path)
        shutil.rmtree(step)
        return str(steps[0]["label"]), restored, kept

    def before(self, step: Mapping[str, object], row: Mapping[str, object]) -> bytes | None:
        """What a file held before a step, None when it was not there."""
        return _optional(self.folder / str(step["name"]) / f"{row['number']}.old")

    def after(self, step: Mapping[str, object], row: Mapping[str, object]) -> bytes | None:
        """What a step made of a file, None when it removed it."""
        return _optional(self.folder / str(step["name"]) / f"{row['number']}.new")

    def _content(self, name: str) -> bytes | None:
        return _optional(self.root / name)

    def _put(self, name: str, data: bytes | None) -> None:
        path = self.root / name
        if data is None:
            path.unlink(missing_ok=True)
            files.sync_folder(path.parent)
        else:
            files.replace(path, data)

    def _trim(self) -> None:
        for old in sorted(self.folder.glob("*/step.json"), reverse=True)[KEPT_STEPS:]:
            shutil.rmtree(old.parent, ignore_errors=True)
        complete = {path.parent for path in self.folder.glob("*/step.json")}
        for folder in self.folder.iterdir():  # staged by a run that died before its journal stood
            if folder.is_dir() and folder not in complete:
                shutil.rmtree(folder, ignore_errors=True)


def _optional(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
