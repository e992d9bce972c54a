"""Transaction: replace several files together, so that a kill leaves all old or, after recovery, all new.

A transaction stages the new texts, writes the journal (the point of no return), replaces file by file, adds blocks to
those that only grow, and deletes the journal. Whoever opens the wiki next completes an interrupted transaction or, if a
person has changed a replaced file since, rolls it back. The previous contents and the added blocks are stored for
``undo``, which is a transaction too. Facts that end with a transaction are queued in the facts' outbox before its
journal is deleted, and those that hold again after an undo too. This module does not interpret the files' contents.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from memoria.base import atomic, failpoints
from memoria.base.paths import Paths
from memoria.ground import clock, files, home_files
from memoria.ground.errors import SavedMeanwhileError
from memoria.ground.files import sha256
from memoria.ground.swap import Swap
from memoria.statements.keeper import Outbox

log = logging.getLogger(__name__)

KEPT_STEPS = 20  # how many transactions can be undone
SWAPPED = "swapped.json"  # in the folder of the steps
FOLLOWS = "after an undo"  # the label of a step that is undone with the one below, and listed nowhere
TRIES = 5  # when a person saves a file meanwhile


Row = dict[str, Any]
"""One file of a step: ``path`` below the root, ``number`` of its stored copies, digests ``before`` and ``after``.

If a block was appended to the file, ``after`` is the digest of the block, ``size`` the file's size before, and
``times`` how often the file held the block already. ``size`` and ``times`` are None for a file that was replaced.
"""

End = dict[str, Any]
"""A fact that a step ends: the fields of an ``Ending``, with its ``content`` and ``why`` for people.

``born``: the id of the fact that came with the end."""


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction that can be undone."""

    name: str
    label: str
    files: tuple[Row, ...]
    facts: tuple[End, ...] = ()


class ChangedError(Exception):
    """A file has changed since it was read; nothing was written."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"changed in the meantime: {', '.join(names)}")
        self.names = names


def digest(data: bytes | None) -> str:
    """Return the digest that identifies a file's content; ``""`` for no file."""
    return "" if data is None else sha256(data)


class Transactions:
    """The transactions on the files below ``root``; ``folder`` holds the journal and the steps that can be undone.

    ``outbox`` queues the facts that end.
    """

    def __init__(self, paths: Paths) -> None:
        self.root = Path(paths.knowledge)
        self.outbox = Outbox(Path(paths.facts_outbox))
        self.folder = Path(paths.undo)
        self.swap = Swap(paths)
        self.journal = self.folder / "journal.json"

    def recover(self) -> bool:
        """Complete what a killed run began; return whether there was anything. The caller holds the compile lock.

        If a person has changed a file since, the whole step is rolled back; ChangedError is never raised.
        """
        self._sweep()
        try:
            plan = json.loads(self.journal.read_bytes())
            step, back = _step(str(plan["name"]), plan), bool(plan.get("back"))
        except FileNotFoundError:
            return False
        except (ValueError, KeyError, TypeError):
            files.set_aside(self.journal)
            return False
        try:
            self._swap(step, back=back)
        except ChangedError as error:
            log.warning("%s; the interrupted step was rolled back", error)
        return True

    def commit(
        self,
        changes: Mapping[str, bytes | None],
        read: Mapping[str, str],
        label: str,
        ends: Sequence[End] = (),
        appended: Mapping[str, bytes] | None = None,
    ) -> str:
        """Replace the named files (relative to the root) by their new content, or delete those with None.

        Return the step's name. ``read`` maps each name to the ``digest`` of the content that the change was made from.
        ``ends``: the facts that end with it; some file must change too. Raise ChangedError, and write nothing, when a
        file has another digest by now. The blocks of ``appended`` are added to the ends of their files, whatever these
        hold by then.
        """
        changes = {name: data for name, data in changes.items() if digest(data) != read.get(name, "")}
        if not changes and not appended:
            return ""
        before = {path: self._content(path) for path in changes}
        if stale := [path for path, data in before.items() if digest(data) != read.get(path, "")]:
            raise ChangedError(stale)
        name = self._next_name()
        folder = self.folder / name
        rows = []
        for number, (path, data) in enumerate(sorted(changes.items())):
            for side, copy in (("old", before[path]), ("new", data)):
                if copy is not None:
                    files.replace(folder / f"{number}.{side}", copy)
            rows.append({"path": path, "number": number, "before": digest(before[path]), "after": digest(data)})
        rows += [
            self._staged_block(folder, path, len(rows) + n, block)
            for n, (path, block) in enumerate(sorted((appended or {}).items()))
        ]
        step = Step(name, label, tuple(rows), tuple(ends))
        files.replace(folder / "step.json", json.dumps(asdict(step)))
        failpoints.reach("transaction.staged")
        files.replace(self.journal, json.dumps(asdict(step)))
        failpoints.reach("transaction.journaled")
        self._swap(step, back=False)
        for old in self._plans()[:-KEPT_STEPS]:
            shutil.rmtree(old.parent, ignore_errors=True)
        return name

    def _staged_block(self, step: Path, path: str, number: int, block: bytes) -> Row:
        data = self._content(path) or b""
        files.replace(step / f"{number}.new", block)
        return {"path": path, "number": number, "before": digest(data), "after": digest(block), "size": len(data),
                "times": data.count(block)}  # fmt: skip

    def _next_name(self) -> str:
        """Return a name that sorts after every existing step, even if the clock was set back."""
        last = max((int(path.parent.name.partition("-")[0]) for path in self._plans()), default=0)
        return f"{last + 1:08d}-{clock.now():%Y%m%dT%H%M%S}"

    def _plans(self) -> list[Path]:
        """Return the files that describe the steps, oldest first."""
        return sorted(self.folder.glob("[0-9]*-*/step.json"))

    def _swap(self, step: Step, *, back: bool) -> list[str]:
        """Bring every file from one side of the step to the other; return those that a person has changed.

        Such a file is left alone. Unless ``back``, roll all the others back then, and raise ChangedError.
        """
        folder, rows = self.folder / step.name, step.files
        told = self._swap_digests()
        for row in rows:
            told[str(row["path"])] = [*told.get(str(row["path"]), ()), str(row["before"]), str(row["after"])]
        files.replace(self.folder / SWAPPED, json.dumps(told))
        foreign = self._put_all(folder, rows, "before" if back else "after")
        if foreign and not back:
            self._put_all(folder, rows, "before")
        else:
            self._queue(step.facts, back=back)
        if foreign or back:  # before the journal: an undone step cannot be undone again
            shutil.rmtree(folder, ignore_errors=True)
        self.journal.unlink()
        atomic.sync_folder(str(self.folder))
        failpoints.reach("transaction.closed")
        if foreign and not back:
            raise ChangedError(foreign)
        return foreign

    def swapped_files(self) -> list[str]:
        """Return the files that hold what was written or put back since ``forget`` was called, and no person's edit."""
        return [path for path, digests in self._swap_digests().items() if digest(self._content(path)) in digests]

    def _swap_digests(self) -> dict[str, list[str]]:
        """Return the digests of what each file held before and after its swaps."""
        try:
            return dict(json.loads((self.folder / SWAPPED).read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return {}

    def forget(self, *, but_present: bool = False) -> None:
        """Forget which files were swapped, because their content is known now.

        ``but_present``: except with what they hold now, so that ``swapped_files`` names them until a person edits.
        """
        if but_present:
            told = {path: [digest(self._content(path))] for path in self.swapped_files()}
            files.replace(self.folder / SWAPPED, json.dumps(told))
        else:
            (self.folder / SWAPPED).unlink(missing_ok=True)

    def _queue(self, ends: Iterable[End], *, back: bool) -> None:
        """Queue the ends of facts, or their undoing; after a kill they are queued again, which does no harm."""
        for end in ends:
            self.outbox.put(end | ({"resumed": end["ended"]} if back else {}))

    def _put_all(self, step: Path, rows: Sequence[Row], wanted: str) -> list[str]:
        """Write the ``wanted`` content of every file that has the other; return the files that have neither.

        A file that already has the wanted content was replaced before a kill. Blocks are appended last.
        """
        foreign: list[str] = []
        for row in rows:
            path = str(row["path"])
            if _grows(row):
                if not self._regrow(step, row, wanted):
                    foreign.append(path)
                continue
            current = self.swap.read(self.root / path)
            try:
                is_ours = digest(current) in (row["before"], row["after"])
                if not is_ours or not self._put_side(step, row, wanted, current):
                    foreign.append(path)
            except SavedMeanwhileError:
                foreign.append(path)
        return foreign

    def _put_side(self, step: Path, row: Row, side: str, current: bytes | None) -> bool:
        """Write one side's content; return False, and leave the file alone, when the stored copy is damaged."""
        if digest(current) == row[side]:
            return True
        data = home_files.read_if_there(step / f"{row['number']}.{'old' if side == 'before' else 'new'}")
        if digest(data) != row[side]:
            log.warning("%s: the stored copy in %s is damaged; the file stays as it is", row["path"], step)
            return False
        self.swap.replace(self.root / str(row["path"]), data, current)
        failpoints.reach("transaction.swapped")
        return True

    def _regrow(self, step: Path, row: Row, wanted: str) -> bool:
        """Add a step's block at the end of a file, or take it out.

        Return False when a person has changed or removed it, or kept saving the file, or the stored copy is damaged.
        """
        path, block = self.root / str(row["path"]), self._block(step, row)
        for _ in range(TRIES):
            data = self.swap.read(path)
            held = data or b""
            if not block or _holds(held, row, block) == (wanted == "after"):
                return bool(block) and wanted == "after"
            new = held + block if wanted == "after" else b"".join(held.rpartition(block)[::2])
            try:
                self.swap.replace(path, new if new or row["size"] else None, data)
            except SavedMeanwhileError:
                continue
            failpoints.reach("transaction.swapped")
            return True
        return False

    def _block(self, step: Path, row: Row) -> bytes:
        """Return the block that a step appends; nothing when the stored copy is damaged."""
        block = home_files.read_if_there(step / f"{row['number']}.new")
        if block is not None and digest(block) == row["after"]:
            return block
        log.warning("%s: the stored copy in %s is damaged; the file stays as it is", row["path"], step)
        return b""

    def steps(self) -> list[Step]:
        """Return the steps that can be undone, newest first."""
        return [step for step in self._steps() if step.label != FOLLOWS]

    def _steps(self) -> list[Step]:
        found = []
        for path in reversed(self._plans()):
            try:
                plan = json.loads(path.read_bytes())
                found.append(_step(path.parent.name, plan))
            except (ValueError, KeyError, TypeError) as error:
                log.warning("%s cannot be read and is skipped (%s)", path, error)
        return found

    def undo(self) -> tuple[str, list[str], list[str]]:
        """Restore the contents before the newest step, even if that step or this call is killed at any point.

        Return the step's label, the restored files, and the files left alone because a person has changed them since.
        Raise IndexError when there is nothing to undo.
        """
        wanted = self.steps()[0]
        left = {row["path"]: row["after"] for row in wanted.files}
        for step in self._steps():
            if step.label == FOLLOWS and not any(row["before"] == left.get(row["path"]) for row in step.files):
                shutil.rmtree(self.folder / step.name)  # its files are nearer to the step below as they are now
                continue
            changed = [str(row["path"]) for row in step.files if self._is_as_left(step, row)]
            files.replace(self.journal, json.dumps(asdict(step) | {"back": True}))
            failpoints.reach("transaction.journaled")
            left_alone = self._swap(step, back=True)
            if step.name == wanted.name:
                break
        return step.label, [path for path in changed if path not in left_alone], left_alone

    def _is_as_left(self, step: Step, row: Row) -> bool:
        """Return whether a file is as a step left it, or at least still holds the block that the step appended."""
        content = self._content(str(row["path"]))
        if not _grows(row):
            return digest(content) == str(row["after"])
        return _holds(content or b"", row, self._block(self.folder / step.name, row))

    def clear(self) -> None:
        """Delete everything that could be undone, because it may hold what is forgotten; keep what was swapped."""
        for path in self.folder.glob("*/"):
            shutil.rmtree(path)

    def content_before(self, step: Step, row: Row) -> bytes | None:
        """Return what a file held before a step, None for no file; ``b""`` for one that the step appended to."""
        if _grows(row):
            return b"" if row["size"] else None
        return home_files.read_if_there(self.folder / step.name / f"{row['number']}.old")

    def content_after(self, step: Step, row: Row) -> bytes | None:
        """Return what a step made of a file, or None when the step deleted it; of one it appended to, the block."""
        return home_files.read_if_there(self.folder / step.name / f"{row['number']}.new")

    def _content(self, name: str) -> bytes | None:
        return home_files.read_if_there(self.root / name, self.root)

    def _sweep(self) -> None:
        """Remove the remains of runs that died before writing their journal, or while replacing a file."""
        for folder in self.folder.glob("*/"):
            if not (folder / "step.json").exists():
                shutil.rmtree(folder, ignore_errors=True)
        places = [place for name in home_files.ARTICLE_FOLDERS for place, _, _ in os.walk(self.root / name)]
        for folder in (self.root, *map(Path, places)):  # of a step, or of an exchange, which has no journal
            self.swap.recover(folder)
            files.sweep(folder)


def _step(name: str, plan: Mapping[str, Any]) -> Step:
    """Return the step that a plan describes; raise ValueError, KeyError or TypeError when it is none."""
    ends = tuple({**end, "id": str(end["id"]), "ended": str(end["ended"])} for end in plan.get("facts", ()))
    return Step(name, str(plan["label"]), tuple(_rows(plan)), ends)


def _rows(plan: Mapping[str, Any]) -> list[Row]:
    """Return the files of a plan; raise ValueError when one would lie outside the root."""
    keys, more = ("path", "number", "before", "after"), ("size", "times")
    rows = [{key: row[key] for key in keys} | {key: row.get(key) for key in more} for row in plan["files"]]
    for row in rows:
        path = PurePosixPath(row["path"])
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"{path} leads out of the wiki")
    return rows


def _grows(row: Row) -> bool:
    """Return whether a block is appended to a file, which is not replaced."""
    return row.get("times") is not None


def _holds(data: bytes, row: Row, block: bytes) -> bool:
    """Return whether a file holds a step's block."""
    return bool(data.count(block) > row["times"])
