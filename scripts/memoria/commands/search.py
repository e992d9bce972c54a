"""Search: find articles, entries, facts and turns, for a person or a program.

The index is brought up to date first. Where that takes longer than an answer may, it goes on in the background, and
the answer says so.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memoria.base.visibility import Visibility
from memoria.capture import detach
from memoria.ground import locks, projects
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.highlight import highlight
from memoria.index.index import Index
from memoria.search import layout, tokens
from memoria.search.hit import Hit


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("words", nargs="*", help="what to look for")
    parser.add_argument("-k", type=int, default=10, metavar="N", help="maximum number of results (10)")
    parser.add_argument(
        "--project", nargs="?", const=".", default="", metavar="NAME",
        help="only this project (its name, key or folder; default: the folder you are in)",
    )  # fmt: skip
    parser.add_argument("--kind", choices=layout.KINDS, action="append", help="only this kind; may be repeated")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--wait", action="store_true", help="bring the index up to date first, however long it takes")


def command(args: argparse.Namespace, home: Home) -> int:
    """Search and print; return 0 even if nothing is found."""
    query = " ".join(args.words)
    if not (query or args.wait):
        raise ExpectedError('There is nothing to search for. Usage: memoria search "words"')
    if args.k < 1:
        raise ExpectedError("-k is the maximum number of results, and at least 1.")
    if args.wait:
        _wait(home)
    if query:
        hits = _find(home, query, args.k, args.project, tuple(args.kind or ()))
        shown = json.dumps({"results": [_record(hit) for hit in hits]}, ensure_ascii=False) if args.json else None
        print(shown if shown is not None else "\n\n".join(_lines(hits, query)) or "nothing found")
    return 0


def _wait(home: Home) -> None:
    """Bring the index up to date; searches meanwhile answer from what is there."""
    if detach.is_detached():
        detach.lower_priority()
    with locks.wait(Path(home.paths.indexer_lock)), Index(home.paths.index) as index:
        sources.refresh(index, home.paths)


def _find(home: Home, query: str, limit: int, given: str, kinds: tuple[str, ...]) -> list[Hit]:
    view = Visibility(home.settings, home.paths)
    with sources.open_searchable(home) as (index, lacking):
        if lacking:
            print(f"memoria: {lacking}", file=sys.stderr)
        key = projects.resolve_folder(given, index.projects(), home) if given else ""
        return index.search(query, limit=limit, project=key, view=view, kinds=kinds)


def _record(hit: Hit) -> dict[str, Any]:
    return {
        "path": hit.path,
        "entry": hit.anchor,
        "session": hit.session,
        "score": round(hit.score, 4),
        "kind": hit.kind,
        "project": hit.project,
        "title": hit.title,
        "date": hit.date,
        "passages": hit.passages,
        "also": hit.also,
    }


def _lines(hits: list[Hit], query: str) -> Iterator[str]:
    wanted = set(tokens.query_terms(query))
    for number, hit in enumerate(hits, 1):
        about = " · ".join(part for part in (hit.kind, hit.date, hit.project, hit.title) if part)
        passages = "".join(f"\n   {highlight(passage, wanted)}" for passage in hit.passages)
        also = f"\n   also: {', '.join(hit.also)}" if hit.also else ""
        yield f"{number}. {hit.key}  ({hit.score:.2f})\n   {about}{passages}{also}"
