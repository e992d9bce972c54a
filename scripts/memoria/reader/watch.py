"""Watch: the catalog of a home, read again when one of its files has changed.

A request looks at the times and sizes of all files, unless another did less than two seconds ago. What changed since
then is in the page after. The search index is brought up to date only for the pages that need it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from memoria.base.settings import Settings, config_path
from memoria.base.visibility import Visibility
from memoria.daily.daily_log import DailyLog
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.reader.catalog import Catalog
from memoria.wiki.folder import Wiki

EVERY_SECONDS = 2.0  # between two looks

Stamps = tuple[frozenset[tuple[str, object]], frozenset[tuple[str, str]]]


class Watch:
    """The present catalog of a home; ``number`` grows with each new one."""

    def __init__(self, home: Home, visible: Callable[[], Visibility]) -> None:
        self.home = home
        self.visible = visible
        self.number = 0
        self.every_seconds = EVERY_SECONDS
        self._config = change_time(config_path(os.environ))
        self._lock = threading.RLock()
        self._catalog: Catalog | None = None
        self._stamps: Stamps | None = None
        self._looked = 0.0
        self._indexed = 0  # the number of the catalog for which the search index was brought up to date

    def catalog(self) -> Catalog:
        """Return the catalog of the last look; look again when that is too long ago."""
        with self._lock:
            if self._catalog is None or time.monotonic() - self._looked >= self.every_seconds:
                self._catalog = self.look()
            return self._catalog

    def look(self) -> Catalog:
        """Return the catalog for the files as they are now."""
        with self._lock:
            stamps = self._read_stamps()
            if stamps != self._stamps or self._catalog is None:
                self._catalog, self._stamps = Catalog.read(self.home, self.visible()), stamps
                self.number += 1
            self._looked = time.monotonic()
            return self._catalog

    def index(self) -> Index:
        """Return the search index, which knows the files of the catalog; the caller closes it."""
        with self._lock:
            index = Index(self.home.paths.index)
            if self._indexed != self.number:
                sources.refresh(index, self.home.paths)
                self._indexed = self.number
            return index

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
