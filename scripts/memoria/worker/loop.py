"""Loop: observe until no session has news; only one observer runs at a time."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from memoria.capture import detach
from memoria.capture.open_sessions import OpenSessions
from memoria.ground import locks
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.worker.due import DueCheck
from memoria.worker.observer import News, Observer
from memoria.working.failover_store import open_store

log = logging.getLogger(__name__)


async def work(home: Home) -> None:
    """Observe until no session has news; a hook that ran while the lock was held relies on another pass."""
    seen: set[News] = set()
    check = DueCheck(home)
    async with _observer(home) as observer:
        while True:
            detach.observer_looks(home.paths)
            with locks.held(Path(home.paths.observer_lock)) as mine:
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
    except (ExpectedError, OSError) as error:  # turns are still to be judged
        log.warning("no session was observed: %s", error)
        yield None
        return
    try:
        yield Observer(home, store, OpenSessions(home.paths.where), Redactor(home.settings.redact_extra))
    finally:
        await store.close()
