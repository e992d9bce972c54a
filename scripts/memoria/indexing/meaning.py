"""Meaning: search that also finds other wordings, if the extra ``memoria[semantic]`` is installed.

The word search keeps the first places; the documents nearest in meaning follow, then its other results. The reasons and
the measured effect: docs/decisions/0035-semantic-extra.md. Without the extra, or with a damaged one, the result is that
of the index; without it nothing more is imported. ``vectors`` knows the model, this module does not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from datetime import date
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

from memoria.base.visibility import Visibility
from memoria.daily import reference
from memoria.indexing.index import Index
from memoria.language import spoken_dates
from memoria.search import duplicates
from memoria.search.hit import Hit

log = logging.getLogger(__name__)

FIRST = 5  # places that belong to the word search; as many for other documents nearest in meaning follow
_DATED_CHARS = 2_000  # of a query in which dates are looked for
MIN_COSINE = 0.15  # texts with a lower cosine are unrelated
_NEEDED = ("numpy", "tokenizers")
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")

Stored = Callable[[str], Iterator[tuple[int, bytes]]]  # the vectors of a model, as ``Index.vectors`` yields them


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
    """Search as ``Index.search`` does; with the extra, results ``by`` meaning follow the first five.

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
    hits = index.search(dated, limit=limit, project=project, view=view, kinds=kinds)
    if limit <= FIRST and len(hits) == limit:
        return hits
    near = _near(index, query, limit, partial(index.vectors, project=project, view=view, kinds=kinds), view)
    return _joined(hits, near, limit) if near else hits


@cache
def files() -> tuple[Path, Path] | None:
    """Return the extra's weights and tokenizer, or None without it. The package itself is never imported."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations or not all(map(find_spec, _NEEDED)):
        return None
    folder = Path(next(iter(spec.submodule_search_locations)))
    found = folder / _WEIGHTS, folder / _TOKENIZER
    return found if all(path.is_file() for path in found) else None


def _near(index: Index, query: str, limit: int, stored: Stored, view: Visibility | None) -> list[Hit]:
    found = files()
    if found is None:
        return []
    from memoria.indexing import vectors  # noqa: PLC0415 (numpy and a tokenizer, only where the extra is installed)

    try:
        model = vectors.model(*found)
    except vectors.DAMAGED as error:
        log.warning("search: by words only, because the extra memoria[semantic] is damaged: %s", error)
        return []
    vectors.refresh(index, model)
    nearest = [item for item in vectors.nearest(stored, model, query, 2 * limit) if item[0] >= MIN_COSINE]
    hits = index.shown(nearest, limit, view)
    for hit in hits:
        hit.by = "meaning"
    return hits


def _joined(hits: list[Hit], near: list[Hit], limit: int) -> list[Hit]:
    """Return the first hits by words, the nearest by meaning, then the others; duplicates count as hits by words."""
    found = {hit.key: hit for hit in [*near, *hits]}
    order = dict.fromkeys(hit.key for hit in [*hits[:FIRST], *near[:FIRST], *hits, *near])
    joined: list[Hit] = []
    for key in order:
        duplicates.add(joined, found[key])
    return joined[:limit]
