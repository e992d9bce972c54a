"""Renewal: what follows when knowledge has changed, so that the next session is told what holds now.

The search index is brought up to date, the pages of the projects concerned are prepared, and the user is told once when
a fact has come up in a second project. Knows index, pages and bulletin; does not know who changed what.
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

OFFERED = 120  # characters of a fact that the offer shows


def renew(home: Home, keeper: Keeper, touched: Collection[str] | None = None) -> None:
    """Bring index, pages and offer up to date. ``touched``: the projects concerned, by default all.

    What cannot be written now is logged and made again after the next change: what was learned is kept.
    """
    try:
        _renew(home, keeper, touched)
    except (OSError, sqlite3.Error) as error:
        log.warning("index and pages for new sessions were not brought up to date: %s", error)


def _renew(home: Home, keeper: Keeper, touched: Collection[str] | None) -> None:
    with closing(Ledger.of(home.paths)) as ledger, Index(home.paths.index) as index:
        sources.refresh(index, home.paths)
        Pages.of(home.paths).prepare(home.settings.page_chars, ledger, DailyLog.of(home.paths), index, keeper, touched)
        if touched is None:
            ledger.put(housekeeping.PAGES_DUE, value=False)
            keeper.store.set_meta("unshown", "")
    _offer(home, keeper)


def _offer(home: Home, keeper: Keeper) -> None:
    """Leave a line for the next session's start when a fact could hold in every project; gone when none could."""
    offered = keeper.offered()
    if not offered:
        notices.clear(home.paths, "offer")
        return
    latest = max(offered, key=lambda event: (event.last or event.time, event.id))
    more = f" ({len(offered) - 1} more: `memoria learned promote`)" if len(offered) > 1 else ""
    notices.tell(
        home.paths,
        "offer",
        f"memoria: said in {len(latest.projects)} projects: “{latest.content[:OFFERED]}”. "
        f"`memoria learned promote {latest.id}` lets it hold in every project{more}.",
    )
