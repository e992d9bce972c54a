"""Refresh: update everything derived from the knowledge after it has changed.

The search index is brought up to date, the pages of the projects concerned are prepared, and the user is told once
when a fact has come up in a second project.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Collection
from contextlib import closing

from memoria.briefing import housekeeping, notices
from memoria.briefing.page import Pages
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.facts.keeper import Keeper
from memoria.ground.home import Home
from memoria.indexing import sources
from memoria.indexing.index import Index

log = logging.getLogger(__name__)

OFFERED_CHARS = 120  # characters of a fact that the offer shows


def renew(home: Home, keeper: Keeper, touched: Collection[str] | None = None) -> None:
    """Bring index, pages and offer up to date for the ``touched`` projects, by default all of them.

    An error is logged and not raised, because the facts are stored; the next change makes everything up to date again.
    """
    try:
        _renew(home, keeper, touched)
    except (OSError, sqlite3.Error) as error:
        log.warning("index and pages for new sessions were not brought up to date: %s", error)


def _renew(home: Home, keeper: Keeper, touched: Collection[str] | None) -> None:
    with closing(Ledger.of(home.paths)) as ledger, Index(home.paths.index) as index:
        sources.refresh(index, home.paths)
        Pages.of(home.paths).prepare(home.settings, ledger, DailyLog.of(home.paths), index, keeper, touched)
        if touched is None:
            ledger.put(housekeeping.PAGES_DUE, value=False)
            keeper.store.set_meta("unshown", "")
    _offer(home, keeper)


def _offer(home: Home, keeper: Keeper) -> None:
    """Leave a notice when a fact could hold in every project, or clear it when there is no such fact."""
    offered = keeper.offered()
    if not offered:
        notices.clear(home.paths, "offer")
        return
    latest = max(offered, key=lambda fact: (fact.last or fact.time, fact.id))
    more = f" ({len(offered) - 1} more: `memoria learned promote`)" if len(offered) > 1 else ""
    notices.tell(
        home.paths,
        "offer",
        f"memoria: said in {len(latest.projects)} projects: “{latest.content[:OFFERED_CHARS]}”. "
        f"`memoria learned promote {latest.id}` makes it hold in every project{more}.",
    )
