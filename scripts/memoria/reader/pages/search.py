"""Search: articles, entries, facts and turns; as a page, or as the results alone while somebody types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memoria.index.highlight import excerpt
from memoria.reader import address
from memoria.reader.catalog import Catalog, slug_of
from memoria.reader.site import Asked, Site, View
from memoria.search import layout, tokens
from memoria.search.hit import Hit
from memoria.wiki.article_cache import Row

LIMIT, TYPED_LIMIT = 30, 8
TITLES = 5  # articles whose title begins with what is typed
MAX_QUERY = 500  # characters
_MARKS = re.compile(r"^[-*+] |\bdaily/\d{4}-\d{2}-\d{2}#\^[el]-[0-9a-z]+")  # of Markdown, which passages hold as it is
KINDS = {"article": "Articles", "entry": "Entries", "fact": "Facts", "turn": "Conversations"}


@dataclass(frozen=True, slots=True)
class Result:
    """A result: where it leads, ``""`` for what has no page, and its best passages as words with marks.

    ``also`` are the titles and paths of the articles and the entry about the same session.
    """

    kind: str
    title: str
    path: str
    label: str
    date: str
    passages: tuple[list[tuple[str, bool]], ...]
    also: tuple[tuple[str, str], ...] = ()


def show(site: Site, asked: Asked) -> View:
    """Return the results of ``?q=`` (with ``kind`` and ``project``), without the page around them for ``part``."""
    query = asked.query.get("q", "").strip()[:MAX_QUERY]
    kind = asked.query.get("kind", "")
    kind = kind if kind in layout.KINDS else ""
    key, is_part = asked.query.get("project", ""), bool(asked.query.get("part"))
    found, lacking = _find(site, query, kind, key, TYPED_LIMIT if is_part else LIMIT) if query else ([], "")
    values = {"words": query, "kind": kind, "project": key, "kinds": KINDS, "results": found, "lacking": lacking}
    return View("parts/results.html" if is_part else "search.html", f"{query} · Search" if query else "Search", values)


def _find(site: Site, query: str, kind: str, key: str, limit: int) -> tuple[list[Result], str]:
    catalog, wanted = site.catalog, set(tokens.query_terms(query))
    titled = _find_titles(query, catalog, key) if kind in ("", "article") else []
    view = site.visible()
    with site.watch.index() as (index, lacking):
        hits = index.search(query, limit=limit, project=key, view=view, kinds=(kind,) if kind else layout.KINDS)
    slugs = {row.slug for row in titled}
    results = [_row_result(row, catalog, wanted) for row in titled]
    return results + [_hit_result(hit, catalog, wanted) for hit in hits if _slug(hit) not in slugs], lacking


def _find_titles(query: str, catalog: Catalog, key: str) -> list[Row]:
    """Return the articles of which a name has words that begin with those that are typed, the best first."""
    typed = query.casefold().split()
    found = []
    for row in catalog.rows.values():
        if key and row.project != key:
            continue
        for name in (row.title, *row.aliases):
            words = name.casefold().split()
            if all(any(word.startswith(part) for word in words) for part in typed):
                found.append((not name.casefold().startswith(typed[0]), len(name), row))
                break
    found.sort(key=lambda each: (*each[:2], each[2].slug))
    return [row for _, _, row in found[:TITLES]]


def _row_result(row: Row, catalog: Catalog, wanted: set[str]) -> Result:
    passages = (excerpt(row.summary, wanted),) if row.summary else ()
    path = address.article(row.slug)
    return Result("article", row.title, path, catalog.label(row.project), row.updated, passages)


def _hit_result(hit: Hit, catalog: Catalog, wanted: set[str]) -> Result:
    label = catalog.label(hit.project)
    path = _path(hit, catalog)
    texts = dict.fromkeys(_MARKS.sub("", passage).strip() for passage in hit.passages)
    passages = tuple(excerpt(text, wanted) for text in texts if text and text != hit.title)
    also = tuple(each for each in _left_out(hit, catalog) if each[1] != path)
    return Result(hit.kind, hit.title, path, label, hit.date, passages, also)


def _left_out(hit: Hit, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Yield titles and paths of what was left out for the result."""
    for key in hit.also:
        slug = slug_of(key)
        ident = key.rpartition("#^e-")[2]
        if slug in catalog.rows:
            yield catalog.rows[slug].title, address.article(slug)
        elif ident in catalog.entries:
            yield catalog.entries[ident].title, address.entry(ident)


def _slug(hit: Hit) -> str:
    return slug_of(hit.path) if hit.kind == "article" else ""


def _path(hit: Hit, catalog: Catalog) -> str:
    """Return where a result is shown."""
    if hit.kind == "article":
        return address.article(_slug(hit))
    if hit.kind == "fact" and hit.anchor.startswith("l-"):
        return address.fact(hit.anchor)
    ident = hit.path.removeprefix("archive/") if hit.kind == "turn" else hit.anchor.removeprefix("e-")
    return address.entry(ident) if ident in catalog.entries else ""
