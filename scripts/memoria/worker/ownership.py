"""Ownership: once, give the pages of an older wiki to the projects that their claims come from.

Pages that hold claims of several projects are divided (``wiki/split.py``). All of it is one transaction, which
``memoria undo`` takes back; it is not done a second time.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from memoria.ground import home_files, printable
from memoria.index import sources
from memoria.pages.refresh import OWNED
from memoria.wiki import index_page, split
from memoria.wiki.article import Article
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import Wiki
from memoria.wiki.transaction import ChangedError, digest
from memoria.worker.compiler import Compile

log = logging.getLogger(__name__)


def give_owners(compile_: Compile) -> int:
    """Give each page without an owner to its project and return how many there were; the caller holds the lock."""
    if compile_.ledger.get(OWNED):
        return 0
    projects = {f"daily/{one.day}#^e-{one.id}": one.project for one in compile_.ledger.entries()}
    rows = compile_.article_cache.rows()
    owners = compile_.owners(rows)
    titles = {name.casefold() for row in rows.values() for name in (row.title, *row.aliases)}
    read: dict[str, str] = {}
    pages: dict[str, Article] = {}
    for slug in [slug for slug, row in rows.items() if row.readable and not row.project]:
        data = compile_.wiki.read(slug)
        article = compile_.wiki.parse(slug, data) if data is not None else None
        if article is None or article.front.text("project") or not split.owners_of(article, projects):
            continue
        read[f"{slug}.md"] = digest(data)
        pages |= {page.slug: page for page in (article, *split.divided(article, projects, owners, titles))}
    try:
        _write(compile_, pages, read, rows)
    except ChangedError as error:
        log.info("%s; pages get their owners with the next compile", error)
        return 0
    compile_.ledger.put(OWNED, value=True)
    sources.refresh(compile_.index, compile_.home.paths)
    return len(read)


def _write(compile_: Compile, pages: Mapping[str, Article], read: dict[str, str], rows: Mapping[str, Row]) -> None:
    changes: dict[str, bytes | None] = {f"{slug}.md": Wiki.encode(page) for slug, page in pages.items()}
    lists = index_page.pages(
        (dict(rows) | {slug: Row.of(page) for slug, page in pages.items()}).values(), compile_.wiki.folder
    )
    if not changes:
        return
    for name in lists:
        path = compile_.wiki.folder / name
        read[name] = digest(home_files.read_if_there(path))
    count = printable.counted(len(pages), "page")
    compile_.transactions.commit(changes | lists, read, f"gave {count} to the projects they belong to")
