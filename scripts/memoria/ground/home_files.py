"""Home files: the one door to the Markdown of a home: which files are its days and articles, and what they hold.

A home is a folder like any other: a person, a sync program or an archive may leave anything there. Read are regular
files of at most ``MAX_BYTES`` that belong to this user or to whom their folder belongs to. A link is followed when it
stays below its folder (``daily/`` or ``knowledge/``, which may be links themselves). The copy that a sync program makes
of a file which two machines changed is no day or article of its own: ``daily_log`` takes over what only it holds.
Everything that is left out has a reason, which ``doctor`` and ``lint`` name.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from memoria.base.paths import regular
from memoria.ground import clock

MAX_BYTES = 64 << 20  # of one file; a wiki's log of many years is shorter
ARTICLE_FOLDERS = ("concepts", "connections", "qa")
GENERATED = ("index.md", "all-articles.md", "log.md")  # made from the articles, as the lists of earlier versions were

NOT_A_DAY, NOT_AN_ARTICLE = "has no day's name (2026-11-18.md)", "is outside concepts/, connections/ and qa/"

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
# Syncthing; Nextcloud; Dropbox and others, in the user's language ("conflicted copy", "in Konflikt", "en conflit")
_CONFLICT = re.compile(
    r"(.+?)(?:\.sync-conflict-\d{8}-\d{6}.*|_conflict-\d{8}-\d{6}.*| ?\([^()]*[ck]onfl[^()]*\).*)", re.IGNORECASE
)
_NUMBERED = re.compile(r"(.+?) (?:\d{1,2}|\(\d{1,2}\))")  # iCloud, Finder, Google Drive
_AFTER_DAY = re.compile(r"(\d{4}-\d\d-\d\d)[ ._(-].*")
_HEAD_BYTES = 400
TAIL_BYTES = 16_384


class RefusedFileError(OSError):
    """A file that is not read; ``reason`` says what it is."""

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.reason = reason


class LeftOut(NamedTuple):
    """A file below ``daily/`` or ``knowledge/`` that is no day and no article.

    ``name`` is relative to that folder. ``original`` names the file that it is a copy of, ``""`` for none.
    """

    name: str
    reason: str
    original: str = ""


def days(folder: str | Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield each day (``2026-11-18``) that has a file in the folder of daily logs, with the file's status."""
    return ((name[:-3], found) for name, found in _regular(folder) if _is_day(name))


def articles(folder: str | Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the slug of each article in the folder of the wiki, with its file's status."""
    return ((name[:-3], found) for name, found in _regular(folder) if _is_article(name))


def generated_pages(folder: str | Path) -> Iterator[str]:
    """Yield the names of the pages that are made from the articles."""
    return (name for name, _ in _regular(folder) if is_generated(name))


def pages(folder: str | Path, *, is_daily: bool) -> Iterator[str]:
    """Yield the names, without ``.md``, of all days, or of all articles and the pages that are made from them."""
    return (name[:-3] for name, _ in _regular(folder) if is_page(name, is_daily=is_daily))


def other_files(folder: str | Path, *, is_daily: bool) -> Iterator[LeftOut]:
    """Yield every other Markdown file below the folder, and each link to a folder."""
    for name, found in _look(str(folder)):
        if isinstance(found, LeftOut):
            yield found
        elif not is_page(name, is_daily=is_daily):
            yield LeftOut(name, NOT_A_DAY if is_daily else NOT_AN_ARTICLE)


def open_regular(path: str | Path, folder: str | Path = "") -> BinaryIO:
    """Open a file of the home; raise RefusedFileError for what is none. ``folder``: where a link must not lead out."""
    _status(str(path), str(folder))
    return open(path, "rb", opener=regular)  # a pipe may take the file's place in this moment


def read(path: str | Path, folder: str | Path = "") -> bytes:
    """Return what a file of the home holds, as ``open_regular`` opens it."""
    with open_regular(path, folder) as file:
        return file.read()


def read_if_there(path: str | Path, folder: str | Path = "") -> bytes | None:
    """Return what a file of the home holds, or None when there is none."""
    try:
        return read(path, folder)
    except FileNotFoundError:
        return None


def text(path: str | Path, folder: str | Path = "") -> str:
    """Return a file's text, with replacement characters for what is no UTF-8."""
    return read(path, folder).decode("utf-8", "replace")


def last_rows(path: str) -> list[str]:
    """Return the last rows of a log, none when it cannot be read."""
    try:
        with open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def check_place(path: str | Path, folder: str | Path) -> None:
    """Raise RefusedFileError when something stands at ``path`` that is no file of the home."""
    try:
        _status(str(path), str(folder))
    except FileNotFoundError:
        return


def is_page(name: str, *, is_daily: bool) -> bool:
    """Return whether a file of this name is a day, or an article or one of the pages that are made from them."""
    return _is_day(name) if is_daily else _is_article(name) or is_generated(name)


def _is_day(name: str) -> bool:
    return _DAY.fullmatch(name[:-3]) is not None and clock.is_day(name[:-3])


def _is_article(name: str) -> bool:
    return name.partition("/")[0] in ARTICLE_FOLDERS and "/" in name


def is_generated(name: str) -> bool:
    """Return whether a file of this name is made from the articles."""
    return name in GENERATED or (name.startswith("lists/") and name.count("/") == 1)


def _regular(folder: str | Path) -> Iterator[tuple[str, os.stat_result]]:
    return ((name, found) for name, found in _look(str(folder)) if isinstance(found, os.stat_result))


def _look(top: str) -> Iterator[tuple[str, os.stat_result | LeftOut]]:
    """Yield the name of each Markdown file below ``top``, with its status, or with why it is left out."""
    for folder, folders, names in os.walk(top):
        inside = os.path.relpath(folder, top).replace(os.sep, "/")
        below = "" if inside == "." else f"{inside}/"
        for name in sorted(folders):
            if not name.startswith(".") and Path(folder, name).is_symlink():
                yield below + name, LeftOut(_show_name(below + name), "is a link to a folder")
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        present = set(names)
        for name in sorted(names):
            if name.endswith(".md") and not name.startswith("."):
                yield below + name, _status_or_reason(folder, name, below, present, top)


def _status_or_reason(folder: str, name: str, below: str, present: set[str], top: str) -> os.stat_result | LeftOut:
    if (shown := _show_name(below + name)) != below + name:  # no database and no page can name it
        return LeftOut(shown, "has a name that is no UTF-8")
    try:
        status = _status(f"{folder}{os.sep}{name}", top)  # (a path for each of ten thousand files takes long)
    except RefusedFileError as error:
        return LeftOut(below + name, error.reason)
    except OSError as error:
        return LeftOut(below + name, f"cannot be read ({error.strerror})")
    original = _original_name(folder, name, present)
    return LeftOut(below + name, f"is a copy of {original}", below + original) if original else status


def _status(path: str, top: str) -> os.stat_result:
    """Return a file's status; raise RefusedFileError when it is not to be read."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        if top and not os.path.realpath(path).startswith(os.path.join(os.path.realpath(top), "")):  # noqa: PTH118
            raise RefusedFileError(path, "is a link that leads out of the folder")
        try:
            status = os.stat(path)  # noqa: PTH116 (called ten thousand times)
        except FileNotFoundError:
            raise RefusedFileError(path, "is a link to nothing") from None
    if not stat.S_ISREG(status.st_mode):
        raise RefusedFileError(path, "is no regular file")
    if status.st_size > MAX_BYTES:
        raise RefusedFileError(path, f"is larger than {MAX_BYTES >> 20} MiB")
    if top and hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        around = os.stat(os.path.dirname(path))  # noqa: PTH116, PTH120 (as above)
        if status.st_uid != around.st_uid and not around.st_mode & stat.S_IWGRP:  # a home may be shared on purpose
            raise RefusedFileError(path, "belongs to another user")
    return status


def _show_name(name: str) -> str:
    """Return a file's name with question marks for bytes of another encoding."""
    return name.encode("utf-8", "replace").decode()


def _original_name(folder: str, name: str, present: set[str]) -> str:
    """Return the name of the file that a sync program made this one a copy of, ``""`` when it is none."""
    stem = name[:-3]
    if match := _CONFLICT.fullmatch(stem):
        original = f"{match[1]}.md"
        return original if original in present or _is_day(original) else ""
    match = _AFTER_DAY.fullmatch(stem) or _NUMBERED.fullmatch(stem)
    original = f"{match[1]}.md" if match else ""
    if original in present and _title(folder, name) == _title(folder, original) != b"":
        return original
    return ""


def _title(folder: str, name: str) -> bytes:
    """Return the row by which a file can be told from others: an article's title, or else its first row."""
    try:
        with open_regular(Path(folder, name)) as file:
            rows = [row.strip() for row in file.read(_HEAD_BYTES).split(b"\n") if row.strip()]
    except OSError:
        return b""
    return next((row for row in rows if row.startswith(b"title:")), b"") or (rows or [b""])[0]
