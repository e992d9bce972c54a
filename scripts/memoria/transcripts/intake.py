"""Intake: the waiting jobs of one session, read as one stream of new turns.

A job's turns come from up to three places: a byte range of the transcript that the hook did not copy, the slice in the
job, and what was written after the hook looked. Knows the spool and the transcript's bytes; does not know what becomes
of the turns.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

from memoria.base import paths
from memoria.base.exclude import OWN
from memoria.capture.spool import Job, Spool
from memoria.ground import clock, printable
from memoria.ground.home import Home
from memoria.transcripts import clients
from memoria.transcripts.clients import Client
from memoria.transcripts.screen import Screen
from memoria.transcripts.turn import Exchange, Turn, exchanges, split, steps
from memoria.transcripts.turn_reader import Reader

log = logging.getLogger(__name__)

FINAL = frozenset({"SessionEnd", "Verify", "Ingest"})  # nothing more will come: a hook, or a person, said so
KILLED = "UserPromptSubmit"  # nothing more will come either: the client died over the prompt
ALONE = ("PostCompact", KILLED)  # hold what the hook was told, and nothing of the transcript
NIGHT = timedelta(hours=2)  # without a turn, over midnight; after a shorter pause the work goes on
NOWHERE = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.ENOENT, errno.EINVAL)  # the last: no regular file
MAX_LINE = 32 << 20  # bytes; a longer line is passed over, so that memory stays flat


@dataclass(slots=True)
class Intake:
    """One session's waiting jobs, oldest first. ``headers`` are read once; ``missing`` names ranges that are gone.

    ``tasks`` holds the subjects of the session's tasks that are known from earlier jobs, by id, and gains new ones.
    Without a ``screen`` every turn is read. ``dropped`` holds the keys of the turns that it did not let pass, with the
    reasons.
    """

    spool: Spool
    jobs: list[Job]
    screen: Screen | None = None
    headers: dict[Job, dict[str, object]] = field(default_factory=dict, init=False)
    missing: list[str] = field(default_factory=list)
    unresolved: set[str] = field(default_factory=set)
    dropped: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)
    _first_folder: str = ""  # of the first turn that was let pass

    def __post_init__(self) -> None:
        """Read the headers; a job whose header cannot be read raises ValueError naming it."""
        for job in self.jobs:
            try:
                self.headers[job] = self.spool.header(job)
            except ValueError as error:
                raise UnreadableJobError(job, str(error)) from error

    @classmethod
    def of(cls, home: Home, spool: Spool, jobs: list[Job]) -> Intake:
        """Return the intake of these jobs without what is excluded or forgotten."""
        return cls(spool, jobs, Screen(home))

    @property
    def session(self) -> str:
        """The session id as the client gave it."""
        return str(self.headers[self.jobs[0]].get("session", ""))

    @property
    def client(self) -> Client:
        """The coding agent whose session it is."""
        return clients.find(self.headers[self.jobs[0]].get("agent"))

    @property
    def cwd(self) -> str:
        """Return the first folder that a hook was told and that is not excluded; else that of the first turn read."""
        named = (str(header["cwd"]) for header in self.headers.values() if header.get("cwd"))
        return next((cwd for cwd in named if not (self.screen and self.screen.exclusion(cwd))), self._first_folder)

    @property
    def is_over(self) -> bool:
        """Whether the client said that the session is over."""
        return any(job.event in FINAL or job.event == KILLED for job in self.jobs)

    @property
    def is_echo(self) -> bool:
        """Whether the newest answer came because a Stop hook (anyone's) made the client go on."""
        return bool(self.headers[self.jobs[-1]].get("stop_hook_active"))

    @property
    def newest(self) -> float:
        """When the newest job was spooled, seconds since the epoch."""
        return max(job.stamp for job in self.jobs) / 1e9

    def wait_for_transcripts(self, most_s: float) -> list[Job]:
        """Wait until every transcript that a hook found missing is there; the jobs whose is not after ``most_s``."""
        absent = [
            (job, str(header["transcript"]))
            for job, header in self.headers.items()
            if job.event not in ALONE and job.end == 0
        ]
        deadline = time.monotonic() + most_s
        while left := [job for job, path in absent if not os.path.exists(path)]:  # noqa: PTH110 (False for any name)
            if time.monotonic() >= deadline:
                return left
            time.sleep(0.1)
        return []

    def drop(self, jobs: Collection[Job]) -> Intake:
        """Return the intake of the other jobs."""
        return replace(self, jobs=[job for job in self.jobs if job not in jobs])

    def turns(self, known: Callable[[str], bool], *, settle: bool) -> Iterator[Turn]:
        """Yield new turns in the order they were written, each once; ``known`` says which keys are recorded already.

        ``settle``: nothing more will come, so prompts that are still queued count as typed. Otherwise the jobs whose
        queued prompts are undecided are named in ``unresolved`` afterwards, to be read again with what follows.
        """
        reader = Reader(tasks=self.tasks, decode=self.client.decoder())
        pending_since: dict[str, str] = {}
        for job, header in self.headers.items():
            reader.folder = reader.folder or str(header.get("cwd", ""))
            for turn in reader.read(self._lines(job, header)):
                if not known(turn.key) and self._passes(turn):
                    yield turn
            if reader.unreadable:
                lines = printable.amount(reader.unreadable, "line")
                self.missing.append(f"{lines} of job {job.name}: no JSON object")
                reader.unreadable = 0
            self.tasks = reader.tasks
            for turn in reader.pending_turns:
                pending_since.setdefault(turn.key, job.name)
        if settle:
            yield from (turn for turn in reader.settle() if not known(turn.key) and self._passes(turn))
        else:
            self.unresolved = {pending_since[turn.key] for turn in reader.pending_turns}

    def _passes(self, turn: Turn) -> bool:
        """Return whether the screen lets a turn pass."""
        if self.screen and (reason := self._own_reason() or self.screen.reason(turn)):
            self.dropped[turn.key] = reason
            return False
        self._first_folder = self._first_folder or turn.cwd
        return True

    def _own_reason(self) -> str:
        """Return why the session as a whole is left out: a hook was told a folder of memoria's own."""
        cwds = (str(header.get("cwd", "")) for header in self.headers.values())
        return OWN if self.screen and any(self.screen.exclusion(cwd) == OWN for cwd in cwds) else ""

    def _lines(self, job: Job, header: dict[str, object]) -> Iterator[bytes]:
        transcript = str(header.get("transcript", ""))
        start, copied_from, end = job.start, int(str(header.get("copied_from", job.start))), job.end
        if copied_from > start:
            yield from self._range(transcript, start, copied_from)
        yield from self.spool.lines(job)
        if job.event in FINAL or (start == end and job.event not in ALONE):
            yield from self._range(transcript, max(end, copied_from), None)

    def _range(self, transcript: str, start: int, end: int | None) -> Iterator[bytes]:
        """Yield the transcript's lines from ``start``; ``end`` None means what was written after the hook looked."""
        try:
            with regular(transcript) as file:
                file.seek(start)
                while (end is None or file.tell() < end) and (line := file.readline(MAX_LINE)):
                    if line.endswith(b"\n") or len(line) < MAX_LINE:
                        yield line
                        continue
                    begin = file.tell() - len(line)
                    while line and not line.endswith(b"\n"):  # nothing a person said is that long
                        line = file.readline(MAX_LINE)
                    self.missing.append(f"bytes {begin} to {file.tell()} of {transcript}: a single line")
                position = file.tell()
        except (FileNotFoundError, PermissionError) as error:
            if end is None:
                return  # the slice is in the job; that nothing can be added to it is no loss
            self.missing.append(f"bytes {start} to {end} of {transcript}: {error.strerror}")
        else:
            if end is not None and position < end:
                self.missing.append(f"bytes {position} to {end} of {transcript}: the file is shorter now")


def regular(path: str) -> BinaryIO:
    """Open a regular file; FileNotFoundError for what is none: a FIFO that took its place is waited on for ever.

    The same for what no file can be called (a NUL in it, too long, round in circles): a hook may be told anything.
    """
    try:
        return open(path, "rb", opener=paths.regular)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno not in NOWHERE:
            raise
        raise FileNotFoundError(errno.ENOENT, str(error), path) from error


class UnreadableJobError(ValueError):
    """A job's header is damaged."""

    def __init__(self, job: Job, reason: str) -> None:
        super().__init__(f"{job.name}: {reason}")
        self.job = job


@dataclass(frozen=True, slots=True)
class Stretch:
    """What one model call is given. ``keys`` are recorded once its entry stands; ``identity`` names the entry.

    The pieces of a turn too long for one call share its key; only the last carries it in ``keys``, so that a worker
    that dies between two pieces takes the turn up again.
    """

    exchanges: tuple[Exchange, ...]
    keys: tuple[str, ...]
    identity: str

    def material(self, folder: str = "") -> list[dict[str, Any]]:
        """Return the exchanges as a model is given them, with paths below ``folder`` relative in their steps."""
        told = steps(self.exchanges, folder)
        return [exchange.material() | {"steps": part} for exchange, part in zip(self.exchanges, told, strict=True)]

    def clean(self, clean: Callable[[str], str]) -> Stretch:
        """Return the stretch with every text and tool line put through ``clean``."""
        return replace(self, exchanges=tuple(part.clean(clean) for part in self.exchanges))

    @property
    def turns(self) -> list[Turn]:
        """The turns of all exchanges, in order."""
        return [turn for part in self.exchanges for turn in part.turns]

    @property
    def is_continued(self) -> bool:
        """Whether further pieces of the same turn follow."""
        return not self.keys

    @property
    def turn_count(self) -> int:
        """How many turns hold words of the user or the assistant."""
        return sum(turn.role in ("user", "assistant") for turn in self.turns)

    @property
    def says_nothing(self) -> bool:
        """Whether neither the user nor the assistant said or did anything, or no more than use one tool."""
        is_silent = not any(turn.text for turn in self.turns) and sum(len(turn.tools) for turn in self.turns) <= 1
        return is_silent or not self.turn_count


def stretches(turns: Iterable[Turn], limit: int, zone: clock.Zone) -> Iterator[Stretch]:
    """Cut a stream of turns into stretches of at most ``limit`` characters; what follows a night is a new one.

    Cut between exchanges where it can be; holds one stretch in memory at a time. A stretch that goes on after midnight
    belongs to the user's day on which it began.
    """
    held: list[Turn] = []
    size = 0
    for turn in turns:
        if held and _begins_new(turn, held, size, limit, zone):
            yield from _split_whole(held, limit)
            held, size = [], 0
        held.append(turn)
        size += turn.size
    if held:
        yield from _split_whole(held, limit)


def _split_whole(held: list[Turn], limit: int) -> Iterator[Stretch]:
    keys = tuple(dict.fromkeys(turn.key for turn in held))
    parts = split(exchanges(held), limit)
    for number, part in enumerate(parts, 1):
        last = number == len(parts)
        yield Stretch(tuple(part), keys if last else (), ".".join(keys) + ("" if len(parts) == 1 else f".{number}"))


def _begins_new(turn: Turn, held: list[Turn], size: int, limit: int, zone: clock.Zone) -> bool:
    if size + turn.size > limit:
        return True
    if turn.role != "user":
        return False
    # A stretch that is nearly full ends where a new request begins, rather than in the middle of it.
    if size > limit * 0.8:
        return True
    times = [other.time for other in held if other.time and other.role != "note"]  # a note goes with what follows it
    if not times or not turn.time or abs(turn.time - times[-1]) < NIGHT:
        return False
    return zone.day(times[0]) != zone.day(turn.time)


def _client(header: bytes) -> Client:
    """Return the agent whose lines follow a job's header."""
    try:
        return clients.find(json.loads(header).get("agent"))
    except (ValueError, AttributeError):
        return clients.CLAUDE


def job_turns(path: Path) -> list[tuple[str, str]]:
    """Return the keys and texts of a job's turns."""
    return [(key, text) for _, turns in job_lines(path) for key, text in turns]


def job_lines(path: Path) -> Iterator[tuple[bytes, list[tuple[str, str]]]]:
    """Yield each line of a job after its header, with the keys and texts of the turns in it."""
    with path.open("rb") as file:
        reader = Reader(with_sides=True, decode=_client(file.readline()).decoder())
        for line in file:
            yield line, [(turn.key, turn.words) for turn in reader.read([line])]
