"""Tuning: find the threshold of notes that serves this person best, on one half of the sessions, and test it.

The rule: of the tried thresholds, the one with the most used notes when each note that is noise takes one away; among
equals the highest, which shows the fewest. It is kept only if it is no worse on the other half.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memoria.evaluating.asking import NOISE, USED, Asked
from memoria.evaluating.report import Sample, Share, judged, noted
from memoria.ground.errors import ExpectedError

FACTORS = (0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5)  # tried thresholds, as multiples of the built-in one
FEWEST_NOTES = 20  # shown in the half that is tuned with


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a threshold gives to the sessions of one half."""

    threshold: float
    worth: int
    noted: Share
    used: Share
    noise: Share

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome for JSON."""
        return {
            "threshold": self.threshold, "used_minus_noise": self.worth, "prompts_with_notes": self.noted.as_dict(),
            "used": self.used.as_dict(), "noise": self.noise.as_dict(),
        }  # fmt: skip

    def __str__(self) -> str:
        """Return one line."""
        return (
            f"threshold {self.threshold:.2f}: used minus noise {self.worth:+d}; notes beside {self.noted} prompts; "
            f"used {self.used}; noise {self.noise}"
        )


@dataclass(frozen=True, slots=True)
class Tuned:
    """The present and the best threshold, each on the half that was tuned with and on the other."""

    tried: tuple[Outcome, ...]
    before: Outcome
    after: Outcome

    @property
    def is_better(self) -> bool:
        """Whether the other half confirms the new threshold."""
        return self.after.threshold != self.before.threshold and self.after.worth >= self.before.worth

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        tried = [outcome.as_dict() for outcome in self.tried]
        return {
            "tried": tried,
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "better": self.is_better,
        }


def thresholds(present: float) -> list[float]:
    """Return the thresholds to try, with the present one among them."""
    return sorted({*FACTORS, present})


def tune(asked: Sequence[Sequence[Asked]], tried: Sequence[float], present: int, seed: int) -> Tuned:
    """Choose a threshold on one half of the sessions; raise ExpectedError when too few notes were shown there."""
    drawn = list(asked)
    random.Random(seed).shuffle(drawn)  # noqa: S311 (a sample, no secret)
    first, last = drawn[::2], drawn[1::2]
    outcomes = [_outcome([each[place] for each in first], value, seed) for place, value in enumerate(tried)]
    if outcomes[present].used.whole < FEWEST_NOTES:
        raise ExpectedError(
            f"There is too little history to tune with: half of it was shown {outcomes[present].used.whole:.0f} notes, "
            f"and {FEWEST_NOTES} are needed. Nothing was changed."
        )
    best = max(range(len(tried)), key=lambda place: (outcomes[place].worth, tried[place]))
    before, after = (_outcome([each[place] for each in last], tried[place], seed) for place in (present, best))
    return Tuned(tuple(outcomes), before, after)


def _outcome(asked: Sequence[Asked], threshold: float, seed: int) -> Outcome:
    sample = Sample(asked, seed)
    parts = [sample.share(part) for part in (noted, judged(USED), judged(NOISE))]
    return Outcome(threshold, round(parts[1].part - parts[2].part), *parts)
