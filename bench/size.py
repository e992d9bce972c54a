"""What does a memory cost as it grows? Over 300, 3,000 and 15,000 made sessions.

    uv run python -m bench.size [--corpus FILE] [COUNT ...]

A session has a transcript of 24 turns and 16 KB, its archived turns, and an entry with eight statements (5 KB of
Markdown); every tenth day has an article of the statements of each session. Its words are drawn by Zipf's law, or with
``--corpus`` from the turns of a ``corpus.jsonl`` (``retrieval.py``), whose sizes on disk are nearer to real ones. Each
step runs as a process of its own, as the user has it: index, a first and a second ``verify``, ``lint``, and a search.
Prints the processor time in seconds (of the search the median of ten, less that of ``memoria --version``), the most
memory that it took, the bytes on disk, and the exponent by which each grows from the first size to the last (1:
linear).
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry, render
from memoria.daily.ledger import Ledger
from memoria.ground.clock import Zone
from memoria.ground.home import Home
from memoria.statements import lines
from memoria.statements.fact import Fact, Stamp, new_id
from memoria.transcripts import archive
from memoria.transcripts.turn import Turn
from memoria.wiki.article import Article, Claim

FIRST = date(2025, 1, 1)
A_DAY, PROJECTS = 12, 7
TURNS, TURN_CHARS = 24, 660
_ABOUT = 24_000  # characters of a corpus from which one session is drawn
GOAL = 1.1
Words = Callable[[int], str]


def zipf(chance: random.Random, count: int = 60_000) -> Words:
    """Return a source of made text, whose n-th most frequent word has a share in proportion to 1/n."""
    parts = [a + b for a in "bcdfghklmnprstvw" for b in "aeiou"]
    words = ["".join(chance.choices(parts, k=chance.randint(1, 4))) for _ in range(count)]
    shares = list(itertools.accumulate(1 / (rank + 1) for rank in range(count)))
    return lambda chars: " ".join(chance.choices(words, cum_weights=shares, k=max(1, chars // 6)))


class Real:
    """A source of text from the turns of a corpus; what is drawn between two calls of ``move`` is about one thing."""

    def __init__(self, chance: random.Random, corpus: Path) -> None:
        rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
        self._text = " ".join(" ".join(turn["text"].split()) for row in rows for turn in row["turns"])
        self._chance = chance
        self._begin = 0

    def move(self) -> None:
        """Go to another place of the corpus."""
        self._begin = self._chance.randrange(len(self._text) - _ABOUT - TURN_CHARS - 100)

    def __call__(self, chars: int) -> str:
        start = self._text.find(" ", self._begin + self._chance.randrange(_ABOUT)) + 1
        return self._text[start : start + chars].strip()


def build(home: Home, client: Path, count: int, words: Words) -> None:
    """Write what ``count`` sessions leave behind."""
    for folder in (home.paths.daily, home.paths.archive, f"{home.paths.knowledge}/concepts"):
        Path(folder).mkdir(parents=True)
    for number in range(0, count, A_DAY):
        day = FIRST + timedelta(days=number // A_DAY)
        told = [_session(home, client, each, day, words) for each in range(number, min(number + A_DAY, count))]
        Path(home.paths.daily, f"{day}.md").write_text(f"# Daily Log: {day}\n\n" + "\n".join(map(render, told)))
        if number % (10 * A_DAY) == 0:
            for place, entry in enumerate(told):
                _article(home, f"concepts/a-{number + place}", entry, words)
    ledger = Ledger(home.paths)
    DailyLog(home.paths).refresh(ledger)
    ledger.close()


def _session(home: Home, client: Path, number: int, day: date, words: Words) -> Entry:
    if isinstance(words, Real):
        words.move()
    ident, key = f"s{number:06d}", f"example.org/team-{number % PROJECTS}/shop-{number % PROJECTS}"
    began = datetime(day.year, day.month, day.day, 8, tzinfo=UTC) + timedelta(minutes=5 * (number % A_DAY))
    turns = [_turn(f"{ident}-{place}", place, began, words) for place in range(TURNS)]
    folder = client / "projects" / f"-team-{number % PROJECTS}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{ident}.jsonl").write_text("".join(_line(ident, turn) for turn in turns))
    rows = "".join(json.dumps(archive.row(turn)) + "\n" for turn in turns)
    Path(home.paths.archive, f"{day}-{ident}.jsonl.gz").write_bytes(gzip.compress(rows.encode(), 6, mtime=0))
    facts = []
    for kind in (*3 * ("decision",), *2 * ("debugging",), "preference", "correction", "fact"):
        content = words(130)
        facts.append(Fact(kind, content, 0.6, "user", key, began, new_id(kind, content, Stamp(key, ident, began)),
                          session=ident, quote=words(90), tags=("shop",), asked_as=(words(40), words(40))))  # fmt: skip
    return Entry(
        id=ident, day=day, time=f"{began:%H:%M}", session=ident, project=f"shop-{number % PROJECTS}", project_key=key,
        title=words(40), context=words(300), key_exchanges=tuple(words(150) for _ in range(4)),
        action_items=(words(70),),
        learned=tuple(map(lines.to_learned, facts)), turns=tuple(turn.key for turn in turns), model="m",
    )  # fmt: skip


def _turn(key: str, place: int, began: datetime, words: Words) -> Turn:
    when = began + timedelta(seconds=10 * place)
    return Turn(key=key, role="assistant" if place % 2 else "user", text=words(TURN_CHARS), time=when, cwd="/x/shop")


def _line(session: str, turn: Turn) -> str:
    content = turn.text if turn.role == "user" else [{"type": "text", "text": turn.text}]
    about = {"type": turn.role, "userType": "external", "isSidechain": False, "cwd": turn.cwd, "sessionId": session}
    stamp = turn.time.isoformat() if turn.time else ""
    message = {"role": turn.role, "content": content, "id": f"m{turn.key}"}
    return json.dumps({**about, "uuid": turn.key, "timestamp": stamp, "message": message}) + "\n"


def _article(home: Home, slug: str, entry: Entry, words: Words) -> None:
    article = Article.new(slug, words(40), words(200), entry.day)
    for each in entry.learned:
        article.add(Claim(each.text, (f"daily/{entry.day}#^{each.id}",)))
    Path(home.paths.knowledge, f"{slug}.md").write_text(article.render())


def measure(count: int, corpus: Path | None) -> dict[str, float]:
    """Build a home and return what each step costs."""
    chance = random.Random(count)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        home = Home(Settings.load({}), Paths(str(root / "home")), Zone("UTC"))
        words = Real(chance, corpus) if corpus else zipf(chance)
        build(home, root / "client", count, words)
        environment = {
            "PATH": os.environ["PATH"], "HOME": place, "MEMORIA_HOME": str(root / "home"), "MEMORIA_TZ": "UTC",
            "CLAUDE_CONFIG_DIR": str(root / "client"), "MEMORIA_MODEL": "offline",
        }  # fmt: skip
        found: dict[str, float] = {}
        for name, given in _STEPS.items():
            found[f"{name}, s"], found[f"{name}, MB"] = _run(given, environment)
        start = min(_run(("--version",), environment)[0] for _ in range(5))
        times = sorted(_run(("search", words(40)), environment)[0] for _ in range(10))
        found["search, s"] = max(times[5] - start, 0.001)
        markdown = _bytes(root / "home" / "daily") + _bytes(root / "home" / "knowledge")
        found |= {"markdown, MB": markdown / 1e6}
        state = Path(home.paths.state)
        found["index, MB"] = Path(home.paths.index).stat().st_size / 1e6
        for part in ("archive", "learned.db", "ledger.db"):
            found[f"{part}, MB"] = _bytes(state / part) / 1e6
        found[".memoria, MB"] = _bytes(state) / 1e6
        if keep := os.environ.get("KEEP"):
            subprocess.run(["cp", "-r", place, f"{keep}-{count}"], check=True)
        return found


_STEPS = {
    "index": ("search", "--wait", "word"),
    "verify": ("verify",),
    "verify again": ("verify",),
    "lint": ("lint",),
}


def _run(given: tuple[str, ...], environment: dict[str, str]) -> tuple[float, float]:
    """Run the command, which may report findings; return its processor time and the memory in megabytes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = (
        "import atexit, sys; from memoria.cli import main; atexit.register(lambda: print("
        "*[line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')], file=sys.stderr));"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *given], env=environment, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(f"memoria {' '.join(given)}: {done.stderr[-2000:]}")
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, int(done.stderr.split()[-1]) / 1000


def _bytes(place: Path) -> int:
    files: Iterator[Path] = iter([place]) if place.is_file() else place.rglob("*")
    return sum(path.stat().st_size for path in files if path.is_file() and not path.is_symlink())


def main() -> int:
    """Print one row for each cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", nargs="*", type=int, default=[300, 3_000, 15_000])
    parser.add_argument("--corpus", type=Path)
    args = parser.parse_args()
    rows = []
    for count in args.counts:
        began = time.monotonic()
        rows.append(measure(count, args.corpus))
        print(f"{count} sessions: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    steps = math.log(args.counts[-1] / args.counts[0]) if len(args.counts) > 1 else 0.0
    print(f"{'':18}" + "".join(f"{count:>10}" for count in args.counts) + "  exponent")
    bad = 0
    for name, first in rows[0].items():
        exponent = math.log(max(rows[-1][name], 1e-9) / max(first, 1e-9)) / steps if steps else 0.0
        bad += exponent > GOAL
        print(f"{name:18}" + "".join(f"{row[name]:10.2f}" for row in rows) + f"{exponent:10.2f}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
