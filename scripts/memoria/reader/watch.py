"""Watch: notice that a file of the home has changed, and read a new catalog then.

A thread looks every two seconds while pages are being read, and seldom otherwise. No page waits for it: what changed
since the last look is in the page after. Only the first look is waited for, and not for long. Whoever waits for news
compares a number that grows with each new catalog.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable

from memoria.base.settings import Settings, config_path
from memoria.base.visibility import Visibility
from memoria.daily.daily_log import DailyLog
from memoria.ground.errors import ExpectedError, StillReadingError
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.reader.catalog import Catalog
from memoria.wiki.folder import Wiki

log = logging.getLogger(__name__)

EVERY_SECONDS = 2.0  # between two looks
SELDOM_SECONDS = 30.0  # between two looks while nobody reads
AWAKE_SECONDS = 120.0  # after the last request
PATIENCE_SECONDS = 1.0  # for which a request waits for the first catalog

Stamps = tuple[frozenset[tuple[str, object]], frozenset[tuple[str, str]]]


class Watch:
    """The present catalog of a home."""

    def __init__(self, home: Home, visible: Callable[[], Visibility]) -> None:
        self.home = home
        self.visible = visible
        self.number = 0  # grows with each change that a page may show
        self.prepare: Callable[[], object] = lambda: None  # called by the thread after each change
        self._prepared = 0  # the number for which it was called
        self.signs: Callable[[], object] = lambda: None  # what pages show besides, compared at each look
        self._config = change_time(config_path(os.environ))
        self._looking = threading.Lock()
        self._indexing = threading.Lock()
        self._is_indexed = False  # whether the search index knows the files of the catalog
        self._has_looked = threading.Event()
        self._has_indexed = threading.Event()
        self._failure = ""  # why the last look of the thread was in vain
        self._catalog: Catalog | None = None
        self._stamps: Stamps | None = None
        self._seen: object = None
        self._asked = 0.0
        self._wake = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, which looks at once."""
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread."""
        self._closed.set()
        self._wake.set()

    def join(self) -> None:
        """Wait until the thread has stopped, which takes as long as what it is reading."""
        if self._thread:
            self._thread.join()

    @property
    def is_closed(self) -> bool:
        """Whether the server is ending."""
        return self._closed.is_set()

    def stay_awake(self) -> None:
        """Look often from now on, because somebody reads; at once if nobody has read for a while."""
        was_awake, self._asked = self._is_awake(), time.monotonic()
        if not was_awake:
            self._wake.set()

    @property
    def has_indexed(self) -> bool:
        """Whether the search index has been brought up to date since the start."""
        return self._has_indexed.is_set()

    def catalog(self) -> Catalog:
        """Return the catalog of the last look; without the thread, look first.

        Raise StillReadingError when there is none yet, ExpectedError when it cannot be read.
        """
        self.stay_awake()
        if self._thread is None:
            self.look()
        elif self._catalog is None:
            self._has_looked.wait(PATIENCE_SECONDS)
        if self._catalog is not None:
            return self._catalog
        raise ExpectedError(self._failure) if self._failure else StillReadingError("The memory is being read.")

    def look(self) -> None:
        """Read a new catalog if a file has changed.

        The search index is brought up to date before; only the first catalog of the thread does not wait for it,
        because a new index of a large wiki takes many seconds.
        """
        with self._looking:
            stamps, signs = self._read_stamps(), self.signs()
            if stamps != self._stamps or self._catalog is None:
                self._is_indexed = False
                if self._catalog is not None or self._thread is None:
                    self._index()
                self._catalog, self._stamps = Catalog.read(self.home, self.visible()), stamps
            elif signs == self._seen:
                return
            self._seen = signs
            self.number += 1
            self._has_looked.set()

    def _index(self) -> None:
        """Bring the search index up to date, unless another thread is at it, which then looks at the files again."""
        if not self._indexing.acquire(blocking=False):
            return
        try:
            while not self._is_indexed:
                self._is_indexed = True
                with Index(self.home.paths.index) as index:
                    sources.refresh(index, self.home.paths)
            self._has_indexed.set()
        except BaseException:
            self._is_indexed = False
            raise
        finally:
            self._indexing.release()

    def _index_first(self) -> None:
        """Bring the search index up to date after the first catalog, and tell the pages that wait for it."""
        if self._catalog is not None and not self.has_indexed:
            self._index()
            with self._looking:
                self.number += 1

    def _is_awake(self) -> bool:
        return time.monotonic() - self._asked < AWAKE_SECONDS

    def _run(self) -> None:
        while not self._closed.is_set():
            self._try()
            self._wake.wait(EVERY_SECONDS if self._is_awake() else SELDOM_SECONDS)
            self._wake.clear()

    def _try(self) -> None:
        try:
            self.look()
            self._index_first()
            if self._prepared != self.number:
                self._prepared = self.number
                self.prepare()
        except (OSError, sqlite3.Error, ExpectedError) as error:
            self._failure = str(error)
            self._has_looked.set()
            log.warning("the reader shows what it knew: %s", error)

    def _read_stamps(self) -> Stamps:
        """Return what the catalog depends on: the files, and what the user has excluded by now."""
        self._read_exclusions()
        hidden = frozenset(("hidden", key) for key in self.visible().hidden())
        daily = DailyLog.of(self.home.paths)
        days = frozenset((day.isoformat(), daily.stamp(day)) for day in daily.days())
        return frozenset(Wiki.of(self.home.paths).files()) | _settings(self.home) | hidden, days

    def _read_exclusions(self) -> None:
        """Let an exclusion hold that was set while the server runs; other settings hold after the next start."""
        stamp = change_time(config_path(os.environ))
        if stamp != self._config:
            fresh = Settings.load()
            if not fresh.refusal:
                self._config = stamp
                self.home.settings.exclude = fresh.exclude


def change_time(path: str) -> int:
    """Return when a file was changed (ns), 0 when it is not there."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 (as everywhere for paths of the home)
    except OSError:
        return 0


def _settings(home: Home) -> frozenset[tuple[str, object]]:
    """Return the stamps of the files that say which projects there are, and which are hidden."""
    return frozenset((path, change_time(path)) for path in (home.paths.projects, home.paths.folders))
