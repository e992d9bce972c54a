"""Plot: stacked bars with a line across, as shapes of an SVG picture 100 units wide and high that is stretched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SERIES = 5  # that have a colour of their own; the others are one
HIGH = 100.0
GAP = 0.2  # of a bar's width


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a bar: its place in the picture, the number of its colour, and what it says."""

    x: float
    y: float
    width: float
    height: float
    colour: int
    said: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture: ``names`` are the series in the order of their colours, ``top`` is the value at its upper edge.

    ``line`` is how far from the upper edge the line is drawn, None for no line.
    """

    bars: tuple[Bar, ...]
    names: tuple[str, ...]
    top: float
    line: float | None


def grouped(days: Sequence[str], values: Mapping[tuple[str, str], float], step: int) -> dict[tuple[str, str], float]:
    """Return values by the first of each ``step`` days and by series."""
    first = {day: days[number - number % step] for number, day in enumerate(days)}
    sums: dict[tuple[str, str], float] = {}
    for (day, name), value in values.items():
        if day in first:
            sums[first[day], name] = sums.get((first[day], name), 0.0) + value
    return sums


def stacked(days: Sequence[str], values: Mapping[tuple[str, str], float], limit: float = 0.0) -> Plot:
    """Return bars for days; ``values`` are by day and series, ``limit`` is where the line is drawn, 0 for nowhere."""
    sums: dict[str, float] = {}
    for (_, name), value in values.items():
        sums[name] = sums.get(name, 0.0) + value
    ranked = sorted(sums, key=lambda name: (-sums[name], name))
    named, rest = ranked[:SERIES], ranked[SERIES:]
    top = max([limit * 1.25, *(sum(values.get((day, name), 0.0) for name in ranked) for day in days)], default=0.0)
    top = top or 1.0
    bars: list[Bar] = []
    width = HIGH / max(1, len(days))
    for place, day in enumerate(days):
        parts = [(name, values.get((day, name), 0.0)) for name in named]
        parts.append(("others", sum(values.get((day, name), 0.0) for name in rest)))
        bottom = HIGH
        for colour, (name, value) in enumerate(parts):
            if value > 0:
                height = value / top * HIGH
                bottom -= height
                said = f"{day} · {name}: ${value:.4f}"
                bars.append(Bar(round(place * width + GAP / 2 * width, 3), round(bottom, 3),
                                round(width * (1 - GAP), 3), round(height, 3), colour, said))  # fmt: skip
    line = round(HIGH - limit / top * HIGH, 3) if limit else None
    return Plot(tuple(bars), (*named, *(["others"] if rest else [])), top, line)
