"""Upkeep: what a worker does around its work, each a step of its own that may be missed once without loss.

Old temporary files go, logs keep to their size, facts are exchanged with the user's memory server, new sessions get
their pages, and the user is told of trouble. Knows the nouns it looks after; does not know what the work is.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path

from memoria import bulletin, feeds
from memoria.daily import DailyLog
from memoria.home import Home
from memoria.index import Index
from memoria.ledger import Ledger
from memoria.memory.keep import Keeper
from memoria.memory.sync import Sync
from memoria.page import Pages
from memoria.paths import Paths
from memoria.remote import Server
from memoria.spool import Spool

log = logging.getLogger(__name__)

STALE_TMP_S = 24 * 3600  # a hook writes its job within milliseconds; what is this old belongs to one that died


def be_modest() -> None:
    """Take the lowest priority: a memory must not be felt."""
    if hasattr(os, "nice"):
        os.nice(max(0, 10 - os.nice(0)))


def clean(paths: Paths) -> None:
    """Remove the temporary files of processes that died."""
    hidden = [
        (folder, ".*.tmp")
        for folder in (paths.archive, paths.page, Path(paths.page, "short"), paths.where, paths.knowledge)
    ]
    for folder, pattern in ((Spool(paths.spool).tmp, "*"), (paths.cursors, "*.tmp"), *hidden):
        for path in Path(folder).glob(pattern):
            try:
                if abs(time.time() - path.stat().st_mtime) > STALE_TMP_S:
                    path.unlink()
            except FileNotFoundError:  # the hook has just moved it
                continue


def rotate(home: Home) -> None:
    """The logs that hooks and the worker's own output append to keep one old file, as memoria.log does."""
    for name in ("hook.log", "worker.out"):
        path = Path(home.paths.log, name)
        if path.exists() and path.stat().st_size > home.settings.log_bytes:
            path.replace(path.with_name(name + ".1"))


def exchange_facts(home: Home, keeper: Keeper) -> None:
    """Bring facts to the memory server and back, when the user has one."""
    settings = home.settings
    if settings.memory_api_url:
        server = Server(settings.memory_api_url, settings.memory_api_key)
        done = Sync(keeper, server, Path(home.paths.state, "sync.lock")).run(full=True)
        for problem in done.problems:
            log.warning("memory server: %s", problem)


def prepare_pages(home: Home, ledger: Ledger, daily: DailyLog) -> None:
    """Bring the search index up to date, and with it what new sessions start with."""
    try:
        with Index(home.paths.index) as index:
            feeds.refresh(index, home.paths)
            Pages.of(home.paths).prepare(home.settings.page_chars, ledger, daily, index)
    except OSError as error:  # both can be made again; what was kept is kept
        log.warning("the pages for new sessions were not prepared: %s", error)


def tell_user(home: Home, failures: Sequence[str], deferred: Sequence[str]) -> None:
    """Leave a line for the next session's start for each kind of trouble; what is over is taken back."""
    folder = Path(home.paths.state)
    ends = {
        "failure": (failures, "Nothing is lost; it is tried again later. `memoria status` shows details."),
        "deferred": (deferred, "Nothing is lost. `memoria status` shows what waits."),
    }
    for kind, (texts, end) in ends.items():
        if texts:
            bulletin.tell(folder, kind, f"memoria: {texts[0]}. {end}")
        elif not Spool(home.paths.spool).jobs():
            bulletin.clear(folder, kind)
