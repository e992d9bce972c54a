"""Graph: the whole wiki as a picture that can be searched, moved and enlarged, and the neighbourhood of one article."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice

from memoria.reader import address, graph
from memoria.reader.graph import Window
from memoria.reader.site import Asked, Site, View
from memoria.statements.fact import GLOBAL

STEP = 1.7  # by which a link enlarges
MAX_FOUND = 200
NEIGHBOURS = 12
ROW_HEIGHT, FIRST = 26, 16
NAME_CHARS = 30


def show(site: Site, asked: Asked) -> View:
    """Return the picture around ``x`` and ``y`` at zoom ``z``, of a ``project``, or of what ``q`` finds."""
    query, key = asked.query.get("q", "").strip(), asked.query.get("project", "")
    own = "" if key == GLOBAL else key or None  # what belongs to no project has a circle of its own
    picture = graph.whole(site)
    found = _find(site, query, own)
    x, y, zoom = graph.fit(picture, own, found)
    if "z" in asked.query:
        x, y = _decimal(asked.query.get("x", ""), x), _decimal(asked.query.get("y", ""), y)
        zoom = min(max(_decimal(asked.query["z"], zoom), 0.5), graph.MAX_ZOOM)
    unit = 1 / (graph.scale_of(picture) * zoom)  # of the wiki, for one of the picture

    def link(across: float = 0, down: float = 0, closer: float = 1) -> str:
        moved = f"{x + across * unit:.1f}", f"{y + down * unit:.1f}", f"{zoom * closer:.3g}"
        return address.with_query("/graph", q=query, project=key, x=moved[0], y=moved[1], z=moved[2])

    def draw() -> Window:
        return graph.window(site, picture, x, y, zoom, found)

    values = {
        "window": site.cached("graph window", draw) if not asked.query.keys() - {"part", "said"} else draw(),
        "width": graph.WIDTH,
        "height": graph.HEIGHT,
        "x": round(x, 1),
        "y": round(y, 1),
        "zoom": f"{zoom:.3g}",
        "unit": f"{unit:.6g}",
        "moves": [
            ("Left", "←", link(-350)), ("Up", "↑", link(0, -220)), ("Down", "↓", link(0, 220)),
            ("Right", "→", link(350)), ("Smaller", "-", link(closer=1 / STEP)), ("Larger", "+", link(closer=STEP)),
        ],
        "query": query,
        "project": key,
        "found": len(found),
        "total": len(picture.nodes),
        "edges": len(picture.edges),
        "projects": [(each.key or GLOBAL, site.catalog.label(each.key), each.count) for each in picture.clusters],
    }  # fmt: skip
    return View("parts/graph.html" if asked.query.get("part") else "graph.html", "Graph", values)


def _find(site: Site, query: str, key: str | None) -> set[str]:
    words = query.casefold().split()
    if not words:
        return set()
    named = site.cached("names", lambda: _names(site))
    found = (slug for slug, project, names in named if key in (None, project) and all(w in names for w in words))
    return set(islice(found, MAX_FOUND))


def _names(site: Site) -> list[tuple[str, str, str]]:
    """Return the slug, the project and the names of each article."""
    rows = site.catalog.rows.values()
    return [(row.slug, row.project, " ".join((row.title, *row.aliases)).casefold()) for row in rows]


def _decimal(text: str, otherwise: float) -> float:
    try:
        value = float(text)
    except ValueError:
        return otherwise
    return value if math.isfinite(value) and abs(value) < 1e7 else otherwise


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An article beside another: its row in the picture, and which of the two links to the other."""

    slug: str
    title: str
    name: str
    y: int
    way: str


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The neighbours of an article, the middle of the picture and its height."""

    neighbours: tuple[Neighbour, ...]
    middle: float
    height: int
    more: int


def around(site: Site, slug: str) -> Neighbourhood | None:
    """Return the articles that are linked with one, those that link both ways first; None when there are none."""
    catalog = site.catalog
    to = set(catalog.backlinks.get(slug, ()))
    linked = site.cached("links", lambda: _outgoing_links(site)).get(slug, set())
    ways = {other: "both" if other in to and other in linked else "to" if other in to else "from"
            for other in to | linked}  # fmt: skip
    if not ways:
        return None
    ranks = {"both": 0, "from": 1, "to": 2}
    order = sorted(ways, key=lambda other: (ranks[ways[other]], -len(catalog.backlinks.get(other, ())), other))
    neighbours = []
    for number, other in enumerate(order[:NEIGHBOURS]):
        title = catalog.rows[other].title
        name = graph.shorten(title, NAME_CHARS)
        neighbours.append(Neighbour(other, title, name, FIRST + number * ROW_HEIGHT, ways[other]))
    height = 2 * FIRST + (len(neighbours) - 1) * ROW_HEIGHT
    return Neighbourhood(tuple(neighbours), height / 2, height, max(0, len(order) - NEIGHBOURS))


def _outgoing_links(site: Site) -> dict[str, set[str]]:
    """Return the articles that each article links to."""
    found: dict[str, set[str]] = {}
    for slug, others in site.catalog.backlinks.items():
        for other in others:
            found.setdefault(other, set()).add(slug)
    return found
