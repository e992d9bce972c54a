"""How long a page of the reader takes, and its size: ``uv run python tests/bench/reader.py [SIZE ...]`` (100, 10,000).

Articles of five claims and three links in twenty projects, an entry for every twenty articles. Each page is asked for
twenty times through the whole application without a socket; printed are milliseconds (median and worst) and bytes.
``start`` reads the catalog with the indexes there, ``first start`` builds them. No page waits for a changed file to be
read; the last two rows say what it does to the first page meanwhile, and after how long the change is shown.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

sys.path.extend(str(Path(__file__).resolve().parents[1] / part) for part in (".", "support"))

from memoria.daily.entry import Entry
from memoria.daily.entry_form import render
from memoria.ground.home import Home
from reader_home import DAY, Browser, fill, links

SIZES = (100, 10_000)
TIMES, PROJECTS = 20, 20
_LETTERS, _VOWELS = "bcdfghklmnprstvw", "aeiou"


def words(count: int, chance: random.Random) -> list[str]:
    """Return made-up words."""
    return ["".join(chance.choice(_LETTERS) + chance.choice(_VOWELS) for _ in range(chance.randint(2, 4)))
            for _ in range(count)]  # fmt: skip


def grow(home: Home, count: int) -> None:
    """Add articles, and the entries that they cite."""
    chance = random.Random(7)
    vocabulary = words(4_000, chance)
    weights = [1 / (place + 20) for place in range(len(vocabulary))]

    def said(number: int) -> str:
        return " ".join(chance.choices(vocabulary, weights, k=number))

    logs: dict[str, list[str]] = {}
    for number in range(max(1, count // 20)):
        day = DAY - timedelta(days=number % 250)
        key = f"project{number % PROJECTS}-{number % PROJECTS:06}"
        made = Entry(f"x{number}", day, "09:00", f"s{number}", f"project{number % PROJECTS}", key, said(6), said(40),
                     decisions=(said(15),), lessons=(said(12),), turns=(f"tx{number}",), model="m")  # fmt: skip
        logs.setdefault(day.isoformat(), []).append(render(made))
    for iso, entries in logs.items():
        path = Path(home.paths.daily, f"{iso}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text() if path.exists() else f"# Daily Log: {iso}\n"
        path.write_text("\n".join([before, *entries]))
    folder = Path(home.paths.knowledge, "concepts")
    for number in range(count):
        cited = number % max(1, count // 20)
        iso = (DAY - timedelta(days=cited % 250)).isoformat()
        title = f"{said(2)} {number}"
        rows = [f"- {said(14)} [[daily/{iso}#^e-x{cited}|day]]" for _ in range(5)]
        near = [f"- [[concepts/a{chance.randrange(count):05}|{said(2)}]]" for _ in range(3)]
        project = f"project{cited % PROJECTS} · project{cited % PROJECTS}-{cited % PROJECTS:06}"
        text = f"---\ntitle: {title}\nproject: {project}\naliases: []\ntags: []\nupdated: '{iso}'\n---\n\n# {title}\n\n"
        text += f"{said(14)}.\n\n## Key Points\n\n" + "\n".join(rows) + "\n\n## Related\n\n" + "\n".join(near) + "\n"
        (folder / f"a{number:05}.md").write_text(text)


def timed(work: Callable[[], object]) -> float:
    """Return the milliseconds that some work takes."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def measure(count: int) -> None:
    """Print the rows of one size."""
    with tempfile.TemporaryDirectory(prefix="memoria-bench-") as scratch:
        os.environ["MEMORIA_HOME"] = scratch
        home = Home.open()
        fill(home)
        grow(home, count)
        first = Browser(home)
        show(count, "first start", [timed(first.site.watch.look)], 0)
        browser = Browser(home)
        show(count, "start", [timed(browser.site.watch.look)], 0)
        browser.site.watch.start()
        browser.enter()
        for path in (
            "/",
            "/?project=project3-000003",
            "/search?q=key&part=1",
            "/search?q=a&part=1",
            "/search?q=idempotency+key",
        ):
            ask(count, browser, path)
        article = browser.get("/article/concepts/checkout").text
        claim = next(link.replace("&amp;", "&") for link in links(article) if link.startswith("/entry/"))
        wrong = next(link for link in links(article) if link.startswith("/wrong/"))
        for path in (
            "/article/concepts/checkout",
            f"/article/concepts/a{count // 2:05}",
            claim,
            claim.replace("/entry/", "/source/"),
            wrong,
        ):
            ask(count, browser, path)
        saved = Path(home.paths.knowledge, "concepts", "checkout.md")
        saved.write_text(saved.read_text() + "\n")
        number, began, worst = browser.site.watch.number, time.perf_counter(), []
        while browser.site.watch.number == number:
            worst.append(timed(lambda: browser.get("/")))
        show(count, "/ while a change is read", worst, 0)
        show(count, "until a change is shown", [(time.perf_counter() - began) * 1000], 0)
        browser.site.watch.close()


def ask(count: int, browser: Browser, path: str) -> None:
    """Print the row of one page."""
    size = len(browser.get(path).body)
    show(count, path.partition("?of=")[0], [timed(lambda: browser.get(path)) for _ in range(TIMES)], size)


def show(count: int, name: str, took: list[float], size: int) -> None:
    """Print one row."""
    print(f"{count:>7,} | {name:44} | {statistics.median(took):8.1f} | {max(took):8.1f} | {size:>8,}", flush=True)


def main() -> None:
    """Print the table."""
    print("articles | page | median ms | worst ms | bytes")
    for size in [int(word) for word in sys.argv[1:]] or SIZES:
        measure(size)


if __name__ == "__main__":
    main()
