"""Loop: observe until no session has news; one observer at a time."""

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
from memoria.observing.due import DueCheck
from memoria.observing.observer import News, Observer
from memoria.redaction.redact import Redactor
from memoria.working.factory import open_store

log = logging.getLogger(__name__)


async def work(home: Home) -> None:
    """Look until no session has news; a hook that came while the lock was held relied on a further one."""
    seen: set[News] = set()
    check = DueCheck(home)
    async with _observer(home) as observer:
        while True:
            detach.observer_looks(home.paths)
            with locks.held(Path(home.paths.observer_lock)) as mine:
                if not mine:
                    return
                if observer:  # first: after a compaction the client waits for nobody
                    await observer.run(seen)
                    observer.places.expire()
                check.run()
            if not check.has_news() and not (observer and observer.news(seen)):
                return


@asynccontextmanager
async def _observer(home: Home) -> AsyncIterator[Observer | None]:
    """The observer with its store open; None when it cannot be, or sessions are not to be told where they were."""
    try:
        store = open_store(home.settings, home.paths) if home.settings.where_you_were else None
    except (ExpectedError, OSError) as error:  # no reason to leave turns unjudged
        log.warning("no session was observed: %s", error)
        store = None
    if store is None:
        yield None
        return
    try:
        yield Observer(home, store, OpenSessions(home.paths.where), Redactor(home.settings.redact_extra))
    finally:
        await store.close()
