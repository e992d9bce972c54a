"""How often is the right session found? Over folders of ``corpus.jsonl`` and ``queries.jsonl``, with a plain baseline.

    uv run python tests/bench/retrieval.py DIR [DIR ...]

The sets stay where they are: their licences do not let them into this project. One session becomes one document
with its turns as passages, a collection becomes a project, and everything goes through the index and the ranking that
users get. The baseline is SQLite FTS5 as it comes: one row a session, ``porter unicode61``, bm25, the same stop words
left out, words joined by OR, one table a collection.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memoria.indexing.documents import Document, cut
from memoria.indexing.index import Index
from memoria.language.function_words import FUNCTION_WORDS

JsonObject = dict[str, Any]
Search = Callable[[str, str], list[str]]
_DEEPEST = 50


def main() -> int:
    """Print one table a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    for folder in parser.parse_args().folders:
        headline(folder)
        sessions, queries = read(folder / "corpus.jsonl"), read(folder / "queries.jsonl")
        with tempfile.TemporaryDirectory() as scratch, Index(Path(scratch, "index.db")) as index:
            index.add(map(document, sessions))
            measure("memoria", queries, found_by(index))
        measure("plain FTS5", queries, _plain(sessions))
    return 0


def headline(folder: Path) -> None:
    """Print what the rows of ``measure`` hold."""
    print(f"{folder.name}: unit = session, scope = the query's own collection")
    print(f"{'':10}     n  any@1  any@5 any@10 frac@10    MRR  p50 ms  p95 ms")


def read(path: Path) -> list[JsonObject]:
    """The objects of a file, one a line."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def document(session: JsonObject) -> Document:
    """A session as the index takes it: cut like an archived one."""
    passages = tuple(
        passage
        for turn in session["turns"]
        for passage in cut(turn["text"], turn["speaker"], own=turn["speaker"] == "user")
    )
    name = session["session"]
    return Document(
        path=f"archive/{name}", kind="turn", session=name, project=session["collection"], passages=passages,
        date=_day(session.get("date", "")),
    )  # fmt: skip


def _day(date: str) -> str:
    """LoCoMo writes ``1:56 pm on 8 May, 2023``."""
    return datetime.strptime(date.split(" on ")[1], "%d %B, %Y").date().isoformat() if " on " in date else ""


def found_by(index: Index) -> Search:
    """The sessions that the product finds."""
    finder = index.finder

    def search(query: str, collection: str) -> list[str]:
        return [hit.session for hit in finder.search(query, limit=_DEEPEST, project=collection)]

    return search


def _plain(sessions: Sequence[JsonObject]) -> Search:
    database = sqlite3.connect(":memory:")
    tables: dict[str, str] = {}
    for session in sessions:
        table = tables.setdefault(session["collection"], f"collection_{len(tables)}")
        text = "\n".join(turn["text"] for turn in session["turns"])
        database.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5"
            "(session UNINDEXED, body, tokenize='porter unicode61')"
        )
        database.execute(f"INSERT INTO {table} VALUES (?, ?)", (session["session"], text))

    def search(query: str, collection: str) -> list[str]:
        table = tables[collection]
        expression = " OR ".join(f'"{word}"' for word in dict.fromkeys(_plain_words(query)))
        if not expression:
            return []
        rows = database.execute(
            f"SELECT session FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT ?", (expression, _DEEPEST)
        )
        return [row[0] for row in rows]

    return search


def _plain_words(text: str) -> Iterator[str]:
    for word in "".join(c.lower() if c.isalnum() else " " for c in text).split():
        if word not in FUNCTION_WORDS:
            yield word


def measure(name: str, queries: Sequence[JsonObject], search: Search) -> None:
    """Print how often the right session is found."""
    sums: defaultdict[str, float] = defaultdict(float)
    took: list[float] = []
    for asked in queries:
        start = time.perf_counter()
        found = search(asked["query"], asked["collection"])
        took.append(1000 * (time.perf_counter() - start))
        gold = set(asked["gold_sessions"])
        rank = next((place for place, session in enumerate(found, 1) if session in gold), 0)
        for k in (1, 5, 10):
            sums[f"any@{k}"] += 0 < rank <= k
        sums["frac@10"] += len(gold.intersection(found[:10])) / len(gold)
        sums["MRR"] += 1 / rank if rank else 0
    took.sort()
    n = len(queries)
    figures = [f"{sums[key] / n:{width}.3f}" for key, width in
               (("any@1", 6), ("any@5", 6), ("any@10", 6), ("frac@10", 7), ("MRR", 6))]  # fmt: skip
    print(f"{name:10} {n:5} {' '.join(figures)} {took[n // 2]:7.1f} {took[int(n * 0.95)]:7.1f}")


if __name__ == "__main__":
    sys.exit(main())
