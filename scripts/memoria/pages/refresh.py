"""Refresh: update everything derived from the knowledge after it has changed.

The search index is brought up to date, the pages of the projects concerned are prepared, and the user is told once
when a fact has come up in a second project.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import date
from functools import cache
from pathlib import Path

from memoria.base import invocation
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.ledger import Ledger
from memoria.ground import clock, home_files, locks
from memoria.ground.errors import SavedMeanwhileError
from memoria.ground.exchange import Exchange
from memoria.ground.home import Home
from memoria.ground.printable import counted
from memoria.index import sources
from memoria.index.index import Index
from memoria.pages import housekeeping, notices
from memoria.pages.page import Pages
from memoria.statements.fact import Ending, Fact
from memoria.statements.keeper import Keeper
from memoria.statements.past import Past
from memoria.wiki import corrected, index_page, outdated
from memoria.wiki.article_cache import ArticleCache
from memoria.wiki.folder import INDEX, LOG, Wiki
from memoria.wiki.transaction import End, Transactions

log = logging.getLogger(__name__)

OFFERED_CHARS = 120  # characters of a fact that the offer shows


def renew(home: Home, keeper: Keeper, touched: Collection[str] | None = None) -> list[str]:
    """Bring wiki, index, pages and offer up to date for the ``touched`` projects, by default all of them.

    Return the slugs of the articles that told what no longer holds. An error is logged and not raised, because the
    facts are stored; the next change makes everything up to date again.
    """
    try:
        return _renew(home, keeper, touched)
    except (OSError, sqlite3.Error) as error:
        log.warning("index and pages for new sessions were not brought up to date: %s", error)
        return []


def _renew(home: Home, keeper: Keeper, touched: Collection[str] | None) -> list[str]:
    with closing(Ledger.of(home.paths)) as ledger, Index(home.paths.index) as index:
        sources.refresh(index, home.paths)
        with locks.held(Path(home.paths.compile_lock)) as mine:  # a compile does it when it begins
            slugs = settle_past(home, keeper, index) if mine else []
            articles = _write_index_page(home, index) if mine else ""
            if articles != (ledger.get(housekeeping.WIKI_STATE) or ""):
                _note_corrections(home, keeper, index, may_write=mine)
        Pages.of(home.paths).prepare(home.settings, ledger, DailyLog.of(home.paths), index, keeper, touched)
        if touched is None:
            ledger.put(housekeeping.PAGES_DUE, value=False)
            ledger.put(housekeeping.WIKI_STATE, articles)
            keeper.store.set_meta("unshown", "")
    _offer(home, keeper)
    return slugs


def _write_index_page(home: Home, index: Index) -> str:
    """Let the wiki's index page and lists tell what the articles tell; return the state of the articles then.

    It is no step that ``memoria undo`` takes back, because no article changes. The caller holds the compile lock.
    """
    Transactions.of(home.paths).recover()
    articles = housekeeping.wiki_state(home.paths)
    wiki, exchange = Wiki.of(home.paths), Exchange.of(home.paths)
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


def _note_corrections(home: Home, keeper: Keeper, index: Index, *, may_write: bool) -> None:
    """Record what a person put right in articles, so that no entry or fact is shown as saying it still.

    What was said before goes under the article's history, once: a person may remove it there. A compile that runs now
    (not ``may_write``) leaves that to the next worker.
    """
    wiki = Wiki.of(home.paths)
    rows = ArticleCache(wiki, index).rows()
    articles = [article for slug, row in rows.items() if row.readable and (article := wiki.get(slug))]
    wrote = index_page.wrote((home_files.read_if_there(wiki.folder / LOG) or b"").decode("utf-8", "replace"))
    known = keeper.store.taken_back()
    today = home.zone.local(clock.now()).date().isoformat()
    found = corrected.corrected(articles, wrote, _entry_at(DailyLog.of(home.paths)), today)
    fresh = {name: past for name, past in found.items() if name not in known}
    again = {name: known[name] for name in corrected.restored(articles, known)}
    if not fresh and not again:
        return
    moment = home.zone.local(clock.now())
    ends = _ends(keeper, fresh.values())
    if not may_write or not outdated.remember(home.paths, index, _by_slug(fresh), _by_slug(again), moment, ends):
        return
    for name, past in fresh.items():
        keeper.store.take_back(name, past)
    keeper.store.restore(again)
    for change in (*ends, *_resumed(keeper, again.values())):
        keeper.outbox.put(change)
    housekeeping.bring_in(keeper)
    settle_past(home, keeper, index)
    sources.refresh(index, home.paths)


def _ends(keeper: Keeper, corrections: Iterable[Past]) -> list[End]:
    """Return the ends of the facts of the same entries that say what a person put right."""
    now = clock.now()
    return [
        Ending(fact.id, max(now, fact.last or fact.time), "user", instead=past.instead).to_dict()
        | {"content": fact.content, "why": "corrected by hand in an article"}
        for past, fact in _told(keeper, corrections, live=True)
    ]


def _resumed(keeper: Keeper, restored: Iterable[Past]) -> list[dict[str, object]]:
    """Return what lets the facts hold again that a person's correction ended, because it was taken back."""
    return [
        {"id": fact.id, "resumed": fact.ended.isoformat(), "successor": ""}
        for _, fact in _told(keeper, restored, live=False)
        if fact.ended and not fact.successor
    ]


def _told(keeper: Keeper, corrections: Iterable[Past], *, live: bool) -> Iterator[tuple[Past, Fact]]:
    """Yield each correction with the facts of its entries that say what was corrected."""
    known = {fact.id: fact for fact in keeper.store.facts(live=live)}
    for past in corrections:
        said = [fact for fact in known.values() if past.is_said_by(fact.content, cited=True)]
        for fact in said:
            if set(past.sources) & set(keeper.sources(fact)):
                yield past, known.pop(fact.id)


def _by_slug(records: Mapping[str, Past]) -> dict[str, list[Past]]:
    """Return corrections by the article that their names begin with."""
    found: dict[str, list[Past]] = {}
    for name, past in sorted(records.items()):
        found.setdefault(name.partition(" ")[0], []).append(past)
    return found


def _entry_at(daily: DailyLog) -> Callable[[str], Entry | None]:
    """Return a function that reads the entry behind a source; each day is read once."""
    entries = cache(daily.entries)

    def entry_at(source: str) -> Entry | None:
        day, _, name = source.removeprefix("daily/").partition("#^e-")
        try:
            return next((entry for entry in entries(date.fromisoformat(day)) if entry.id == name), None)
        except ValueError:
            return None

    return entry_at


def settle_past(home: Home, keeper: Keeper, index: Index) -> list[str]:
    """Take what no longer holds out of the wiki, and return the slugs of the articles that told it.

    The caller holds the compile lock and has brought the index up to date.
    """
    past = keeper.store.past()
    if not past:
        return []
    slugs = outdated.settle(home.paths, index, past.values(), home.zone.local(clock.now()))
    if slugs is not None:
        keeper.store.settle_past(past)
    if slugs:
        sources.refresh(index, home.paths)
    return slugs or []


def consequences(home: Home, entries: Collection[str], slugs: Collection[str]) -> str:
    """Return in words what a change of facts in these entries means for the wiki, ``""`` when it means nothing.

    ``slugs``: the articles that ``renew`` has changed.
    """
    parts = []
    if slugs:
        parts.append(f"Taken out of {counted(len(slugs), 'article')}: {', '.join(slugs)}.")
    log_text = (home_files.read_if_there(Path(home.paths.knowledge, LOG)) or b"").decode("utf-8", "replace")
    compiled = index_page.compiled_entries(log_text)
    again = [entry for entry in entries if entry.rpartition("^e-")[2] in compiled]
    if again:
        parts.append(f"The next compile reads {', '.join(again)} again.")
    return " ".join(parts)


def _offer(home: Home, keeper: Keeper) -> None:
    """Leave a notice when a fact could hold in every project, or clear it when there is no such fact."""
    offered = keeper.offered()
    if not offered:
        notices.clear(home.paths, "offer")
        return
    latest = max(offered, key=lambda fact: (fact.last or fact.time, fact.id))
    more = f" ({len(offered) - 1} more: {invocation.shown('learned promote')})" if len(offered) > 1 else ""
    notices.tell(
        home.paths,
        "offer",
        f"memoria: said in {len(latest.projects)} projects: “{latest.content[:OFFERED_CHARS]}”. "
        f"{invocation.shown(f'learned promote {latest.id}')} makes it hold in every project{more}.",
    )
