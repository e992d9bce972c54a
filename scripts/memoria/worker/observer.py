"""Observer: record in working memory what transcripts say, so that a session can be told after a compaction.

The observer reads what was appended to a transcript since its last pass, updates working memory, and writes the block
that the session receives after losing its context. Then it starts the worker when an open session is urgent to
summarise. It calls no model, and only one observer runs at a time. For the reasons see
docs/decisions/0030-working-memory.md.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memoria.capture import cursor, detach
from memoria.capture.open_sessions import BLOCK, COMPACTING, OpenSessions
from memoria.capture.spool import Job, Spool
from memoria.daily.ledger import Ledger
from memoria.ground import clock, files, locks
from memoria.ground.errors import ExpectedError, LedgerError
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.transcripts import clients
from memoria.transcripts.intake import Intake, UnreadableJobError
from memoria.transcripts.screen import Screen
from memoria.worker.conversation import is_urgent
from memoria.working import WorkingMemory
from memoria.working.shared_store import open_store
from memoria.working.store import SqliteStore
from memoria.working.task_reading import READ, observe, where_you_were

log = logging.getLogger(__name__)

News = tuple[str, int, bool]  # session, its cursor's time, whether it asks for a checkpoint (``OpenSessions.news``)
EXCLUDED = "excluded"  # key in the observed state: whether the last line that was read is of an excluded folder


@dataclass(frozen=True, slots=True)
class Observer:
    """Observes the open sessions of one home."""

    home: Home
    store: SqliteStore
    places: OpenSessions
    redactor: Redactor

    async def run(self, seen: set[News]) -> None:
        """Observe every session with news that is not in ``seen``, and add the news to ``seen``."""
        for news in self.news(seen):
            seen.add(news)
            name, stamp, _ = news
            try:
                await self._session(name, stamp)
            except (ExpectedError, OSError, ValueError) as error:  # an error in one session must not stop the others
                log.warning("session %s was not observed: %s", name, error)

    def news(self, seen: set[News]) -> list[News]:
        """Return the news that ``run`` would observe."""
        return [news for news in self.places.news(self.home.paths.cursors) if news not in seen]

    async def _session(self, session: str, stamp: int) -> None:
        memory = await WorkingMemory.for_session(session, store=self.store)
        observed = self._grow(session, await memory.get_observed())
        await memory.set_observed(observed)
        request = Path(self.places.path(session, COMPACTING))
        if request.exists():
            await memory.create_checkpoint("before compaction")
            request.unlink()
        notes = await memory.get_scratchpad_with_timestamps()
        block = where_you_were(observed, await memory.get_task_state(), notes)
        target = Path(self.places.path(session, BLOCK))
        files.replace(target, block)
        os.utime(target, ns=(stamp, stamp))

    def _grow(self, session: str, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the observed state, updated from what was appended since (at most the last 8 MiB, as in capture)."""
        place = cursor.find_latest(self.home.paths.cursors, session)
        if place is None:
            return dict(before)
        known = before.get(READ) or {}
        same = known.get("transcript") == place.transcript
        start, mark = (known["end"], bytes.fromhex(known["mark"])) if same else (0, b"")
        quiet = cursor.paused_spans(self.home.paths.cursors, session)
        if quiet is not None and quiet.end_after(start) != start:
            start, mark = quiet.end_after(start), b""
        piece = cursor.read_after(place.transcript, start, mark)
        if piece is None or not piece.data:
            return dict(before)
        lines = cursor.drop_quiet(piece.data.splitlines(keepends=True), piece.copied_from, quiet)
        lines, is_out = Screen(self.home).filter(lines, is_out=before.get(EXCLUDED))
        client = clients.owner(Path(place.transcript))
        if client is not clients.CLAUDE:
            lines = [json.dumps(value).encode() for value in client.decoder()(lines, lambda: None)]
        state = self.redactor.redact_json(observe(lines, before))
        read = {"transcript": place.transcript, "end": piece.end, "mark": piece.mark.hex()}
        return {**state, READ: read, EXCLUDED: is_out}


@dataclass(frozen=True, slots=True)
class DueCheck:
    """The local check of the waiting jobs; ``seen``: names of the jobs that were checked."""

    home: Home
    seen: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Check the sessions with jobs since the last run, and start the worker when one of them is urgent."""
        spool = Spool(self.home.paths.spool)
        waiting = spool.jobs()
        fresh = {job.session for job in waiting if job.name not in self.seen and job.is_recent()}
        fresh = fresh if self.home.settings.learn_at_once else set()
        self.seen.update(job.name for job in waiting)
        try:
            if fresh and self._is_due(spool, [[job for job in waiting if job.session == name] for name in fresh]):
                log.info("%s", detach.start_worker(self.home.settings, self.home.paths))
        except (LedgerError, sqlite3.Error) as error:
            log.warning("cannot determine what is urgent: %s", error)

    def has_news(self) -> bool:
        """Return whether jobs have arrived since the last run."""
        return any(job.name not in self.seen for job in Spool(self.home.paths.spool).jobs())

    def _is_due(self, spool: Spool, sessions: list[list[Job]]) -> bool:
        with closing(Ledger(self.home.paths)) as ledger:
            return any(self._has_due(ledger, spool, jobs) for jobs in sessions)

    def _has_due(self, ledger: Ledger, spool: Spool, jobs: list[Job]) -> bool:
        try:
            intake = Intake.of(self.home, spool, jobs)
            if intake.is_echo or any(clock.is_waiting(ledger.tries(job.name)[1], time.time()) for job in intake.jobs):
                return False  # an attempt has failed just now
            return is_urgent(intake.turns(lambda key: ledger.entry_of(key) is not None, settle=False))
        except (OSError, UnreadableJobError) as error:  # a worker is at it, or it cannot know what was forgotten
            log.debug("what is due of %s is not known now: %s", jobs[0].session, error)
            return False


async def work(home: Home) -> None:
    """Observe until no session has news; a hook that ran while the lock was held relies on another pass."""
    seen: set[News] = set()
    check = DueCheck(home)
    async with _observer(home) as observer:
        while True:
            with locks.take(Path(home.paths.observer_lock)) as mine:
                if not mine:
                    return
                if observer:  # first, because the client does not wait after a compaction
                    await observer.run(seen)
                    observer.places.expire()
                check.run()
            if not check.has_news() and not (observer and observer.news(seen)):
                return


@asynccontextmanager
async def _observer(home: Home) -> AsyncIterator[Observer | None]:
    """Yield the observer, or None when its store cannot be opened."""
    try:
        store = open_store(home.settings, home.paths)
    except (ExpectedError, OSError) as error:  # a session may still be urgent
        log.warning("no session was observed: %s", error)
        yield None
        return
    try:
        yield Observer(home, store, OpenSessions(home.paths.where), Redactor(home.settings.redact_extra))
    finally:
        await store.close()
