"""Outdated: let the wiki tell no more what no longer holds, at once and without a model.

Claims that say such a statement move to the history, dated; those of a deleted fact are removed. The sentences of a
summary that say it go too. It is one transaction, which ``memoria undo`` takes back. A compile then works out the rest,
because the entries that contain the facts have changed.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from memoria.base.paths import Paths
from memoria.ground import printable
from memoria.index.index import Index
from memoria.statements.fact import GLOBAL
from memoria.statements.past import Past, current
from memoria.wiki import index_page, summary
from memoria.wiki.article import Article, Claim
from memoria.wiki.article_cache import ArticleCache
from memoria.wiki.commit import commit
from memoria.wiki.folder import Wiki
from memoria.wiki.transaction import ChangedError, End, Transactions, digest

log = logging.getLogger(__name__)

TRIES = 3  # when a person saves a page meanwhile


def settle(paths: Paths, index: Index, past: Collection[Past], moment: datetime) -> list[str] | None:
    """Take what no longer holds out of all articles; return their slugs, or None when pages kept changing.

    ``moment`` is in the user's zone. The caller holds the compile lock.
    """
    wiki = Wiki.of(paths)
    Transactions.of(paths).recover()
    for _ in range(TRIES):
        read: dict[str, str] = {}
        changed: dict[str, Article] = {}
        claims = 0
        rows = ArticleCache(wiki, index).rows()
        for slug, row in rows.items():
            mine = [each for each in past if row.project in ("", *each.projects) or GLOBAL in each.projects]
            data = wiki.read(slug) if mine and row.readable else None
            article = wiki.parse(slug, data) if data is not None else None
            if article and (count := take_out(article, mine)):
                changed[slug], read[f"{slug}.md"] = article, digest(data)
                claims += count
        if not changed:
            return []
        try:
            block = index_page.outdated_block(moment, list(changed))
            pages = printable.counted(len(changed), "page")
            label = f"took {printable.counted(claims, 'outdated statement')} out of {pages}"
            commit(paths, rows, changed, read, block, label)
        except ChangedError as error:
            log.info("%s; looking again", error)
        else:
            return list(changed)
    return None


def remember(
    paths: Paths,
    index: Index,
    past: Mapping[str, Collection[Past]],
    again: Mapping[str, Collection[Past]],
    moment: datetime,
    ends: Sequence[End] = (),
) -> bool:
    """Put what a person corrected in articles under their history; return False when pages kept changing.

    ``past``: by slug. ``again``: what a person put back and is no history any more. ``moment`` is in the user's zone.
    ``ends``: the facts that end with it. The caller holds the compile lock.
    """
    wiki = Wiki.of(paths)
    Transactions.of(paths).recover()
    for _ in range(TRIES):
        read: dict[str, str] = {}
        changed: dict[str, Article] = {}
        rows = ArticleCache(wiki, index).rows()
        for slug in sorted({*past, *again}):
            data = wiki.read(slug)
            article = wiki.parse(slug, data) if data is not None else None
            if article and _record(article, past.get(slug, ()), again.get(slug, ())):
                changed[slug], read[f"{slug}.md"] = article, digest(data)
        if not changed:
            return True
        try:
            block = index_page.outdated_block(moment, list(changed))
            pages = printable.counted(len(changed), "page")
            label = f"recorded in the history of {pages} what was corrected by hand"
            commit(paths, rows, changed, read, block, label, ends)
        except ChangedError as error:
            log.info("%s; looking again", error)
        else:
            return True
    return False


def _record(article: Article, past: Collection[Past], again: Collection[Past]) -> bool:
    """Bring an article's history up to date with corrections; return whether it changed."""
    before = len(article.past)
    dropped = [article.drop_past(each.content) for each in again if article.holds(each.content)]
    for each in past:
        article.add_past(Claim(each.content, each.sources), each.day)
    return any(dropped) or len(article.past) > before


def take_out(article: Article, past: Collection[Past]) -> int:
    """Take what no longer holds out of an article; return how many claims and summaries said it."""
    count = 0
    for each in past:
        for claim in [claim for claim in article.claims if _says(claim, each)]:
            if not each.deleted:
                article.supersede(claim, each.day)
            elif set(claim.sources) <= set(each.sources):
                article.cut(claim)
            else:  # other entries say it as well
                continue
            count += 1
    return count + _summarise(article, past, has_changed=count > 0)


def _says(claim: Claim, past: Past) -> bool:
    """Return whether a claim, by its words and its entries, says what no longer holds; one that is newer does not."""
    if claim.day > past.day:
        return False
    return past.is_said_by(claim.text, cited=bool(set(claim.sources) & set(past.sources)))


def _summarise(article: Article, past: Collection[Past], *, has_changed: bool) -> bool:
    """Remove what the summary says of it; return whether it did. The newest claim replaces an empty summary.

    When claims went (``has_changed``), what only they told goes too, unless a person wrote the summary.
    """
    kept = current(article.summary, ((each, True) for each in past))
    if has_changed and article.wrote_summary:
        kept = summary.divided(kept, article)[0] if article.claims else ""
    if kept == article.summary:
        return False
    article.summarise(kept or summary.plain(article), is_own=article.wrote_summary or not kept)
    return True
