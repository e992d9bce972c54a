"""Exclude: which folders memoria looks away from.

Two ways to say it: the setting ``exclude`` (globs, in the user's hands) and a file ``.memoria-off`` in a folder (in the
project's hands, so that a team can check it in); both hold for everything below. A session in such a folder is not
spooled, so nothing of it reaches a daily log, an archive or a model. Why both: docs/decisions/0021-exclusion.md.

A pattern with a slash is compared with the path, one without with the name of each folder on it:

    ~/jobs/secret      that folder and all below; ``~`` is the home folder
    ~/jobs/*/legal     ``*`` and ``?`` stay within one name
    **/clients/**      ``**`` is any number of folders; a pattern that starts with neither / nor ~ starts with ``**``
    client-*           any folder of such a name, and all below

Knows paths and patterns; does not know sessions or projects.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoria.base.paths import Paths
    from memoria.base.settings import Settings

MARKER = ".memoria-off"


class Excluder:
    """Answers whether a working folder is excluded, and by what."""

    __slots__ = ("_names", "_paths")

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        """``patterns``: the setting ``exclude``. Empty ones are skipped; no pattern is invalid."""
        self._names: list[tuple[str, str]] = []
        self._paths: list[tuple[str, list[str]]] = []
        for pattern in patterns:
            plain = _normal(os.path.expanduser(pattern.strip())).rstrip("/")
            if "/" in plain:
                rooted = plain.startswith("/") or plain[1:2] == ":"
                self._paths.append((pattern, _parts(plain) if rooted else ["**", *_parts(plain)]))
            elif plain:
                self._names.append((pattern, plain))

    def matches(self, cwd: str) -> bool:
        """Whether a session that works in this folder is to be left alone."""
        return bool(self.reason(cwd))

    def reason(self, cwd: str) -> str:
        """The pattern or the marker file's path that excludes this folder; empty when none does.

        Costs one ``stat`` for each folder on the path and, when there are patterns, one look-up of the real path (a
        folder reached through a symbolic link counts by both its names). An empty or relative ``cwd`` is not excluded.
        """
        if not os.path.isabs(cwd) or "\0" in cwd:
            return ""
        if self._names or self._paths:
            for path in {cwd, os.path.realpath(cwd)}:
                found = self._pattern_for(_parts(_normal(path)))
                if found:
                    return found
        return _marker_above(cwd)

    def _pattern_for(self, parts: list[str]) -> str:
        for pattern, name in self._names:
            if any(_name_fits(part, name) for part in parts):
                return pattern
        for pattern, wanted in self._paths:
            if _path_fits(parts, wanted):
                return pattern
        return ""


def _marker_above(folder: str) -> str:
    while True:
        marker = os.path.join(folder, MARKER)
        if os.path.exists(marker):
            return marker
        parent = os.path.dirname(folder)
        if parent == folder:
            return ""
        folder = parent


def _normal(path: str) -> str:
    """Slashes forward; on Windows, where names differ only in case by mistake, lower case as well."""
    return path.replace("\\", "/").lower() if os.name == "nt" else path


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part and part != "."]


def _path_fits(parts: list[str], wanted: list[str]) -> bool:
    """Whether the path is the wanted one or lies below it; ``**`` stands for any number of parts, also none."""
    place = want = 0
    star = -1
    resume = 0
    while want < len(wanted):
        if wanted[want] == "**":
            star, resume = want, place
            want += 1
        elif place < len(parts) and _name_fits(parts[place], wanted[want]):
            place += 1
            want += 1
        elif star >= 0 and resume < len(parts):
            resume += 1
            want, place = star + 1, resume
        else:
            return False
    return True  # whatever is left of the path lies below


def _name_fits(name: str, wanted: str) -> bool:
    """Whether one name fits one pattern of ``*`` and ``?``; at most len(name) * len(wanted) steps."""
    place = want = 0
    star = -1
    resume = 0
    while place < len(name):
        if want < len(wanted) and wanted[want] == "*":
            star, resume = want, place
            want += 1
        elif want < len(wanted) and wanted[want] in ("?", name[place]):
            place += 1
            want += 1
        elif star >= 0:
            resume += 1
            want, place = star + 1, resume
        else:
            return False
    return wanted[want:].strip("*") == ""


def reason(cwd: str, settings: Settings, paths: Paths) -> str:
    """Why a session in this folder is left alone: excluded by the user, or memoria's own; ``""`` when it is not."""
    own = os.path.join(paths.state, "")
    if os.path.join(cwd, "").startswith(own):
        return "memoria's own"
    found = Excluder(settings.exclude).reason(cwd)
    return f"excluded by {found}" if found else ""
