"""Spool: jobs on disk between the hooks and the worker; the folder of a job is its state.

``tmp`` (being written) -> ``new`` (waiting) -> ``cur`` (claimed) -> deleted, or ``failed``. The content of a job never
changes: one line of JSON as a header, then the slice of the transcript. Its name sorts by time and holds what a hook
needs to know without opening it: ``<ns since epoch>.<pid>.<event>.<session>.<start>-<end>.job``.
"""

from __future__ import annotations

import os
import time

from memoria.base import quickjson
from memoria.base.paths import BINARY, SPOOL_BOXES, opener, private_folder, regular, safe_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

RECENT_S = 600  # age up to which a job is recent


class Job:
    """The parts of a job's name. ``session`` is a safe name; ``start`` and ``end`` are offsets in the transcript."""

    __slots__ = ("end", "event", "name", "session", "stamp", "start")

    def __init__(self, name: str) -> None:
        """Parse ``name``; raise ValueError when it is not the name of a job."""
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
        """Return whether the hook ran a short time ago; the turns of older jobs are not checked locally again."""
        return self.stamp / 1e9 > time.time() - RECENT_S


class Spool:
    """The four folders (boxes) of jobs."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.tmp, self.new, self.cur, self.failed = (os.path.join(folder, box) for box in SPOOL_BOXES)

    def add(self, header: dict[str, object], data: bytes) -> str:
        """Write a job, sync it to disk and return its name; ``header`` must hold event, session, start and end."""
        from memoria.base import atomic, failpoints  # noqa: PLC0415 (a session's start only looks)

        session, event = safe_name(str(header["session"])), safe_name(str(header["event"]))
        name = f"{time.time_ns():020d}.{os.getpid()}.{event}.{session}.{header['start']}-{header['end']}.job"
        temporary = os.path.join(self.tmp, name)
        descriptor = self._create(temporary)
        failpoints.reach("spool.opened")
        try:
            atomic.write_all(descriptor, quickjson.dumps(header).encode() + b"\n" + data)
            failpoints.reach("spool.written")
            os.fsync(descriptor)
            failpoints.reach("spool.synced")
        except BaseException:
            os.close(descriptor)
            os.unlink(temporary)
            raise
        os.close(descriptor)
        self._move(name, self.tmp, self.new)
        failpoints.reach("spool.renamed")
        return name

    def refusal(self) -> str:
        """Return why nothing can be spooled now (a full disk, no write access), ``""`` when it is possible."""
        path = os.path.join(self.tmp, f"probe.{os.getpid()}")
        try:
            descriptor = self._create(path)
            try:
                os.write(descriptor, bytes(4096))
            finally:
                os.close(descriptor)
                os.unlink(path)
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def jobs(self, *boxes: str) -> list[Job]:
        """Return the jobs in these boxes (default ``new`` and ``cur``), oldest first; other files are ignored."""
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
        found.sort(key=lambda job: (job.stamp, job.name))
        return found

    def path(self, job: Job) -> str:
        """Return the job's file in its present box; raise FileNotFoundError when it is gone."""
        for box in (self.new, self.cur, self.failed):
            path = os.path.join(box, job.name)
            if os.path.exists(path):
                return path
        raise FileNotFoundError(job.name)

    def claim(self, job: Job) -> None:
        """Claim a job for work. Only the holder of the worker lock may do so."""
        from memoria.base import failpoints  # noqa: PLC0415 (as above)

        if not os.path.exists(os.path.join(self.cur, job.name)):
            self._move(job.name, self.new, self.cur)
            failpoints.reach("spool.claimed")

    def release(self, job: Job) -> None:
        """Return a claimed job to the waiting ones."""
        self._move(job.name, self.cur, self.new)

    def acknowledge(self, job: Job) -> None:
        """Delete a claimed job, because its turns are in a daily log or need no entry."""
        from memoria.base import atomic, failpoints  # noqa: PLC0415 (as above)

        os.unlink(os.path.join(self.cur, job.name))
        atomic.sync_folder(self.cur)
        failpoints.reach("spool.acknowledged")

    def fail(self, job: Job, reason: str) -> None:
        """Set a claimed job aside for a person, with the reason beside it; memoria never deletes it."""
        with open(os.path.join(self.failed, job.name + ".why"), "wb", opener=opener) as file:
            file.write(f"{reason}\n".encode("utf-8", "replace"))
        self._move(job.name, self.cur, self.failed)

    def retry(self, job: Job) -> None:
        """Return a failed job to the waiting ones."""
        self._move(job.name, self.failed, self.new)
        try:
            os.unlink(os.path.join(self.failed, job.name + ".why"))
        except FileNotFoundError:
            pass

    def header(self, job: Job) -> dict[str, object]:
        """Return the job's header; raise ValueError when it cannot be read."""
        with open(self.path(job), "rb", opener=regular) as file:
            header = quickjson.loads(file.readline().decode("utf-8", "replace"))
        if not isinstance(header, dict):
            raise ValueError("a job's first line must be a JSON object")
        return header

    def lines(self, job: Job) -> Iterator[bytes]:
        """Yield the lines of the slice."""
        with open(self.path(job), "rb", opener=regular) as file:
            file.readline()
            yield from file

    def _create(self, path: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY
        try:
            return opener(path, flags)
        except FileNotFoundError:  # somebody deleted the folders
            for box in (self.tmp, self.new, self.cur, self.failed):
                private_folder(box)
            return opener(path, flags)

    def _move(self, name: str, source: str, target: str) -> None:
        from memoria.base import atomic  # noqa: PLC0415 (as above)

        os.rename(os.path.join(source, name), os.path.join(target, name))
        atomic.sync_folder(target)
