"""Split projects: learn to which project the folders belong that sessions worked in, and unite what was split.

``ground/projects.py`` decides; this module knows where the worker learns of folders: the jobs that wait and, once, the
archived turns of entries that an older memoria wrote under the key of a path.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from memoria.base import project
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground.errors import ArchiveError
from memoria.ground.home import Home
from memoria.pages import housekeeping

if TYPE_CHECKING:
    from memoria.transcripts.archive import Archive

LOOKED = "folders_looked_up"  # in the ledger: whether the archive was searched for the folders of older entries
ENTRIES = 3  # archived entries of a project that are searched for its folder


def unite(home: Home, ledger: Ledger, spool: Spool) -> None:
    """Bring the map of projects up to date, and with it what the ledger stores by project."""
    cwds = list(_waiting(spool))
    has_looked = ledger.get(LOOKED)
    if not has_looked:
        cwds += _archived(home, ledger)
    if cwds:
        from memoria.ground.projects import Projects  # noqa: PLC0415 (only when a session waits)

        Projects.read(home.paths.projects).learn(cwds, split_worktrees=home.settings.split_worktrees)
    if not has_looked:
        ledger.put(LOOKED, value=True)
    aliases = project.aliases(home.paths.projects)
    if ledger.rename_projects(aliases, project.digest_of(aliases)):
        ledger.put(housekeeping.PAGES_DUE, value=True)


def _waiting(spool: Spool) -> Iterator[str]:
    for job in spool.jobs(spool.new, spool.cur):
        try:
            yield str(spool.header(job).get("cwd") or "")
        except (OSError, ValueError):  # set aside when it is read
            continue


def _archived(home: Home, ledger: Ledger) -> Iterator[str]:
    """Yield a folder for each stored project key that is the key of its path, as all were in memoria 0.1.0."""
    entries: dict[str, list[str]] = {}
    for booked in reversed(ledger.entries()):
        entries.setdefault(booked.project, []).append(booked.id)
    if not entries:
        return
    from memoria.transcripts.archive import Archive  # noqa: PLC0415 (only for entries of an older version)

    archive = Archive.of(home.paths)
    for key, idents in entries.items():
        cwds = (cwd for ident in idents[:ENTRIES] for cwd in _cwds(archive, ident))
        yield from next(([folder] for cwd in cwds if (folder := _named(cwd, key))), [])


def _cwds(archive: Archive, ident: str) -> list[str]:
    try:
        return list(dict.fromkeys(turn.cwd for turn in archive.turns(ident) or () if turn.cwd))
    except (ArchiveError, OSError):
        return []


def _named(cwd: str, key: str) -> str:
    """Return the folder whose path has this key: ``cwd`` or one above it; ``""`` when it is none of them."""
    folder = cwd
    while folder and project.key_of_path(folder) != key:
        folder = "" if os.path.dirname(folder) == folder else os.path.dirname(folder)  # noqa: PTH120 (text, not a path)
    return folder
