"""Exclude: the folders that memoria ignores.

There are two ways to exclude a folder and everything below it: the setting ``exclude`` (globs), which belongs to the
user, and a file ``.memoria-off`` in the folder, which belongs to the project, so that a team can check it in. A session
in such a folder is not spooled, so that nothing of it reaches a daily log, an archive or a model. Why both:
docs/decisions/0021-privacy.md.

A pattern with a slash is compared with the whole path; one without is compared with the name of each folder on it:

    ~/jobs/secret      that folder and everything below it; ``~`` is the home folder, as is ``$HOME``
    ~/jobs/*/legal     ``*`` and ``?`` match within one name
    **/clients/**      ``**`` matches any number of folders; a pattern without a leading / or ~ implies ``**/``
    client-*           any folder with a matching name, and everything below it

Knows paths and patterns; does not know sessions or projects.
"""

from __future__ import annotations

import os

from memoria.base.paths import MAX_PATH, expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memoria.base.paths import Paths
    from memoria.base.settings import Settings

MARKER = ".memoria-off"
EXCLUDED_BY = "excluded by "  # begins the reason for a session in an excluded folder; a pattern or a path follows
OWN = "memoria's own"  # the reason for a session in the state folder, such as those of model calls


def exclusion(cwd: str, patterns: Iterable[str]) -> str:
    """Return the pattern or the path of the marker file that excludes this folder, ``""`` when it is not excluded.

    Takes two ``stat`` for each folder on the path and one lookup of the real path: a folder reached through a symbolic
    link is compared by both names. A worktree is also compared by its repository's main folder. An empty or relative
    ``cwd`` is not excluded. One that is too long for any folder is compared with the patterns, and markers count as far
    as a path can reach. No pattern is invalid; empty ones are skipped.
    """
    if not os.path.isabs(cwd) or "\0" in cwd:
        return ""
    wanted = [(pattern, parts) for pattern in patterns for parts in _parse_pattern(pattern)]
    seen = [os.path.normpath(cwd)]
    if (real := _real_path(cwd)) != seen[0]:
        seen.append(real)
    for path in seen:
        parts = _parts(_normalise(path))
        for pattern, each in wanted:
            if path_fits(parts, each):
                return pattern
        found, is_linked = _marker_above(path[:MAX_PATH])
        if found:
            return found
        if is_linked and (main := _main_folder(path)) not in seen:
            seen.append(main)
    return ""


def _parse_pattern(pattern: str) -> list[list[str]]:
    """Return the parts of a pattern, for the path of its links and the real one; none when it names no folder."""
    plain = _normalise(expand(pattern.strip())).rstrip("/")
    if not _parts(plain):
        return []
    if plain.startswith("/") or plain[1:2] == ":":
        return [_parts(_normalise(path)) for path in {os.path.normpath(plain), _real_path(plain)}]
    return [["**", *_parts(plain)]]


def _real_path(folder: str) -> str:
    """Return the real path of a folder, the path itself when no folder can have it."""
    try:
        return os.path.realpath(folder) if len(folder) <= MAX_PATH else folder
    except ValueError:  # a lone surrogate
        return folder


def _main_folder(worktree: str) -> str:
    """Return the main folder of the repository that a folder is a worktree of."""
    from memoria.base import project  # noqa: PLC0415 (only for a worktree or a submodule)

    return project.place(worktree).root


def _marker_above(folder: str) -> tuple[str, bool]:
    """Return the path of the marker file, ``""`` for none, and whether the folder's ``.git`` is a file.

    A marker that is a link to nothing counts.
    """
    is_linked, is_repository = False, False
    while True:
        marker = os.path.join(folder, MARKER)
        if os.path.lexists(marker):
            return marker, is_linked
        if not is_repository and os.path.lexists(git := os.path.join(folder, ".git")):
            is_repository, is_linked = True, not os.path.isdir(git)
        parent = os.path.dirname(folder)
        if parent == folder:
            return "", is_linked
        folder = parent


def _normalise(path: str) -> str:
    """Return a path to compare: on Windows with forward slashes and in lower case, since case does not matter there."""
    return path.replace("\\", "/").lower() if os.name == "nt" else path


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part and part != "."]


def path_fits(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether the path matches or lies below a match; ``**`` matches any number of parts, including none."""
    return _fits(parts, [*wanted, "**"], "**", _name_fits)


def _name_fits(name: str, wanted: str) -> bool:
    return _fits(name, wanted, "*", lambda letter, sign: sign in ("?", letter))


def _fits(found: Sequence[str], wanted: Sequence[str], star: str, is_like: Callable[[str, str], bool]) -> bool:
    """Return whether what is found is like what is wanted one by one, where a star stands for any number of them.

    Takes at most len(found) * len(wanted) steps.
    """
    place = want = resume = 0
    last = -1  # the last star
    while place < len(found):
        if want < len(wanted) and wanted[want] == star:
            last, resume = want, place
            want += 1
        elif want < len(wanted) and is_like(found[place], wanted[want]):
            place += 1
            want += 1
        elif last >= 0:
            resume += 1
            want, place = last + 1, resume
        else:
            return False
    return all(each == star for each in wanted[want:])


def reason(cwd: str, settings: Settings, paths: Paths) -> str:
    """Return why memoria ignores a session in this folder (excluded, or its own), ``""`` when it does not."""
    own = os.path.join(paths.state, "")
    if os.path.join(cwd, "").startswith(own):
        return OWN
    found = exclusion(cwd, settings.exclude)
    return f"{EXCLUDED_BY}{found}" if found else ""
