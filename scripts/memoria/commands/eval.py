"""Eval: what the memory would have shown to the sessions of the past, and what came of it; without a model.

The sessions are taken in the order of time. For each one, the memory is put back to what it was when the session began
(``evaluating.replay``), and asked with the prompts that were typed. What the session came to says whether what was
shown was of use.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tqdm import tqdm

from memoria.base import invocation
from memoria.daily.ledger import Ledger
from memoria.evaluating import replay
from memoria.evaluating.asking import Asked, Asking
from memoria.evaluating.history import Candidate, History
from memoria.evaluating.report import Report
from memoria.ground import clock, printable, projects
from memoria.ground.argument_types import positive
from memoria.ground.errors import ExpectedError, UsageError
from memoria.ground.home import Home
from memoria.transcripts import client_files

SESSIONS = 200  # asked by default
FEWEST = 5  # sessions without which no figure says anything


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "source", nargs="?", metavar="PATH", help="a transcript or a folder of them (default: all that Claude Code has)"
    )
    parser.add_argument(
        "--sessions", metavar="N", type=positive, default=SESSIONS, help=f"ask at most this many (default: {SESSIONS})"
    )
    parser.add_argument("--since", metavar="DAY", default="", help="ask only sessions since 2026-11-01, or 14d")
    parser.add_argument("--project", metavar="NAME", default="", help="ask only this project (its name or key)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="draws sessions and intervals (default: 0)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def command(args: argparse.Namespace, home: Home) -> int:
    """Ask the sessions and print the report; return 130 when it was interrupted, after what is known so far."""
    with closing(Ledger.of(home.paths)) as ledger:
        history = History(home, ledger, _source(args))
        candidates = _chosen(history, args, home)
        asked, is_complete = _ask(home, history, candidates, args)
    if len(asked) < FEWEST and not is_complete:
        return _interrupted(asked)
    if len(asked) < FEWEST:
        raise ExpectedError(
            f"There is too little history: {printable.counted(len(asked), 'session')} with a typed prompt, and "
            f"{FEWEST} are needed. {invocation.shown('ingest')} imports what Claude Code still has."
        )
    report = Report(asked, args.seed, home.zone)
    if args.json:
        print(json.dumps(report.figures() | {"complete": is_complete}, indent=2, ensure_ascii=False))
    else:
        print(report.text(), flush=True)  # before what stderr says of it
    return 0 if is_complete else _interrupted(asked)


def _interrupted(asked: Sequence[Asked]) -> int:
    print(f"memoria: interrupted after {printable.counted(len(asked), 'session')}", file=sys.stderr)
    return 130


def _source(args: argparse.Namespace) -> Path:
    source = Path(args.source).expanduser().absolute() if args.source else client_files.folder(os.environ)
    if args.source and not source.exists():
        raise ExpectedError(f"{source} does not exist. Name a transcript or a folder of transcripts.")
    return source


def _chosen(history: History, args: argparse.Namespace, home: Home) -> list[Candidate]:
    """Return the sessions to ask, oldest first: all that fit, or as many of them as are wanted, drawn by chance."""
    try:
        since = client_files.moment(args.since, home.zone, clock.now()) if args.since else 0.0
    except ValueError:
        raise UsageError(f"--since takes a day such as 2026-11-01, or 14d; not {args.since!r}.") from None
    found = [each for each in history.candidates() if each.began.timestamp() >= since]
    if args.project:
        key = projects.meant(args.project, {history.key(each) for each in found}, home)
        found = [each for each in found if history.key(each) == key]
    if len(found) > args.sessions:
        drawn = random.Random(args.seed).sample(found, args.sessions)  # noqa: S311 (a sample, no secret)
        found = sorted(drawn, key=lambda each: (each.began, each.ident))
    return found


def _ask(
    home: Home, history: History, candidates: Sequence[Candidate], args: argparse.Namespace
) -> tuple[list[Asked], bool]:
    """Return what was shown to each session, and whether all were asked."""
    asked: list[Asked] = []
    try:
        with replay.opened(home) as past:
            asking = Asking(past, args.seed)
            asked.extend(
                asking.ask(session)
                for candidate in tqdm(candidates, desc="eval", unit="session", disable=None)
                if (session := history.read(candidate))
            )
    except KeyboardInterrupt:
        return asked, False
    return asked, True
