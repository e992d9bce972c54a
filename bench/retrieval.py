"""How often is the right session found? Over folders of ``corpus.jsonl`` and ``queries.jsonl``, with a plain baseline.

    uv run python -m bench.retrieval DIR [DIR ...]
    uv run --with bm25s --with PyStemmer python -m bench.retrieval --fused DIR [DIR ...]

The sets stay where they are: their licences do not let them into this project. One session becomes one document
with its turns as passages, a collection becomes a project, and everything goes through the index and the ranking that
users get. The baseline is SQLite FTS5 as it comes: one row a session, ``porter unicode61``, bm25, the same stop words
left out, words joined by OR, one table a collection. ``--fused`` adds a stronger one, bm25s with its stop words and its
stemmer for English, in which the rank of a session with its date is fused with that of its best turn (reciprocal ranks,
k = 60), and counts the queries for which only one of the two finds the right session.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memoria.index.documents import Document, cut
from memoria.index.index import Index
from memoria.search.tokens import FUNCTION_WORDS

JsonObject = dict[str, Any]
Search = Callable[[str, str], list[str]]
_DEEPEST = 50


def main() -> int:
    """Print one table a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--fused", action="store_true", help="compare with bm25s too")
    args = parser.parse_args()
    for folder in args.folders:
        headline(folder)
        sessions, queries = read(folder / "corpus.jsonl"), read(folder / "queries.jsonl")
        with tempfile.TemporaryDirectory() as scratch, Index(Path(scratch, "index.db")) as index:
            index.add(map(document, sessions))
            own = measure("memoria", queries, found_by(index))
        measure("plain FTS5", queries, _plain(sessions))
        if args.fused:
            compare(own, measure("bm25s", queries, _fused(sessions)))
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


def _fused(sessions: Sequence[JsonObject]) -> Search:
    """Rank by bm25s: sessions, and sessions by their best turn, joined by their ranks."""
    collections: defaultdict[str, list[JsonObject]] = defaultdict(list)
    for session in sessions:
        collections[session["collection"]].append(session)
    searches = {name: _ranked_twice(held) for name, held in collections.items()}
    return lambda query, collection: searches[collection](query)


def _ranked_twice(sessions: Sequence[JsonObject]) -> Callable[[str], list[str]]:
    names = [session["session"] for session in sessions]
    texts = [[session.get("date", ""), *(turn["text"] for turn in session["turns"])] for session in sessions]
    whole = _bm25s(list(map("\n".join, texts)))
    by_turn = _bm25s([turn["text"] for session in sessions for turn in session["turns"]])
    owners = [session["session"] for session in sessions for _ in session["turns"]]

    def search(query: str) -> list[str]:
        scores: defaultdict[str, float] = defaultdict(float)
        for ranked in (
            [names[place] for place in whole(query)],
            dict.fromkeys(owners[place] for place in by_turn(query)),
        ):
            for rank, name in enumerate(ranked, 1):
                scores[name] += 1 / (60 + rank)
        return sorted(scores, key=lambda name: -scores[name])[:_DEEPEST]

    return search


def _bm25s(texts: Sequence[str]) -> Callable[[str], list[int]]:
    """Return a function that ranks the texts that hold a word of a query."""
    library = importlib.import_module("bm25s")
    stemmer = importlib.import_module("Stemmer").Stemmer("english")
    ranking = library.BM25()
    ranking.index(library.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)

    def search(query: str) -> list[int]:
        words = library.tokenize([query], stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)[0]
        scores = ranking.get_scores(words) if words else []
        return sorted((place for place, score in enumerate(scores) if score), key=lambda place: -scores[place])

    return search


def compare(own: Sequence[int], other: Sequence[int]) -> None:
    """Print in how many queries only one of two rankings has the right session among the first."""
    for k in (1, 5):
        won = sum(0 < rank <= k and not 0 < theirs <= k for rank, theirs in zip(own, other, strict=True))
        lost = sum(0 < theirs <= k and not 0 < rank <= k for rank, theirs in zip(own, other, strict=True))
        print(f"any@{k}: memoria alone {won}, bm25s alone {lost} (sign test, p = {_sign_test(won, lost):.2g})")


def _sign_test(won: int, lost: int) -> float:
    """Return how likely a difference of this size is by chance."""
    tail = sum(math.comb(won + lost, count) for count in range(min(won, lost) + 1))
    return min(1.0, 2 * tail * 0.5 ** (won + lost))


def measure(name: str, queries: Sequence[JsonObject], search: Search) -> list[int]:
    """Print how often the right session is found; return its rank for each query, 0 for none."""
    sums: defaultdict[str, float] = defaultdict(float)
    took: list[float] = []
    ranks: list[int] = []
    for asked in queries:
        start = time.perf_counter()
        found = search(asked["query"], asked["collection"])
        took.append(1000 * (time.perf_counter() - start))
        gold = set(asked["gold_sessions"])
        rank = next((place for place, session in enumerate(found, 1) if session in gold), 0)
        ranks.append(rank)
        for k in (1, 5, 10):
            sums[f"any@{k}"] += 0 < rank <= k
        sums["frac@10"] += len(gold.intersection(found[:10])) / len(gold)
        sums["MRR"] += 1 / rank if rank else 0
    took.sort()
    n = len(queries)
    figures = [f"{sums[key] / n:{width}.3f}" for key, width in
               (("any@1", 6), ("any@5", 6), ("any@10", 6), ("frac@10", 7), ("MRR", 6))]  # fmt: skip
    print(f"{name:10} {n:5} {' '.join(figures)} {took[n // 2]:7.1f} {took[int(n * 0.95)]:7.1f}")
    return ranks


if __name__ == "__main__":
    sys.exit(main())
