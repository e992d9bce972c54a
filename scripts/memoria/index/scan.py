"""Scan: a temporary index of the files that seem to answer one query, for when the index cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memoria.ground import database, home_files
from memoria.index import documents, markdown_files
from memoria.index.index import Index
from memoria.search import tokens

_SCANNED = 200  # files read in full when there is no index


def scanned(home: Path | str, query: str, aliases: Mapping[str, str]) -> Index:
    """Return a temporary index, in memory, of the files that seem to contain the query's words.

    It replaces an index that cannot be used. It is slower and less complete: a word counts as found when a file
    contains the beginning of its stem.
    """
    starts = [term[: max(4, len(term) - 2)] for term in tokens.of_query(query)]
    held: list[tuple[int, str, str]] = []
    for name, _ in markdown_files.found(Path(home)):
        try:
            text = home_files.text(Path(home, name))
        except OSError:
            continue
        lower = text.lower()
        if count := sum(start in lower for start in starts):
            held.append((count, name, text))
    held.sort(key=lambda item: -item[0])
    index = Index(database.IN_MEMORY)
    for _, name, text in held[:_SCANNED]:
        index.add(documents.of_file(name, text, aliases), source=name)
    return index
