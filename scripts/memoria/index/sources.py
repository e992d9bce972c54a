"""Sources: bring the search index up to date with everything that can be found in a home.

Besides the Markdown, which the index reads itself, these are the archived turns of each entry.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from functools import cache, partial
from pathlib import Path

from memoria.base import project
from memoria.base.paths import Paths
from memoria.base.project import NO_ALIASES
from memoria.capture import detach
from memoria.daily.day_text import DayText
from memoria.ground import files, home_files
from memoria.ground.errors import ArchiveError
from memoria.ground.files import sha256
from memoria.ground.home import Home
from memoria.ground.printable import amount
from memoria.index import documents
from memoria.index.documents import Document, Passage, Stamp
from memoria.index.ended import Ended, Past, read_ended
from memoria.index.index import About, Index, Stamped
from memoria.recall import naming_notes
from memoria.search import layout
from memoria.statements import lines, shared
from memoria.statements.fact import Fact
from memoria.transcripts.archive import Archive, Kept

log = logging.getLogger(__name__)


def refresh(index: Index, paths: Paths, *, until: float = math.inf) -> int:
    """Bring the index up to date; return how many documents changed. No file's error is raised.

    What is left out after ``until`` (``time.monotonic()``) waits for the next time; ``index.is_whole`` is False then.
    """
    index.is_whole = True
    index.resolve(project.aliases(paths.projects))
    ended = read_ended(paths)
    more = _read_archive(index, Archive.of(paths), Path(paths.home), ended)
    if (team := Path(paths.team)).exists():
        status = team.stat()
        more["team"] = (status.st_mtime_ns, status.st_size), partial(_shared, paths)
    changed = index.sync(paths.home, more, ended=ended, until=until)
    if index.is_whole:
        index.prepare(naming_notes.LEVELS, lambda texts: files.replace(Path(paths.named), naming_notes.names_in(texts)))
    return changed


@contextmanager
def open_searchable(home: Home) -> Iterator[tuple[Index, str]]:
    """Open the index for somebody who waits; yield it, and a sentence for them when it lacks something.

    What cannot be read in the time of an answer is read in the background: after the index was lost or damaged, or was
    of another version, and after very many files have changed. On a read-only disk nothing is.
    """
    is_fixed = not os.access(home.paths.state, os.W_OK)
    with Index(home.paths.index, is_fixed=is_fixed) as index:
        if is_fixed:
            yield index, "The memory cannot be written now; the search knows what it knew when it last could."
            return
        index.hurry(home.settings.search_wait_s)
        if not detach.is_locked(home.paths.indexer_lock):
            refresh(index, home.paths, until=time.monotonic() + home.settings.search_wait_s)
            if index.is_whole:
                yield index, ""
                return
            log.info("%s", detach.start_indexer(home.settings, home.paths))
        yield index, f"The search index is being brought up to date; it has {amount(len(index), 'document')} so far."


def _shared(paths: Paths) -> Iterator[Document]:
    """Yield what teams share: as theirs, by whoever says it, and below what the user's own sessions taught."""
    for key, rows in shared.by_project(paths).items():
        for row in rows:
            yield Document(
                path="team", kind="fact", anchor=f"t-{sha256(' '.join((key, *row)))[:8]}", project=key,
                title=f"{row.who} ({shared.LABEL})", tags=(row.kind,), passages=(Passage(row.text, shared.LABEL),),
                date=row.day, importance=layout.USUAL / 2,
            )  # fmt: skip


def _read_archive(index: Index, archive: Archive, home: Path, ended: Ended) -> dict[str, Stamped]:
    """Return each archived conversation by its file's name.

    It is read only when the file is new, or when it or the log of its day has changed, where its facts may have ended.
    """
    known: dict[str, About] = {}  # the entries' fields, queried once, after the index has read the daily logs
    outdated = cache(partial(_outdated_facts, home / "daily"))
    stamps = dict(documents.files(home, ("daily",), ended))

    def conversation(kept: Kept) -> Iterable[Document]:
        if not known:
            known.update(index.entries())
        about = known.get(kept.entry)
        if about is None:  # a person removed its entry
            return []
        facts = [fact for fact in outdated(about.date) if fact.session in ("", about.session)]
        past = [each for fact in facts for each in ended.fact_pasts(fact)]
        past += ended.deleted(about.session)
        past += ended.beside(about.date, about.project, but={fact.id for fact in facts})
        return _conversation(archive, kept, about, past)

    def stamp(kept: Kept) -> Stamp:
        time_ns, size = stamps.get(f"daily/{kept.day}.md", (0, 0))
        return kept.stamp[0] + time_ns, kept.stamp[1] + size

    return {f"archive/{kept.path.name}": (stamp(kept), partial(conversation, kept)) for kept in archive.list_kept()}


def _outdated_facts(daily: Path, day: str) -> list[Fact]:
    """Return the facts of a day that no longer hold or were worded anew."""
    text = DayText(home_files.text(daily / f"{day}.md", daily), NO_ALIASES)
    return [fact for fact in lines.read_facts(text, date.fromisoformat(day)) if fact.ended or fact.history]


def _conversation(archive: Archive, kept: Kept, about: About, past: Collection[Past]) -> list[Document]:
    """Return the turns behind an entry as one document; log a warning and return none when they cannot be read."""
    try:
        said = archive.read(kept)
    except ArchiveError as error:
        log.warning("search: %s", error)
        return []
    hidden = documents.hidden_sentences(said, past)
    return [
        Document(
            path=f"archive/{kept.entry}", kind="turn", session=about.session, project=about.project, title=about.title,
            date=about.date, passages=tuple(documents.passages(said, hidden)), hidden=hidden,
        )
    ]  # fmt: skip
