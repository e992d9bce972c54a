"""Project folders: record in which folders a project was worked on, for ``base/visibility.py``."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from memoria.base import visibility
from memoria.base.atomic import PRIVATE
from memoria.base.paths import Paths
from memoria.ground import files, locks


def forget(paths: Paths, folders: Collection[str]) -> None:
    """Remove these folders from the record."""
    path = Path(paths.folders)
    with locks.waiting(path.with_name(path.name + ".lock")):
        known = visibility.folders(paths.folders)
        rest = {key: [folder for folder in found if folder not in folders] for key, found in known.items()}
        rest = {key: found for key, found in rest.items() if found}
        if rest != known:
            files.replace(path, json.dumps(rest, ensure_ascii=False, indent=1), mode=PRIVATE)


def see(paths: Paths, project: str, folder: str) -> None:
    """Record that a session of the project (by key) worked in ``folder``; a known one costs one read."""
    if not folder or folder in visibility.folders(paths.folders).get(project, ()):
        return
    path = Path(paths.folders)
    with locks.waiting(path.with_name(path.name + ".lock")):
        known = visibility.folders(paths.folders)
        known[project] = [*known.get(project, ()), folder]
        files.replace(path, json.dumps(known, ensure_ascii=False, indent=1), mode=PRIVATE)
