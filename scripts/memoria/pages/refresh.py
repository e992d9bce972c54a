"""Refresh: update everything derived from the knowledge after it has changed.

The search index is brought up to date, the pages of the projects concerned are prepared, and the user is told once
when a fact has come up in a second project.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from memoria.base import invocation
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground import locks
from memoria.ground.errors import SavedMeanwhileError
from memoria.ground.home import Home
from memoria.ground.printable import amount
from memoria.ground.swap import Swap
from memoria.index import sources
from memoria.index.index import Index
from memoria.pages import housekeeping, notices, page
from memoria.statements.keeper import Keeper
from memoria.wiki import index_page
from memoria.wiki.article_cache import ArticleCache
from memoria.wiki.folder import INDEX, Wiki
from memoria.wiki.settle import Settle
from memoria.wiki.transaction import Transactions

log = logging.getLogger(__name__)


def renew(home: Home, keeper: Keeper, touched: Collection[str] | None = None) -> list[str]:
    """Bring wiki, index and pages up to date for the ``touched`` projects, by default all of them.

    Return the slugs of the articles that changed. An error is logged and not raised, because the
    facts are stored; the next change makes everything up to date again.
    """
    try:
        return _renew(home, keeper, touched)
    except (OSError, sqlite3.Error) as error:
        log.warning("index and pages for new sessions were not brought up to date: %s", error)
        return []


def _renew(home: Home, keeper: Keeper, touched: Collection[str] | None) -> list[str]:
    with closing(Ledger(home.paths)) as ledger, Index(home.paths.index) as index:
        sources.refresh(index, home.paths)
        with locks.take(Path(home.paths.compile_lock)) as mine:  # a compile does it when it begins
            slugs = _settle(home, keeper, index) if mine else []
            articles = _write_index_page(home, index) if mine else ""
        page.prepare(home, ledger, DailyLog(home.paths), index, keeper, touched)
        if touched is None:
            ledger.put(housekeeping.PAGES_DUE, value=False)
            ledger.put(housekeeping.WIKI_STATE, articles)
            keeper.store.set_meta("unshown", "")
    return slugs


def prepare_all(home: Home, ledger: Ledger, index: Index, keeper: Keeper) -> None:
    """Let the wiki's index page and all pages for new sessions tell what holds; the caller holds the compile lock.

    What is due stays due, because a worker may write beside this.
    """
    _write_index_page(home, index)
    page.prepare(home, ledger, DailyLog(home.paths), index, keeper)


def settle(home: Home, keeper: Keeper) -> None:
    """Bring articles and statements in step; the caller holds the compile lock."""
    with Index(home.paths.index) as index:
        _settle(home, keeper, index)


def _write_index_page(home: Home, index: Index) -> str:
    """Let the wiki's index page tell what the articles tell; return the state of the articles then.

    It is no step that ``memoria undo`` takes back, because no article changes. The caller holds the compile lock.
    """
    Transactions(home.paths).recover()
    articles = housekeeping.wiki_state(home.paths)
    wiki, exchange = Wiki(home.paths), Swap(home.paths)
    rows = ArticleCache(wiki, index).rows().values()
    listed = index_page.pages(rows, wiki.folder) if rows or (wiki.folder / INDEX).exists() else {}
    for name, data in listed.items():
        present = exchange.read(wiki.folder / name)
        if data == present:
            continue
        try:
            exchange.replace(wiki.folder / name, data, present)
        except SavedMeanwhileError as error:
            log.info("%s; the next worker writes it", error)
            articles = ""
    return articles


def _settle(home: Home, keeper: Keeper, index: Index) -> list[str]:
    """Bring articles and statements in step; return the slugs of the articles that were written.

    The user is told when so many lines changed or are gone that they must say whether they meant it.
    """
    settle = Settle(home, keeper, index)
    slugs = settle.run()
    if slugs:
        sources.refresh(index, home.paths)
    notices.tell(home.paths, "held", f"memoria: {describe_held(settle.held)}" if settle.held else "")
    return slugs


def describe_held(count: int) -> str:
    """Return in words that so many lines changed at once, and what a person can do about it."""
    told = f"{amount(count, 'line')} of articles changed or are gone at once; their statements stay as they are."
    return f"{told} If you meant that, run {invocation.command('compile --force')}; if not, put the files back."


def consequences(slugs: Collection[str]) -> str:
    """Return in words what a change of facts means for the articles that ``renew`` has changed, ``""`` for none."""
    return f"Changed in {amount(len(slugs), 'article')}: {', '.join(slugs)}." if slugs else ""
