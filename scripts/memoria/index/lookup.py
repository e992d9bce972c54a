"""Lookup: search the index for what a person or a model typed, which may name an id or a day besides words."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from memoria.base.visibility import Visibility
from memoria.daily import reference
from memoria.index.index import Index
from memoria.search import spoken_dates
from memoria.search.hit import Hit

_DATED_CHARS = 2_000  # of a query in which dates are looked for


def search(
    index: Index,
    query: str,
    *,
    limit: int = 10,
    project: str = "",
    view: Visibility | None = None,
    kinds: Collection[str] = (),
    today: date | None = None,
) -> list[Hit]:
    """Search as ``Index.search`` does, also by id and by day.

    With ``today``, the days that the query names in relation to it ("two weeks ago") are searched for too.
    The id of an entry or a fact (``e-01k9x2``, ``l-7f3a``) finds just what it names.
    """
    if known := reference.parse(query):
        archived = f"archive/{known.id}" if known.kind == reference.ENTRY else ""
        named = [hit for hit in index.finder.named(known.anchor, archived, view) if not kinds or hit.kind in kinds]
        if named:
            return named[:limit]
    spoken = spoken_dates.days(query[:_DATED_CHARS], today) if today else []
    dated = " ".join([query, *(day.strftime("%Y%m%d") for day in spoken)])
    return index.search(dated, limit=limit, project=project, view=view, kinds=kinds)
