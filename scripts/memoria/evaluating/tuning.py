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
from memoria.ground.printable import counted

FACTORS = (0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5)  # tried thresholds, as multiples of the built-in one
FEWEST_NOTES = 20  # shown with some threshold in the half that is tuned with
HEAD = "threshold  prompts with notes   notes   used  noise  used minus noise"


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
        """Return a row below ``HEAD``."""
        used, noise = (f"{share.value:.0%}" if share.whole else "-" for share in (self.used, self.noise))
        figures = f"{self.threshold:9.2f} {self.noted.value:19.1%} {self.used.whole:7,.0f}"
        return f"{figures} {used:>6} {noise:>6} {self.worth:+17d}"


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

    def settled(self) -> str:
        """Return why the present threshold stays."""
        present, found = f"{self.before.threshold:g}", f"{self.after.threshold:g}"
        if found == present:
            return f"hint_threshold stays {present}, which is the best of those tried."
        return (
            f"hint_threshold stays {present}: {found} is better on the one half and worse on the other, so the "
            "difference may be chance."
        )

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
    most = max(outcome.used.whole for outcome in outcomes)
    if most < FEWEST_NOTES:
        raise ExpectedError(
            "There is too little history to tune with: with the lowest threshold, half of it is shown "
            f"{counted(round(most), 'note')}, and {FEWEST_NOTES} are needed. Nothing was changed."
        )
    best = max(range(len(tried)), key=lambda place: (outcomes[place].worth, tried[place]))
    before, after = (_outcome([each[place] for each in last], tried[place], seed) for place in (present, best))
    return Tuned(tuple(outcomes), before, after)


def _outcome(asked: Sequence[Asked], threshold: float, seed: int) -> Outcome:
    sample = Sample(asked, seed)
    parts = [sample.share(part) for part in (noted, judged(USED), judged(NOISE))]
    return Outcome(threshold, round(parts[1].part - parts[2].part), *parts)
