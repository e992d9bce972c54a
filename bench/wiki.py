"""What a compile costs as the wiki grows: ``uv run python -m bench.wiki [SIZE ...]`` (100, 1,000 and 10,000).

The same five entries go into wikis of different sizes; the model is scripted, so all seconds are ours. Printed: bytes
of the prompt, seconds of the compile, size of index.md, seconds of one that finds nothing new, of an undo, the first.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from wiki_home import WikiHome, entry, placed, stated

WORDS = """
    port listener cache queue worker lock spool flush index token retry timeout schema parser router session cookie
    header socket thread buffer cursor ledger journal archive backup metric alert deploy build test branch release
""".split()  # noqa: SIM905
SIZES = (100, 1_000, 10_000)


def fill(home: Path, count: int) -> None:
    """``count`` articles of five claims and three links each, alike in length whatever the count."""
    chance = random.Random(7)
    folder = home / "knowledge/concepts"
    folder.mkdir(parents=True)
    for number in range(count):
        words = [chance.choice(WORDS) for _ in range(60)]
        title = f"{words[0]} {words[1]} {number:05}"
        rows = [
            f"- The {' '.join(words[n * 10 : n * 10 + 10])} [[daily/2026-10-{n + 10}#^l-x{number}{n}]]"
            for n in range(5)
        ]
        near = [f"- [[concepts/a{chance.randrange(count):05}]]" for _ in range(3)]
        text = f"---\ntitle: {title}\naliases: []\ntags:\n  - shop\nupdated: '2026-10-{number % 28 + 1:02}'\n---\n\n"
        text += f"# {title}\n\nThe {' '.join(words[50:])}.\n\n## Key Points\n\n" + "\n".join(rows)
        (folder / f"a{number:05}.md").write_text(text + "\n\n## Related\n\n" + "\n".join(near) + "\n")


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        work()
    return time.perf_counter() - began


def measure(count: int) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="memoria-bench-") as scratch:
        os.environ["MEMORIA_HOME"] = scratch
        fill(Path(scratch), count)
        wiki = WikiHome()
        batch = [
            entry(f"n{n}", 16, title=f"The {WORDS[n]} of the {WORDS[n + 5]}",
                  learned=stated(*(f"The {WORDS[n]} meets the {WORDS[n + m]}." for m in (5, 9))))
            for n in range(5)
        ]  # fmt: skip
        answer = [placed(f"{WORDS[n]}-of-the-{WORDS[n + 5]}", f"l-n{n}0", f"l-n{n}1") for n in range(5)]
        wiki.log(entry("n9", 15, title="First", learned=stated("The first.")))
        first = timed(lambda: wiki.compile([placed("first")]))  # fills the caches
        wiki.log(*batch)
        seconds = timed(lambda: wiki.compile(answer))
        prompt = len(wiki.prompts[-1].text.encode())
        index = len(wiki.files()["index.md"])
        again = timed(lambda: wiki.compile([], "--all"))
        undone = timed(wiki.undo)
        return [
            f"{count:,}",
            f"{prompt:,}",
            f"{seconds:.2f}",
            f"{index:,}",
            f"{again:.2f}",
            f"{undone:.2f}",
            f"{first:.2f}",
        ]


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or SIZES
    print("articles | prompt bytes | compile s | index.md bytes | nothing new s | undo s | first (caches built) s")
    for size in sizes:
        print(" | ".join(measure(size)), flush=True)


if __name__ == "__main__":
    main()
