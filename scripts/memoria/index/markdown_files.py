"""Markdown files: which files of a home the search index is made from."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from memoria.ground import home_files

Stamp = tuple[int, int]  # a file's time (ns) and size; while they are the same, the file counts as unchanged

TOPS = ("knowledge", "daily")  # folders of a home with Markdown


def is_markdown(name: str) -> bool:
    """Return whether a source of the index is a file of the wiki or a daily log."""
    return name.startswith(tuple(f"{top}/" for top in TOPS))


def found(home: Path, tops: Collection[str] = TOPS) -> Iterator[tuple[str, Stamp]]:
    """Yield each article and each day, with its file's time and size."""
    for top in tops:
        for name, status in (home_files.days if top == "daily" else home_files.articles)(home / top):
            yield f"{top}/{name}.md", (status.st_mtime_ns, status.st_size)
