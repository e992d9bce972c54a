"""The graph: where articles stand, what a window shows of them, and that names do not cover each other."""

from __future__ import annotations

import re
import time
from dataclasses import replace
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


def test_the_same_wiki_gives_the_same_picture() -> None:
    assert _wiki(200, 3) == _wiki(200, 3)


def test_five_thousand_articles_are_laid_out_in_two_seconds() -> None:
    began = time.process_time()
    _wiki(5000, 20)
    assert time.process_time() - began < 2.0


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


def test_with_all_projects_shown_the_selector_says_so_and_what_is_in_none_can_be_chosen() -> None:
    home = Home.open()
    fill(home)
    write(home, "concepts/tea", "---\ntitle: Tea\n---\n\n# Tea\n\nFor all.\n")
    browser = Browser(home).enter()
    page = browser.get("/graph").text
    assert '<option value="">all projects (6)</option>' in page
    assert " selected" not in page.partition("</select>")[0]
    assert '<option value="*" selected>everywhere (1)</option>' in browser.get("/graph?project=*").text


def test_moving_and_enlarging_are_links_and_nonsense_in_them_does_no_harm(browser: Browser) -> None:
    page = browser.get("/graph?x=1&y=2&z=3").text
    assert re.search(r'href="/graph\?x=[\d.-]+&amp;y=[\d.-]+&amp;z=5.1" aria-label="Larger"', page)
    for nonsense in ("z=nan&x=inf", "z=1e999", "x=&y=&z=", "z=-5&x=abc"):
        assert browser.get(f"/graph?{nonsense}").status == 200
    assert browser.get("/graph?part=1").text.startswith("<svg")


def test_a_search_with_thousands_of_hits_is_a_small_page(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = browser.site.catalog
    row = catalog.rows["concepts/checkout"]
    names = [f"concepts/a{number}" for number in range(10_000)]
    rows = {name: replace(row, slug=name, title=f"Article {name[10:]}", project=f"p{name[-1]}") for name in names}
    backlinks = {name: (names[number // 2], names[-number]) for number, name in enumerate(names) if number}
    monkeypatch.setattr(browser.site.watch, "catalog", lambda: replace(catalog, rows=rows, backlinks=backlinks))
    for query in ("q=article", "q=1", "q=article&project=p3", "project=p3", "z=8&q=a"):
        answer = browser.get(f"/graph?{query}")
        assert answer.status == 200
        assert len(answer.body) < 100_000, query
    assert "200 articles found" in browser.get("/graph?q=article").text


def test_the_graph_is_laid_out_again_only_when_links_have_changed(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser.get("/graph")
    made: list[object] = []
    of = layout.of
    monkeypatch.setattr(layout, "of", lambda *given: made.append(1) or of(*given))  # type: ignore[func-returns-value]
    write(browser.home, "concepts/order-queue", "# Queue of orders\n\n[[concepts/checkout]]\n")
    browser.site.look_again()
    project = browser.site.catalog.rows["concepts/order-queue"].project
    browser.get("/graph")
    first = len(made)
    write(browser.home, "concepts/order-queue", f"---\nproject: x · {project}\n---\n# Queue\n\n[[concepts/checkout]]\n")
    browser.site.look_again()
    assert "Queue" in browser.get("/graph").text
    assert len(made) == first == 1
    write(browser.home, "concepts/new", "# New\n\n[[concepts/checkout]]\n")
    browser.site.look_again()
    assert 'href="/article/concepts/new"' in browser.get("/graph").text
    assert len(made) == 2


def test_an_article_shows_its_neighbours(browser: Browser) -> None:
    page = browser.get("/article/concepts/checkout").text
    picture = page.partition('class="around"')[2].partition("</svg>")[0]
    assert 'class="edge both"' in picture
    assert 'href="/article/concepts/payment-provider"' in picture
    assert 'class="around"' not in browser.get("/article/concepts/umlaute").text


def test_an_empty_wiki_has_an_empty_graph() -> None:
    assert "There are no articles yet." in Browser(Home.open()).enter().get("/graph").text
