"""Observer: what the transcripts say since the last look, kept in working memory and told again after a compaction.

Reads what a transcript has grown by, keeps what it says in working memory, and writes the block that the session is
given back after losing its context. Calls no model. Why it is done so: docs/decisions/0033-where-you-were.md.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from memoria.base import exclude
from memoria.capture import cursor, paused, transcript
from memoria.capture.open_sessions import BLOCK, COMPACTING, MAX_CHARS, OpenSessions
from memoria.ground import files
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.redaction.redact import Redactor
from memoria.working import WorkingMemory
from memoria.working.store import Store
from memoria.working.task_reading import observe, where_you_were

log = logging.getLogger(__name__)

RECENT_S = 600  # how long after a hook its turns are put to the local check; what is older was, or waits for the flush
News = tuple[str, int, bool]  # a session, its cursor's time, whether it asks for a checkpoint (``OpenSessions.news``)
READ = "read"  # key in what is observed: how far the transcript was read, moved together with what it said


@dataclass(frozen=True, slots=True)
class Observer:
    """The verb with its nouns."""

    home: Home
    store: Store
    places: OpenSessions
    redactor: Redactor

    async def run(self, seen: set[News]) -> None:
        """Look at every session with news that is not in ``seen``, and add it there."""
        for news in self.news(seen):
            seen.add(news)
            name, stamp, _ = news
            try:
                await self._session(name, stamp)
            except (ExpectedError, OSError, ValueError) as error:  # one session's fault must not hide the others
                log.warning("session %s was not observed: %s", name, error)

    def news(self, seen: set[News]) -> list[News]:
        """Return what ``run`` would look at."""
        return [news for news in self.places.news(self.home.paths.cursors) if news not in seen]

    async def _session(self, session: str, stamp: int) -> None:
        memory = await WorkingMemory.for_session(session, store=self.store)
        before = await memory.get_observed()
        observed = self._grown(session, before)
        excluded = exclude.reason(str(observed.get("cwd", "")), self.home.settings, self.home.paths)
        if excluded:
            log.info("session %s left alone: %s", session, excluded)
            return
        if observed != before:
            await memory.set_observed(observed)
        request = Path(self.places.path(session, COMPACTING))
        if request.exists():
            await memory.create_checkpoint("before compaction")
            request.unlink(missing_ok=True)
        notes = await memory.get_scratchpad_with_timestamps()
        block = where_you_were(observed, await memory.get_task_state(), notes, MAX_CHARS)
        target = Path(self.places.path(session, BLOCK))
        files.replace(target, block, mode=0o600)
        os.utime(target, ns=(stamp, stamp))

    def _grown(self, session: str, before: Mapping[str, Any]) -> dict[str, Any]:
        """What is known with what the transcript says since; the newest 8 MiB of it, as capture copies."""
        place = cursor.latest(self.home.paths.cursors, session)
        if place is None:
            return dict(before)
        known = before.get(READ) or {}
        same = known.get("transcript") == place.transcript
        start, mark = (known["end"], bytes.fromhex(known["mark"])) if same else (0, b"")
        quiet = paused.read(self.home.paths.cursors, session)
        if quiet is not None and quiet.after(start) != start:
            start, mark = quiet.after(start), b""
        piece = transcript.read_after(place.transcript, start, mark)
        if piece is None or not piece.data:
            return dict(before)
        lines = _spoken(piece.data.splitlines(keepends=True), piece.copied_from, quiet)
        state = _clean(observe(lines, before), self.redactor)
        read = {"transcript": place.transcript, "end": piece.end, "mark": piece.mark.hex()}
        return {**state, READ: read}


def _spoken(lines: list[bytes], position: int, quiet: paused.PausedSpans | None) -> list[bytes]:
    """The lines, which begin at ``position``, without what was written with memoria switched off."""
    if quiet is None:
        return lines
    starts = accumulate(map(len, lines), initial=position)
    return [line for line, start in zip(lines, starts, strict=False) if not quiet.covers(start)]


def _clean(value: Any, redactor: Redactor) -> Any:
    """The same without what the user's own patterns name (``observe`` has used the built-in ones)."""
    if isinstance(value, str):
        return redactor.redact(value)
    if isinstance(value, list):
        return [_clean(item, redactor) for item in value]
    if isinstance(value, dict):
        return {name: _clean(item, redactor) for name, item in value.items()}
    return value
