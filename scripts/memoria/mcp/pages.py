"""Pages: read a home's pages by name, and no other file on the machine.

Only markdown files below ``knowledge/`` and ``daily/`` are read, but no hidden files, and no files outside that a
symbolic link points to. The two folders themselves may be links, for example into another vault.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memoria.base.fence import wrapped
from memoria.base.paths import Paths
from memoria.ground import markdown
from memoria.ground.errors import PageNotFoundError

FOLDERS = ("knowledge", "daily")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive lines of a page.

    ``path`` is relative to the home; ``first`` and ``last`` count from 1; ``total`` is the page's number of lines.
    ``date`` is the day of a daily log, else the ``updated`` day of the frontmatter, else the day of the last change.
    """

    path: str
    date: str
    text: str
    first: int
    last: int
    total: int


class Library:
    """The pages of one home."""

    def __init__(self, paths: Paths) -> None:
        self.home = Path(paths.home)

    def read(self, name: str, first: int = 1, lines: int = 400, most: int = 16_000) -> Passage:
        """Return lines of a page from ``first`` on: at most ``lines`` lines and ``most`` bytes, but at least one line.

        A line of more than 4,000 characters is wrapped and counts as several lines.

        ``name``: ``knowledge/concepts/x.md``, ``concepts/x``, ``daily/2026-11-21``, or a wikilink such as
        ``[[concepts/x#part]]``. Raise PageNotFoundError when there is no such page or it must not be shown.
        """
        path = self.find(name)
        text = self._text(path)
        rows = wrapped(text).splitlines()
        start = min(max(first, 1), max(len(rows), 1))
        kept: list[str] = []
        for row in rows[start - 1 : start - 1 + lines]:
            most -= len(row.encode("utf-8", "replace")) + 1
            if kept and most < 0:
                break
            kept.append(row)
        last = start + len(kept) - 1
        return Passage(self._shown(path), _date(path, text), "\n".join(kept), start, last, len(rows))

    def find(self, name: str) -> Path:
        """Return the file that ``name`` refers to, with symbolic links resolved."""
        plain = name.strip().removeprefix("[[").removesuffix("]]").split("|", 1)[0].split("#", 1)[0].strip()
        parts = plain.replace("\\", "/").removesuffix(".md").split("/")
        if not plain or "\0" in plain or any(part.startswith(".") or not part for part in parts):
            raise PageNotFoundError(name)
        candidates = [parts] if parts[0] in FOLDERS else [[folder, *parts] for folder in FOLDERS]
        for path in (self.home.joinpath(*each[:-1], f"{each[-1]}.md") for each in candidates):
            if self._is_ours(path):
                return Path(os.path.realpath(path))
        raise PageNotFoundError(name)

    def _is_ours(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        folder = Path(os.path.realpath(self.home / path.relative_to(self.home).parts[0]))
        try:
            return real.is_relative_to(folder) and real.suffix == ".md" and stat.S_ISREG(real.stat().st_mode)
        except OSError:
            return False

    def _shown(self, path: Path) -> str:
        for folder in FOLDERS:
            real = Path(os.path.realpath(self.home / folder))
            if path.is_relative_to(real):
                return f"{folder}/{path.relative_to(real).as_posix()}"
        return path.name

    @staticmethod
    def _text(path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise PageNotFoundError(path.name) from error


def _date(path: Path, text: str) -> str:
    if _DAY.fullmatch(path.stem):
        return path.stem
    updated = _DAY.match(markdown.read_page(text)[0].text("updated"))
    return updated[0] if updated else datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
