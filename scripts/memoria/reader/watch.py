"""Watch: notice that a file of the home has changed, and read a new catalog then.

A thread looks every two seconds while pages are being read, and sleeps otherwise; the first request after that looks
itself. Whoever waits for news is told by a number that grows with each new catalog.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time

from memoria.daily.daily_log import DailyLog
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.reader.catalog import Catalog
from memoria.wiki.folder import Wiki

log = logging.getLogger(__name__)

EVERY_SECONDS = 2.0  # between two looks
AWAKE_SECONDS = 120.0  # after the last request

Stamps = tuple[frozenset[tuple[str, object]], frozenset[tuple[str, str]]]


class Watch:
    """The present catalog of a home."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.number = 0  # of catalogs read
        self._changed = threading.Condition()
        self._looking = threading.Lock()
        self._catalog: Catalog | None = None
        self._stamps: Stamps | None = None
        self._looked = 0.0
        self._asked = 0.0
        self._closed = threading.Event()

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def close(self) -> None:
        """Stop the thread, and wake whoever waits for news."""
        self._closed.set()
        with self._changed:
            self._changed.notify_all()

    def catalog(self) -> Catalog:
        """Return the catalog; look first when nobody has looked for a while."""
        self._asked = time.monotonic()
        if self._catalog is None or self._asked - self._looked > 2 * EVERY_SECONDS:
            self.look()
        assert self._catalog is not None  # noqa: S101 (for the type checker: ``look`` has set it)
        return self._catalog

    def look(self) -> None:
        """Read a new catalog if a file has changed."""
        with self._looking:
            stamps = self._present()
            if stamps != self._stamps or self._catalog is None:
                catalog = Catalog.read(self.home)
                with self._changed:
                    self._catalog, self._stamps = catalog, stamps
                    self.number += 1
                    self._changed.notify_all()
            self._looked = time.monotonic()

    def wait(self, number: int, seconds: float) -> int:
        """Wait until there is a later catalog than this number, at most so many seconds; return the latest number."""
        self._asked = time.monotonic()
        with self._changed:
            self._changed.wait_for(lambda: self.number != number or self._closed.is_set(), seconds)
            return self.number

    def _run(self) -> None:
        while not self._closed.wait(EVERY_SECONDS):
            if time.monotonic() - self._asked < AWAKE_SECONDS:
                try:
                    self.look()
                except (OSError, sqlite3.Error, ExpectedError) as error:
                    log.warning("the reader shows what it knew: %s", error)

    def _present(self) -> Stamps:
        daily = DailyLog.of(self.home.paths)
        days = frozenset((day.isoformat(), daily.stamp(day)) for day in daily.days())
        return frozenset(Wiki.of(self.home.paths).files()) | _settings(self.home), days


def _settings(home: Home) -> frozenset[tuple[str, object]]:
    """Return the stamps of the files that say which projects there are, and which are hidden."""
    found = []
    for path in (home.paths.projects, home.paths.folders):
        try:
            found.append((path, os.stat(path).st_mtime_ns))  # noqa: PTH116 (as everywhere for paths of the home)
        except OSError:
            continue
    return frozenset(found)
