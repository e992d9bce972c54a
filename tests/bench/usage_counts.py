"""Does it help to rank documents higher that were of use before? Measured on queries held out from the counting.

    uv run python tests/bench/usage_counts.py DIR [DIR ...]

The folders are those of ``retrieval.py``. Each collection's queries are split in two, ``SPLITS`` times by another hash.
The first half makes the counts, as the removed feature did: the best ``SHOWN`` documents of a query are shown, the
gold ones among them help, the others are left idle, and ``IDLE`` idle ones weigh as much as one that helped. The second
half is ranked with and without the factor that these counts made of a score (2 % a use, at most 10 %).
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.retrieval import JsonObject, document, read
from memoria.index.index import Index

SPLITS, SHOWN, IDLE = 20, 3, 3
SCHEMES: dict[str, bool] = {"of use only": False, "of use less idle": True}

Ranked = Sequence[tuple[str, float]]  # sessions with their scores, best first


@dataclass(frozen=True, slots=True)
class Query:
    """A query's collection, its ranking without counts, and the sessions that answer it."""

    text: str
    collection: str
    ranked: Ranked
    gold: frozenset[str]


def main() -> int:
    """Print one table a folder: the figures of the held-out halves without counts, and the change with them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    for folder in parser.parse_args().folders:
        found = _queries(folder)
        print(f"{folder.name}: {len(found)} queries, {SPLITS} splits; change in points (splits better/worse)")
        for name, idle in SCHEMES.items():
            _compare(name, found, idle)
    return 0


def _queries(folder: Path) -> list[Query]:
    with tempfile.TemporaryDirectory() as scratch, Index(Path(scratch, "index.db")) as index:
        index.add(map(document, read(folder / "corpus.jsonl")))
        return [_asked(index, query) for query in read(folder / "queries.jsonl")]


def _asked(index: Index, query: JsonObject) -> Query:
    hits = index.finder.search(query["query"], limit=50, project=query["collection"])
    ranked = [(hit.session, hit.score) for hit in hits]
    return Query(query["query"], query["collection"], ranked, frozenset(query["gold_sessions"]))


def _compare(name: str, queries: Sequence[Query], idle: bool) -> None:
    splits = [_split(queries, str(number)) for number in range(SPLITS)]
    changes: dict[str, list[float]] = {measure: [] for measure in _MEASURES}
    plain: dict[str, list[float]] = {measure: [] for measure in _MEASURES}
    for counted, held in splits:
        uses = _uses(counted, idle)
        for measure, of in _MEASURES.items():
            without = statistics.fmean(of(_rank(query, {})) for query in held)
            plain[measure].append(without)
            changes[measure].append(statistics.fmean(of(_rank(query, uses)) for query in held) - without)
    cells = [
        f"{measure} {statistics.fmean(plain[measure]):.3f} {100 * statistics.fmean(found):+.2f}"
        f" ({sum(change > 0 for change in found)}/{sum(change < 0 for change in found)})"
        for measure, found in changes.items()
    ]
    print(f"  {name:18}" + "   ".join(cells))


def _split(queries: Sequence[Query], salt: str) -> tuple[list[Query], list[Query]]:
    first: list[Query] = []
    second: list[Query] = []
    for query in queries:
        digest = hashlib.sha256(f"{salt} {query.collection} {query.text}".encode()).digest()
        (first if digest[0] % 2 else second).append(query)
    return first, second


def _uses(queries: Sequence[Query], idle: bool) -> dict[str, int]:
    helped: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for query in queries:
        for session, _ in query.ranked[:SHOWN]:
            shown[session] += 1
            helped[session] += session in query.gold
    return {session: helped[session] - idle * (shown[session] - helped[session]) // IDLE for session in shown}


def _rank(query: Query, uses: Mapping[str, int]) -> int:
    """The place of the first session that answers the query, from 1; 0 when none does."""
    factors = {session: 1 + 0.02 * max(min(uses.get(session, 0), 5), -5) for session, _ in query.ranked}
    ranked = sorted(query.ranked, key=lambda found: -found[1] * factors[found[0]])
    return next((place for place, (session, _) in enumerate(ranked, 1) if session in query.gold), 0)


_MEASURES: dict[str, Callable[[int], float]] = {
    "any@1": lambda rank: float(rank == 1),
    "any@5": lambda rank: float(0 < rank <= 5),
    "MRR": lambda rank: 1 / rank if rank else 0.0,
}


if __name__ == "__main__":
    sys.exit(main())
