"""Seen folders: find out in which folders the projects of older entries were worked on.

A flush records the folder of each session. Entries from before that are looked up once, in their archived turns.
"""

from __future__ import annotations

from memoria.base import visibility
from memoria.daily.ledger import Ledger
from memoria.ground import projects
from memoria.ground.errors import ArchiveError
from memoria.ground.home import Home
from memoria.transcripts.archive import Archive

LOOKED = "project_folders_looked_up"  # in the ledger: the projects whose archives were searched


def look_up(home: Home, ledger: Ledger) -> None:
    """Record the folders of the projects that no session was flushed of since folders are recorded."""
    looked = set(ledger.get(LOOKED) or ())
    entries: dict[str, list[str]] = {}
    for entry in ledger.entries():
        entries.setdefault(entry.project, []).append(entry.id)
    fresh = entries.keys() - looked - visibility.folders(home.paths.folders).keys()
    if not fresh:
        return
    archive = Archive.of(home.paths)
    archived = {each.entry: each for each in archive.listed()}
    for project in sorted(fresh):
        folders: set[str] = set()
        for ident in entries[project]:
            try:
                turns = archive.read(archived[ident]) if ident in archived else []
            except ArchiveError:
                continue
            folders |= {turn.cwd for turn in turns if turn.cwd}
        for folder in sorted(folders):
            projects.see_folder(home.paths, project, folder)
    ledger.put(LOOKED, sorted(looked | fresh))
