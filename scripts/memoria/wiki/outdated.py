"""Outdated: let the wiki tell no more what no longer holds, at once and without a model.

Claims that say such a statement move to the history, dated; those of a deleted fact are removed. The sentences of a
summary that say it go too. It is one transaction, which ``memoria undo`` takes back. A compile then works out the rest,
because the entries that contain the facts have changed.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from datetime import datetime

from memoria.base.paths import Paths
from memoria.facts.fact import GLOBAL
from memoria.facts.past import Past, current
from memoria.ground import printable
from memoria.indexing.index import Index
from memoria.wiki import index_page, summary
from memoria.wiki.article import Article, Claim
from memoria.wiki.article_cache import ArticleCache, Row
from memoria.wiki.folder import LOG, Wiki
from memoria.wiki.transaction import ChangedError, Transactions, digest

log = logging.getLogger(__name__)

TRIES = 3  # when a person saves a page meanwhile


def settle(paths: Paths, index: Index, past: Collection[Past], moment: datetime) -> list[str] | None:
    """Take what no longer holds out of all articles; return their slugs, or None when pages kept changing.

    ``moment`` is in the user's zone. The caller holds the compile lock.
    """
    wiki, transactions = Wiki.of(paths), Transactions.of(paths)
    transactions.recover()
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
            _commit(wiki, transactions, rows, changed, read, moment, claims)
        except ChangedError as error:
            log.info("%s; looking again", error)
        else:
            return list(changed)
    return None


def take_out(article: Article, past: Collection[Past]) -> int:
    """Take what no longer holds out of an article; return how many claims and summaries said it."""
    count = 0
    for each in past:
        for claim in [claim for claim in article.claims if _says(claim, each)]:
            if not each.deleted:
                article.supersede(claim, each.day)
            elif set(claim.sources) <= set(each.sources):
                article.remove(claim)
            else:  # other entries say it as well
                continue
            count += 1
    return count + _summarise(article, past)


def _says(claim: Claim, past: Past) -> bool:
    """Return whether a claim, by its words and its entries, says what no longer holds; one that is newer does not."""
    if claim.day > past.day:
        return False
    return past.is_said_by(claim.text, cited=bool(set(claim.sources) & set(past.sources)))


def _summarise(article: Article, past: Collection[Past]) -> bool:
    """Remove what the summary says of it; return whether it did. The newest claim replaces an empty summary."""
    kept = current(article.summary, ((each, True) for each in past))
    if kept == article.summary:
        return False
    article.summarise(kept or summary.plain(article), is_own=article.wrote_summary or not kept)
    return True


def _commit(
    wiki: Wiki,
    transactions: Transactions,
    rows: Mapping[str, Row],
    changed: Mapping[str, Article],
    read: dict[str, str],
    moment: datetime,
    claims: int,
) -> None:
    changes: dict[str, bytes | None] = {f"{slug}.md": Wiki.encode(article) for slug, article in changed.items()}
    after = dict(rows) | {slug: Row.of(article) for slug, article in changed.items()}
    lists = index_page.pages(after.values(), wiki.folder)
    block = index_page.outdated_block(moment, list(changed))
    for name in (*lists, LOG):
        path = wiki.folder / name
        data = path.read_bytes() if path.exists() else None
        read[name] = digest(data)
        if name == LOG:
            changes[LOG] = (data or index_page.LOG_INTRO.encode()) + block.encode()
    label = f"took {printable.counted(claims, 'outdated statement')} out of {printable.counted(len(changed), 'page')}"
    transactions.commit(changes | lists, read, label)
