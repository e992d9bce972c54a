"""Visibility: which projects' notes may be shown, decided when they are read.

A project is hidden while all folders that it is known by are excluded, so that an exclusion holds at once, before the
indexes and pages are made again. A session is shown its own project and what belongs to no project. The worker records
the folders of each project. docs/decisions/0021-privacy.md.
"""

from __future__ import annotations

from memoria.base import exclude, project, quickjson
from memoria.base.paths import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.paths import Paths
    from memoria.base.settings import Settings


EVERYWHERE = ("", "*")  # what belongs to no project, and what the user marked to hold in all of them


class Visibility:
    """What may be shown to a session of the project ``own``; to a person who searches everything, ``own`` is empty."""

    __slots__ = ("_folders", "_hidden", "_paths", "_settings", "own")

    def __init__(self, settings: Settings, paths: Paths, own: str = "") -> None:
        self.own = own
        self._settings = settings
        self._paths = paths
        self._folders: dict[str, list[str]] | None = None
        self._hidden: dict[str, bool] = {}

    def shows(self, key: str) -> bool:
        """Return whether what belongs to a project (``""`` for none) may be shown."""
        if key in EVERYWHERE:
            return True
        return self.own in ("", key) and not self.hides(key)

    def hides(self, key: str) -> bool:
        """Return whether all known folders of a project are excluded now."""
        if key not in self._hidden:
            if self._folders is None:
                self._folders = self._folders_by_key()
            known = self._folders.get(key, [])
            reasons = [exclude.reason(folder, self._settings, self._paths) for folder in known]
            self._hidden[key] = bool(reasons) and all(reasons)
        return self._hidden[key]

    def hidden_keys(self) -> list[str]:
        """Return the keys of all hidden projects, on which prepared pages depend."""
        return sorted(key for key in self._folders_by_key() if self.hides(key))

    def _folders_by_key(self) -> dict[str, list[str]]:
        """Return the folders of each project by its present key."""
        recorded = folders(self._paths.folders)
        aliases = project.aliases(self._paths.projects) if recorded else {}
        known: dict[str, list[str]] = {}
        for key, found in recorded.items():
            known.setdefault(aliases.get(key, key), []).extend(found)
        return known


def folders(path: str) -> dict[str, list[str]]:
    """Return the folders that each project (by key) is known by; ``{}`` when the file is missing or damaged."""
    try:
        stored = quickjson.loads(text_of(path))
    except (OSError, ValueError):
        return {}
    if not isinstance(stored, dict):
        return {}
    return {key: [str(folder) for folder in found] for key, found in stored.items() if isinstance(found, list)}
