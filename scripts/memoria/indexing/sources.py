"""Sources: bring the search index up to date with everything that can be found in a home.

Besides the Markdown, which the index reads itself, these are the archived turns of each entry and the client's own
memory.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial

from memoria.base import project
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
    """Bring the index up to date, or fill it ``anew``; return how many documents changed. No file's error is raised."""
    index.resolve(project.aliases(paths.projects))
    more = {**_archived(index, Archive.of(paths)), **ClientMemory.of(paths).sources()}
    return index.rebuild(paths.home, more=more) if anew else index.sync(paths.home, more=more)


def _archived(index: Index, archive: Archive) -> dict[str, Stamped]:
    """Return each archived conversation by its file's name; it is read only when the file is new or has changed."""
    known: dict[str, About] = {}  # the entries' fields, queried once, after the index has read the daily logs

    def turns(entry: str, day: str) -> Iterable[Document]:
        if not known:
            known.update(index.entries())
        return _conversation(archive, entry, known.get(entry, About("", "", "", day)))

    return {
        f"archive/{archived.path.name}": (archived.stamp, partial(turns, archived.entry, archived.day))
        for archived in archive.listed()
    }


def _conversation(archive: Archive, entry: str, about: About) -> list[Document]:
    """Return the turns behind an entry as one document; log a warning and return none when they cannot be read."""
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
