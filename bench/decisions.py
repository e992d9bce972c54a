"""Does a prompt get what was once said? ``uv run python -m bench.decisions [--last] [--model NAME] [--rows]``.

Plays the sets of ``decision_sets`` through the hooks, the worker and the compile, with the offline model and with a
scripted one that writes what a good model would, and asks their prompts. Prints how often the notes, or the notes or
the page, hold the statement that a prompt needs, and how often it is among the notes to weigh, of which a model chooses
in a session; how many prompts that need nothing were given something; and how many characters the notes had. Without
``--last`` only the tuning half is asked. ``--strangers`` also asks every project the real prompts of TRANSCRIPTS and
CORPUS, as ``real_prompts.py`` reads and halves them, of which none is meant for it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench import played_decisions, real_prompts
from bench.played_decisions import HALVES, Asked, Played, Seen

GOALS = {"shared": 0.85, "apart": 0.60, "nothing": 0.03}


def share(part: int, whole: int) -> str:
    return f"{part:3}/{whole:<3} {part / whole:6.1%}" if whole else "      -       "


def report(seen: Sequence[Seen]) -> bool:
    """Print the figures of one model; return whether every goal is met."""
    needing = [each for each in seen if each.asked.statement]
    idle = [each for each in seen if not each.asked.statement]
    print(f"{'':14} {'in the notes':>14} {'notes or page':>15} {'to weigh':>15} {'characters':>11}")
    for label, rows in _groups(needing):
        held = sum(each.in_notes for each in rows)
        either = sum(each.in_notes or each.in_page for each in rows)
        size = sum(len(each.notes) for each in rows) / len(rows)
        offered = share(sum(each.is_offered for each in rows), len(rows))
        print(f"{label:14} {share(held, len(rows)):>14} {share(either, len(rows)):>15} {offered:>15} {size:11.0f}")
    given = [each for each in idle if each.notes]
    print(f"need nothing and were given something: {share(len(given), len(idle))}")
    weighed = [len(each.to_weigh) for each in seen if each.to_weigh]
    each_has = sum(weighed) / max(1, len(weighed))
    print(f"prompts with notes to weigh: {share(len(weighed), len(seen))}, {each_has:.1f} each")
    print(f"need nothing and have notes to weigh: {share(sum(bool(each.to_weigh) for each in idle), len(idle))}")
    shown = [len(each.notes) for each in seen if each.notes]
    print(f"prompts with notes: {share(len(shown), len(seen))}, {sum(shown) / max(1, len(shown)):.0f} characters each")
    rates = {sort: _rate([each for each in needing if each.asked.sort == sort]) for sort in played_decisions.SORTS}
    return all(rates[sort] >= GOALS[sort] for sort in rates) and len(given) <= GOALS["nothing"] * len(idle)


def strangers(player: Played, paths: Sequence[Path], half: str) -> Iterator[Seen]:
    """Yield what each project is given for real prompts of other projects, read from folders and ``corpus.jsonl``."""
    files = {path.name: [path] for folder in paths for path in sorted(folder.glob("*__*__*__*.jsonl"))}
    found = [*real_prompts.typed(files)]
    found += [asked for path in paths if path.is_file() for asked in real_prompts.in_corpus(path)]
    prompts = dict.fromkeys(asked.prompt for asked in found if HALVES[asked.half] == half)
    for project in player.story.projects:
        for prompt in prompts:
            yield player.ask(Asked(project, "", half, "stranger", prompt))


def report_strangers(seen: Sequence[Seen]) -> None:
    """Print how many prompts of strangers each project was given something for."""
    for project in sorted({each.asked.project for each in seen}):
        given = [bool(each.notes) for each in seen if each.asked.project == project]
        print(f"strangers given something by {project:12} {share(sum(given), len(given))}")


def _rate(rows: Sequence[Seen]) -> float:
    return sum(each.in_notes for each in rows) / max(1, len(rows))


def _groups(rows: Sequence[Seen]) -> Iterator[tuple[str, list[Seen]]]:
    """Yield the rows of each sort of prompt, of each language, and of both together."""
    ways: tuple[Callable[[Seen], str], ...] = (
        lambda each: each.asked.sort,
        lambda each: each.asked.language,
        lambda each: f"{each.asked.language} {each.asked.sort}",
    )
    for way in ways:
        for label in sorted({way(each) for each in rows}):
            yield label, [each for each in rows if way(each) == label]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--last", action="store_true", help="ask the half that nothing was tuned with")
    parser.add_argument(
        "--model", choices=played_decisions.MODELS, action="append", help="only this one; may be repeated"
    )
    parser.add_argument("--rows", action="store_true", help="print what each prompt was given, one JSON object a line")
    parser.add_argument("--strangers", type=Path, nargs="+", default=[], metavar="TRANSCRIPTS|CORPUS")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a goal is missed")
    args = parser.parse_args()
    half, met = HALVES[args.last], True
    for model in args.model or played_decisions.MODELS:
        began = time.monotonic()
        with (
            tempfile.TemporaryDirectory(prefix="memoria-decisions-") as scratch,
            played_decisions.played(model, Path(scratch)) as player,
        ):
            seen = [player.ask(asked) for asked in player.sets.asked if asked.half == half]
            others = list(strangers(player, args.strangers, half)) if args.strangers else []
        if args.rows:
            print(*map(played_decisions.as_json, seen), sep="\n")
            continue
        print(f"\n{model} model, {half} half, {time.monotonic() - began:.0f} s")
        met = report(seen) and met
        report_strangers(others)
    return 1 if args.strict and not met else 0


if __name__ == "__main__":
    sys.exit(main())
