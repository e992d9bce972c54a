"""When is a prompt given a note, and is it the right one? Questions alone and in prompts that wander, by threshold.

    uv run python tests/bench/hint_threshold.py QUESTIONS PADDING [--threshold T] [--each N]

Both are folders of the form that retrieval.py takes (``locomo-dev`` and ``commits-dev``); they stay where they are.
Each question of QUESTIONS (N of every collection) is asked of its own collection and of another one of the same kind,
which knows nothing of it, alone and among 1 to 6 queries of PADDING, which are about nothing in either: as sentences of
their own, and in one sentence without an end. For each: how often the best document is a right one; the share of those
that is shown; how often a wrong one is shown in their stead; how often the stranger's best one is shown. ``as one``
searches with the whole prompt at once, ``by parts`` is what the hook does.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).resolve().parents[1] / part) for part in (".", "support"))

from bench import retrieval
from memoria.indexing.index import Index
from memoria.recall import prompt_notes
from memoria.search import reader, tokens
from memoria.search.hit import Hit

Search = Callable[[reader.Finder, str], list[Hit]]
PADS = (0, 1, 2, 4, 6)
JOINTS = {"sentences": (". ", "?"), "one sentence": (" and ", "")}


def main() -> int:
    """Print one table a way of joining."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("padding", type=Path)
    parser.add_argument("--threshold", type=float, default=prompt_notes.THRESHOLD)
    parser.add_argument("--each", type=int, default=60)
    args = parser.parse_args()
    chance = random.Random(7)
    sessions = retrieval.read(args.questions / "corpus.jsonl")
    names = sorted({session["collection"] for session in sessions})
    queries = retrieval.read(args.questions / "queries.jsonl")
    asked = [
        query
        for name in names
        for query in chance.sample([each for each in queries if each["collection"] == name], args.each)
    ]
    padding = [query["query"] for query in retrieval.read(args.padding / "queries.jsonl")]
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        finders: dict[str, reader.Finder] = {}
        for name in names:
            index = stack.enter_context(Index(Path(scratch, f"{name}.db")))
            own = (session for session in sessions if session["collection"] == name)
            index.add(replace(retrieval.document(session), kind="entry") for session in own)
            finders[name] = index.finder
        strangers = dict(zip(names, [*names[1:], names[0]], strict=True))
        for joined in JOINTS:
            print(f"{joined}, n = {len(asked)}, threshold {args.threshold}")
            print("words          right  of these shown  wrong shown  stranger's shown")
            for pads in PADS:
                prompts = [_padded(query, padding, pads, joined, random.Random(n)) for n, query in enumerate(asked)]
                words = int(statistics.median(len(tokens.of_query(prompt)) for prompt in prompts))
                for way, search in (("as one", _as_one), ("by parts", _by_parts)):
                    own_best = [_best(search, finders[q["collection"]], p) for q, p in zip(asked, prompts, strict=True)]
                    others = [
                        _best(search, finders[strangers[q["collection"]]], p)
                        for q, p in zip(asked, prompts, strict=True)
                    ]
                    print(f"{words:5} {way:8} {_figures(asked, own_best, others, args.threshold)}", flush=True)
    return 0


def _padded(query: dict[str, Any], padding: Sequence[str], pads: int, joined: str, chance: random.Random) -> str:
    """The question at a place of its own among ``pads`` other things."""
    between, end = JOINTS[joined]
    parts = chance.sample(padding, pads)
    parts.insert(chance.randint(0, pads), query["query"].rstrip("?") + end)
    return between.join(parts).replace("?.", "?")


def _as_one(finder: reader.Finder, prompt: str) -> list[Hit]:
    return finder.search(prompt, limit=1, kinds=prompt_notes.KINDS)


def _by_parts(finder: reader.Finder, prompt: str) -> list[Hit]:
    return prompt_notes.searched(finder, prompt_notes.parts_of(prompt))


def _best(search: Search, finder: reader.Finder, prompt: str) -> tuple[float, str]:
    hits = search(finder, prompt)
    return (hits[0].fit, hits[0].session) if hits else (0.0, "")


def _figures(
    asked: Sequence[dict[str, Any]],
    own: Sequence[tuple[float, str]],
    others: Sequence[tuple[float, str]],
    threshold: float,
) -> str:
    right = [fit for query, (fit, session) in zip(asked, own, strict=True) if session in query["gold_sessions"]]
    wrong = [fit for query, (fit, session) in zip(asked, own, strict=True) if session not in query["gold_sessions"]]
    shown = sum(fit >= threshold for fit in right)
    mistaken = sum(fit >= threshold for fit in wrong) / len(asked)
    false = sum(fit >= threshold for fit, _ in others) / len(asked)
    return f"{len(right) / len(asked):6.1%} {shown / max(1, len(right)):12.1%} {mistaken:13.1%} {false:13.1%}"


if __name__ == "__main__":
    sys.exit(main())
