"""Markdown files: which files of a home the search index is made from."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

Stamp = tuple[int, int]  # a file's time (ns) and size; while they are the same, the file counts as unchanged

TOPS = ("knowledge", "daily")  # folders of a home with Markdown


def is_markdown(name: str) -> bool:
    """Return whether a source of the index is a file of the wiki or a daily log."""
    return name.startswith(tuple(f"{top}/" for top in TOPS))


def found(home: Path, tops: Collection[str] = TOPS) -> Iterator[tuple[str, Stamp]]:
    """Yield each Markdown file of the wiki and the daily logs, with its time and size, without unreadable folders."""
    for top in tops:
        for folder, folders, names in os.walk(home / top):
            at_top = folder == str(home / TOPS[0])
            # index, log and lists are generated from the articles and add nothing to them
            folders[:] = sorted(n for n in folders if not n.startswith(".") and not (at_top and n == "lists"))
            for name in sorted(names):
                if (
                    name.endswith(".md")
                    and not name.startswith(".")
                    and not (at_top and name in ("index.md", "log.md"))
                ):
                    path = Path(folder, name)
                    try:
                        stat = path.stat()
                    except OSError:
                        continue
                    yield path.relative_to(home).as_posix(), (stat.st_mtime_ns, stat.st_size)
