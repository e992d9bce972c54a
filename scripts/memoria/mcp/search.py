"""Search: what the index finds for a session, as the answer of a tool."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memoria.base.fence import neutral
from memoria.ground.errors import ExpectedError
from memoria.index import sources
from memoria.mcp.answers import ANSWER_BYTES, NEXT, NOTES, TITLE_CHARS, fitting, flat, within
from memoria.search.hit import Hit

if TYPE_CHECKING:
    from memoria.mcp.calls import Session
    from memoria.mcp.tools import Json


def search(session: Session, given: Json) -> str:
    """Return search results as one fenced block."""
    hits, lacking = found(session, given["query"], given.get("limit", 8), given.get("kinds", ()))
    if not hits:
        return lacking or "Nothing found. Try fewer or different words; names of files, functions and errors work well."
    blocks, room = [], ANSWER_BYTES
    for hit in hits:
        block = within(_described(hit), room)
        blocks.append(block)
        room -= len(block.encode("utf-8", "replace"))
        if room < 200:
            break
    return f"{NOTES} {lacking}".rstrip() + f"\n{fitting('memory', NEXT.join(blocks))[0]}"


def found(session: Session, query: str, limit: int = 8, kinds: Sequence[str] = ()) -> tuple[list[Hit], str]:
    """Return what the index finds for this project or for all, and a sentence when it lacks something."""
    home = session.home
    try:
        with sources.searchable(home) as (index, lacking):
            return index.search(query, limit=limit, view=session.visible, kinds=kinds), lacking
    except (sqlite3.Error, OSError) as error:
        raise ExpectedError(f"the search index cannot be used now ({error}); read pages by path instead") from error


def _described(hit: Hit) -> str:
    """Return a result's heading line and its passages, indented so that none can be taken for another result."""
    path = f"{hit.path}#^{hit.anchor}" if hit.anchor else hit.path
    head = [flat(part, TITLE_CHARS) for part in (path, hit.kind, hit.date or "undated", hit.title)]
    rows = [f"  {row}" for passage in hit.passages for row in passage.splitlines()]
    return neutral("\n".join([" · ".join(filter(None, head)), *rows]))
