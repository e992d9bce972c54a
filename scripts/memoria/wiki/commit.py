"""Commit: write changed articles together with the index page, the lists and the log, as one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memoria.base.paths import Paths
from memoria.ground import home_files
from memoria.wiki import index_page
from memoria.wiki.article import Article
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import Wiki
from memoria.wiki.transaction import End, Transactions, digest


def commit(
    paths: Paths,
    rows: Mapping[str, Row],
    changed: Mapping[str, Article],
    read: Mapping[str, str],
    block: str,
    label: str,
    ends: Sequence[End] = (),
) -> None:
    """Write the ``changed`` articles and add ``block`` to the log; raise ChangedError when a file was saved meanwhile.

    ``rows``: those of all articles before the change. ``read`` maps the articles' files to their digests when they were
    read. ``ends``: the facts that end with it.
    """
    folder = Wiki.of(paths).folder
    changes: dict[str, bytes | None] = {f"{slug}.md": Wiki.encode(article) for slug, article in changed.items()}
    owned = {slug: rows[slug].project if slug in rows else article.project for slug, article in changed.items()}
    after = dict(rows) | {slug: replace(Row.of(article), project=owned[slug]) for slug, article in changed.items()}
    lists = index_page.pages(after.values(), folder)
    digests = dict(read)
    for name in lists:
        path = folder / name
        digests[name] = digest(home_files.read_if_there(path))
    Transactions.of(paths).commit(changes | lists, digests, label, ends, index_page.appended(folder, block))
