"""How long a page of the reader takes, and its size: ``uv run python -m bench.reader [SIZE ...]`` (100, 10,000).

Articles of five claims and three links in twenty projects, an entry with two facts for every twenty articles, and a
year of model calls. Each page is asked for twenty times through the whole application without a socket; printed are
milliseconds (median and worst), milliseconds of processor time (median), which other programs do not change, and
bytes; ``first`` is how long it takes when nothing of it is there yet.
``until`` rows say after how long something is there; no page waits for it, and the rows with ``while`` say what it does
to the first page.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from memoria.daily.entry import Entry, Learned
from memoria.daily.entry_form import render
from memoria.daily.ledger import Call, Ledger
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.statements.fact import KINDS
from reader_home import DAY, Browser, fill, links

SIZES = (100, 10_000)
TIMES, PROJECTS = 20, 20
OK, PAUSE = 200, 0.5  # of a page's status, and seconds between two requests while the index is built
CALLS = 3650  # of a model in a year
FIRST = 50.0  # milliseconds of the processor from which on the first time has a row of its own
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
        made = Entry(
            f"x{number}",
            day,
            "09:00",
            f"s{number}",
            f"project{number % PROJECTS}",
            key,
            said(6),
            said(40),
            decisions=(said(15),),
            lessons=(said(12),),
            turns=(f"tx{number}",),
            model="m",
            learned=tuple(Learned(kind, said(14), f"l-{kind[0]}{number:06}") for kind in KINDS[:2]),
        )
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


def spend(home: Home) -> None:
    """Book ten model calls for each day of a year."""
    with closing(Ledger.of(home.paths)) as ledger:
        for number in range(CALLS):
            key = f"project{number % PROJECTS}-{number % PROJECTS:06}"
            ledger.book(Call("flush", "haiku", key, "ok", 900, 200, 0.002), clock.now() - timedelta(days=number % 365))


Took = tuple[float, float]


def timed(work: Callable[[], object]) -> Took:
    """Return the milliseconds that some work takes, and those of the processor."""
    began, used = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - began) * 1000, (time.process_time() - used) * 1000


def measure(count: int) -> None:
    """Print the rows of one size."""
    with tempfile.TemporaryDirectory(prefix="memoria-bench-") as scratch:
        os.environ["MEMORIA_HOME"] = scratch
        home = Home.open()
        fill(home)
        grow(home, count)
        spend(home)
        stop(start(count, home, "the first time"))
        browser = start(count, home, "again")
        for path in (
            "/",
            "/?project=project3-000003",
            "/search?q=key&part=1",
            "/search?q=a&part=1",
            "/search?q=idempotency+key",
            "/facts",
            "/facts?q=key&state=all",
            "/fact/l-c1001",
            "/sessions",
            "/session/s-c1",
            "/receipt",
            "/receipt?days=366",
            "/timeline",
            f"/day/{DAY}",
            "/as-of",
            "/graph",
            "/graph?q=1",
            "/graph?project=project3-000003",
            "/graph?z=8&part=1",
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
        number, began, worst = browser.site.watch.number, time.perf_counter(), list[Took]()
        while browser.site.watch.number == number:
            worst.append(timed(lambda: browser.get("/")))
        show(count, "/ while a change is read", worst, 0)
        show(count, "until a change is shown", [since(began)], 0)
        stop(browser)


def start(count: int, home: Home, when: str) -> Browser:
    """Print how long it takes until the first page and the search index are there; return a browser of that server."""
    browser = Browser(home).enter()
    began, waited, shown = time.perf_counter(), list[Took](), (0.0, 0.0)
    browser.site.watch.start()
    while not browser.site.watch.has_indexed:
        waited.append(timed(lambda: browser.get("/")))
        if not shown[0] and browser.get("/").status == OK:
            shown = since(began)
        time.sleep(PAUSE)
    show(count, f"until the first page, {when}", [shown], 0)
    show(count, "/ while the index is built", waited, 0)
    show(count, f"until the index is there, {when}", [since(began)], 0)
    return browser


def stop(browser: Browser) -> None:
    """Stop the thread of a server, before its home is removed."""
    browser.site.watch.close()
    browser.site.watch.join()


def since(began: float) -> Took:
    """Return the milliseconds since a moment; what the processor did for it is not told apart."""
    return (time.perf_counter() - began) * 1000, 0.0


def ask(count: int, browser: Browser, path: str) -> None:
    """Print the row of one page."""
    name, first = path.partition("?of=")[0], timed(lambda: browser.get(path))
    if first[1] > FIRST:
        show(count, f"{name}, first", [first], 0)
    show(count, name, [timed(lambda: browser.get(path)) for _ in range(TIMES)], len(browser.get(path).body))


def show(count: int, name: str, took: list[Took], size: int) -> None:
    """Print one row."""
    passed, used = [each[0] for each in took], [each[1] for each in took]
    numbers = f"{statistics.median(passed):8.1f} | {max(passed):8.1f} | {statistics.median(used):8.1f} | {size:>8,}"
    print(f"{count:>7,} | {name:44} | {numbers}", flush=True)


def main() -> None:
    """Print the table."""
    print("articles | page | median ms | worst ms | processor ms | bytes")
    for size in [int(word) for word in sys.argv[1:]] or SIZES:
        measure(size)


if __name__ == "__main__":
    main()
