"""The graph: where articles stand, what a window shows of them, and that names do not cover each other."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from math import hypot

import pytest

from memoria.ground.home import Home
from memoria.reader import layout
from reader_home import SHOP, Browser, fill, write


@pytest.fixture
def browser() -> Browser:
    home = Home.open()
    fill(home)
    return Browser(home).enter()


def _wiki(count: int, projects: int) -> layout.Layout:
    slugs = {f"concepts/a{number}": f"p{number % projects}" for number in range(count)}
    pairs = [(f"concepts/a{n}", f"concepts/a{(n * 7 + projects) % count}") for n in range(0, count, 2)]
    return layout.of(slugs, [pair for pair in pairs if pair[0] != pair[1]])


@pytest.mark.parametrize("count", [1, 2, 50, 500])
def test_articles_stand_in_the_circle_of_their_project_and_not_on_each_other(count: int) -> None:
    picture = _wiki(count, 5)
    assert len(picture.nodes) == count
    for one, other in combinations(picture.nodes, 2):
        assert hypot(one.x - other.x, one.y - other.y) > layout.SPACE / 2
    for first, second in combinations(picture.clusters, 2):
        assert hypot(first.x - second.x, first.y - second.y) >= first.radius + second.radius
    circles = {cluster.key: cluster for cluster in picture.clusters}
    for node in picture.nodes:
        circle = circles[f"p{int(node.slug[10:]) % 5}"]
        assert hypot(node.x - circle.x, node.y - circle.y) <= circle.radius


def test_the_graph_shows_every_article_as_a_link_and_what_is_found_stands_out(browser: Browser) -> None:
    page = browser.get("/graph").text
    assert 'href="/article/concepts/checkout"' in page
    assert page.count('class="cluster"') == 3
    assert 'class="spot found"' not in page
    found = browser.get("/graph?q=umlaute").text
    assert "1 article found" in found
    assert 'class="spot found"' in found


def _rectangle(found: re.Match[str]) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of a name; a letter is taken as 6 wide and 11 high."""
    side, x, y, width = found[1], float(found[2]), float(found[3]), 6.0 * len(found[4])
    left = {"right": x, "left": x - width}.get(side, x - width / 2)
    top = {"below": y, "above": y - 11}.get(side, y - 5.5)
    return left, top, left + width, top + 11


def test_names_in_the_graph_cover_neither_each_other_nor_an_article() -> None:
    home = Home.open()
    fill(home)
    names = [f"concepts/{name}" for name in ("refunds", "invoices", "vouchers", "baskets", "stock", "returns", "taxes")]
    for slug, other in pairwise([*names, "concepts/checkout"]):
        write(
            home,
            slug,
            f"---\ntitle: How the shop treats {slug[9:]}\nproject: shop · {SHOP[1]}\n---\n\n# x\n\n[[{other}]]\n",
        )
    page = Browser(home).enter().get("/graph").text
    shown = [*re.finditer(r'<text class="name (\w+)[^"]*" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]+)<', page)]
    boxes = [_rectangle(found) for found in shown]
    for x, y, r in re.findall(r'<circle class="spot" cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"', page):
        boxes.append((float(x) - float(r), float(y) - float(r), float(x) + float(r), float(y) + float(r)))
    assert len(shown) >= 10
    assert len({found[1] for found in shown}) > 1  # sides
    for box, beside in combinations(boxes, 2):
        apart = box[2] <= beside[0] or beside[2] <= box[0] or box[3] <= beside[1] or beside[3] <= box[1]
        assert apart, (box, beside)
