"""Layout: where each article stands in the picture of the whole wiki.

Articles of a project stand together, and in a project those that are linked with each other, the most linked in the
middle. Circles are packed along a spiral, so that the same wiki always gives the same picture. Knows no pages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, sin, sqrt

GOLDEN = pi * (3 - sqrt(5))
SPACE = 10.0  # between two articles
GAP, WIDE_GAP = 14.0, 26.0  # around what is linked with each other, and around a project
SPIRAL = 14.0  # distance of two tries to place a circle
STRETCH = 1.5  # width of the whole by its height

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Node:
    """An article: its place, and the number of articles that it is linked with."""

    slug: str
    x: float
    y: float
    degree: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """A project: the circle in which its articles stand, and their number."""

    key: str
    x: float
    y: float
    radius: float
    count: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole picture; ``edges`` are pairs of numbers of ``nodes``, which come most linked first."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]
    clusters: tuple[Cluster, ...]

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of everything."""
        circles = self.clusters or (Cluster("", 0.0, 0.0, 1.0, 0),)
        left = min(each.x - each.radius for each in circles)
        top = min(each.y - each.radius for each in circles)
        right = max(each.x + each.radius for each in circles)
        return left, top, right - left, max(each.y + each.radius for each in circles) - top


def of(projects: Mapping[str, str], pairs: Iterable[tuple[str, str]]) -> Layout:
    """Return the layout of articles, given by slug with their projects, and the pairs that are linked."""
    links: dict[str, set[str]] = {slug: set() for slug in projects}
    for one, other in pairs:
        links[one].add(other)
        links[other].add(one)
    slugs = sorted(projects, key=lambda slug: (-len(links[slug]), slug))
    groups: dict[str, list[str]] = {}
    for slug in slugs:
        groups.setdefault(projects[slug], []).append(slug)
    placed = {key: _project(group, links, projects) for key, group in groups.items()}
    order = sorted(groups, key=lambda key: (-placed[key][1], key))
    centres = _pack([placed[key][1] for key in order], WIDE_GAP, STRETCH)
    places: dict[str, Point] = {}
    clusters = []
    for key, (x, y) in zip(order, centres, strict=True):
        points, radius = placed[key]
        clusters.append(Cluster(key, x, y, radius, len(points)))
        places |= {slug: (x + dx, y + dy) for slug, (dx, dy) in points.items()}
    numbers = {slug: number for number, slug in enumerate(slugs)}
    nodes = tuple(Node(slug, *places[slug], len(links[slug])) for slug in slugs)
    edges = sorted((numbers[one], numbers[other]) for one in slugs for other in links[one])
    return Layout(nodes, tuple(edge for edge in edges if edge[0] < edge[1]), tuple(clusters))


def _project(
    slugs: Sequence[str], links: Mapping[str, set[str]], projects: Mapping[str, str]
) -> tuple[dict[str, Point], float]:
    """Return the places of a project's articles around its middle, and the radius of the circle around them."""
    groups, alone = _link_groups(slugs, links, projects)
    radii = [SPACE * sqrt(len(group)) + GAP / 2 for group in groups]
    places: dict[str, Point] = {}
    radius = 0.0
    for group, (x, y), own in zip(groups, _pack(radii, GAP, 1.0), radii, strict=True):
        radius = max(radius, sqrt(x * x + y * y) + own)
        for number, slug in enumerate(group):
            far, angle = SPACE * sqrt(number), number * GOLDEN
            places[slug] = x + far * cos(angle), y + far * sin(angle)
    for number, slug in enumerate(alone, 1 if groups else 0):  # around the others, as close to each other as they are
        far, angle = sqrt(radius * radius + SPACE * SPACE * number), number * GOLDEN
        places[slug] = far * cos(angle), far * sin(angle)
    return places, sqrt(radius * radius + SPACE * SPACE * len(alone)) + GAP / 2


def _link_groups(
    slugs: Sequence[str], links: Mapping[str, set[str]], projects: Mapping[str, str]
) -> tuple[list[list[str]], list[str]]:
    """Return the groups of articles of a project that are linked, the largest first, and the articles without links."""
    seen: set[str] = set()
    groups: list[list[str]] = []
    alone: list[str] = []
    for start in slugs:
        if start in seen:
            continue
        seen.add(start)
        group, ahead = [start], deque([start])
        while ahead:
            slug = ahead.popleft()
            near = [other for other in links[slug] if other not in seen and projects[other] == projects[start]]
            for other in sorted(near, key=lambda each: (-len(links[each]), each)):
                seen.add(other)
                group.append(other)
                ahead.append(other)
        if len(group) > 1:
            groups.append(group)
        else:
            alone.append(start)
    groups.sort(key=lambda group: (-len(group), group[0]))
    return groups, alone


def _pack(radii: Sequence[float], gap: float, stretch: float) -> list[Point]:
    """Return the centres of circles that do not touch, each as near to the middle as a spiral finds room for it."""
    placed: list[tuple[float, float, float]] = []
    step, smallest = 0, 0.0
    for radius in radii:
        if smallest and radius < smallest * 0.75:  # smaller ones fit where larger ones did not
            step = step // 2
        smallest = radius
        while True:
            far, angle = SPIRAL * sqrt(step), step * GOLDEN
            x, y = far * cos(angle) * stretch, far * sin(angle)
            if all((x - a) ** 2 + (y - b) ** 2 >= (radius + r + gap) ** 2 for a, b, r in placed):
                break
            step += 1
        placed.append((x, y, radius))
    return [(x, y) for x, y, _ in placed]
