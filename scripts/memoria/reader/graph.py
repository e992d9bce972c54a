"""Graph: the part of the wiki's picture that a window shows, as the shapes of an SVG picture of a fixed size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log2

from memoria.reader import layout
from memoria.reader.layout import Cluster, Layout, Node
from memoria.reader.site import Site

WIDTH, HEIGHT = 1000, 640
MAX_LINKS = 110  # articles that can be followed; the others are dots until one comes nearer
MAX_EDGES = 800
STEPS = ((1500, 0.1), (4000, 1), (7000, 2))  # up to so many dots, how exactly they are placed
COARSEST = 4  # for more; dots that fall together are one
BAND = 24  # width of the bands in which dots are listed, so that the way from one to the next is short
MAX_LABELS = 60  # names in a window
LETTER, LINE = 7.4, 17.0  # width of a letter and height of a name
SIDES = ("below", "above", "right", "left")  # of an article, tried in this order for its name
APART = 3.0  # a name from its article
NAME_CHARS = 26
HEADING = 24.0  # height of a project's name
MIN_CLUSTER = 26.0  # radius from which on a project is named
MAX_ZOOM = 64.0

Rectangle = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True, slots=True)
class Spot:
    """An article that can be followed; ``label`` is its name if there is room.

    The name stands at ``label_x`` and ``label_y``, on the ``side`` of the article.
    """

    slug: str
    title: str
    x: float
    y: float
    radius: float
    label: str
    side: str
    label_x: float
    label_y: float
    is_found: bool


@dataclass(frozen=True, slots=True)
class Circle:
    """A project; ``label``, at ``label_y``, is empty when its circle is too small for a name."""

    key: str
    title: str
    label: str
    x: float
    y: float
    radius: float
    label_y: float
    count: int


@dataclass(frozen=True, slots=True)
class Window:
    """What is shown: ``dots`` (in units of ``dot_scale``) and ``edges`` are the data of paths.

    ``shown`` is the number of articles in the window.
    """

    spots: tuple[Spot, ...]
    circles: tuple[Circle, ...]
    dots: str
    dot_scale: float
    edges: str
    shown: int


def whole(site: Site) -> Layout:
    """Return the layout of all articles that may be shown, made again only when their links have changed."""

    def make() -> Layout:
        catalog = site.catalog
        places = tuple((slug, row.project) for slug, row in catalog.rows.items())
        return _lay_out(places, tuple(catalog.backlinks.items()))

    return site.cached("graph", make)


@lru_cache(maxsize=1)
def _lay_out(places: tuple[tuple[str, str], ...], links: tuple[tuple[str, tuple[str, ...]], ...]) -> Layout:
    return layout.of(dict(places), ((slug, other) for slug, others in links for other in others))


def scale_of(picture: Layout) -> float:
    """Return how much a layout is enlarged when all of it is shown, with room for the names above the circles."""
    _, _, width, height = picture.box
    return min(WIDTH / width, (HEIGHT - 2 * HEADING) / height) * 0.97


def fit(picture: Layout, key: str | None, found: Collection[str]) -> tuple[float, float, float]:
    """Return the middle and the zoom that show a project, or what was found, or everything."""
    left, top, width, height = picture.box
    scale = scale_of(picture)
    cluster = next((each for each in picture.clusters if each.key == key), None)
    if found:
        places = [(node.x, node.y) for node in picture.nodes if node.slug in found]
        xs, ys = [x for x, _ in places], [y for _, y in places]
        wide, high = max(xs) - min(xs) + 120, max(ys) - min(ys) + 90
        zoom = min(WIDTH / wide, HEIGHT / high) / scale
        return (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2, max(1.0, min(zoom, MAX_ZOOM))
    if cluster:
        zoom = min(WIDTH, HEIGHT) / (2.1 * cluster.radius) / scale
        return cluster.x, cluster.y, max(1.0, min(zoom, MAX_ZOOM))
    return left + width / 2, top + height / 2, 1.0


def window(site: Site, picture: Layout, x: float, y: float, zoom: float, found: Collection[str]) -> Window:
    """Return what stands around a place at this zoom; what was ``found`` is named first."""
    scale = scale_of(picture) * zoom

    left, top = WIDTH / 2 - x * scale, HEIGHT / 2 - y * scale
    places = [(node.x * scale + left, node.y * scale + top) for node in picture.nodes]
    inside = [n for n, (a, b) in enumerate(places) if -20 <= a <= WIDTH + 20 and -20 <= b <= HEIGHT + 20]
    if found:
        named = {n for n in inside if picture.nodes[n].slug in found}
        inside = [*sorted(named), *(n for n in inside if n not in named)]
    circles = tuple(
        Circle(
            each.key, site.catalog.label(each.key),
            site.catalog.label(each.key) if each.radius * scale >= MIN_CLUSTER else "",
            round((each.x - x) * scale + WIDTH / 2, 1), round((each.y - y) * scale + HEIGHT / 2, 1),
            round(each.radius * scale, 1), _heading(each, y, scale), each.count,
        )
        for each in picture.clusters
    )  # fmt: skip
    circles = tuple(each for each in circles if _meets(each))
    size = max(0.4, min(1.0, layout.SPACE * scale / 11))
    first = [(picture.nodes[n], round(places[n][0], 1), round(places[n][1], 1)) for n in inside[:MAX_LINKS]]
    spots = _spots(site, first, circles, found, size)
    dots, step = _dots([places[n] for n in inside[MAX_LINKS:]])
    present = set(inside)
    near = [edge for edge in picture.edges if edge[0] in present or edge[1] in present][:MAX_EDGES]
    lines = "".join(f"M{places[a][0]:.0f} {places[a][1]:.0f}L{places[b][0]:.0f} {places[b][1]:.0f}" for a, b in near)
    return Window(spots, circles, dots, step, lines, len(inside))


def _heading(cluster: Cluster, y: float, scale: float) -> float:
    """Return the line on which a project's name stands: above its circle, or at the top of the window."""
    return round(max((cluster.y - cluster.radius - y) * scale + HEIGHT / 2 - 6, HEADING - 2), 1)


def _dots(places: list[tuple[float, float]]) -> tuple[str, float]:
    """Return the data of a path that draws dots, each given by its distance from the one before, and its scale."""
    step = next((step for most, step in STEPS if len(places) <= most), COARSEST)
    grid = {(round(x / step), round(y / step)) for x, y in places}
    data, at = [], (0, 0)
    for now in sorted(grid, key=lambda place: (place[0] * step // BAND, place[1])):
        across, down = now[0] - at[0], now[1] - at[1]
        data.append(f"m{across}{'' if down < 0 else ' '}{down}h0")
        at = now
    return "".join(data), step


def _meets(circle: Circle) -> bool:
    far = circle.radius
    return -far <= circle.x <= WIDTH + far and -far <= circle.y <= HEIGHT + far


def _spots(
    site: Site,
    nodes: Sequence[tuple[Node, float, float]],
    circles: Iterable[Circle],
    found: Collection[str],
    size: float,
) -> tuple[Spot, ...]:
    radii = [round((3.2 + 1.1 * log2(1 + node.degree)) * size, 1) for node, _, _ in nodes]
    dots = [(x - r, y - r, x + r, y + r) for (_, x, y), r in zip(nodes, radii, strict=True)]
    taken: list[Rectangle] = []
    for circle in circles:  # the names of projects stand above their circles
        half = _width(circle.label) * 0.65
        taken.append((circle.x - half, circle.label_y - 20, circle.x + half, circle.label_y + 8))
    labels = 0
    spots = []
    for (node, x, y), radius in zip(nodes, radii, strict=True):
        title = site.catalog.rows[node.slug].title
        name = shorten(title, NAME_CHARS)
        side = _free_side(x, y, radius, name, [*taken, *dots]) if labels < MAX_LABELS else ""
        spots.append(Spot(node.slug, title, x, y, radius, name if side else "", side,
                          *_place(x, y, radius, side), node.slug in found))  # fmt: skip
        if side:
            taken.append(_rectangle(x, y, radius, name, side))
            labels += 1
    return tuple(spots)


def shorten(title: str, limit: int) -> str:
    """Return a title of at most ``limit`` characters, with an ellipsis if it is longer."""
    return title if len(title) <= limit else f"{title[: limit - 1].rstrip()}…"


def _free_side(x: float, y: float, radius: float, name: str, taken: Sequence[Rectangle]) -> str:
    """Return the first side of an article on which its name covers nothing, ``""`` for none."""
    return next((side for side in SIDES if _has_room(_rectangle(x, y, radius, name, side), taken)), "")


def _place(x: float, y: float, radius: float, side: str) -> tuple[float, float]:
    """Return where the name begins, ends or has its middle, as the style of its side says."""
    across = {"right": radius + APART, "left": -radius - APART}.get(side, 0.0)
    down = {"below": radius + APART, "above": -radius - APART}.get(side, 0.0)
    return round(x + across, 1), round(y + down, 1)


def _rectangle(x: float, y: float, radius: float, name: str, side: str) -> Rectangle:
    """Return left, top, right and bottom of a name beside its article."""
    x, y = _place(x, y, radius, side)
    width = _width(name)
    left = x if side == "right" else x - width if side == "left" else x - width / 2
    top = y if side == "below" else y - LINE if side == "above" else y - LINE / 2
    return left, top, left + width, top + LINE


def _width(name: str) -> float:
    """Return about how wide a name is; a letter of East Asia is twice as wide as another."""
    return sum(2.0 if ord(letter) > 0x2E80 else 1.0 for letter in name) * LETTER


def _has_room(one: Rectangle, taken: Iterable[Rectangle]) -> bool:
    left, top, right, bottom = one
    if left < 0 or top < 0 or right > WIDTH or bottom > HEIGHT:
        return False
    return not any(left < c and a < right and top < d and b < bottom for a, b, c, d in taken)
