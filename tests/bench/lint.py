"""How long lint takes: ``uv run python tests/bench/lint.py [articles ...]`` (default 100, 1,000 and 10,000)."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.commands import lint
from memoria.daily.entry import Entry
from memoria.daily.entry_form import render
from memoria.ground.clock import Zone
from memoria.ground.home import Home
from memoria.wiki import lint_rules
from memoria.wiki.article import Article, Claim
from memoria.wiki.snapshot import Snapshot

WORDS = [f"word{number:x}" for number in range(4_000) for _ in range(1 + 400 // (number + 1))]  # a few are common


def build(home: Home, count: int) -> None:
    """A wiki of ``count`` articles with three claims and two links each, and ten entries a day to cite."""
    chance = random.Random(count)
    days = [date(2026, 1, 1) + timedelta(days=number) for number in range(max(1, count // 50))]
    folder = Path(home.paths.knowledge, "concepts")
    folder.mkdir(parents=True)
    Path(home.paths.daily).mkdir(parents=True)
    for place, day in enumerate(days):
        entries = (Entry(f"{place:04d}{number}", day, "10:00", "s", "shop", "shop-1", "Work", turns=("k",))
                   for number in range(10))  # fmt: skip
        Path(home.paths.daily, f"{day}.md").write_text("\n".join(map(render, entries)))
    for number in range(count):
        place = chance.randrange(len(days))
        article = Article.new(
            f"concepts/a-{number}", f"Article {number}", " ".join(chance.choices(WORDS, k=15)), days[place]
        )
        for _ in range(3):
            text = " ".join([*chance.choices(WORDS, k=14), str(chance.randrange(1000))])
            article.add_claim(Claim(text, (f"daily/{days[place]}#^e-{place:04d}{chance.randrange(10)}",)))
        for step in (1, count - 1):
            article.relate(f"concepts/a-{(number + step) % count}", "next")
        (folder / f"a-{number}.md").write_text(article.render())


def measure(count: int) -> None:
    """Build, lint, and print the seconds of reading, of the rules, and of choosing pairs for the model."""
    with tempfile.TemporaryDirectory() as place:
        home = Home(Settings.load({}), Paths(place), Zone("UTC"))
        build(home, count)
        started = time.perf_counter()
        snapshot = Snapshot(home, date(2026, 12, 1))
        read = time.perf_counter()
        found = lint_rules.findings(snapshot)
        ruled = time.perf_counter()
        pairs = len(lint.candidates(snapshot))
        done = time.perf_counter()
        print(f"{count:>7} {read - started:>8.2f} {ruled - read:>8.2f} {done - ruled:>8.2f} {len(found):>9} {pairs:>6}")


print("articles  read s  rules s  pairs s  findings  pairs")
for size in [int(word) for word in sys.argv[1:]] or [100, 1_000, 10_000]:
    measure(size)
