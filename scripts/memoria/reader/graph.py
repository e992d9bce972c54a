"""Graph: the part of the wiki's picture that a window shows, as the shapes of an SVG picture of a fixed size."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import log2

from memoria.reader import layout
from memoria.reader.layout import Layout, Node
from memoria.reader.site import Site

WIDTH, HEIGHT = 1000, 640
MAX_LINKS = 110  # articles that can be followed; the others are dots until one comes nearer
MAX_EDGES = 800
STEPS = ((1500, 0.1), (4000, 1), (7000, 2))  # up to so many dots, how exactly they are placed
COARSEST = 4  # for more; dots that fall together are one
BAND = 24  # width of the bands in which dots are listed, so that the way from one to the next is short
MAX_LABELS, MAX_LARGE = 60, 14  # names in a wide window, and those that a narrow one shows, twice as large
LETTER, LINE = 7.4, 17.0  # width of a letter and height of a name
NAME_CHARS = 26
MIN_CLUSTER = 26.0  # radius from which on a project is named
MAX_ZOOM = 64.0


@dataclass(frozen=True, slots=True)
class Spot:
    """An article that can be followed; ``label`` is its name if there is room, ``is_large``: also in a narrow one."""

    slug: str
    title: str
    x: float
    y: float
    radius: float
    label: str
    is_large: bool
    is_found: bool


@dataclass(frozen=True, slots=True)
class Circle:
    """A project; ``label`` is empty when its circle is too small for a name."""

    key: str
    title: str
    label: str
    x: float
    y: float
    radius: float
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
    """Return the layout of all articles that may be shown."""
    return site.kept("graph", lambda: _laid_out(site))


def _laid_out(site: Site) -> Layout:
    catalog = site.catalog
    pairs = ((slug, other) for slug, others in catalog.backlinks.items() for other in others)
    return layout.of({slug: row.project for slug, row in catalog.rows.items()}, pairs)


def fitted(picture: Layout, key: str, found: Collection[str]) -> tuple[float, float, float]:
    """Return the middle and the zoom that show a project, or what was found, or everything."""
    left, top, width, height = picture.box
    scale = min(WIDTH / width, HEIGHT / height) * 0.94
    cluster = next((each for each in picture.clusters if each.key == key), None) if key else None
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
    _, _, width, height = picture.box
    scale = min(WIDTH / width, HEIGHT / height) * 0.94 * zoom

    def at(node: Node) -> tuple[float, float]:
        return round((node.x - x) * scale + WIDTH / 2, 1), round((node.y - y) * scale + HEIGHT / 2, 1)

    places = [at(node) for node in picture.nodes]
    inside = [n for n, (a, b) in enumerate(places) if -20 <= a <= WIDTH + 20 and -20 <= b <= HEIGHT + 20]
    inside.sort(key=lambda number: (picture.nodes[number].slug not in found, number))
    circles = tuple(
        Circle(
            each.key, site.catalog.label(each.key),
            site.catalog.label(each.key) if each.radius * scale >= MIN_CLUSTER else "",
            round((each.x - x) * scale + WIDTH / 2, 1), round((each.y - y) * scale + HEIGHT / 2, 1),
            round(each.radius * scale, 1), each.count,
        )
        for each in picture.clusters
    )  # fmt: skip
    circles = tuple(each for each in circles if _meets(each))
    size = max(0.4, min(1.0, layout.SPACE * scale / 11))
    spots = _spots(site, [(picture.nodes[n], *places[n]) for n in inside[:MAX_LINKS]], circles, found, size)
    dots, step = _dots([places[n] for n in inside[MAX_LINKS:]])
    present = set(inside)
    near = [edge for edge in picture.edges if edge[0] in present or edge[1] in present][:MAX_EDGES]
    lines = "".join(f"M{places[a][0]:.0f} {places[a][1]:.0f}L{places[b][0]:.0f} {places[b][1]:.0f}" for a, b in near)
    return Window(spots, circles, dots, step, lines, len(inside))


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
    nodes: Iterable[tuple[Node, float, float]],
    circles: Iterable[Circle],
    found: Collection[str],
    size: float,
) -> tuple[Spot, ...]:
    taken: list[tuple[float, float, float, float]] = []
    for circle in circles:  # the names of projects stand above their circles
        half = _width(circle.label) * 0.65
        taken.append((circle.x - half, circle.y - circle.radius - 26, circle.x + half, circle.y - circle.radius + 2))
    large = list(taken)
    labels = larges = 0
    spots = []
    for node, x, y in nodes:
        title = site.catalog.rows[node.slug].title
        name = title if len(title) <= NAME_CHARS else f"{title[: NAME_CHARS - 1].rstrip()}…"
        radius = round((3.2 + 1.1 * log2(1 + node.degree)) * size, 1)
        is_large = larges < MAX_LARGE and _has_room(_rectangle(x, y, radius, name, 2.0), large)
        has_label = labels < MAX_LABELS and _has_room(_rectangle(x, y, radius, name, 1.0), taken)
        is_large = is_large and has_label
        labels, larges = labels + has_label, larges + is_large
        if is_large:
            large.append(_rectangle(x, y, radius, name, 2.0))
        if has_label:
            taken.append(_rectangle(x, y, radius, name, 1.0))
        spots.append(Spot(node.slug, title, x, y, radius, name if has_label else "", is_large, node.slug in found))
    return tuple(spots)


def _rectangle(x: float, y: float, radius: float, name: str, size: float) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of a name below its article."""
    half = _width(name) * size / 2 + 4
    return x - half, y + radius, x + half, y + radius + LINE * size


def _width(name: str) -> float:
    """Return about how wide a name is; a letter of East Asia is twice as wide as another."""
    return sum(2.0 if ord(letter) > 0x2E80 else 1.0 for letter in name) * LETTER


def _has_room(one: tuple[float, float, float, float], taken: Iterable[tuple[float, float, float, float]]) -> bool:
    if one[0] < 0 or one[2] > WIDTH or one[3] > HEIGHT:
        return False
    return all(one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1] for other in taken)
