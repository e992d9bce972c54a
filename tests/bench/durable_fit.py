"""Fit the weights of ``memoria.language.durability`` anew, on labelled files in the form of ``durable_set.txt``.

``uv run python tests/bench/durable_fit.py FILE ...``. Every file is one batch: the cross-validation leaves one out at a
time, so put the lines of one project into one file. ``durable_set.txt`` is added with a small weight (``--made``),
because its lines are made up. Only English lines count, and lines labelled ``fact`` do not. Prints the base score, the
weight of every feature beside the committed one, and the precision and recall of the best lines, held out.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import durable
from memoria.language import cues, durability
from memoria.language.spelling import spelled

NAMES: Final = [name for name, _, _ in durability.FEATURES]
ROUNDS, RATE, MOMENTUM, DECAY = 300, 0.5, 0.9, 3.0  # gradient descent, and the pull of each weight to 0
BEST: Final = (10, 20, 30, 40, 60, 80, 100)


@dataclass(frozen=True, slots=True)
class Example:
    """One line: the places of its features, whether it can be claimed, whether it is durable, and what it counts."""

    on: tuple[int, ...]
    candidate: bool
    durable: bool
    counts: float


def examples(path: Path, counts: float) -> list[Example]:
    """Return the English lines of a labelled file, without facts."""
    lines = [line for line in durable.read(path) if line.language == "en" and line.label != durable.NEUTRAL]
    return [_example(line, counts) for line in lines]


def _example(line: durable.Line, counts: float) -> Example:
    written = spelled(line.text)
    bare = cues.without_lead_in(written)
    on = tuple(NAMES.index(name) for name in durability.features(written, bare))
    return Example(on, durability.is_candidate(written, bare), line.durable, counts)


def fit(lines: Sequence[Example]) -> tuple[float, list[float]]:
    """Return the base and the weights of a logistic regression."""
    total = sum(line.counts for line in lines)
    base, weights = -2.0, [0.0] * len(NAMES)
    speed, speeds = 0.0, [0.0] * len(NAMES)
    for _ in range(ROUNDS):
        slope, slopes = 0.0, [DECAY * weight / total for weight in weights]
        for line in lines:
            likely = 1 / (1 + math.exp(-base - sum(weights[place] for place in line.on)))
            error = line.counts * (likely - line.durable) / total
            slope += error
            for place in line.on:
                slopes[place] += error
        speed = MOMENTUM * speed - RATE * slope
        base += speed
        speeds = [MOMENTUM * old - RATE * new for old, new in zip(speeds, slopes, strict=True)]
        weights = [weight + change for weight, change in zip(weights, speeds, strict=True)]
    return base, weights


def held_out(batches: Sequence[Sequence[Example]], made: Sequence[Example]) -> list[tuple[float, bool]]:
    """Return the score of every candidate by weights that were fitted without its batch, and whether it is durable."""
    scored = []
    for left_out in batches:
        base, weights = fit([line for batch in batches if batch is not left_out for line in batch] + list(made))
        scored += [
            (base + sum(weights[place] for place in line.on), line.durable) for line in left_out if line.candidate
        ]
    return sorted(scored, reverse=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--made", type=float, default=0.3, help="what a line of durable_set.txt counts")
    parser.add_argument("files", nargs="+", type=Path, help="labelled files, one for each project or batch")
    asked = parser.parse_args(arguments)
    batches = [examples(path, 1.0) for path in asked.files]
    made = examples(durable.SET, asked.made) if asked.made else []
    base, weights = fit([line for batch in batches for line in batch] + made)
    print(f"base {base:+.2f} (committed {durability.BASE:+.2f})")
    for (name, committed, _), weight in zip(durability.FEATURES, weights, strict=True):
        print(f"{name:15} {weight:+.2f} ({committed:+.1f})")
    durable_lines = sum(line.durable for batch in batches for line in batch)
    scored = held_out(batches, made)
    print(f"held out: {durable_lines} durable lines, {len(scored)} candidates")
    for best in BEST:
        right = sum(is_durable for _, is_durable in scored[:best])
        at = scored[min(best, len(scored)) - 1][0]
        print(f"best {best:3}  score {at:+.2f}  precision {right / best:.2f}  recall {right / durable_lines:.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
