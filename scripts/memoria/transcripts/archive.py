"""Archive: the kept turns of each entry, redacted and compressed, for when the transcript is gone.

One file an entry, ``<day>-<entry id>.jsonl.gz``, one JSON object a turn: ``zcat`` shows it, a plain sort of the names
is the order of time, and forgetting an entry is removing a file. Nothing gets in unredacted, whoever calls. The oldest
go when the folder grows over its cap; what cannot be read as one of ours is never removed.

gzip, level 6: entries of real conversations shrink to 29 %; lzma would reach 28 % at a tenth of the speed, and zstd is
in the standard library from 3.14 on only. Knows turns and files; does not know entries' text or models.
"""

from __future__ import annotations

import json
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from memoria.base import atomic
from memoria.base.paths import Paths
from memoria.ground import clock, files
from memoria.ground.errors import ArchiveError

if TYPE_CHECKING:
    from memoria.ground.redact import Redactor
    from memoria.transcripts.turn import Turn

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})-([A-Za-z0-9_-]{1,64})\.jsonl\.gz")


class Kept(NamedTuple):
    """One file of the archive: the entry and day it belongs to, and its time (ns) and size."""

    path: Path
    entry: str
    day: str
    stamp: tuple[int, int]


class Archive:
    """The folder of kept turns, in the order of time, within a size."""

    def __init__(self, folder: Path, cap_bytes: int, redactor: Redactor | None = None) -> None:
        """``cap_bytes``: what the files may take on disk together; 0 keeps nothing."""
        self.folder = folder
        self.cap_bytes = cap_bytes
        self._redactor = redactor

    @property
    def redactor(self) -> Redactor:
        """The redactor of what is kept, by default one without rules of the user's own."""
        if self._redactor is None:
            from memoria.ground.redact import Redactor  # noqa: PLC0415 (slow to import, and only writing needs it)

            self._redactor = Redactor()
        return self._redactor

    @classmethod
    def of(cls, paths: Paths, cap_mb: int = 0, redactor: Redactor | None = None) -> Archive:
        """Return the archive of these paths; without ``cap_mb`` it is for reading."""
        return cls(Path(paths.archive), cap_mb * 1_000_000, redactor)

    def keep(self, entry_id: str, day: date, turns: Iterable[Turn]) -> None:
        """Keep these turns for an entry; turns kept for it before stay. Then the oldest entries go, over the cap.

        Keeping the same turns again changes nothing. OSError (disk full) leaves what was there. ValueError: no id.
        """
        if not _ID.fullmatch(entry_id):
            raise ValueError(f"{entry_id!r} is not an entry id")
        if not self.cap_bytes:
            return
        import gzip  # noqa: PLC0415 (the archive's files are listed far more often than written or read)

        path = self._path(entry_id) or self.folder / f"{day.isoformat()}-{entry_id}.jsonl.gz"
        kept = {turn.key: turn for turn in self._read_turns(path)}
        for turn in turns:
            kept[turn.key] = self._redact(turn)
        lines = "".join(json.dumps(row(turn), ensure_ascii=False) + "\n" for turn in kept.values())
        files.replace(path, gzip.compress(lines.encode("utf-8", "replace"), 6, mtime=0))
        self._prune(spare=path)

    def turns(self, entry_id: str) -> list[Turn] | None:
        """Return the turns kept for an entry, None when there are none; raise ArchiveError if they cannot be read."""
        path = self._path(entry_id)
        return None if path is None else list(_read(path))

    def read(self, kept: Kept) -> list[Turn]:
        """Return the turns of one listed file; none when it has gone; raise ArchiveError if they cannot be read."""
        return list(_read(kept.path))

    def remove(self, entry_id: str) -> bool:
        """Remove an entry's turns, readable or not; return whether there were any."""
        path = self._path(entry_id)
        if path is None:
            return False
        path.unlink(missing_ok=True)
        atomic.sync_folder(str(self.folder))
        return True

    def list_kept(self) -> list[Kept]:
        """Return the kept files, oldest first; a file that goes meanwhile is left out."""
        return [
            Kept(self.folder / name[0], name[2], name[1], (status.st_mtime_ns, status.st_size))
            for name, status in self._files()
        ]

    def _prune(self, spare: Path) -> None:
        """Remove the oldest entries until the cap is kept; never ``spare``, nor what cannot be read."""
        kept = self._files()
        excess = sum(status.st_size for _, status in kept) - self.cap_bytes
        for name, status in kept:
            if excess <= 0:
                break
            path = self.folder / name[0]
            if path != spare and _is_ours(path):
                path.unlink(missing_ok=True)
                excess -= status.st_size

    def _path(self, entry_id: str) -> Path | None:
        """Return the file of an entry, whatever its day."""
        if not _ID.fullmatch(entry_id):
            return None
        found = (name for name in self._names() if name[2] == entry_id)
        return next((path for name in found if (path := self.folder / name[0]).is_file()), None)

    def _files(self) -> list[tuple[re.Match[str], os.stat_result]]:
        """Return the files named as ours, oldest first; one that goes meanwhile is left out."""
        found = []
        for name in sorted(self._names(), key=lambda name: name[0]):
            with suppress(FileNotFoundError):
                status = os.stat(f"{self.folder}/{name[0]}")  # noqa: PTH116 (a folder of years: a path costs more)
                if stat.S_ISREG(status.st_mode):
                    found.append((name, status))
        return found

    def _names(self) -> Iterator[re.Match[str]]:
        """Yield the names in the folder that are like ours, in two parts: the day and the entry's id."""
        with suppress(FileNotFoundError, NotADirectoryError):
            yield from filter(None, map(_NAME.fullmatch, os.listdir(self.folder)))  # noqa: PTH208 (as above)

    def _read_turns(self, path: Path) -> Iterator[Turn]:
        """Yield the turns in a file; set one aside that cannot be read, so that nothing is written over it."""
        try:
            yield from list(_read(path))
        except ArchiveError:
            files.set_aside(path)

    def _redact(self, turn: Turn) -> Turn:
        redact = self.redactor.redact
        return replace(turn, text=redact(turn.text), tools=tuple(redact(line) for line in turn.tools))


def row(turn: Turn) -> dict[str, Any]:
    """Return a turn as JSON has it: without empty fields and the ids of tool uses, which tell a reader nothing."""
    row = asdict(turn) | {"time": turn.time.isoformat() if turn.time else "", "uses": ()}
    return {name: value for name, value in row.items() if value}


def _read(path: Path) -> Iterator[Turn]:
    """Yield the turns in a file, none when it has gone."""
    import gzip  # noqa: PLC0415 (as above)

    try:
        lines = gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")
        # JSON leaves the other line separators of Unicode as they are
        for line in filter(None, lines):
            yield turn_of(json.loads(line))
    except FileNotFoundError:
        return
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ArchiveError(f"{path} cannot be read ({error or type(error).__name__}); it was left as it is.") from error


def turn_of(row: dict[str, Any]) -> Turn:
    """Return the turn of a row; raise ValueError, KeyError or TypeError when it is none."""
    from memoria.transcripts.turn import Role, Turn  # noqa: PLC0415 (slow, and not needed to see what is there)

    if row["role"] not in get_args(Role):
        raise ValueError("no turn")
    return Turn(
        key=str(row["key"]),
        role=row["role"],
        text=str(row.get("text", "")),
        tools=tuple(map(str, row.get("tools", ()))),
        time=clock.parse(row.get("time")),
        cwd=str(row.get("cwd", "")),
    )


def _is_ours(path: Path) -> bool:
    try:
        return all(True for _ in _read(path))
    except ArchiveError:
        return False
