"""Does memoria tell what no longer holds? ``uv run python -m bench.truth [--unseen] [--rows] [--strict]``.

Plays the stories of ``tests/stories`` session by session through the hooks, the worker and the compile, with a model
that knows the story and answers by what the request shows, and looks at every surface after each session: page, notes
beside a prompt, search, wiki, index, the MCP tools, memory server. With ``--strict`` a missed goal is exit status 1.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import stories
from bench.played_story import Look, played

RECORDS = ("entry", "turn", "last sessions")  # parts of surfaces that say on which day it was said
MISSING_GOAL, ENDED_GOAL, ITEMS_GOAL = 0.02, 0.95, 0.95


def share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({100 * part / whole:.1f} %)" if whole else "0/0"


def of(pairs: Iterable[tuple[str, bool]]) -> tuple[int, int]:
    """Return how many are right, of how many."""
    found = [right for _, right in pairs]
    return sum(found), len(found)


def report(looks: Sequence[Look]) -> bool:
    """Print the figures; return whether every goal is met."""
    stale = Counter(surface for look in looks for surface, _ in look.stale)
    missing = Counter(surface for look in looks for surface, _ in look.missing)
    told: Counter[str] = sum((look.told for look in looks), Counter())
    dated = sum(count for surface, count in stale.items() if surface.endswith(RECORDS))
    print(f"stale statements told as current (goal 0): {stale.total()}, {dated} of them in dated records")
    for surface, count in sorted(stale.items()):
        print(f"  {surface}: {count}")
    print(f"current statements missing (goal <= 2 %): {share(missing.total(), told.total())}")
    for surface in sorted(told):
        print(f"  {surface}: {share(missing[surface], told[surface])}")
    ended = of(pair for look in looks for pair in look.ended)
    items = of(pair for look in looks for pair in look.items)
    print(f"superseded facts ended (goal >= 95 %): {share(*ended)}")
    print(f"open items right (goal >= 95 %): {share(*items)}")
    print(f"superseded claims under History: {share(*of(pair for look in looks for pair in look.history))}")
    hinted = of(pair for look in looks for pair in look.hinted)
    print(f"prompts that name a current topic and get it as a note: {share(*hinted)}")
    print(f"claims refused: {sum(len(look.refused) for look in looks)}")
    calls: Counter[str] = sum((look.calls for look in looks), Counter())
    sent: Counter[str] = sum((look.sent for look in looks), Counter())
    for task in sorted(calls):
        print(f"{task}: {calls[task] / len(looks):.2f} calls and {sent[task] / len(looks):,.0f} bytes a session")
    print(f"all: {calls.total() / len(looks):.2f} calls and {sent.total() / len(looks):,.0f} bytes a session")
    skipped = [f"{look.place}: {text}" for look in looks for text in look.not_done]
    if skipped:
        print("edits by hand that found nothing to change:", *skipped, sep="\n  ")
    return (
        not stale
        and missing.total() <= MISSING_GOAL * told.total()
        and ended[0] >= ENDED_GOAL * ended[1]
        and items[0] >= ITEMS_GOAL * items[1]
    )


def rows(look: Look) -> None:
    """Print what was wrong after one session."""
    print(f"-- {look.place}")
    for (surface, name), row in look.stale.items():
        print(f"  stale   {surface} · {name}: {row}")
    for surface, name in look.missing:
        print(f"  missing {surface} · {name}")
    for label, pairs in (("not ended", look.ended), ("item wrong", look.items), ("not in History", look.history)):
        print(*(f"  {label}: {name}\n" for name, right in pairs if not right), sep="", end="")
    for reason in look.refused:
        print(f"  refused {reason}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    every = [name for folder in ("", "unseen", "fresh") for name in stories.names(folder)]
    parser.add_argument("--story", action="append", choices=every, help="only this one; may be repeated")
    parser.add_argument("--unseen", action="store_true", help="the stories that memoria was not tuned to")
    parser.add_argument("--rows", action="store_true", help="print every wrong row")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a goal is missed")
    parser.add_argument("--keep", type=Path, help="leave the homes here to look at")
    args = parser.parse_args()
    looks: list[Look] = []
    chosen = args.story or stories.names("unseen" if args.unseen else "")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memoria-truth-") as scratch:
        for name in chosen:
            found = played(stories.load(name), Path(args.keep or scratch, name)).looks
            looks += found
            if args.rows:
                for look in found:
                    rows(look)
    print(f"{len(chosen)} stories, {len(looks)} sessions, {time.monotonic() - began:.0f} s")
    met = report(looks)
    return 1 if args.strict and not met else 0


if __name__ == "__main__":
    raise SystemExit(main())
