"""Feeds: bringing the search index up to date with everything a home can be asked about, in one way for all who ask.

Beside the markdown, which the index reads itself: the archived turns of each entry and the client's own memory. Knows
the archive and the client's memory; does not know who searches.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial

from memoria.base.paths import Paths
from memoria.ground.errors import ArchiveError
from memoria.indexing import documents
from memoria.indexing.client_memory import ClientMemory
from memoria.indexing.documents import Document
from memoria.indexing.index import About, Index, Stamped
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn

log = logging.getLogger(__name__)


def refresh(index: Index, paths: Paths, *, anew: bool = False) -> int:
    """Bring the index up to date, or make it ``anew``; returns how many documents changed. Never raises over a file."""
    more = {**_archived(index, Archive.of(paths)), **ClientMemory.of(paths).sources()}
    return index.rebuild(paths.home, more=more) if anew else index.sync(paths.home, more=more)


def _archived(index: Index, archive: Archive) -> dict[str, Stamped]:
    """Each archived conversation by its file's name, read only when the file is new or has changed."""
    known: dict[str, About] = {}  # what the index says of the entries; asked once, after it has read the daily logs

    def turns(entry: str, day: str) -> Iterable[Document]:
        if not known:
            known.update(index.entries())
        return _conversation(archive, entry, known.get(entry, About("", "", "", day)))

    return {
        f"archive/{kept.path.name}": (kept.stamp, partial(turns, kept.entry, kept.day)) for kept in archive.listed()
    }


def _conversation(archive: Archive, entry: str, about: About) -> list[Document]:
    """The turns behind an entry as one document; none, and a line in the log, when they cannot be read."""
    try:
        turns = archive.turns(entry) or []
    except ArchiveError as error:
        log.warning("search: %s", error)
        return []
    passages = tuple(passage for turn in turns for passage in _passages(turn))
    if not passages:
        return []
    return [
        Document(
            path=f"archive/{entry}", kind="turn", session=about.session, project=about.project, title=about.title,
            date=about.date, passages=passages,
        )
    ]  # fmt: skip


def _passages(turn: Turn) -> Iterator[documents.Passage]:
    text = "\n".join(part for part in (turn.text, *turn.tools) if part)
    return documents.cut(text, turn.role, own=turn.role == "user")
