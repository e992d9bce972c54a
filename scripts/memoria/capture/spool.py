"""Spool: jobs on disk between the hooks and the worker; a job's state is the folder it lies in.

``tmp`` (being written) -> ``new`` (waiting) -> ``cur`` (claimed) -> gone, or ``failed``. A job's content never changes:
one JSON header line, then the transcript slice as it was. Its name sorts by time and carries what a hook needs to know
without opening it: ``<ns since epoch>.<pid>.<event>.<session>.<start>-<end>.job``.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import binascii
import os
import time

from memoria.base import atomic, failpoints, quickjson
from memoria.base.paths import SPOOL_BOXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

RECENT_S = 600  # how long after its hook a job is recent
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def safe_name(text: str) -> str:
    """``text`` as a file name of at most 80 characters; two different texts get two different names."""
    kept = "".join(letter if letter in _SAFE else "_" for letter in text[:64])
    if kept == text and kept:
        return kept
    return f"{kept}_{binascii.crc32(text.encode('utf-8', 'replace')):08x}"


class Job:
    """One job's name, taken apart. ``session`` is the safe name; ``start`` and ``end`` are transcript offsets."""

    __slots__ = ("end", "event", "name", "session", "stamp", "start")

    def __init__(self, name: str) -> None:
        """ValueError when ``name`` is no job's name."""
        parts = name.split(".")
        if len(parts) != 6 or parts[5] != "job":
            raise ValueError(name)
        self.name = name
        self.stamp = int(parts[0])  # nanoseconds since the epoch, when the hook ran
        self.event = parts[2]
        self.session = parts[3]
        start, _, end = parts[4].partition("-")
        self.start, self.end = int(start), int(end)

    def is_recent(self) -> bool:
        """Return whether its turns are put to the local check; those of an older job were, or wait for the flush."""
        return self.stamp / 1e9 > time.time() - RECENT_S


class Spool:
    """The four boxes under one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.tmp, self.new, self.cur, self.failed = (os.path.join(folder, box) for box in SPOOL_BOXES)

    def add(self, header: dict[str, object], data: bytes) -> str:
        """Put a job on disk, file and folder synced; returns its name. ``header`` holds event, session, start, end."""
        session, event = safe_name(str(header["session"])), safe_name(str(header["event"]))
        name = f"{time.time_ns():020d}.{os.getpid()}.{event}.{session}.{header['start']}-{header['end']}.job"
        temporary = os.path.join(self.tmp, name)
        try:
            descriptor = _create(temporary)
        except FileNotFoundError:  # someone cleaned up too well
            for box in (self.tmp, self.new, self.cur, self.failed):
                os.makedirs(box, mode=0o700, exist_ok=True)
            descriptor = _create(temporary)
        failpoints.reached("spool.opened")
        try:
            atomic.write_all(descriptor, quickjson.dumps(header).encode() + b"\n" + data)
            failpoints.reached("spool.written")
            os.fsync(descriptor)
            failpoints.reached("spool.synced")
        except BaseException:
            os.close(descriptor)
            os.unlink(temporary)
            raise
        os.close(descriptor)
        self._move(name, self.tmp, self.new)
        failpoints.reached("spool.renamed")
        return name

    def refusal(self) -> str:
        """Why nothing can be spooled now (a full disk, no write access); ``""`` when it can be tried."""
        path = os.path.join(self.tmp, f"probe.{os.getpid()}")
        try:
            os.makedirs(self.tmp, mode=0o700, exist_ok=True)
            descriptor = _create(path)
            try:
                os.write(descriptor, bytes(4096))
            finally:
                os.close(descriptor)
                os.unlink(path)
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def jobs(self, *boxes: str) -> list[Job]:
        """The jobs in these boxes (default ``new`` and ``cur``), oldest first; other files are passed over."""
        found = []
        for box in boxes or (self.new, self.cur):
            try:
                names = os.listdir(box)
            except FileNotFoundError:
                continue
            for name in names:
                try:
                    found.append(Job(name))
                except ValueError:
                    continue
        found.sort(key=_stamp)
        return found

    def path(self, job: Job) -> str:
        """Where the job lies now; FileNotFoundError when it is gone."""
        for box in (self.new, self.cur, self.failed):
            path = os.path.join(box, job.name)
            if os.path.exists(path):
                return path
        raise FileNotFoundError(job.name)

    def claim(self, job: Job) -> None:
        """Take a job for work. Only the holder of the worker lock claims."""
        if not os.path.exists(os.path.join(self.cur, job.name)):
            self._move(job.name, self.new, self.cur)
            failpoints.reached("spool.claimed")

    def release(self, job: Job) -> None:
        """Give a claimed job back to wait."""
        self._move(job.name, self.cur, self.new)

    def acknowledge(self, job: Job) -> None:
        """The job's turns stand in a daily log (or need no entry): it goes."""
        os.unlink(os.path.join(self.cur, job.name))
        atomic.sync_folder(self.cur)
        failpoints.reached("spool.acknowledged")

    def fail(self, job: Job, reason: str) -> None:
        """Set a claimed job aside for a person, with the reason beside it; it is never deleted by memoria."""
        with open(os.path.join(self.failed, job.name + ".why"), "w", encoding="utf-8") as file:
            file.write(reason + "\n")
        self._move(job.name, self.cur, self.failed)

    def retry(self, job: Job) -> None:
        """Let a failed job wait again."""
        self._move(job.name, self.failed, self.new)
        try:
            os.unlink(os.path.join(self.failed, job.name + ".why"))
        except FileNotFoundError:
            pass

    def header(self, job: Job) -> dict[str, object]:
        """The job's header; ValueError when it cannot be read."""
        with open(self.path(job), "rb") as file:
            return _header(file.readline())

    def lines(self, job: Job) -> Iterator[bytes]:
        """The slice's lines, one at a time."""
        with open(self.path(job), "rb") as file:
            file.readline()
            yield from file

    def _move(self, name: str, source: str, target: str) -> None:
        os.rename(os.path.join(source, name), os.path.join(target, name))
        atomic.sync_folder(target)


def _stamp(job: Job) -> tuple[int, str]:
    return job.stamp, job.name


def _header(line: bytes) -> dict[str, object]:
    header = quickjson.loads(line.decode("utf-8", "replace"))
    if not isinstance(header, dict):
        raise ValueError("a job's first line must be a JSON object")
    return header


def _create(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
